"""`pnyx audit`: how far a judge can be trusted."""

from __future__ import annotations

import click

from pnyx.audit.card_command import card
from pnyx.audit.check_judge import check
from pnyx.audit.every_command import every
from pnyx.audit.formats_command import formats
from pnyx.audit.pairs_command import pairs
from pnyx.audit.trials_command import stress
from pnyx.cli.params import Group


@click.group(cls=Group, name="audit", no_args_is_help=True)
def command() -> None:
    """Test a judge with trials, and write its card. For its agreement with people: pnyx check.

    \b
    Example:
      pnyx judge support items.jsonl --out results
      pnyx audit stress noise items.jsonl --out noise
      pnyx audit card results noise --labels people.jsonl --out card.html
      pnyx audit all items.jsonl --labels people.jsonl --out audit
    """


for _command in (stress, pairs, every, formats, card, check):
    command.add_command(_command)
command.gone = {
    "agreement": "pnyx check RESULTS --labels LABELS compares a judge with people, and people with "
    "each other (--html, --json)"
}
