"""The items that a judge was asked about, from the file that its results name.

A results folder may come from a stranger and name any file, so a file's texts are shown only where
they are the very items that were judged: their SHA-256 is in the manifest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pnyx.errors import PnyxError
from pnyx.judge.tasks import TASKS
from pnyx.restricted import hides_text

if TYPE_CHECKING:
    from pnyx.judge.questions import JudgeQuestion
    from pnyx.serve.inspecting.records import Source

_LARGEST: Final = 128 * 1024 * 1024
"""Bytes of an items file that is still read to be shown."""

_NAMES: Final = {"text": "text", "query": "question", "a": "first", "b": "second"}
_OTHERS: Final = ("question", "guideline", "criterion")


def item_texts(source: Source, item: str) -> list[tuple[str, str]]:
    """Return what an item of a source is made of: (what it is, text), what is judged first.

    Empty where the file is not there any more, or does not hold the items that were judged.
    """
    told, digest = source.about.get("items"), source.about.get("items_sha256")
    named = told.get("path") if isinstance(told, Mapping) else None
    known = isinstance(named, str) and isinstance(digest, str) and source.task in TASKS
    if not known or hides_text() or "\0" in str(named):
        return []
    folder = Path(source.path)
    for path in (Path(str(named)), folder.parent / str(named), folder / Path(str(named)).name):
        if path.is_file() and path.stat().st_size <= _LARGEST:
            status = path.stat()
            found = _items(str(path), status.st_mtime_ns, source.task, str(digest)).get(item)
            return [] if found is None else _texts(found)
    return []


@lru_cache(maxsize=4)
def _items(path: str, _changed: int, task: str, digest: str) -> dict[str, JudgeQuestion]:
    from pnyx.runs.engine import item_bytes

    try:
        questions = TASKS[task].read(path)
    except PnyxError:
        return {}
    found = hashlib.sha256()
    for question in questions:
        found.update(item_bytes(question))
    return {one.id: one for one in questions} if found.hexdigest() == digest else {}


def _texts(question: Any) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name in dict.fromkeys((*question.judged, *_OTHERS, "documents")):
        value = getattr(question, name, "")
        several = list(value) if isinstance(value, tuple) else [value]
        label = name.removesuffix("s") if isinstance(value, tuple) else _NAMES.get(name, name)
        for n, text in enumerate(several, 1):
            if isinstance(text, str) and text.strip():
                found.append((f"{label} {n}" if isinstance(value, tuple) else label, text))
    return found
