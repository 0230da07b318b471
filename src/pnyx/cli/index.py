"""`pnyx index`: documents or arguments to a searchable index."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from pnyx.cli.options import column_mapping, column_option, json_option, warn
from pnyx.errors import shorten

if TYPE_CHECKING:
    from pnyx.records import Evidence
    from pnyx.search.index import IndexStats

__all__ = ["command"]


@click.command(name="index")
@click.argument("corpus", nargs=-1, required=True)
@click.option("--out", type=click.Path(), help="Folder to create.")
@click.option("--add", type=click.Path(), help="Existing index to add to, instead of --out.")
@click.option("--force", is_flag=True, help="Replace the index at --out when the new one is ready.")
@click.option(
    "--format", "format_", metavar="NAME", help="Format of the corpus  [default: recognised]."
)
@column_option
@click.option(
    "--fields",
    "fields",
    multiple=True,
    type=click.Choice(["topic"]),
    help="Search this too, beside title and text.",
)
@click.option(
    "--language",
    default=None,
    metavar="NAME",
    help="Stemmer: english, another Snowball language, or none  [default: english].",
)
@json_option
def command(
    corpus: tuple[str, ...],
    out: str | None,
    add: str | None,
    force: bool,
    format_: str | None,
    columns: tuple[str, ...],
    fields: tuple[str, ...],
    language: str | None,
    as_json: bool,
) -> None:
    """Index documents or arguments, so that they can be searched.

    CORPUS is one or more files, folders or ir_datasets: ids; `-` is standard input. The index is
    a folder; it appears when it is complete, and adding to it later ranks as if all had been
    indexed at once.

    \b
    Example:
      pnyx index arguments.jsonl --out my.index
      pnyx index more.csv --column text=body --add my.index
      pnyx search my.index "Should voting be compulsory?"
    """
    from pnyx.search.index import add_to_index, build_index

    if (out is None) == (add is None):
        raise click.UsageError("give either --out (a new index) or --add (an existing one)")
    if add is not None and (fields or language or force):
        raise click.UsageError(
            "--fields, --language and --force belong to --out: an index keeps its own"
        )
    records = _read(corpus, format_, column_mapping(columns))
    with _progress() as advance:
        if add is not None:
            stats = add_to_index(records, add, on_progress=advance)
        else:
            stats = build_index(
                records,
                str(out),
                fields=fields,
                language=language or "english",
                replace=force,
                on_progress=advance,
            )
    _report(stats, str(add or out), as_json)


def _read(
    corpus: tuple[str, ...], format_: str | None, columns: dict[str, str]
) -> Iterator[Evidence]:
    from pnyx.corpora import read_evidence

    for source in corpus:
        yield from read_evidence(source, format=format_, columns=columns, on_warning=warn)


@contextmanager
def _progress() -> Iterator[Callable[[int], None] | None]:
    """Show a counter on a terminal; stay quiet otherwise."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("indexing") as status:
        yield lambda count: status.update(f"indexing: {count:,} records")


def _report(stats: IndexStats, folder: str, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"index": folder} | dataclasses.asdict(stats)))
        return
    added = "" if stats.added == stats.documents else f" ({stats.added:,} added)"
    click.echo(
        f"{shorten(folder, 200)}: {stats.documents:,} documents{added}, {stats.tokens:,} tokens, "
        f"{stats.bytes / 1e6:.1f} MB, {stats.seconds:.1f} s",
        err=True,
    )
    if stats.tokens == 0:
        warn("no document holds a word, so nothing can be found")
