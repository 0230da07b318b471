"""`pnyx corpus`: corpora made of others, or of the web."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from pnyx.cli.corpus_web import web
from pnyx.cli.knowing import counted
from pnyx.cli.options import column_mapping, column_option, json_option, refuse_same_file, warn
from pnyx.cli.params import Group
from pnyx.errors import InputError, shorten

if TYPE_CHECKING:
    from pnyx.records import Evidence

__all__ = ["command"]


@click.group(cls=Group, name="corpus", no_args_is_help=True)
def command() -> None:
    """Make a corpus to search: documents cut into passages, or the web's answers to questions.

    \b
    Example:
      pnyx corpus split wikipedia.jsonl.gz --words 100 --out passages.jsonl.gz
      pnyx corpus web questions.jsonl --search serper --contact me@example.org --out web
    """


@command.command()
@click.argument("sources", nargs=-1, required=True, metavar="IN...")
@click.option(
    "--words",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="The most words of a passage.",
)
@click.option(
    "--sentences",
    is_flag=True,
    help="Cut between sentences; only one that is longer than a passage is cut.",
)
@click.option("-o", "--out", default="-", show_default=True, help="File to write; .gz compresses.")
@click.option(
    "--format", "format_", metavar="NAME", help="Format of the corpus  [default: recognised]."
)
@column_option
@json_option
def split(
    sources: tuple[str, ...],
    words: int,
    sentences: bool,
    out: str,
    format_: str | None,
    columns: tuple[str, ...],
    as_json: bool,
) -> None:
    """Cut documents into passages of so many words, which pnyx index reads.

    IN is whatever pnyx index reads; `-` is standard input. Passages of the document D are called
    D#0, D#1 ..., in order, with D's title and fields; `origin` says D, `passage` the number.

    \b
    Example:
      pnyx corpus split debatewise_raw.json pages/ --words 100 --out passages.jsonl
      pnyx corpus split psgs.tsv.gz --sentences -o - | pnyx index - --out my.index
    """
    from pnyx.corpora import write_jsonl
    from pnyx.corpora.split import split_evidence
    from pnyx.files import atomic_text

    if as_json and out == "-":
        raise click.UsageError("--json needs --out FILE, as the passages themselves go to stdout")
    for source in sources:
        refuse_same_file("--out", out, IN=source)
    read = passages = 0

    def records() -> Iterator[Evidence]:
        nonlocal read
        for record in _read(sources, format_, column_mapping(columns)):
            read += 1
            if advance is not None:
                advance(read)
            yield record

    with counted("splitting", "records") as advance, atomic_text(out) as stream:
        for passage in split_evidence(records(), words, sentences=sentences):
            write_jsonl(stream, [passage])
            passages += 1
    if as_json:
        click.echo(json.dumps({"documents": read, "passages": passages, "out": out}))
    elif out != "-":
        click.echo(f"{shorten(out, 200)}: {passages:,} passages of {read:,} documents", err=True)


def _read(
    sources: tuple[str, ...], format_: str | None, columns: dict[str, str]
) -> Iterator[Evidence]:
    from pnyx.corpora import read_evidence

    several = len(sources) > 1
    seen: set[str] = set()
    for source in sources:
        for record in read_evidence(source, format=format_, columns=columns, on_warning=warn):
            if several:  # each reader tells the ids of its own source apart
                if record.id in seen:
                    problem = f"duplicate id {shorten(record.id)!r}, also in an earlier source"
                    raise InputError(problem, path=source)
                seen.add(record.id)
            yield record


command.add_command(web)
