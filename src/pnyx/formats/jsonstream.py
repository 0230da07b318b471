"""Items of one large JSON document, streaming, with the line of each error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pnyx.core.errors import InputError, shorten
from pnyx.core.files import MAX_LINE_BYTES, clean_text, guarded, open_text
from pnyx.formats.base import MAX_DEPTH, Row

_CHUNK = 1 << 16


def scan_items(
    source: str, key: str | None, unit: str, *, members: bool = False
) -> Iterator[Row[Any]]:
    """Yield (number, item) of the list `key`, or of the top level; errors have a line.

    With `members`, yield the (name, value) pairs of the object at the top instead.
    """
    import ijson

    builder = _Builder(key, members=members)
    numbered = size = 0
    line: int | None = None
    try:
        parser = ijson.basic_parse_coro(builder, use_float=True)
        for number, piece in _pieces(source):
            line = number
            parser.send(piece)
            size = 0 if builder.items else size + len(piece)
            if size > MAX_LINE_BYTES and builder.building:
                limit = MAX_LINE_BYTES // (1024 * 1024)
                raise InputError(f"{unit} {numbered + 1} is longer than {limit} MB")
            for item in builder.items:
                numbered += 1
                yield numbered, item
            builder.items.clear()
        line = None
        parser.close()
        builder.check_found()
    except ijson.JSONError as error:
        yield _syntax_error(source, line, error)
    except UnicodeDecodeError:
        yield InputError("found bytes that are not UTF-8", path=source, line=line)
    except ValueError as error:  # an integer of thousands of digits
        yield _syntax_error(source, line, error)
    except InputError as error:
        yield InputError(error.problem, path=source, line=error.line or line)


class _Builder:  # ijson's own `items` takes quadratic memory on nested input
    """The end of an ijson push pipeline: builds the items of one list, rejects deep nesting."""

    def __init__(self, key: str | None, *, members: bool = False) -> None:
        self.items: list[Any] = []
        self._members = members
        self._key = key
        self._home = 1 if key is None else 2  # how many containers enclose an item
        self._depth = 0
        self._top_key: str | None = None
        self._found = False
        self._inside = False  # the wanted list is open
        self._stack: list[Any] = []
        self._keys: list[str] = []  # for each container of the stack, the key last seen in it

    @property
    def _opening(self) -> str:
        return "start_map" if self._members else "start_array"

    @property
    def building(self) -> bool:
        return bool(self._stack) or (self._members and self._inside)

    def send(self, event: tuple[str, Any]) -> None:
        name, value = event
        if isinstance(value, str):
            value = clean_text(value)
        if name in ("start_map", "start_array"):
            self._open(name)
        elif name in ("end_map", "end_array"):
            self._end()
        elif name == "map_key":
            if self._stack:
                self._keys[-1] = value
            elif self._depth == 1:
                self._top_key = value
        elif self._inside:
            self._add(value)

    def _open(self, name: str) -> None:
        if self._depth >= MAX_DEPTH:
            raise InputError(f"nested deeper than {MAX_DEPTH} levels")
        if self._inside:
            self._stack.append({} if name == "start_map" else [])
            self._keys.append("")
        elif name == self._opening and self._depth == self._home - 1:
            self._inside = self._key is None or self._top_key == self._key
            self._found = self._found or self._inside
        self._depth += 1

    def _end(self) -> None:
        self._depth -= 1
        if self._stack:
            self._keys.pop()
            self._add(self._stack.pop())
        elif self._depth < self._home:
            self._inside = False

    def _add(self, value: Any) -> None:
        if not self._stack:
            self.items.append((self._top_key, value) if self._members else value)
        elif isinstance(self._stack[-1], dict):
            self._stack[-1][self._keys[-1]] = value
        else:
            self._stack[-1].append(value)

    def check_found(self) -> None:
        if not self._found:
            whole = "an object" if self._members else "a list"
            what = whole if self._key is None else f'an object with a list "{self._key}"'
            raise InputError(f"expected {what} at the top")

    def close(self) -> None:
        """Required by ijson."""


def _pieces(source: str) -> Iterator[tuple[int, bytes]]:
    """Yield (line, bytes up to the line's end or the next piece of it)."""
    with open_text(source) as stream:
        line = 1
        while piece := guarded(lambda: stream.readline(_CHUNK), source):
            if b"\0" in piece:
                raise InputError("found a NUL byte, expected text", path=source, line=line)
            yield line, piece.removeprefix(b"\xef\xbb\xbf") if line == 1 else piece
            line += piece.endswith(b"\n")


def _syntax_error(source: str, line: int | None, error: Exception) -> InputError:
    if line is None:
        return InputError(f"the JSON ends too early ({_reason(error)})", path=source)
    return InputError(f"not valid JSON ({_reason(error)})", path=source, line=line)


def _reason(error: Exception) -> str:
    """Return the first line of the parser's message; the others draw an arrow under the text."""
    reason: Any = error.args[0] if error.args else type(error).__name__
    if isinstance(reason, bytes):
        reason = reason.decode("utf-8", "replace")
    return shorten(str(reason).partition("\n")[0].strip())


def top_level_keys(head: bytes) -> tuple[str, list[str]]:
    """Return how a JSON text starts (`{` or `[`) and the keys of its first object."""
    import ijson

    # A number too long for Python corrupts ijson 3.6's memory, and the process dies.
    head = re.sub(rb"[0-9]{300,}", b"0", head)
    opening = head.lstrip()[:1].decode("latin-1")
    home = 2 if opening == "[" else 1
    depth, keys = 0, []
    try:
        for event, value in ijson.basic_parse(head, multiple_values=True):
            depth += event in ("start_map", "start_array")
            depth -= event in ("end_map", "end_array")
            if depth == home and event == "map_key":
                keys.append(value)
            if depth < home and event == "end_map":
                break
    except (ijson.JSONError, ValueError):
        pass  # only a look at the beginning; reading the file reports what is broken
    return opening, keys


def scores_or_texts(head: bytes) -> str:
    """Return the kind of the members of the object at the start of a file.

    `scores` are objects of numbers, `grades` objects of integers, `fields` objects of texts (and
    numbers), `texts` are texts; empty if the members differ, or another JSON value follows.
    """
    kinds = set[str]()
    for depth, event, value in _events(head):
        if event == "start_array" or depth > 2 or (depth == 1 and event == "start_map" and kinds):
            return ""
        if event == "number" and depth == 2:
            kinds.add("grades" if isinstance(value, int) else "scores")
        elif event == "string":
            kinds.add("texts" if depth == 1 else "fields")
        elif event not in ("start_map", "end_map", "map_key"):
            return ""
    for mixed in ("fields", "scores"):
        if mixed in kinds and "texts" not in kinds:
            return mixed
    return kinds.pop() if len(kinds) == 1 else ""


def _events(head: bytes) -> Iterator[tuple[int, str, Any]]:
    """Yield the depth of each JSON event, up to where the text is broken or cut off."""
    import ijson

    depth = 0
    try:
        # A number too long for Python corrupts ijson 3.6's memory.
        head = re.sub(rb"[0-9]{300,}", b"0", head)
        for event, value in ijson.basic_parse(head, multiple_values=True, use_float=True):
            depth += event in ("start_map", "start_array")
            yield depth, event, value
            depth -= event in ("end_map", "end_array")
    except (ijson.JSONError, ValueError):
        return  # only a look at the beginning; reading the file reports what is broken
