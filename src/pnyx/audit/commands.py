"""`pnyx audit`: how far a judge can be trusted."""

from __future__ import annotations

import click

from pnyx.audit.card_command import card
from pnyx.audit.run_command import run
from pnyx.cli.params import Group


@click.group(cls=Group, name="audit", no_args_is_help=True)
def command() -> None:
    """Test a judge with trials, and write its card. For its agreement with people: pnyx check.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx audit run ex/items.jsonl --trial noise --limit 20 --out noise
      judge packaged; accuracy: pnyx doctor
      noise, support: passed
      expected: the score falls at every step

    \b
    More: pnyx audit run --help, docs/reference/measures/audit.md.
    """


for _command in (run, card):
    command.add_command(_command)
command.gone = {
    "stress": "use pnyx audit run ITEMS --trial TRIAL",
    "all": "use pnyx audit run ITEMS",
    "check": "use pnyx audit card NOW --against CARD; without NOW, with --again FOLDER",
    "formats": "use pnyx audit run ITEMS --judge-format all, or repeat --judge-format",
    "pairs": "use pnyx audit run ITEMS --trial self --write-pairs PAIRS",
    "agreement": "pnyx check RESULTS --labels LABELS compares a judge with people, and people with "
    "each other (--html, --json)",
}
