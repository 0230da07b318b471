"""The fields of the setting `request`, which are added to each request to a language model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pnyx.core.errors import InputError, OptionError, escaped, shorten
from pnyx.core.files import guarded, open_text
from pnyx.models.http.dialect import OWN_FIELDS

_MAX_BYTES = 64 * 1024
_SECRET = re.compile(r"(?:^|[_-])(?:api[_-]?key|authorization|password|secret|bearer)\Z", re.I)
_OPTIONS = {
    "temperature": "--set temperature",
    "max_tokens": "--set max-tokens",
    "max_completion_tokens": "--set max-tokens",
    "model": "--judge or --llm",
}


def read_request_fields(text: str) -> dict[str, Any]:
    """Read the fields from JSON text, or from a file that contains it.

    Raises:
        OptionError: the JSON is not an object of fields that a user can set.
        InputError: the file cannot be read, or has other content.
    """
    if text.lstrip().startswith("{"):
        problem = _problem(value := _decoded(text))
        if problem:
            raise OptionError(f"--set request: {problem}")
        return dict(value)
    with open_text(text) as stream:
        content: bytes = guarded(lambda: stream.read(_MAX_BYTES + 1), text)
    if len(content) > _MAX_BYTES:
        raise InputError(f"is longer than {_MAX_BYTES // 1024} KB", path=text)
    problem = _problem(value := _decoded(content.decode("utf-8", "replace")))
    if problem:
        raise InputError(f"--set request: {problem}", path=text)
    return dict(value)


def _decoded(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return text


def _problem(value: Any) -> str:
    """Return what is wrong with decoded fields, or an empty text."""
    if not isinstance(value, dict):
        return (
            f"found {shorten(escaped(str(value), 60))}, expected a JSON object of fields, such as "
            """'{"reasoning_effort": "low"}'"""
        )
    for name in value:
        if name in OWN_FIELDS:
            instead = f"use {_OPTIONS[name]}" if name in _OPTIONS else "Pnyx sets it itself"
            return f"{name} cannot be set here: {instead}"
    for name in _names(value):
        if _SECRET.search(name):
            return f"{escaped(name, 40)} looks like a secret: set PNYX_API_KEY instead"
    return ""


def _names(value: Any) -> Iterator[str]:
    """Yield the names of all fields, at any depth."""
    parts: list[Any] = [value]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            yield from part
        if isinstance(part, dict | list):
            parts += part.values() if isinstance(part, dict) else part
