"""`pnyx audit card`: a one-page card of a judge."""

from __future__ import annotations

import json
from pathlib import Path

import click

from pnyx.cli.options import Outcome, refuse_two_outputs
from pnyx.cli.params import verb
from pnyx.core.errors import InputError, OptionError, escaped, shorten
from pnyx.core.spec import file_opt, out_opt
from pnyx.display.text import many
from pnyx.judging.judge_names import short_name
from pnyx.judging.measures.options import BootstrapSpec

_ENDINGS = (".html", ".md", ".json")


class CardSpec(BootstrapSpec, heading="Card"):
    """What the card contains, and where to write it."""

    out: str = out_opt(
        ..., "Page to write: .html (self-contained), .md or .json; - is JSON to stdout."
    )
    labels: tuple[str, ...] = file_opt((), "People's labels (JSONL) of the results. Repeatable.")


@verb("card", short_help="One page on a judge: figures, curves, when not to use it.")
@click.argument("folders", nargs=-1, required=True, metavar="R|S...")
def card(folders: tuple[str, ...], spec: CardSpec, as_json: bool) -> Outcome:
    """Write a one-page card of a judge, from results of pnyx judge (R) and pnyx audit run (S).

    It shows what the judge was asked, on what data, how far it agrees with people (--labels, else
    the measures that pnyx measure left in R), how well it is calibrated, what the trials show, what
    an answer costs, and when not to use it, by the rules in docs/reference/measures.md. It lists
    what was not measured. All folders must be of one judge. The JSON contains the labels of yes/no
    items, without ids or texts, for pnyx audit check: do not publish it if the labels are secret.

    \b
    Example:
      pnyx judge support items.jsonl --out results
      pnyx audit run items.jsonl --trial noise --out noise
      pnyx audit card results noise --labels people.jsonl --out card.html
    """
    refuse_two_outputs("--out", spec.out, as_json=as_json)
    if spec.out != "-" and Path(spec.out).suffix not in _ENDINGS:
        endings = ", ".join(_ENDINGS)
        raise OptionError(f"--out {shorten(spec.out)}: expected a name that ends in {endings}")
    from pnyx.audit.card import make_card
    from pnyx.audit.display.card import card_html, card_markdown
    from pnyx.core.files import write_text

    try:
        card_ = make_card(folders, spec.labels, bootstrap=spec.bootstrap)
        page, markdown = card_html(card_), card_markdown(card_)
        document = json.dumps(card_, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    except InputError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, RuntimeError) as error:
        problem = f"holds a file that pnyx did not write in this form ({shorten(str(error), 80)})"
        raise InputError(f"{problem}: judge again", path=", ".join(folders)) from error
    write_text(spec.out, {".html": page, ".md": markdown}.get(Path(spec.out).suffix, document))
    reasons = f"{many(len(card_['not_for']), 'reason')} against a use"
    line = f"{shorten(short_name(card_['judge']), 80)}: {reasons}; see {escaped(spec.out)}"
    return Outcome(card_, line if spec.out != "-" else "", err=True)
