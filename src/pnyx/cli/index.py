"""`pnyx index`: documents or arguments to a searchable index."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli.knowing import (
    KNOWING,
    check_knowing,
    counted,
    know,
    knowing_options,
    warn_of_rest,
)
from pnyx.cli.options import column_mapping, column_option, json_option, warn
from pnyx.errors import shorten

if TYPE_CHECKING:
    from pnyx.records import Evidence
    from pnyx.search.index import IndexStats

__all__ = ["command"]


@click.command(name="index")
@click.argument("corpus", nargs=-1)
@click.option("--out", type=click.Path(), help="Folder to create.")
@click.option("--add", type=click.Path(), help="Existing index to add to, instead of --out.")
@click.option(
    "--update",
    type=click.Path(),
    help="Existing index to add --quality, --clusters or --vectors to, without a CORPUS.",
)
@knowing_options
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
def command(corpus: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Index documents or arguments, so that they can be searched.

    CORPUS is one or more files, folders or ir_datasets: ids; `-` is standard input. The index is
    a folder; it appears when it is complete, and adding to it later ranks as if all had been
    indexed at once.

    \b
    Example:
      pnyx index arguments.jsonl --out my.index
      pnyx index more.csv --column text=body --add my.index
      pnyx index --update my.index --quality --clusters --vectors
      pnyx search my.index "Should voting be compulsory?" --model touche
    """
    folder = _target(corpus, options)
    row: dict[str, object] = {"index": folder}
    check_knowing(folder, options, exists=options["out"] is None)
    if options["update"] is None:
        row |= _build(corpus, folder, as_json, options)
    row |= know(folder, as_json, options)
    if options["add"] is not None:
        warn_of_rest(folder)
    if as_json:
        click.echo(json.dumps(row))


def _target(corpus: tuple[str, ...], options: dict[str, Any]) -> str:
    """Return the index folder that is meant."""
    named = [options[name] for name in ("out", "add", "update") if options[name] is not None]
    if len(named) != 1:
        raise click.UsageError(
            "give one of --out (a new index), --add (an existing one to add to) and --update (an "
            "existing one as it is)"
        )
    if options["update"] is not None and (corpus or not any(options[name] for name in KNOWING)):
        raise click.UsageError(
            "--update goes with --quality, --clusters, --assign, --vectors or --ann and without a "
            "CORPUS"
        )
    if options["update"] is None and not corpus:
        raise click.UsageError("Missing argument 'CORPUS...'.")
    if options["out"] is None and any(options[name] for name in ("fields", "language", "force")):
        raise click.UsageError(
            "--fields, --language and --force belong to --out: an index keeps its own"
        )
    return str(named[0])


def _build(
    corpus: tuple[str, ...], folder: str, as_json: bool, options: dict[str, Any]
) -> dict[str, object]:
    from pnyx.search.build import add_to_index, build_index

    records = _read(corpus, options["format_"], column_mapping(options["columns"]))
    with counted("indexing", "records") as advance:
        if options["add"] is not None:
            stats = add_to_index(records, folder, on_progress=advance).statistics
        else:
            stats = build_index(
                records,
                folder,
                fields=options["fields"],
                language=options["language"] or "english",
                replace=options["force"],
                on_progress=advance,
            ).statistics
    if not as_json:
        _report(stats, folder)
    if stats.tokens == 0:
        warn("no document holds a word, so nothing can be found")
    return dataclasses.asdict(stats)


def _read(
    corpus: tuple[str, ...], format_: str | None, columns: dict[str, str]
) -> Iterator[Evidence]:
    from pnyx.corpora import read_evidence

    for source in corpus:
        yield from read_evidence(source, format=format_, columns=columns, on_warning=warn)


def _report(stats: IndexStats, folder: str) -> None:
    added = "" if stats.added == stats.documents else f" ({stats.added:,} added)"
    click.echo(
        f"{shorten(folder, 200)}: {stats.documents:,} documents{added}, {stats.tokens:,} tokens, "
        f"{stats.bytes / 1e6:.1f} MB, {stats.seconds:.1f} s",
        err=True,
    )
