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
      pnyx nuggets create --qrels qrels.txt --index my.index \\
        --topics topics.jsonl --llm openai:gpt-4o-mini --out bank.jsonl
      pnyx nuggets merge bank.jsonl other.jsonl --out banks.jsonl
      pnyx nuggets assign run.jsonl --nuggets banks.jsonl --out assigned
    """


for _verb in (create, merge, assign):
    command.add_command(_verb)
