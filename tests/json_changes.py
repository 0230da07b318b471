"""Every other JSON that a server could send in place of a good answer, one change at a time."""

from __future__ import annotations

import copy as copying
import json
from collections.abc import Callable, Container, Iterator
from functools import partial
from typing import Any, NamedTuple

OTHERS: dict[str, Any] = {
    "null": None,
    "true": True,
    "number": 7.5,
    "negative": -1,
    "text": "text",
    "list": [],
    "object": {},
}


class Change(NamedTuple):
    """Another answer: what was changed, where in the JSON, and how."""

    kind: str
    place: tuple[str | int, ...]
    content: Callable[[], bytes]


def changes(answer: Any, unread: Container[str] = ()) -> Iterator[Change]:
    """Yield every other answer: each value replaced or dropped, lists cut and in another order.

    Values in objects of these names are left as they are: nothing reads them.
    """
    whole = json.dumps(answer).encode()
    broken = {
        "cut off": whole[: len(whole) // 2],
        "nothing": b"",
        "page": b"<html><body>It works!</body></html>",
        "deep": b"[" * 100_000 + b"]" * 100_000,
        "not UTF-8": b'{"a": "\xff\xfe"}',
    }
    for kind, content in broken.items():
        yield Change(kind, (), partial(bytes, content))
    for place, value in _places(answer, unread):
        for kind, other in _others(value):
            yield Change(kind, place, partial(_with, answer, place, other))
        if place and isinstance(place[-1], str):
            yield Change("dropped", place, partial(_with, answer, place, dropped=True))


def _others(value: Any) -> Iterator[tuple[str, Any]]:
    others = dict(OTHERS)
    if isinstance(value, float):
        others["NaN"] = float("nan")
    if isinstance(value, list) and value:
        others |= {"backwards": value[::-1], "first twice": [value[0], *value]}
        others |= {"without the last": value[:-1], "a list in a list": [value]}
    for kind, other in others.items():
        if type(other) is not type(value) or other != value:
            yield kind, other


def _places(
    value: Any, unread: Container[str], place: tuple[str | int, ...] = ()
) -> Iterator[tuple[Any, Any]]:
    """Yield each value with its place; of a long list, what is in its first and last element."""
    yield place, value
    inner: Any = ()
    if isinstance(value, dict) and not (place and place[-1] in unread):
        inner = value.items()
    elif isinstance(value, list):
        inner = [(key, value[key]) for key in sorted({0, len(value) - 1}) if value]
    for key, part in inner:
        yield from _places(part, unread, (*place, key))


def _with(answer: Any, place: Any, other: Any = None, *, dropped: bool = False) -> bytes:
    if not place:
        return json.dumps(other).encode()
    changed = copying.deepcopy(answer)
    node = changed
    for key in place[:-1]:
        node = node[key]
    if dropped:
        del node[place[-1]]
    else:
        node[place[-1]] = other
    return json.dumps(changed).encode()
