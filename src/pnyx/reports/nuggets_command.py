"""`pnyx nuggets`: draft nugget banks, merge them, and compare reports with them."""

from __future__ import annotations

import click

from pnyx.cli.params import Group
from pnyx.reports.assign_command import assign
from pnyx.reports.draft_command import create, merge


@click.group(cls=Group, name="nuggets", no_args_is_help=True)
def command() -> None:
    """Nugget banks: what a good report says. Draft them, merge them, compare reports with them.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx index ex/arguments.jsonl --out my.index
      $ pnyx nuggets create --qrels ex/qrels.txt --index my.index \\
          --topics ex/questions.md --most 3 --out bank.jsonl
      bank.jsonl: 24 nuggets of 8 of 8 topics by sentences of the documents; ...

    \b
    More: docs/recipes/nuggets.md.
    """


for _verb in (create, merge, assign):
    command.add_command(_verb)
