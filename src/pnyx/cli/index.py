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
    from pnyx.search.quality import QualityStats

__all__ = ["command"]


@click.command(name="index")
@click.argument("corpus", nargs=-1)
@click.option("--out", type=click.Path(), help="Folder to create.")
@click.option("--add", type=click.Path(), help="Existing index to add to, instead of --out.")
@click.option(
    "--update", type=click.Path(), help="Existing index to compute --quality for, without a CORPUS."
)
@click.option(
    "--quality",
    is_flag=True,
    help="Predict how good an argument each document is (docs/model-cards/quality.md).",
)
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
    update: str | None,
    quality: bool,
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
      pnyx index --update my.index --quality
      pnyx search my.index "Should voting be compulsory?"
    """
    folder = _target(corpus, out, add, update, quality)
    if out is None and (fields or language or force):
        raise click.UsageError(
            "--fields, --language and --force belong to --out: an index keeps its own"
        )
    row: dict[str, object] = {"index": folder}
    if update is None:
        records = _read(corpus, format_, column_mapping(columns))
        row |= _build(records, folder, add is not None, fields, language, force, as_json)
    if quality:
        row["quality"] = _score(folder, as_json)
    elif add is not None:
        _warn_of_rest(folder)
    if as_json:
        click.echo(json.dumps(row))


def _target(
    corpus: tuple[str, ...], out: str | None, add: str | None, update: str | None, quality: bool
) -> str:
    """Return the index folder that is meant."""
    named = [folder for folder in (out, add, update) if folder is not None]
    if len(named) != 1:
        raise click.UsageError(
            "give one of --out (a new index), --add (an existing one to add to) and --update (an "
            "existing one as it is)"
        )
    if update is not None and (corpus or not quality):
        raise click.UsageError("--update goes with --quality and without a CORPUS")
    if update is None and not corpus:
        raise click.UsageError("Missing argument 'CORPUS...'.")
    return named[0]


def _build(
    records: Iterator[Evidence],
    folder: str,
    add: bool,
    fields: tuple[str, ...],
    language: str | None,
    force: bool,
    as_json: bool,
) -> dict[str, object]:
    from pnyx.search.index import add_to_index, build_index

    with _progress("indexing", "records") as advance:
        if add:
            stats = add_to_index(records, folder, on_progress=advance)
        else:
            stats = build_index(
                records,
                folder,
                fields=fields,
                language=language or "english",
                replace=force,
                on_progress=advance,
            )
    if not as_json:
        _report(stats, folder)
    if stats.tokens == 0:
        warn("no document holds a word, so nothing can be found")
    return dataclasses.asdict(stats)


def _score(folder: str, as_json: bool) -> dict[str, object]:
    from pnyx.search.quality import QualityModel, score_documents

    with _progress("predicting quality", "documents") as advance:
        stats = score_documents(folder, QualityModel.load(), advance)
    if not as_json:
        _report_quality(stats, folder)
    return dataclasses.asdict(stats)


def _warn_of_rest(folder: str) -> None:
    """Say so where the index had a quality that its new documents do not have."""
    from pathlib import Path

    from pnyx.search.manifest import read_manifest

    manifest = read_manifest(Path(folder))
    entry = manifest.get("features", {}).get("quality")
    if entry is not None and entry["documents"] != manifest["statistics"]["documents"]:
        warn(
            "the added documents have no quality yet: pnyx index --update "
            f"{shorten(folder, 200)} --quality"
        )


def _read(
    corpus: tuple[str, ...], format_: str | None, columns: dict[str, str]
) -> Iterator[Evidence]:
    from pnyx.corpora import read_evidence

    for source in corpus:
        yield from read_evidence(source, format=format_, columns=columns, on_warning=warn)


@contextmanager
def _progress(doing: str, what: str) -> Iterator[Callable[[int], None] | None]:
    """Show a counter on a terminal; stay quiet otherwise."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status(doing) as status:
        yield lambda count: status.update(f"{doing}: {count:,} {what}")


def _report(stats: IndexStats, folder: str) -> None:
    added = "" if stats.added == stats.documents else f" ({stats.added:,} added)"
    click.echo(
        f"{shorten(folder, 200)}: {stats.documents:,} documents{added}, {stats.tokens:,} tokens, "
        f"{stats.bytes / 1e6:.1f} MB, {stats.seconds:.1f} s",
        err=True,
    )


def _report_quality(stats: QualityStats, folder: str) -> None:
    unscored = f"; {stats.unscored:,} hold no word and get a neutral one" if stats.unscored else ""
    click.echo(
        f"{shorten(folder, 200)}: quality of {stats.documents:,} documents ({stats.added:,} new), "
        f"{stats.model}, {stats.seconds:.1f} s{unscored}",
        err=True,
    )
