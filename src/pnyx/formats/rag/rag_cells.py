"""Cells of RAG rows: contexts as lists, as lists written as text, or as one text; questions."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from pnyx.core.files import clean_text
from pnyx.formats.cells import is_missing, python_literal

TEXT_KEYS = ("text", "content", "page_content", "passage", "document", "contents", "body", "chunk")
"""Usual names of the text of a context that is an object; the first one with a text is used."""

USER_ROLES, ASSISTANT_ROLES = ("user", "human"), ("assistant", "ai")
"""Roles of the messages in a conversation that ask, and that answer."""

_PYTHON_STRING = re.compile(r"""'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+\"""", re.DOTALL)
_BETWEEN = re.compile(r"(?:[\s,]|\b(?:None|nan|null)\b)*+")
_ARRAY = re.compile(
    r"\s*(?:np\.|numpy\.)?array\(\s*(?P<list>\[.*\])\s*(?:,[^\[\]]*)?\)\s*", re.DOTALL
)
_NOTHING = frozenset({"", "nan", "none", "null", "<na>"})
"""Empty cells, including the forms written by programs that turn every cell into text."""
_MOST_DEPTH = 4
"""Levels of lists and objects in which the text of a context is sought."""


def contexts_of(value: Any) -> tuple[str, ...]:
    """Return the texts of a cell of contexts, without blank ones.

    The cell contains a list (of texts, or of objects with a text), an object (with a text, or of
    texts by id), one text, or a list written as JSON or as Python or NumPy prints it.
    """
    if is_blank(value):
        return ()
    if isinstance(value, str):
        listed = _written_list(value)
        value = [value] if listed is None else listed
    return tuple(text for text in _texts(value, 0) if text.strip())


def text_of_cell(value: Any, roles: Collection[str] = USER_ROLES) -> str | None:
    """Return the text of a cell, which may be empty; None if it is not one text.

    A list of messages counts as its last one with one of the roles, else its last one.
    """
    if is_blank(value):
        return ""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return clean_text(value if isinstance(value, str) else str(value))
    if isinstance(value, list) and value and all(isinstance(turn, dict) for turn in value):
        turns = [turn for turn in value if turn.get("role", turn.get("type")) in roles]
        content = (turns or value)[-1].get("content")
        return clean_text(content) if isinstance(content, str) else None
    if isinstance(value, list | tuple) and len(value) == 1:
        return text_of_cell(value[0], roles)
    return None


def is_blank(value: Any) -> bool:
    """Return whether a cell is empty: null or NaN, also as text, or an empty text or list."""
    if isinstance(value, str):
        return value.strip().lower() in _NOTHING
    return is_missing(value) or (isinstance(value, list | tuple | dict) and not value)


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield clean_text(value)
    elif hasattr(value, "tolist"):  # an array
        yield from _texts(value.tolist(), depth)
    elif depth < _MOST_DEPTH and isinstance(value, Mapping):
        named = (value[key] for key in TEXT_KEYS if isinstance(value.get(key), str))
        text = next(named, None)
        yield from _texts(list(value.values()) if text is None else text, depth + 1)
    elif depth < _MOST_DEPTH and isinstance(value, Iterable):
        for item in value:
            yield from _texts(item, depth + 1)


def _written_list(text: str) -> list[Any] | None:
    """Return the list that a text represents, or None if it is not a list."""
    stripped = text.strip()
    array = _ARRAY.fullmatch(stripped) if stripped.endswith(")") else None
    stripped = array["list"] if array else stripped
    if stripped[:1] + stripped[-1:] not in ("[]", "{}"):
        return None
    try:
        value = json.loads(stripped)
    except (ValueError, RecursionError):
        value = _quoted(stripped[1:-1]) if stripped[0] == "[" else None
        value = python_literal(stripped) if value is None else value
        value = [value] if isinstance(value, dict) else value
        return value if isinstance(value, list) else None
    return value if isinstance(value, list) else [value]


def _quoted(text: str) -> list[str] | None:
    """Return the quoted texts of a list printed by Python or NumPy, with or without commas."""
    texts = []
    at = _end(_BETWEEN.match(text))
    while at < len(text):
        string = _PYTHON_STRING.match(text, at)
        if string is None:
            return None
        value = python_literal(_on_one_line(string.group()), longest=math.inf)
        if value is None:
            return None
        texts.append(value)
        at = _end(_BETWEEN.match(text, string.end()))
    return texts


def _on_one_line(literal: str) -> str:
    """Return a string literal with escaped line breaks, which cells contain unescaped."""
    return literal.replace("\r", "\\r").replace("\n", "\\n").replace("\0", "\\0")


def _end(match: re.Match[str] | None) -> int:
    return 0 if match is None else match.end()
