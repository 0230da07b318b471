"""Typed access to the fields of a decoded JSON object; InputErrors state found and expected."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pnyx.core.errors import InputError, shorten


def unlike(value: Any, name: str, expected: str) -> InputError:
    """Return the error for an unexpected value; an empty name is left out."""
    return InputError(f"{name}{name and ': '}found {shorten(value, 40)}, expected {expected}")


@contextmanager
def within(where: str) -> Iterator[None]:
    """Put a place before the problem of an InputError."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{where}: {error.problem}") from error


def string(value: Any, name: str) -> str:
    """Return `value` if it is text; else InputError."""
    if isinstance(value, str):
        return value
    raise unlike(value, name, "text")


def a_list(value: Any, name: str, expected: str = "a list") -> list[Any]:
    """Return `value` if it is a list; else InputError."""
    if isinstance(value, list):
        return value
    raise unlike(value, name, expected)


def an_object(value: Any, name: str = "", expected: str = "an object") -> dict[str, Any]:
    """Return `value` if it is a JSON object; else InputError."""
    if isinstance(value, dict):
        return value
    raise unlike(value, name, expected)


def number(value: Any, name: str) -> float:
    """Return `value` if it is a finite number and not a bool; else InputError."""
    # Compared without conversion: an integer of hundreds of digits does not fit a float.
    if (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) <= sys.float_info.max
    ):
        return value
    raise unlike(value, name, "a finite number")


class Fields:
    """The fields of one object, taken one after the other; the others remain in `rest`."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        self.rest = dict(row)

    def take(self, *names: str) -> Any:
        """Remove and return the first of these fields that is not null, else None."""
        for name in names:
            if self.rest.get(name) is not None:
                return self.rest.pop(name)
        for name in names:
            self.rest.pop(name, None)
        return None

    def text(self, *names: str) -> str:
        """Return the first field of `names` that is not blank, or an empty string."""
        for name in names:
            if self.rest.get(name) is None or self.rest[name] == "":
                self.rest.pop(name, None)
            elif string(self.rest[name], name).strip() or len(names) == 1:
                return str(self.rest.pop(name))
        return ""

    def required(self, *names: str) -> str:
        """Like `text`, but one must not be blank."""
        present = next((n for n in names if n in self.rest), None)
        value = self.text(*names)
        if value.strip():
            return value
        if present is not None:
            raise InputError(f"{present} is empty")
        names_found = ", ".join(shorten(name, 30) for name in list(self.rest)[:8]) or "none"
        raise InputError(f"no {' or '.join(names[:3])} (fields found: {names_found})")

    def identifier(self, *names: str) -> str:
        """Return a required id; an integer becomes its digits."""
        for name in names:
            value = self.rest.get(name)
            if isinstance(value, int) and not isinstance(value, bool):
                self.rest[name] = str(value)
        return self.required(*names)

    def choice(self, name: str, options: Collection[str]) -> str | None:
        """Return a field that must be one of `options` in any case, or None if there is none."""
        value = self.take(name)
        if value is None or value == "":
            return None
        lowered = value.lower() if isinstance(value, str) else None
        if lowered not in options:
            raise unlike(value, name, f"one of {', '.join(options)}")
        return lowered

    def listed(self, name: str, expected: str = "a list") -> list[Any]:
        """Return a field that must be a list; empty if there is none."""
        value = self.take(name)
        return [] if value is None else a_list(value, name, expected)

    def strings(self, name: str) -> tuple[str, ...]:
        """Return a field that must be a list of text; empty if there is none."""
        texts = enumerate(self.listed(name, "a list of text"))
        return tuple(string(v, f"{name}[{i}]") for i, v in texts)


def merged(fields: Mapping[str, Any], extra: Mapping[str, Any], reserved: Iterable[str]) -> Any:
    """Return `fields` followed by `extra`, rejecting an extra that the reader takes for a field."""
    clash = sorted({*reserved, *fields}.intersection(extra))
    if clash:
        record_id = shorten(str(fields.get("id", fields.get("_id", "?"))))
        names = ", ".join(clash)
        raise InputError(f"{record_id!r}: the format cannot hold an unknown field named {names}")
    return {**fields, **extra}


def rename(
    row: Mapping[str, Any],
    columns: Mapping[str, str],
    path: str | None = None,
    line: int | None = None,
) -> dict[str, Any]:
    """Apply a column mapping (Pnyx field -> the file's name for it) to one row."""
    result = dict(row)
    values = {}
    for field, column in columns.items():
        if column not in result:
            names_found = ", ".join(shorten(name, 30) for name in list(row)[:12])
            problem = f"no column {shorten(column, 40)!r} (found: {names_found})"
            raise InputError(problem, path=path, line=line)
        values[field] = row[column]
    for column in columns.values():
        result.pop(column, None)
    return {**result, **values}
