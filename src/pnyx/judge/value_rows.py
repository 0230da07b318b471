"""Verdicts and labels that a program has: dicts, lists, arrays, series and data frames."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from pnyx.corpora.base import located
from pnyx.corpora.benchmarks.label_words import GRADE_WORDS
from pnyx.corpora.cells import frame_rows, is_missing, plain_row
from pnyx.errors import InputError, shorten

_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "answers": ("value", "verdict"),
    "labels": ("value", "label"),
}
"""Form of rows -> names of the column that holds what is said; the first that is there counts."""
_EXPECTED: Final = "a file, id -> value, a list of values, rows with id and value, or a data frame"
_ELSE: Final = "Tables with other columns: pnyx.check(TABLE, judge=COLUMN, human=COLUMN)"


def value_rows(source: object, form: str, task: str | None = None) -> list[Any]:
    """Return what is in memory as rows of `form`; answers and verdicts stay as they are.

    Values, and rows of which none has an id, are numbered from 1; the index of a series has its
    ids, unless it is the row numbers that pandas assigns. Answers without a value are unscored;
    labels without one are left out.

    Args:
        source: id -> value; values, in a list, an array or a series; rows; a data frame.
        form: "answers" or "labels".
        task: what the answers are about; by default quality (ratings) if a number is above 1 or
            below 0, else support.

    Raises:
        InputError: it is none of these, or a value is none of the task.
    """
    rows = [plain_row(item) if isinstance(item, Mapping) else item for item in _items(source)]
    fields = [(number, row) for number, row in enumerate(rows, 1) if isinstance(row, dict)]
    if not fields:
        return rows
    known = dict.fromkeys(name for _, row in fields for name in row)
    names = _VALUES[form]
    value = next((name for name in names if name in known), None)
    if value is None:
        found = ", ".join(shorten(name, 30) for name in known) or "none"
        problem = f"found the fields {found}, expected {' or '.join(names)}. {_ELSE}"
        raise InputError(problem, path="rows")
    for number, row in fields:
        row["value"] = row.pop(value, None)
        if "id" not in known:
            row["id"] = str(number)
    if form == "labels":
        return [row for row in rows if not isinstance(row, dict) or row["value"] is not None]
    task = task or _task_of([row["value"] for _, row in fields])
    for number, row in fields:
        if "task" not in row:
            reason = "no verdict" if row["value"] is None else None
            row |= {"unscored": reason, "judge": "", "task": task, **row}
            if task != "quality":
                row["value"] = _yes_no(row["value"], number)
    return rows


def rows_in_form(source: Any, form: str, task: str | None = None) -> Iterable[Any]:
    """Return what is in memory as `value_rows` does; rows that are of `form` already, streaming."""
    if isinstance(source, Mapping | str) or not isinstance(source, Iterable):
        return value_rows(source, form, task)
    items = iter(source)
    first = next(items, None)
    if first is None:
        return items if items is source else source
    needed = {"id", "value", "task"} if form == "answers" else {"id", "value"}
    is_row = needed.issubset(first) if isinstance(first, Mapping) else not _is_value(first)
    rest = chain([first], items) if items is source else source
    return rest if is_row and frame_rows(source) is None else value_rows(rest, form, task)


def check_lengths(answers: Any, labels: Any) -> None:
    """Raise InputError for lists of values, which are joined by position, of different lengths."""
    lists = [one for one in (answers, labels) if isinstance(one, Collection)
             and not isinstance(one, str | Mapping) and frame_rows(one) is None]  # fmt: skip
    if len(lists) < 2 or any(not _is_value(next(iter(one), {})) for one in lists):
        return
    counts = [len(one) for one in lists]
    if counts[0] != counts[1] and not any(map(_series_ids, lists)):
        raise InputError(
            f"found {counts[0]} answers and {counts[1]} labels, expected as many: lists are joined "
            "by position, dicts of id -> value by id"
        )


def _items(source: object) -> Iterable[Any]:
    if (rows := frame_rows(source)) is not None:
        return rows
    if isinstance(source, Mapping):
        return ({"id": key, "value": value} for key, value in source.items())
    if not isinstance(source, Iterable) or isinstance(source, str | bytes | set | frozenset):
        raise InputError(f"found {shorten(type(source).__name__, 40)}, expected {_EXPECTED}")
    ids = _series_ids(source)
    return (
        {"id": ids[number - 1] if ids else str(number), "value": item} if _is_value(item) else item
        for number, item in enumerate(source, start=1)
    )


def _series_ids(source: Any) -> Sequence[Any]:
    """Return the index of a series of pandas; nothing for others, or where it is row numbers."""
    index = getattr(source, "index", None)
    if not hasattr(source, "to_frame") or index is None or callable(index):
        return ()
    ids = list(index)
    return () if ids == list(range(len(ids))) else ids


def _is_value(item: Any) -> bool:
    return is_missing(item) or isinstance(item, str | int | float) or hasattr(item, "item")


def _task_of(values: Iterable[Any]) -> str:
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    return "quality" if any(not 0 <= number <= 1 for number in numbers) else "support"


def yes_no_of(value: Any) -> Any:
    """Return yes and no, as words or as 1 and 0, as True and False; other values as they are."""
    if isinstance(value, str):
        grade = GRADE_WORDS.get(value.strip().lower())
        return value if grade is None else grade > 0
    return bool(value) if isinstance(value, int | float) and value in (0, 1) else value


def _yes_no(value: Any, number: int) -> bool | None:
    said = yes_no_of(value)
    if said is None or isinstance(said, bool):
        return said
    problem = (
        f"value: found {shorten(repr(value), 40)}, expected yes or no, true or false, 1 or 0 "
        "(ratings: task='quality'; a probability is a field of its own). Other words: pnyx.check"
    )
    raise located(InputError(problem), "rows", number, "row")
