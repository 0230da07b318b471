"""`pnyx convert`: between formats that hold the same kind of thing, without loss."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import click

from pnyx.app.spec import opt
from pnyx.cli.options import ColumnSpec, warn
from pnyx.cli.params import json_option, takes, verb
from pnyx.errors import InputError, OptionError, shorten
from pnyx.records import CitationStyle

if TYPE_CHECKING:
    from pnyx.corpora import Format
    from pnyx.corpora.base import Writer

__all__ = ["command"]


@dataclass(frozen=True, kw_only=True)
class ConvertSpec(ColumnSpec):
    """From what, to what."""

    heading: ClassVar[str] = "Formats"

    read: str | None = opt(None, "Format of SRC.", "--from", metavar="FORMAT", shown="recognised")
    to: str = opt(..., "Format to write.", metavar="FORMAT")
    out: str = opt(
        "-",
        "File to write; .gz compresses.",
        "-o",
        "--out",
        metavar="FILE",
        raw=True,
        shown="- (stdout)",
    )
    style: CitationStyle | None = opt(
        None, "How responses cite.", shown="rag24 indices, others ids", rare=True
    )


@verb("convert")
@click.argument("source", metavar="SRC", type=click.Path())
@takes("spec", ConvertSpec)
@json_option
def command(source: str, spec: ConvertSpec, as_json: bool) -> None:
    """Convert SRC to another format of the same kind; nothing is dropped silently.

    What the target cannot hold (two premises' stances in a table, a score in a list of ids) is
    an error that names the record, and nothing is written. docs/formats.md lists the formats.

    \b
    Example:
      pnyx convert raw.json --from debatewise --to arguments -o arguments.jsonl
      pnyx convert docs.csv --column id=docno --to beir -o corpus.jsonl
      pnyx convert run.jsonl --to ragtime --style ids -o report.jsonl
    """
    from pnyx.corpora import Options, find_format
    from pnyx.files import atomic_text

    out = spec.out
    if as_json and out == "-":
        raise OptionError("--json needs -o FILE, as the records themselves go to stdout")
    mapping = spec.mapping
    source_format = find_format(source, spec.read, columns=mapping)
    writer = _writer(source_format, spec.to, spec.style)
    records = source_format.reader(source, Options(mapping, warn))
    counter = itertools.count()
    with atomic_text(out) as stream:
        writer(stream, (record for record, _ in zip(records, counter, strict=False)))
    count = next(counter)
    summary = {"from": source_format.name, "to": spec.to, "records": count, "out": out}
    if as_json:
        click.echo(json.dumps(summary))
    elif out != "-":
        shown = shorten(out, 200)
        click.echo(f"{shown}: {count} records, {source_format.name} to {spec.to}", err=True)


def _writer(source: Format, to: str, style: CitationStyle | None) -> Writer:
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
    return response_writer(to, style)  # type: ignore[arg-type]  # it is checked
