"""`pnyx audit card`: a one-page card of a judge, and its comparison with an earlier card."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from pnyx.audit.card_rerun import RerunSpec, run_again
from pnyx.cli.options import Outcome, refuse_two_outputs, say
from pnyx.cli.params import Raw, verb
from pnyx.cli.rerun import TrustSpec
from pnyx.core.errors import InputError, OptionError, count_of, escaped, shorten
from pnyx.core.spec import Spec, file_opt, out_opt
from pnyx.formats.text_types import FileName
from pnyx.judging.judge_names import short_name
from pnyx.judging.measures.options import BootstrapSpec

EXIT_WORSE = 1
_ENDINGS = (".html", ".md", ".json")


class _PageSpec(Spec, heading="Card"):
    """What the card contains, and where to write it."""

    out: FileName | None = out_opt(None, metavar="PAGE")
    labels: tuple[FileName, ...] = file_opt(())


class CardSpec(BootstrapSpec, TrustSpec, RerunSpec, _PageSpec):
    """All options of `pnyx audit card`."""

    def check(self, results: Sequence[str], *, as_json: bool) -> None:
        """Reject options that have no effect or exclude each other."""
        self.check_needs()
        if bool(results) == (self.again is not None):
            raise OptionError("give R, or --against with --again to run the card's command again")
        if self.out is None and self.against is None:
            raise OptionError("expected --out to write the card, or --against to compare it")
        if self.again is not None:
            for name in ("labels", "out"):
                if self.given(name):
                    problem = f"{self.flag(name)} requires R: the card's command names its labels"
                    raise OptionError(f"{problem}, and writes the card to --again")
        if self.replaced and self.again is None:
            raise OptionError("--with requires --again")
        refuse_two_outputs("--out", self.out, as_json=as_json)
        if self.out not in (None, "-") and Path(str(self.out)).suffix not in _ENDINGS:
            endings = ", ".join(_ENDINGS)
            name = shorten(str(self.out))
            raise OptionError(f"--out {name}: expected a name that ends in {endings}")


@verb("card", resumes=True, short_help="One page on a judge, and whether it has become worse.")
@click.argument("results", nargs=-1, metavar="[R|S]...", type=Raw())
def card(results: tuple[str, ...], spec: CardSpec, as_json: bool) -> int:
    """Write a one-page card of a judge, from results of pnyx judge (R) and pnyx audit run (S).

    It shows how far the judge agrees with people, what the trials show, what an answer costs, and
    when not to use it. --against compares the judge with an earlier card.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx judge support ex/items.jsonl --out results
      $ pnyx audit run ex/items.jsonl --trial noise --limit 20 --out noise
      $ pnyx audit card results noise --labels ex/item-labels.jsonl \\
          --out card.html
      packaged: 1 reason against a use; see card.html

    \b
    More: pnyx audit card --help-all, docs/reference/measures/audit.md.
    \f
    The card says what the judge was asked, on what data, how far it agrees with people (--labels,
    else the measures that pnyx measure left in R), how well it is calibrated, and what was not
    measured, by the rules in docs/reference/measures.md. All folders must be of one judge. --out is
    .html (self-contained), .md or .json (- is JSON to stdout). The JSON contains the labels of
    yes/no items, without ids or texts, for --against: do not publish it if the labels are secret.

    With --against, the exit status is 1 if the judge is worse by more than the margin. R may then
    also be a later card (.json). With --again, the card's own command is run again; a language
    model is that of --judge, and no reply of an earlier run is reused. Because a card may come from
    a stranger, any other model or address in it must be confirmed by --with. Run the same command
    again to resume.

    Each figure has a 95 % interval of its change: on the same labelled items it is paired, item by
    item, over questions; otherwise it is derived from both figures' intervals. On the same items, a
    figure is worse if it dropped by more than the margin; on others its interval must also be below
    0, else it is maybe worse, which does not fail. Exit status 3: a figure of the card was not
    measured, and none is worse.

    \b
      pnyx audit card --against audit/card.json --again later
      pnyx audit card later/card.json --against audit/card.json --margin 0.05
    """
    spec.check(results, as_json=as_json)
    if spec.against is not None:
        return _compare(results, spec.against, spec, as_json=as_json)
    card_ = _card(results, spec)
    reasons = f"{count_of(len(card_['not_for']), 'reason')} against a use"
    line = f"{shorten(short_name(card_['judge']), 80)}: {reasons}; see {escaped(str(spec.out))}"
    return Outcome(card_, line if spec.out != "-" else "", err=True).show(as_json=as_json)


def _card(results: Sequence[str], spec: CardSpec) -> dict[str, Any]:
    """Make the card of results, and write it to --out, if that is given."""
    from pnyx.audit.card import make_card
    from pnyx.audit.display.card import card_html, card_markdown
    from pnyx.core.files import write_text

    try:
        card_ = make_card(results, spec.labels, bootstrap=spec.bootstrap)
        page, markdown = card_html(card_), card_markdown(card_)
        document = json.dumps(card_, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    except InputError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, RuntimeError) as error:
        problem = f"holds a file that pnyx did not write in this form ({shorten(str(error), 80)})"
        raise InputError(f"{problem}: judge again", path=", ".join(results)) from error
    if spec.out is not None:
        ending = Path(spec.out).suffix
        write_text(spec.out, {".html": page, ".md": markdown}.get(ending, document))
    return card_


def _compare(results: Sequence[str], path: str, spec: CardSpec, *, as_json: bool) -> int:
    """Compare a later card with an earlier one, and return the exit status."""
    from pnyx.audit.card_file import read_card
    from pnyx.audit.display.check import drift_table
    from pnyx.audit.drift import compare_cards

    then = read_card(path)
    if spec.again is not None:
        later = run_again(then, path, spec, spec.values())
    elif len(results) == 1 and not Path(results[0]).is_dir():
        for name in ("labels", "out"):
            if spec.given(name):
                raise OptionError(f"{spec.flag(name)} requires results, not a card")
        later = read_card(results[0])
    else:
        later = _card(results, spec)
    margin = then.get("margin", 0.1) if spec.margin is None else spec.margin
    moved = compare_cards(then, later, margin, spec.bootstrap)
    if then["judge"] != later["judge"]:
        say(f"the judge is {shorten(later['judge'], 80)}, was {shorten(then['judge'], 80)}")
    worse = [figure.name for figure in moved if figure.verdict == "worse"]
    missing = [figure.name for figure in moved if figure.verdict == "not measured"]
    row = {"card": escaped(path), "margin": margin, "worse": worse,
           "not_measured": missing, "figures": [figure.row() for figure in moved]}  # fmt: skip
    last = f"worse by more than {margin:g}: {', '.join(worse) or 'nothing'}"
    parts: Any = "" if spec.out == "-" else [drift_table(moved), [last]]
    status = Outcome(row, parts, missing).show(as_json=as_json)
    return EXIT_WORSE if worse else status
