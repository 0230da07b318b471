"""`pnyx files`: what is done to files of documents and results, apart from judging them."""

from __future__ import annotations

import click

from pnyx.cli.params import Group
from pnyx.core.rooms import room_commands


@click.group(cls=Group, name="files", no_args_is_help=True)
def command() -> None:
    """Work on files: split, collect, check, convert, repeat, merge.

    \b
    Example:
      pnyx files split pages/ --words 100 --out passages.jsonl
      pnyx files validate run.trec
      pnyx files convert docs.csv --column id=docno --to beir -o corpus.jsonl
      pnyx files repeat judged
      pnyx files merge share1 share2 --out results
    """


for _door in room_commands("files").values():
    command.add_command(_door.load())
