"""Harmless departures of a reply from the requested form, read without loss and noted."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any

_departures: ContextVar[set[str] | None] = ContextVar("departures", default=None)

COMMENTS = ("reason", "evidence")
"""Fields that no verdict depends on: null is read as an empty text, a list as its texts."""

_AROUND_WORDS = " \t\r\n.,;:!*_`\"'\u201c\u201d\u2018\u2019"
_NUMBER = re.compile(r"([+-]?\d{1,20}(?:\.\d{1,20})?) ?(%?)")
_LEAST_PERCENT = 10
"""A larger number where a share is expected can only be a percentage; 1 to 10 may be from a scale
of ten."""
_TRUTH = {"true": "yes", "false": "no"}


@contextlib.contextmanager
def watching_departures() -> Iterator[set[str]]:
    """Yield the departures of the replies read inside the context: see `answers.NOTES`."""
    departures = set[str]()
    token = _departures.set(departures)
    try:
        yield departures
    finally:
        _departures.reset(token)


def mark_departure(*names: str) -> None:
    """Record a departure of the reply that is being read."""
    if (departures := _departures.get()) is not None:
        departures.update(names)


def bare_word(text: str) -> str:
    """Return a word in lower case, without the marks around it and with `_` between its parts."""
    return re.sub(r"[\s_-]+", "_", text.strip(_AROUND_WORDS).lower())


def field_name(key: str, names: Mapping[str, Any]) -> str | None:
    """Return the expected name that a key means, in any case; None if it means none."""
    key = key.strip()
    if key in names:
        return key
    meant = [name for name in names if _spelling(name) == _spelling(key)]
    return meant[0] if len(meant) == 1 else None


def _spelling(name: str) -> str:
    return re.sub(r"[\s_-]+", "_", name.casefold())


def conformed(value: Any, schema: Mapping[str, Any], marks: set[str]) -> Any:
    """Return a decoded value adapted to its JSON schema, if only one reading is possible.

    Other values stay unchanged; `marks` receives the departures of the value.
    """
    if "enum" in schema and schema.get("type", "string") == "string":
        return _as_word(value, schema["enum"], marks)
    kind = schema.get("type")
    if kind == "object" and isinstance(value, dict):
        return _as_object(value, schema.get("properties", {}), marks)
    if kind == "array" and isinstance(value, list):
        return [conformed(part, schema.get("items", {}), marks) for part in value]
    if kind in ("number", "integer"):
        return _as_number(value, schema, marks)
    if kind == "boolean" and isinstance(value, str):
        truth = {"true": True, "yes": True, "false": False, "no": False}.get(bare_word(value))
        marks |= set() if truth is None else {"word"}
        return value if truth is None else truth
    return value


def _as_object(value: dict[str, Any], properties: Mapping[str, Any], marks: set[str]) -> Any:
    meant: dict[str, str] = {}
    for key in value:
        name = field_name(key, properties)
        if name is None:
            continue
        if name in meant:
            return value
        meant[name] = key
    read: dict[str, Any] = {}
    for name, key in meant.items():
        marks |= {"fields"} if name != key else set()
        if name in COMMENTS and properties[name].get("type") == "string":
            read[name] = _as_comment(value[key], marks)
        else:
            read[name] = conformed(value[key], properties[name], marks)
    extra = [part for key, part in value.items() if key not in meant.values()]
    if any(_is_other_verdict(part, read, properties) for part in extra):
        return value
    marks |= {"fields"} if extra else set()
    return read


def _as_comment(value: Any, marks: set[str]) -> Any:
    if value is None:
        marks.add("fields")
        return ""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        marks.add("fields")
        return " ".join(value)
    return value


def _is_other_verdict(extra: Any, read: Mapping[str, Any], properties: Mapping[str, Any]) -> bool:
    """Whether an unexpected field contradicts the expected verdict."""
    for name, part in properties.items():
        if "enum" in part and part.get("type", "string") == "string" and name in read:
            word = _as_word(extra, part["enum"], set())
            if isinstance(word, str) and word in part["enum"] and word != read[name]:
                return True
    return False


def _as_word(value: Any, words: list[Any], marks: set[str]) -> Any:
    if isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        return value
    word = bare_word(value)
    word = word if word in words else _TRUTH.get(word, word)
    if word not in words:
        return value
    marks |= {"word"} if value.strip().lower() != word else set()
    return word


def _as_number(value: Any, schema: Mapping[str, Any], marks: set[str]) -> Any:
    number, percent = value, False
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value.strip())
        if match is None:
            return value
        number, percent = float(match[1]), bool(match[2])
    elif isinstance(value, bool) or not isinstance(value, int | float):
        return value
    share = schema.get("type") == "number" and (
        (schema.get("minimum"), schema.get("maximum")) == (0, 1)
    )
    if percent and not share:
        return value
    if percent or (share and _LEAST_PERCENT < number <= 100):
        number, percent = number / 100, True
    if schema.get("type") == "integer":
        if isinstance(number, float) and not number.is_integer():
            return value
        number = int(number)
    if type(number) is not type(value) or percent:
        marks.add("number")
    return number
