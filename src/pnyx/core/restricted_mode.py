"""Restricted mode (`--no-text`): no text of a document or response is displayed or stored.

It is on for the whole process and its child processes while `PNYX_NO_TEXT` is set. Anything that
may contain text goes through one of three functions: `errors.shorten` (messages), `textless` (rows
of results) and `no_text` (unexpected errors).
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from traceback import extract_tb
from typing import Any

_SWITCH = "PNYX_NO_TEXT"
_FRAMES = 3

_NAMES = frozenset(
    "id task group dimension value judge method prompt_hash asked unscored topic_id run_id doc_id "
    "doc_ids question_id query_id nugget_id node stage".split()
)
"""Fields of an answer that hold names, choices or verdicts; all other text is left out."""
_FIELD = re.compile("[a-z][a-z0-9_-]{0,39}")


class HiddenError(RuntimeError):
    """An unexpected error without its message, which may quote a text."""


def hides_text() -> bool:
    """Return whether restricted mode is on here."""
    return bool(os.environ.get(_SWITCH))


@contextlib.contextmanager
def no_text(*keep: type[Exception]) -> Iterator[None]:
    """Turn restricted mode on; an error other than `keep` becomes a HiddenError."""
    before = os.environ.get(_SWITCH)
    os.environ[_SWITCH] = "1"
    try:
        yield
    except keep:
        raise
    except Exception as error:
        raise HiddenError(_without_message(error)) from None
    finally:
        if before is None:
            del os.environ[_SWITCH]
        else:
            os.environ[_SWITCH] = before


def _without_message(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    frames = extract_tb(error.__traceback__)[-_FRAMES:]
    places = ", ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames))
    return f"{type(error).__name__} at {places}; its message may quote a text and is not shown"


def reason_word(reason: str) -> str:
    """Return the first word of a reason for Unscored; the detail after it may quote a text."""
    word = reason.partition(":")[0]
    return word if _FIELD.fullmatch(word) or not hides_text() else "other"


def textless(value: Any, names: Collection[str] = (), field: str = "") -> Any:
    """Return a JSON value with "" for texts, and without keys, that are not names or choices."""
    if isinstance(value, str):
        if field == "unscored":
            return reason_word(value)
        return value if field in _NAMES or field in names else ""
    if isinstance(value, dict):
        return {k: textless(v, names, k) for k, v in value.items() if _FIELD.fullmatch(k)}
    if isinstance(value, list | tuple):
        return [textless(item, names, field) for item in value]
    return value
