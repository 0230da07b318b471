"""RAG records from files: JSON, JSON Lines, CSV, TSV, Parquet and spreadsheets; or from rows."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from pnyx.core.errors import InputError
from pnyx.core.files import guarded, open_binary, read_head, read_json
from pnyx.core.folders import device_status
from pnyx.formats.base import scan_json_objects
from pnyx.formats.rag.rag_cells import TEXT_KEYS
from pnyx.formats.rag.rag_rows import (
    COLUMN_NAMES,
    Fault,
    RagRecords,
    find_columns,
    rag_records,
    shown_columns,
)

RAG_SAMPLE = 200
"""Number of rows from which columns are recognised."""
_HEAD_BYTES = 1 << 20
"""Number of bytes from which the format of a file is recognised."""

Placed = tuple[str, Mapping[str, Any]]
"""The number of a row, from 1, and the row."""


def read_rag(
    source: str | Iterable[Mapping[str, Any]],
    columns: Mapping[str, str] | None = None,
    *,
    items: Sequence[str] = (),
    needs_question: bool = False,
) -> RagRecords | None:
    """Read the RAG records of a file, or of rows in memory.

    Args:
        source: a file, compressed or not, whose format is recognised by its content; `-` is
            standard input.
        columns: field of `COLUMN_NAMES` -> column, for those with unusual names.
        items: fields of another format of items: None is returned if the first rows have them.
        needs_question: leave out records without a question.

    Returns:
        The records; None if the file is JSON Lines and its columns are not recognised. Standard
        input has then not been read.

    Raises:
        InputError: the file cannot be read, its columns are not recognised, or no row can be used.
        MissingExtra: reading it needs a library that is not installed.
    """
    name = source if isinstance(source, str) else "rows"
    try:
        return _read_rag(source, columns, items, needs_question=needs_question)
    except InputError as error:
        raise InputError(error.problem, path=name, line=error.line) from error


def _read_rag(
    source: str | Iterable[Mapping[str, Any]],
    columns: Mapping[str, str] | None,
    items: Sequence[str],
    *,
    needs_question: bool,
) -> RagRecords | None:
    faults: list[Fault] = []

    def records(rows: Iterable[Placed], name: str, *, may_differ: bool) -> RagRecords | None:
        flat = ((number, _flat(row)) for number, row in rows)
        sample = list(islice(flat, RAG_SAMPLE))
        if items and sample and all(field in sample[0][1] for field in items):
            return None
        used = find_columns([row for _, row in sample], columns)
        if used is not None:
            every = chain(sample, flat)
            return rag_records(every, used, name, faults, needs_question=needs_question)
        if may_differ and not columns:
            return None
        names = dict.fromkeys(column for _, row in sample for column in row)
        raise InputError(_unrecognised(list(names), items))

    if not isinstance(source, str):
        return records(((str(n), row) for n, row in enumerate(source, 1)), "rows", may_differ=False)
    head = read_head(source, _HEAD_BYTES)
    kind = _kind(head, source)
    is_empty = not head.strip() and source != "-"
    if items and (is_empty or all(name in (_first_object(head) or {}) for name in items)):
        return None
    if kind == ".jsonl":
        return records(_line_rows(source, faults), source, may_differ=source != "-")
    with _local_file(source, kind, head) as path:
        rows = _json_rows(path) if kind == ".json" else _table_rows(path)
        return records(rows, source, may_differ=False)


def _unrecognised(names: Sequence[str], items: Sequence[str]) -> str:
    expected = "columns of a question, its contexts and an answer"
    if not names:
        return f"has no rows, expected {expected}"
    fields = f"{', '.join(items)}, or " if items else ""
    return (
        f"expected {fields}{expected}, found: {shown_columns(names)}. Name them: --column "
        "contexts=COLUMN --column answer=COLUMN --column question=COLUMN"
    )


def _kind(head: bytes, name: str) -> str:
    """Return the usual extension of files with this beginning, which is in UTF-8."""
    if head.startswith(b"PAR1"):
        return ".parquet"
    if head.startswith(b"PK"):
        return ".xlsx"
    start = head.lstrip()[:1]
    if start != b"{":
        tabs = name.lower().endswith(".tsv")
        return ".json" if start == b"[" else ".tsv" if tabs else ".csv"
    first, _, rest = head.strip().partition(b"\n")
    if _first_object(head) is not None:
        is_line = rest.strip() or name.lower().endswith((".jsonl", ".ndjson"))
        return ".jsonl" if is_line or len(head) == _HEAD_BYTES else ".json"
    is_document = first.strip() == b"{" or name.lower().endswith(".json")
    return ".json" if is_document else ".jsonl"


def _first_object(head: bytes) -> dict[str, Any] | None:
    """Return the object in the first line; None if there is none, or it does not end there."""
    try:
        value = json.loads(head.strip().partition(b"\n")[0])
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


@contextlib.contextmanager
def _local_file(name: str, kind: str, head: bytes) -> Iterator[Path]:
    """Yield a plain file that can be read twice and has the usual extension; others are copied."""
    path = Path(name)
    with tempfile.TemporaryDirectory(prefix="pnyx-") as folder:
        once = name == "-" or device_status(path) is not None
        if once or path.suffix.lower() != kind or not _starts_with(path, head[:4]):
            path = Path(folder, f"rows{kind}")
            with open_binary(name) as stream, path.open("wb") as target:
                guarded(lambda: shutil.copyfileobj(stream, target), name)
        yield path


def _starts_with(path: Path, head: bytes) -> bool:
    """Return whether a file, uncompressed, has this beginning."""
    with path.open("rb") as stream:
        return stream.read(len(head)) == head


def _table_rows(path: Path) -> Iterator[Placed]:
    from pnyx.formats.documents.table_rows import open_table

    return ((row.location, row.cells) for row in open_table(path).rows)


def _line_rows(source: str, faults: list[Fault]) -> Iterator[Placed]:
    """Yield the objects of JSON Lines; other lines go to `faults`."""
    for row in scan_json_objects(source):
        if not isinstance(row, InputError):
            yield str(row[0]), row[1]
        elif row.line is not None and "JSON" in row.problem:
            faults.append((str(row.line), "broken JSON"))
        else:
            raise row


def _json_rows(path: Path) -> Iterator[Placed]:
    """Yield the rows of a list, of columns (`{"question": [...], ...}`), or of JSON Lines."""
    document = read_json(path) if read_head(path, 64).lstrip()[:1] == b"{" else None
    if document is None or find_columns([document]) is None:
        yield from _table_rows(path)
    else:
        yield from ((str(n), row) for n, row in enumerate(_transposed(document), 1))


def _transposed(document: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """Return the rows of columns of equal length, or the document as the only row."""
    values = {
        name: list(column.values()) if isinstance(column, dict) else column
        for name, column in document.items()
        if isinstance(column, list | dict)
    }
    columns = find_columns([document])
    used = [names[0] for names in columns.columns.values()] if columns else []
    lengths = {len(values[name]) if name in values else -1 for name in used}
    if len(lengths) > 1 or -1 in lengths:
        return [document]
    cells = {name: column for name, column in values.items() if len(column) in lengths}
    return (dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True))


def _flat(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row whose nested objects become columns, such as `inputs.question`.

    A message, `{"role": "assistant", "content": "..."}`, becomes its text.
    """
    if not any(isinstance(value, dict) for value in row.values()):
        return row
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if not isinstance(value, dict) or str(name).lower() in COLUMN_NAMES["contexts"]:
            flat[name] = value
            continue
        flat |= {f"{name}.{key}": entry for key, entry in value.items()}
        if text := next((value[key] for key in TEXT_KEYS if isinstance(value.get(key), str)), ""):
            flat[name] = text
    return flat
