"""Documents in memory: a data frame, rows, texts or records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pnyx.core.errors import InputError, shorten
from pnyx.core.records import Argument, Document, Evidence
from pnyx.formats.base import Row, located, parse_rows, strict
from pnyx.formats.cells import frame_rows, plain_row
from pnyx.formats.documents.evidence import ID_NAMES, parse_evidence
from pnyx.formats.fields import rename

_EXPECTED: Final = (
    "a file or folder, a data frame, or documents as records, dicts with a text, or texts"
)
_NAME: Final = "documents"


def given_evidence(source: object, columns: Mapping[str, str] | None = None) -> Iterator[Evidence]:
    """Yield the documents of `source`, in order; those without an id are numbered from 1.

    The ids of a data frame may be its index (`frame_rows`).

    `columns`: Pnyx field -> the source's name for it. Cells without a value (None, NaN) are left
    out. InputError names the faulty row (from 1).
    """
    rows = _numbered(rows_in_memory(source), columns or {})
    read = parse_rows(rows, _parse, _NAME, "row")
    return (record for _, record in strict(read, _NAME, "documents"))


def _numbered(rows: Iterable[object], columns: Mapping[str, str]) -> Iterator[Row[Any]]:
    for number, row in enumerate(rows, start=1):
        if isinstance(row, str):
            yield number, {"id": str(number), "text": row}
        elif isinstance(row, Mapping):
            try:
                renamed = rename(row, columns)
            except InputError as error:
                yield located(error, _NAME, number, "row")
                continue
            cells = plain_row(renamed, ID_NAMES)
            has_id = not cells.keys().isdisjoint(ID_NAMES)
            yield number, cells if has_id else {"id": str(number), **cells}
        else:
            yield number, row


def rows_in_memory(source: object) -> Iterable[object]:
    """Return the rows of a data frame, or any other iterable unchanged."""
    if (rows := frame_rows(source, ID_NAMES)) is not None:
        return rows
    if isinstance(source, Iterable) and not isinstance(source, Mapping | bytes):
        return source
    raise InputError(f"found {shorten(type(source).__name__, 40)}, expected {_EXPECTED}")


def _parse(row: object) -> Evidence:
    if isinstance(row, Document | Argument):
        return row
    if not isinstance(row, Mapping):
        raise InputError(f"found {shorten(type(row).__name__, 40)}, expected {_EXPECTED}")
    return parse_evidence(row)
