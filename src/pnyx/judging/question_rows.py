"""Make questions for a judge from dicts or a data frame of items."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from pnyx.core.errors import InputError, shorten
from pnyx.formats.base import located, parse_rows, strict, unique
from pnyx.formats.cells import frame_rows, plain_row
from pnyx.formats.fields import Fields
from pnyx.formats.items import ITEM_FORMATS
from pnyx.formats.rag.rag_files import RAG_SAMPLE
from pnyx.formats.rag.rag_rows import find_columns
from pnyx.judging.answers import QuestionKind
from pnyx.judging.questions import JudgeQuestion
from pnyx.judging.rag.rag_items import RAG_TASKS, read_rag_items
from pnyx.judging.tasks import TASKS, Task

_NAME = "items"
_RECOGNISED = {
    name: TASKS[name]
    for name in "support relevance stance quality preference sides rag ranking".split()
}
"""The tasks that are recognised by their fields; others have the fields of support."""

_EXPECTED = "questions, dicts with the fields of an items file, or a data frame of these"


class Questions(NamedTuple):
    """Questions in the given order; `single`: one item was given rather than a list."""

    questions: list[JudgeQuestion]
    single: bool


def questions_of(source: object, task: str | None = None) -> Questions:
    """Return the questions in `source`, for `pnyx.ask`.

    Items without an id are numbered from 1. Without `task`, the task is recognised from the items'
    fields; support is assumed if several tasks have the same fields. RAG records become one
    question per sentence of an answer, or for `rag` one per answer; records that cannot be judged
    are left out with a warning.

    Args:
        source: a question or several, a dict or several, or a data frame.
        task: name of a task in `TASKS`.

    Raises:
        InputError: the task is unknown, the fields fit no task or several, or an item is invalid.
    """
    if task is not None and task not in TASKS:
        raise InputError(f"task: found {shorten(task, 40)!r}, expected one of: {', '.join(TASKS)}")
    single = isinstance(source, QuestionKind | Mapping)
    items = [source] if single else _items_of(source)
    if not any(isinstance(item, Mapping) for item in items):
        return Questions(_checked(items), single)
    if (rag := _rag_questions(items, task)) is not None:
        return Questions(rag, single=False)
    rows = [
        {"id": str(number)} | plain_row(item) if isinstance(item, Mapping) else item
        for number, item in enumerate(items, start=1)
    ]
    fields = [row for row in rows if isinstance(row, dict)]
    chosen = _task_of(fields) if task is None else TASKS[task]
    parsed = parse_rows(enumerate(rows, start=1), lambda row: _question(row, chosen), _NAME, "row")
    once = unique(parsed, lambda question: question.id, _NAME, unit="row")
    return Questions([question for _, question in strict(once, _NAME, "items")], single)


def _rag_questions(items: Sequence[Any], task: str | None) -> list[JudgeQuestion] | None:
    """Return the questions about RAG records; None if the items are not RAG records."""
    name = task or RAG_TASKS[0]
    if name not in RAG_TASKS or not all(isinstance(item, Mapping) for item in items):
        return None
    if find_columns(items[:RAG_SAMPLE]) is None:
        return None
    rag = read_rag_items(items, name, items=ITEM_FORMATS[TASKS[name].items].required)
    if rag is None:
        return None
    if rag.read.skipped:
        warnings.warn(rag.read.skipped_line(), stacklevel=4)
    return list(rag.questions)


def _items_of(source: object) -> Sequence[Any]:
    if (rows := frame_rows(source)) is not None:
        return list(rows)
    if isinstance(source, Iterable) and not isinstance(source, str | bytes | Path):
        return source if isinstance(source, Sequence) else list(source)
    kind = source if isinstance(source, str | Path) else type(source).__name__
    problem = f"found {shorten(kind, 40)}, expected {_EXPECTED}"
    raise InputError(f"{problem}; read_items(FILE, TASK) reads a file")


def _checked(items: Sequence[Any]) -> list[JudgeQuestion]:
    for number, item in enumerate(items, start=1):
        if not isinstance(item, QuestionKind):
            problem = f"found {shorten(type(item).__name__, 40)}, expected {_EXPECTED}"
            raise located(InputError(problem), _NAME, number, "row")
    return items if isinstance(items, list) else list(items)


def _question(row: Any, task: Task) -> JudgeQuestion:
    if isinstance(row, QuestionKind):
        return cast("JudgeQuestion", row)
    return task.question(Fields(ITEM_FORMATS[task.items].parse(row)))


def _task_of(rows: Sequence[Mapping[str, Any]]) -> Task:
    """Return the task that uses most of the items' fields and whose required fields all exist."""
    fields = {name for row in rows for name in row}
    overlaps: dict[str, int] = {}
    for name, task in _RECOGNISED.items():
        form = ITEM_FORMATS[task.items]
        if fields.issuperset(form.required):
            overlaps[name] = len(fields.intersection((*form.required, *form.optional)))
    best = [name for name, count in overlaps.items() if count == max(overlaps.values())]
    if len(best) == 1:
        return TASKS[best[0]]
    names = ", ".join(shorten(name, 30) for name in list(rows[0])[:8] if name != "id") or "none"
    if best:
        problem = f"the fields {names} are those of {' and '.join(best)}: choose task={best[0]!r}"
        raise InputError(f"{problem} or task={best[1]!r}", path=_NAME)
    listed = "; ".join(
        f"{', '.join(ITEM_FORMATS[task.items].required)} ({name})"
        for name, task in _RECOGNISED.items()
    )
    raise located(InputError(f"found the fields {names}, expected {listed}"), _NAME, 1, "row")
