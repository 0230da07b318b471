"""Data frames, series and cells of numpy, pandas and polars as plain rows and values of JSON."""

from __future__ import annotations

import ast
import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from pnyx.core.files import clean_value
from pnyx.core.native import garbage_kept

_MIDNIGHT: Final = "T00:00:00"
_LONGEST_LITERAL: Final = 1 << 20
"""Maximum characters of a Python literal: its parser needs a hundred times as much memory."""


def python_literal(text: str, longest: float = _LONGEST_LITERAL) -> Any:
    """Return the value of a text that is a Python literal, else None."""
    if len(text) > longest:
        return None
    try:
        with garbage_kept():
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def frame_rows(
    source: object, id_names: Sequence[str] = ("id",)
) -> Iterable[dict[str, Any]] | None:
    """Return the rows of a data frame (pandas or polars); None if it is not one.

    A named index of pandas is a column. Without a column of `id_names`, an index of distinct texts,
    or a named one of distinct texts or integers, is also a column with the first of these names.
    The row numbers that pandas assigns are ignored.
    """
    if hasattr(source, "iter_rows"):
        rows: Iterable[dict[str, Any]] = source.iter_rows(named=True)
        return rows
    if hasattr(source, "itertuples") and hasattr(source, "columns"):
        return _pandas_rows(source, id_names)
    return None


def _pandas_rows(frame: Any, id_names: Sequence[str]) -> Iterator[dict[str, Any]]:
    names = list(map(str, frame.columns))
    levels = _index_columns(frame.index, names, id_names)
    columns = [*levels, *names]
    rows = zip(*levels.values(), strict=True) if levels else ((),) * len(frame)
    for labels, cells in zip(rows, frame.itertuples(index=False, name=None), strict=True):
        yield dict(zip(columns, (*labels, *cells), strict=True))


def _index_columns(
    index: Any, columns: Sequence[str], id_names: Sequence[str]
) -> dict[str, Sequence[Any]]:
    levels: dict[str, Sequence[Any]] = {
        str(name): index.get_level_values(level)
        for level, name in enumerate(index.names)
        if name is not None and str(name) not in columns
    }
    if index.nlevels == 1 and not {*columns, *levels}.intersection(id_names):
        kind = getattr(index, "inferred_type", "")
        if index.is_unique and (kind == "string" or (levels and kind == "integer")):
            return {id_names[0]: index, **levels}
    return levels


def is_missing(value: object) -> bool:
    """Return whether a cell is empty: None, NaN, NaT or pandas' NA."""
    # NaN and NaT are not equal to themselves; NA cannot be compared.
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def plain_cell(value: Any) -> Any:
    """Return a cell as a JSON value.

    Scalars and arrays of numpy become numbers and lists. Dates and times become text as in ISO
    8601; a time at midnight without a time zone is written as its date alone.
    """
    if isinstance(value, str):
        return clean_value(str(value))  # also one of numpy
    if isinstance(value, Mapping):
        return {str(name): plain_cell(cell) for name, cell in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_cell(cell) for cell in value]
    if type(value).__name__ == "datetime64":
        value = value.astype("datetime64[us]").item()
    if isinstance(value, datetime.datetime):
        return value.isoformat().removesuffix(_MIDNIGHT)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, UUID | Path | datetime.timedelta):
        return str(value)
    if hasattr(value, "tolist"):
        return plain_cell(value.tolist())
    return value


def plain_row(row: Mapping[Any, Any], id_names: Sequence[str] = ()) -> dict[str, Any]:
    """Return a row as JSON values, without empty cells; ids are converted by `plain_id`.

    Columns of ids are `id_names`, `id`, `group`, `annotator`, and those whose names end in `_id`.
    """
    names = (*id_names, "id", "group", "annotator")
    return {
        name: plain_id(cell) if name in names or name.endswith("_id") else plain_cell(cell)
        for name, cell in zip(map(str, row), row.values(), strict=True)
        if not is_missing(cell)
    }


def plain_id(value: Any) -> Any:
    """Return an id: pandas stores integers as 1.0 and 2.0 where a column has an empty cell."""
    value = plain_cell(value)
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return int(value) if whole else value
