"""Run the command of a judge's card again, to see if the judge has become worse."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pnyx.cli.options import EXIT_BAD_INPUT, EXIT_UNSCORED
from pnyx.cli.record import changed_input, check_record
from pnyx.cli.rerun import arguments_of, environment_of, trusted_record
from pnyx.core.errors import InputError, OptionError, PnyxError
from pnyx.core.network import network_limited_to
from pnyx.core.spec import Spec, file_opt, opt, out_opt
from pnyx.formats.text_types import FileName, JudgeName
from pnyx.judging.judge_kinds import names_model, read_names


class RerunSpec(Spec, heading="Comparison"):
    """The earlier card, and how its own command is run again."""

    against: FileName | None = file_opt(None, metavar="CARD")
    margin: float | None = opt(
        None, within="[0, 1]", default_text="the card's, else 0.1", needs="against"
    )
    again: FileName | None = out_opt(
        None,
        "Without R: run the card's own command (pnyx audit run) again, into this folder.",
        metavar="S",
        writes="files",
        needs="against",
    )
    judge: tuple[JudgeName, ...] = file_opt(
        (),
        "",
        metavar="SPEC",
        default_text="$PNYX_LLM",
        replaces=("--llm",),
        needs="again",
    )

    @property
    def models(self) -> tuple[str, ...]:
        """The language models to ask."""
        return read_names(self.judge).models


def run_again(
    card: dict[str, Any], path: str, spec: RerunSpec, values: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Run the card's own command again, and return the card that it writes."""
    from pnyx.audit.card_file import read_card
    from pnyx.cli import app

    record = card.get("record")
    if not isinstance(record, dict) or record.get("command") != "audit run":
        raise InputError("the card does not record its command: give R", path=path)
    check_record(record, path)
    judge_options = _asked_anew(record, path, spec)
    out = str(spec.again)
    options = dict(record["options"])
    if _recorded_models(record):
        options.pop("judge", None)
    record = trusted_record({**record, "options": options, "environment": {}}, values, path)
    if problem := changed_input(record, Path()):
        raise InputError(problem, path=path)
    with contextlib.ExitStack() as stack:
        addresses = [*spec.models, *(text for texts in values.values() for text in texts)]
        stack.enter_context(network_limited_to(addresses))
        stack.enter_context(environment_of(record))
        words = _words_of(record, out, judge_options, path)
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


def _asked_anew(record: dict[str, Any], path: str, spec: RerunSpec) -> list[str]:
    """Return the options that name the model to ask: the user chooses it, never the card."""
    if _recorded_models(record):
        if not spec.models:
            raise InputError("its judge is a language model: name it with --judge", path=path)
        named = [word for model in spec.models for word in ("--judge", model)]
    elif spec.judge:
        raise OptionError("--judge: no language model answered for this card")
    else:
        named = []
    return [*named, "--store", str(Path(str(spec.again)) / "store.sqlite")]
