"""`pnyx files`: commands for files of documents and results, except for judging."""

from __future__ import annotations

import click

from pnyx.cli.params import Group
from pnyx.core.rooms import room_commands


@click.group(cls=Group, name="files", no_args_is_help=True)
def command() -> None:
    """Work on files: split, collect, check, convert, repeat, merge.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx files split ex/arguments.jsonl --words 50 --out passages.jsonl
      passages.jsonl: 363 passages of 128 documents
      $ pnyx files validate passages.jsonl
      passages.jsonl: ok (jsonl, 363 records)

    \b
    More: docs/reference/formats.md.
    """


for _door in room_commands("files").values():
    command.add_command(_door.load())
