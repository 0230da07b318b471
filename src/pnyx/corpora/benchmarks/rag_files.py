"""RAG records from files: JSON, JSON Lines, CSV, TSV, Parquet and spreadsheets; or from rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from pnyx.corpora.base import scan_json_objects
from pnyx.corpora.benchmarks.rag_rows import (
    COLUMN_NAMES,
    RagRecords,
    find_columns,
    rag_records,
    shown_columns,
)
from pnyx.corpora.documents.table_rows import open_table
from pnyx.errors import InputError
from pnyx.files import read_json

RAG_SAMPLE = 200
"""Rows from which columns are recognised."""
_TABLES = (".csv", ".tsv", ".json", ".xlsx", ".parquet")

Placed = tuple[str, Mapping[str, Any]]
"""The place of a row, from 1, and the row."""


def read_rag(
    source: str | Iterable[Mapping[str, Any]],
    columns: Mapping[str, str] | None = None,
    *,
    items: Sequence[str] = (),
    needs_question: bool = False,
) -> RagRecords | None:
    """Read the RAG records of a file, or of rows in memory.

    Args:
        source: a file, by its ending; any other is JSON Lines. `-` is not read.
        columns: field of `COLUMN_NAMES` -> column, for those with unusual names.
        items: fields of items of another format: None is returned where the first rows have them.
        needs_question: leave out records without a question.

    Returns:
        The records; None where the file is JSON Lines and its columns are not recognised.

    Raises:
        InputError: the file cannot be read, its columns are not recognised, or no row can be used.
        MissingExtra: reading it needs a library that is not installed.
    """
    name = source if isinstance(source, str) else "rows"
    rows = iter(_placed(source))
    sample = list(islice(rows, RAG_SAMPLE))
    if items and sample and all(name in sample[0][1] for name in items):
        return None
    found = find_columns([row for _, row in sample], columns)
    if found is None:
        if isinstance(source, str) and not _is_table(source) and not columns:
            return None
        names = dict.fromkeys(name for _, row in sample for name in row)
        raise InputError(_unrecognised(list(names), items), path=name)
    return rag_records(chain(sample, rows), found, name, needs_question=needs_question)


def _unrecognised(names: Sequence[str], items: Sequence[str]) -> str:
    expected = "columns of a question, its contexts and an answer"
    own = f"{', '.join(items)}, or " if items else ""
    return (
        f"expected {own}{expected}, found: {shown_columns(names)}. Name them: --column "
        "contexts=COLUMN --column answer=COLUMN --column question=COLUMN"
    )


def _is_table(path: str) -> bool:
    return path != "-" and Path(path).suffix.lower() in _TABLES


def _placed(source: str | Iterable[Mapping[str, Any]]) -> Iterator[Placed]:
    if not isinstance(source, str):
        rows: Iterable[Placed] = ((str(n), row) for n, row in enumerate(source, 1))
    elif Path(source).suffix.lower() == ".json":
        rows = _json_rows(source)
    elif _is_table(source):
        rows = _table_rows(source)
    else:
        rows = _line_rows(source)
    return ((place, _flat(row)) for place, row in rows)


def _table_rows(source: str) -> Iterator[Placed]:
    _check_file(source)
    return ((row.place, row.cells) for row in open_table(Path(source)).rows)


def _check_file(source: str) -> None:
    if not Path(source).is_file():
        raise InputError("no such file, expected a table or JSON", path=source)


def _line_rows(source: str) -> Iterator[Placed]:
    for row in scan_json_objects(source):
        if isinstance(row, InputError):
            raise row
        yield str(row[0]), row[1]


def _json_rows(source: str) -> Iterator[Placed]:
    """Yield the rows of a list, of columns (`{"question": [...], ...}`), or of JSON Lines."""
    _check_file(source)
    with Path(source).open("rb") as stream:
        start = stream.read(1 << 16).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    document = read_json(source) if start == b"{" else None
    if start != b"{":
        yield from _table_rows(source)
    elif document is None:  # one object a line, by the name of one document
        yield from _line_rows(source)
    elif find_columns([document]) is None:
        yield from _table_rows(source)
    else:
        yield from ((str(n), row) for n, row in enumerate(_transposed(document), 1))


def _transposed(document: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """Return the rows of columns of equal length, or the document as the only row."""
    values = {
        name: list(column.values()) if isinstance(column, dict) else column
        for name, column in document.items()
        if isinstance(column, list | dict)
    }
    found = find_columns([document])
    used = [own[0] for own in found.columns.values()] if found else []
    lengths = {len(values[name]) if name in values else -1 for name in used}
    if len(lengths) > 1 or -1 in lengths:
        return [document]
    columns = {name: column for name, column in values.items() if len(column) in lengths}
    return (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))


def _flat(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row whose nested objects, as `inputs`, are columns: `inputs.question`."""
    if not any(isinstance(value, dict) for value in row.values()):
        return row
    flat: dict[str, Any] = {}
    for name, value in row.items():
        nested = isinstance(value, dict) and str(name).lower() not in COLUMN_NAMES["contexts"]
        flat |= (
            {f"{name}.{key}": entry for key, entry in value.items()} if nested else {name: value}
        )
    return flat
