"""Rows of JSON values as Parquet, in and out, streaming (`pip install 'pnyx[tables]'`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, cast

from pnyx.errors import InputError, MissingExtra, shorten
from pnyx.files import atomic_text, clean_value

__all__ = ["read_parquet", "require_parquet", "write_parquet"]

_AT_ONCE = 16_384
"""Rows of a row group: what is held in memory."""
_INT64 = 1 << 63


def require_parquet() -> None:
    """Raise MissingExtra unless Parquet can be read and written."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise MissingExtra("Parquet", "tables") from error


def write_parquet(
    path: str | Path,
    rows: Callable[[], Iterable[Mapping[str, Any]]],
    types: Mapping[str, type],
) -> None:
    """Write rows as one Parquet file, all or nothing.

    Args:
        path: the file.
        rows: called twice, since a column's type is that of all its values.
        types: column -> its type (str, bool, int or float) where it is fixed. Other columns have
            the type of their values; mixed types, lists and objects become text that holds JSON.
    """
    require_parquet()
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {**dict.fromkeys(types), **_columns(rows())}
    columns |= dict(types)
    arrow = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    schema = pa.schema([(name, arrow[kind or str]) for name, kind in columns.items()])
    with atomic_text(path) as stream:
        binary = cast("Any", stream).buffer
        with pq.ParquetWriter(binary, schema, compression="zstd") as writer:
            waiting = iter(rows())
            while some := list(islice(waiting, _AT_ONCE)):
                cells = {name: [_cell(r.get(name), k) for r in some] for name, k in columns.items()}
                writer.write_table(pa.Table.from_pydict(cells, schema=schema))


def read_parquet(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (1-based row number, row) of a Parquet file, streaming."""
    require_parquet()
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(path) as opened:
            for batch in opened.iter_batches(_AT_ONCE):
                for row in batch.to_pylist():
                    number += 1
                    yield number, clean_value(row)
    except (OSError, ValueError, OverflowError, pa.ArrowException) as error:
        # Also text that is not UTF-8, and dates that Python has no name for.
        raise InputError(f"cannot be read as Parquet: {shorten(str(error))}", path=path) from error


def _columns(rows: Iterable[Mapping[str, Any]]) -> dict[str, type | None]:
    """Return the type of each column, text where its values differ, None without any value."""
    found: dict[str, type | None] = {}
    for row in rows:
        for name, value in row.items():
            kind = _kind(value)
            before = found.setdefault(name, kind)
            if kind is None or kind is before:
                continue
            if before is None or {kind, before} == {int, float}:
                found[name] = kind if before is None else float
            else:
                found[name] = str
    return found


def _kind(value: Any) -> type | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return bool
    if isinstance(value, int):
        return int if -_INT64 <= value < _INT64 else str
    return float if isinstance(value, float) else str


def _cell(value: Any, kind: type | None) -> Any:
    if value is None or kind in (bool, int):
        return value
    if kind is float:
        return float(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
