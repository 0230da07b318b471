"""`pnyx convert`: between formats that hold the same kind of thing, without loss."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

import click

from pnyx.cli.options import column_mapping, column_option, json_option, warn
from pnyx.errors import InputError, shorten
from pnyx.records import CITATION_STYLES

if TYPE_CHECKING:
    from pnyx.corpora import Format
    from pnyx.corpora.base import Writer

__all__ = ["command"]


@click.command(name="convert")
@click.argument("source", metavar="SRC", type=click.Path())
@click.option("--from", "from_", metavar="FORMAT", help="Format of SRC  [default: recognised].")
@click.option("--to", required=True, metavar="FORMAT", help="Format to write.")
@click.option("-o", "--out", default="-", show_default=True, help="File to write; .gz compresses.")
@click.option(
    "--style",
    type=click.Choice(CITATION_STYLES),
    default=None,
    help="How responses cite  [default: rag24 indices, others ids].",
)
@column_option
@json_option
def command(
    source: str,
    from_: str | None,
    to: str,
    out: str,
    style: str | None,
    columns: tuple[str, ...],
    as_json: bool,
) -> None:
    """Convert SRC to another format of the same kind; nothing is dropped silently.

    What the target cannot hold (two premises' stances in a table, a score in a list of ids) is
    an error that names the record, and nothing is written. docs/formats.md lists the formats.

    \b
    Example:
      pnyx convert debatewise_raw.json --from debatewise --to arguments -o arguments.jsonl
      pnyx convert docs.csv --column id=docno --column text=body --to beir -o corpus.jsonl
      pnyx convert run.jsonl --to ragtime --style ids -o report.jsonl
    """
    from pnyx.corpora import Options, find_format
    from pnyx.files import atomic_text

    if as_json and out == "-":
        raise click.UsageError("--json needs -o FILE, as the records themselves go to stdout")
    mapping = column_mapping(columns)
    source_format = find_format(source, from_, columns=mapping)
    writer = _writer(source_format, to, style)
    records = source_format.reader(source, Options(mapping, warn))
    counter = itertools.count()
    with atomic_text(out) as stream:
        writer(stream, (record for record, _ in zip(records, counter, strict=False)))
    count = next(counter)
    summary = {"from": source_format.name, "to": to, "records": count, "out": out}
    if as_json:
        click.echo(json.dumps(summary))
    elif out != "-":
        shown = shorten(out, 200)
        click.echo(f"{shown}: {count} records, {source_format.name} to {to}", err=True)


def _writer(source: Format, to: str, style: str | None) -> Writer:
    """Return the writer of the target."""
    from pnyx.corpora import FORMATS, response_writer

    target = FORMATS.get(to)
    if target is None or target.writer is None or target.kind != source.kind:
        fitting = [f.name for f in FORMATS.values() if f.writer and f.kind == source.kind]
        known = f"expected one of {', '.join(fitting)}" if fitting else "it is only read"
        raise InputError(f"{source.name} cannot be converted to {shorten(to, 40)!r}: {known}")
    if style is None:
        return target.writer
    if target.kind != "responses":
        raise InputError(f"--style is for responses, and {to} is not one of their formats")
    return response_writer(to, style)  # type: ignore[arg-type]  # both are checked
