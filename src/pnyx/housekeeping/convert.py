"""`pnyx files convert`: convert between formats of the same kind of record, without loss."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Literal

import click

from pnyx.cli.options import ColumnSpec, Outcome, OutSpec, warn
from pnyx.cli.params import verb
from pnyx.core.errors import InputError, escaped, shorten
from pnyx.core.records import CitationStyle
from pnyx.core.spec import opt

if TYPE_CHECKING:
    from pnyx.formats import Format
    from pnyx.formats.base import Writer


class ConvertSpec(ColumnSpec, OutSpec, heading="Formats", rare="style unscored"):
    """Options of `pnyx files convert`."""

    read: str | None = opt(
        None, "", "--format", metavar="FORMAT", default_text="recognised", replaces=("--from",)
    )
    to: str = opt(..., metavar="FORMAT")
    style: CitationStyle | None = opt(None, default_text="rag24 indices, others ids")
    unscored: Literal["error", "skip", "zero"] = opt("error")


@verb("convert", short_help="Convert between equivalent formats, without loss.")
@click.argument("source", metavar="SRC")
def command(source: str, spec: ConvertSpec, as_json: bool) -> Outcome:
    """Convert SRC to another format of the same kind; nothing is dropped silently.

    What the target cannot hold (two premises' stances in a table, a score in a list of ids) is an
    error that names the record, and nothing is written.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx files convert ex/arguments.jsonl --to beir -o corpus.jsonl
      corpus.jsonl: 128 records, arguments to beir

    \b
    More: pnyx files convert --help-all, docs/reference/formats.md.
    \f
    \b
      pnyx files convert raw.json --format debatewise --to arguments \\
        -o arguments.jsonl
      pnyx files convert docs.csv --column id=docno --to beir -o corpus.jsonl
      pnyx files convert run.jsonl --to ragtime --style ids -o report.jsonl
      pnyx files convert bank.jsonl --to nuggetbank-v3 -o nuggets.jsonl
    """
    from pnyx.core.files import atomic_text
    from pnyx.formats import Options, find_format, settled

    out = spec.out
    spec.check_json("records", as_json=as_json)
    source_format = find_format(source, spec.read, columns=spec.mapping)
    if spec.read is None:
        source_format = _view(source, source_format, spec.to)
    writer = _writer(source_format, spec.to, spec.style)
    records: Any = source_format.reader(source, Options(spec.mapping, warn))
    if source_format.kind == "leaderboard":
        records = settled(records, spec.unscored)
    elif spec.given("unscored"):
        name = source_format.name
        raise InputError(f"--unscored is for leaderboards, and {name} is not one")
    counter = itertools.count()
    with atomic_text(out) as stream:
        writer(stream, (record for record, _ in zip(records, counter, strict=False)))
    count = next(counter)
    summary = {"from": source_format.name, "to": spec.to, "records": count, "out": out}
    line = f"{escaped(out)}: {count} records, {source_format.name} to {spec.to}"
    return Outcome(summary, line if out != "-" else "", err=True, ascii=True)


def _view(source: str, source_format: Format, to: str) -> Format:
    """Return the view of the source's format of the kind that is written, if there is one."""
    from pnyx.formats import FORMATS, find_format
    from pnyx.formats.recognition import format_named

    target = format_named(to)
    if target is None or target.kind == source_format.kind:
        return source_format
    if not any(f.view_of == source_format.name and f.kind == target.kind for f in FORMATS.values()):
        return source_format
    return find_format(source, kind=target.kind)


def _writer(source: Format, to: str, style: CitationStyle | None) -> Writer:
    """Return the writer of the target."""
    from pnyx.formats import response_writer
    from pnyx.formats.recognition import all_formats, format_named

    target = format_named(to)
    if target is None or target.writer is None or target.kind != source.kind:
        fitting = [f.name for f in all_formats().values() if f.writer and f.kind == source.kind]
        hint = f"expected one of {', '.join(fitting)}" if fitting else "it can only be read"
        raise InputError(f"{source.name} cannot be converted to {shorten(to, 40)!r}: {hint}")
    if style is None:
        return target.writer
    if target.kind != "responses":
        raise InputError(f"--style is for responses, and {to} is not one of their formats")
    return response_writer(to, style)  # type: ignore[arg-type]  # it is checked
