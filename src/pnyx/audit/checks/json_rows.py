"""Rows of JSON: a list of objects, an object that holds one, an object of columns, JSON Lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pnyx.audit.checks.check_rows import NumberedRow
from pnyx.core.errors import InputError, shorten
from pnyx.core.files import MAX_LINE_BYTES, clean_value

MAX_JSON_BYTES = 8 * MAX_LINE_BYTES
"""Largest JSON document, which is held in memory as a whole."""
_EXPECTED = "a list of objects, an object with one such list, or an object of columns"


def parse_document(text: str) -> Any:
    """Decode a JSON document, NaN and Infinity as null; InputError with the line of the fault."""
    try:
        return clean_value(_loads(text.removeprefix("\ufeff")))
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        problem = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise InputError(f"not valid JSON ({shorten(problem)})", line=line) from error


def json_object(value: Any) -> dict[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def json_objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list; none if the value is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _loads(text: str) -> Any:
    return json.loads(text, parse_constant=lambda _: None)


def json_line_rows(lines: Iterable[str], faults: list[str]) -> Iterator[NumberedRow]:
    """Yield the objects of JSON Lines; add a problem to `faults` for each other line."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = clean_value(_loads(line.removeprefix("\ufeff")))
        except (ValueError, RecursionError):
            faults.append(f"line {number}: not valid JSON")
            continue
        if isinstance(value, dict):
            yield number, value
        else:
            faults.append(f"line {number}: found {shorten(value, 40)}, expected a JSON object")


def json_rows(value: Any) -> Iterator[dict[str, Any]]:
    """Return the rows of a JSON document; InputError if it has none."""
    if isinstance(value, dict):
        return _rows_of_object(value)
    if isinstance(value, list):
        return _rows_of_list(value)
    raise InputError(f"found {shorten(value, 40)}, expected {_EXPECTED}")


def _rows_of_list(items: list[Any]) -> Iterator[dict[str, Any]]:
    for number, item in enumerate(items, start=1):
        if not isinstance(item, dict):
            raise InputError(f"item {number}: found {shorten(item, 40)}, expected an object")
        yield item


def _rows_of_object(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    names, data = value.get("columns"), value.get("data")
    if isinstance(names, list) and isinstance(data, list) and all(type(r) is list for r in data):
        return (dict(zip(map(str, names), row, strict=False)) for row in data)  # of pandas
    lists = [
        name
        for name, entry in value.items()
        if isinstance(entry, list) and entry and all(isinstance(item, dict) for item in entry)
    ]
    if len(lists) == 1:
        return _rows_of_list(value[lists[0]])
    if len(lists) > 1:
        first = ", ".join(shorten(name, 30) for name in lists[:6])
        raise InputError(f"holds several lists of objects ({first}), expected one")
    if value and all(isinstance(entry, dict) for entry in value.values()):
        return rows_of_objects(value)
    if value and all(isinstance(entry, list) for entry in value.values()):
        return rows_of_columns(value)
    if any(isinstance(entry, list | dict) for entry in value.values()):
        first = ", ".join(shorten(name, 30) for name in list(value)[:8])
        raise InputError(f"found an object with {first}, expected {_EXPECTED}")
    return iter([value] if value else [])


def rows_of_objects(value: Mapping[Any, Mapping[Any, Any]]) -> Iterator[dict[str, Any]]:
    """Return the rows of a dict of dicts: column -> id -> cell, or id -> column -> cell.

    The outer keys are columns if they are fewer than the inner ones, or if these are row numbers.
    """
    keys = dict.fromkeys(key for entry in value.values() for key in entry)
    if len(value) < len(keys) or all(str(key).isdigit() for key in keys):
        rows = ({str(name): entry.get(key) for name, entry in value.items()} for key in keys)
        return ({"id": str(key), **row} for key, row in zip(keys, rows, strict=True))
    return ({"id": str(key), **{str(name): cell for name, cell in entry.items()}}
            for key, entry in value.items())  # fmt: skip


def rows_of_columns(columns: Mapping[Any, Any]) -> Iterator[dict[str, Any]]:
    """Return the rows of a dict of columns, each a list or an array; InputError for others."""
    if columns and all(isinstance(column, Mapping) for column in columns.values()):
        return rows_of_objects(columns)
    cells: dict[str, Sequence[Any]] = {}
    for name, column in columns.items():
        if isinstance(column, str | bytes) or not isinstance(column, Iterable):
            problem = f"found {shorten(column, 40)}, expected a list of cells"
            raise InputError(f"column {shorten(name, 40)!r}: {problem}")
        cells[str(name)] = list(column)
    sizes = {name: len(values) for name, values in cells.items()}
    if len(set(sizes.values())) > 1:
        first = ", ".join(f"{shorten(name, 30)} {size}" for name, size in list(sizes.items())[:5])
        raise InputError(f"columns have different lengths ({first})")
    return (dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True))
