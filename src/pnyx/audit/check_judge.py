"""`pnyx audit check`: has a judge become worse than its card says?"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from pnyx.audit.display.drift import drift_table
from pnyx.cli.exit_status import EXIT_BAD_INPUT, EXIT_UNSCORED
from pnyx.cli.options import Outcome, say
from pnyx.cli.params import Raw, verb
from pnyx.cli.record import changed_input, check_record
from pnyx.cli.rerun import TrustSpec, arguments_of, environment_of, trusted_record
from pnyx.core.errors import InputError, OptionError, PnyxError, escaped, shorten
from pnyx.core.network import network_limited_to
from pnyx.core.spec import file_opt, opt, out_opt
from pnyx.formats.text_types import FileName, JudgeName
from pnyx.judging.judge_kinds import names_model, read_names
from pnyx.judging.measures.options import BootstrapSpec

EXIT_WORSE = 1


class CheckSpec(TrustSpec, BootstrapSpec, heading="Check"):
    """What to compare a judge with."""

    card: FileName = file_opt(..., "Card (.json) of pnyx audit run, or audit card.")
    labels: tuple[FileName, ...] = file_opt((), "People's labels (JSONL) of the results in NOW.")
    margin: float | None = opt(
        None,
        "By how much a figure may be worse.",
        within="[0, 1]",
        default_text="the card's, else 0.1",
    )
    judge: tuple[JudgeName, ...] = file_opt(
        (),
        "Without NOW: the language model to ask. Repeatable.",
        metavar="SPEC",
        default_text="$PNYX_LLM",
        replaces=("--llm",),
    )
    out: FileName | None = out_opt(
        None,
        "Without NOW: folder in which to run the trials again.",
        metavar="S",
        writes="files",
    )

    @property
    def models(self) -> tuple[str, ...]:
        """The language models to ask."""
        return read_names(self.judge).models


@verb("check", resumes=True, short_help="Has a judge become worse than its card says?")
@click.argument("now", nargs=-1, metavar="[NOW]...", type=Raw())
def check(now: tuple[str, ...], spec: CheckSpec, as_json: bool) -> int:
    """Compare a judge with its card: exit status 1 if it is worse by more than the margin.

    NOW is a later card (.json), or results of pnyx judge and audit run. Without it, the card's
    own command (pnyx audit run) is run again into --out; a language model is that of --judge, and
    no reply of an earlier run is reused. Because a card may come from a stranger, any other model
    or address in it must be confirmed by --with. Run the same command again to resume.

    Each figure has a 95 % interval of its change: on the same labelled items it is paired, item by
    item, over questions; otherwise it is derived from both figures' intervals. On the same items, a
    figure is worse if it dropped by more than the margin; on others its interval must also be below
    0, else it is maybe worse, which does not fail. Exit status 3: a figure of the card was not
    measured, and none is worse.

    \b
    Example:
      pnyx audit run items.jsonl --labels people.jsonl --out audit
      cp audit/card.json judge.json
      pnyx audit check --card judge.json --out later
      pnyx audit check later/card.json --card judge.json --margin 0.05
    """
    from pnyx.audit.card_file import read_card
    from pnyx.audit.drift import compare_cards

    then = read_card(spec.card)
    if bool(now) == (spec.out is not None):
        raise OptionError("give NOW, or --out to run the card's own command again")
    later = _given(now, spec) if now else _again(then, spec)
    margin = then.get("margin", 0.1) if spec.margin is None else spec.margin
    moved = compare_cards(then, later, margin, spec.bootstrap)
    if then["judge"] != later["judge"]:
        say(f"the judge is {shorten(later['judge'], 80)}, was {shorten(then['judge'], 80)}")
    worse = [figure.name for figure in moved if figure.verdict == "worse"]
    missing = [figure.name for figure in moved if figure.verdict == "not measured"]
    row = {"card": escaped(spec.card), "margin": margin, "worse": worse,
           "not_measured": missing, "figures": [figure.row() for figure in moved]}  # fmt: skip
    last = f"worse by more than {margin:g}: {', '.join(worse) or 'nothing'}"
    status = Outcome(row, [drift_table(moved), [last]], missing).show(as_json=as_json)
    return EXIT_WORSE if worse else status


def _given(now: tuple[str, ...], spec: CheckSpec) -> dict[str, Any]:
    """Return the later card that is named, or make one from results."""
    from pnyx.audit.card_file import read_card

    if len(now) == 1 and not Path(now[0]).is_dir():
        if spec.labels:
            raise OptionError("--labels requires results, not a card")
        return read_card(now[0])
    from pnyx.audit.card import make_card

    return make_card(now, spec.labels, bootstrap=spec.bootstrap)


def _again(card: dict[str, Any], spec: CheckSpec) -> dict[str, Any]:
    """Run the card's own command again, and return the card that it writes."""
    from pnyx.audit.card_file import read_card
    from pnyx.cli import app

    record = card.get("record")
    if not isinstance(record, dict) or record.get("command") != "audit run":
        raise InputError("the card does not record its command: give NOW", path=spec.card)
    if spec.labels:
        raise OptionError("--labels requires NOW: the card names its own labels")
    check_record(record, spec.card)
    judge_options = _asked_anew(record, spec)
    out, values = str(spec.out), spec.values()
    options = dict(record["options"])
    if _recorded_models(record):
        options.pop("judge", None)
    record = trusted_record({**record, "options": options, "environment": {}}, values, spec.card)
    if problem := changed_input(record, Path()):
        raise InputError(problem, path=spec.card)
    with contextlib.ExitStack() as stack:
        addresses = [*spec.models, *(text for texts in values.values() for text in texts)]
        stack.enter_context(network_limited_to(addresses))
        stack.enter_context(environment_of(record))
        words = _words_of(record, out, judge_options, spec.card)
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        status = app.main(args=words, prog_name="pnyx", standalone_mode=False)
    if status not in (None, 0, EXIT_UNSCORED):
        raise PnyxError(f"the card's command ended with status {status or EXIT_BAD_INPUT}")
    return read_card(str(Path(out) / "card.json"))


def _words_of(record: dict[str, Any], out: str, added: Sequence[str], path: str) -> list[str]:
    """Return the arguments of the card's command, with the output `out` and options added."""
    try:
        return arguments_of(record, {"out": out}, added)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError("holds a damaged record", path=path) from error


def _recorded_models(record: dict[str, Any]) -> bool:
    """Return whether language models answered."""
    named = record["options"].get("judge") or ()
    named = named if isinstance(named, list) else [named]
    return bool(record.get("environment")) or any(names_model(str(name)) for name in named)


def _asked_anew(record: dict[str, Any], spec: CheckSpec) -> list[str]:
    """Return the options that name the model to ask: the user chooses it, never the card."""
    if _recorded_models(record):
        if not spec.models:
            raise InputError("its judge is a language model: name it with --judge", path=spec.card)
        named = [word for model in spec.models for word in ("--judge", model)]
    elif spec.judge:
        raise OptionError("--judge: no language model answered for this card")
    else:
        named = []
    return [*named, "--store", str(Path(str(spec.out)) / "store.sqlite")]
