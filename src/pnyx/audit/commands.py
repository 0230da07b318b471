"""`pnyx audit`: how far a judge can be trusted."""

from __future__ import annotations

import click

from pnyx.audit.card_command import card
from pnyx.audit.run_command import run
from pnyx.cli.params import Group


@click.group(cls=Group, name="audit", no_args_is_help=True)
def command() -> None:
    """Test a judge with trials, write its card, and see later whether it has become worse.

    For its agreement with people: pnyx check.

    \b
    Example:
      pnyx judge support items.jsonl --out results
      pnyx audit run items.jsonl --trial noise --out noise
      pnyx audit card results noise --labels people.jsonl --out card.html
      pnyx audit run items.jsonl --labels people.jsonl --out audit
      pnyx audit card --against audit/card.json --again later
    """


for _command in (run, card):
    command.add_command(_command)
command.gone = {
    "stress": "use pnyx audit run ITEMS --trial TRIAL",
    "all": "use pnyx audit run ITEMS",
    "check": "use pnyx audit card NOW --against CARD; without NOW, with --again FOLDER",
    "formats": "use pnyx audit run ITEMS --format FORMAT --format FORMAT, or --format all",
    "pairs": "use pnyx audit run ITEMS --trial self --write-pairs PAIRS",
    "agreement": "pnyx check RESULTS --labels LABELS compares a judge with people, and people with "
    "each other (--html, --json)",
}
