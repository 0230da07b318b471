"""`pnyx audit`: how far a judge can be trusted."""

from __future__ import annotations

import click

from pnyx.audit.card_command import card
from pnyx.audit.check_judge import check
from pnyx.audit.formats_command import formats
from pnyx.audit.pairs_command import pairs
from pnyx.audit.run_command import run
from pnyx.cli.params import Group


@click.group(cls=Group, name="audit", no_args_is_help=True)
def command() -> None:
    """Test a judge with trials, and write its card. For its agreement with people: pnyx check.

    \b
    Example:
      pnyx judge support items.jsonl --out results
      pnyx audit run items.jsonl --trial noise --out noise
      pnyx audit card results noise --labels people.jsonl --out card.html
      pnyx audit run items.jsonl --labels people.jsonl --out audit
    """


for _command in (run, pairs, formats, card, check):
    command.add_command(_command)
command.gone = {
    "stress": "use pnyx audit run ITEMS --trial TRIAL",
    "all": "use pnyx audit run ITEMS",
    "agreement": "pnyx check RESULTS --labels LABELS compares a judge with people, and people with "
    "each other (--html, --json)",
}
