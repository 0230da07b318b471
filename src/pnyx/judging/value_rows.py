"""Verdicts and labels in memory: dicts, lists, arrays, series and data frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, count
from typing import Any, Final

from pnyx.core.errors import InputError, shorten
from pnyx.formats.base import located
from pnyx.formats.cells import frame_rows, is_missing, plain_row
from pnyx.formats.label_words import GRADE_WORDS

_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "answers": ("value", "verdict"),
    "labels": ("value", "label"),
}
"""Form of rows -> possible names of the value column; the first existing one counts."""
_EMPTY: Final = object()
_EXPECTED: Final = "a file, id -> value, a list of values, rows with id and value, or a data frame"
_ELSE: Final = "Tables with other columns: pnyx.check(TABLE, judge=COLUMN, human=COLUMN)"


def value_rows(source: object, form: str, task: str | None = None) -> list[Any]:
    """Return values in memory as rows of `form`; answers and verdicts are unchanged.

    Values, and rows without any id, are numbered from 1. The ids of a series are its index, unless
    these are pandas's default row numbers. Answers without a value are unscored; labels without one
    are left out.

    Args:
        source: id -> value; values, in a list, an array or a series; rows; a data frame.
        form: "answers" or "labels".
        task: the task of the answers; by default quality (ratings) if a number is above 1 or below
            0, else support.

    Raises:
        InputError: the source has another type, or a value does not fit the task.
    """
    items = list(_items(source))
    rows = [plain_row(item) if isinstance(item, Mapping) else item for item in items]
    fields = [(number, row) for number, row in enumerate(rows, 1) if isinstance(row, dict)]
    if not fields:
        return rows
    columns = dict.fromkeys(
        str(name) for item in items if isinstance(item, Mapping) for name in item
    )
    has_ids = any("id" in row for _, row in fields)
    names = _VALUES[form]
    value = next((name for name in names if name in columns), None)
    if value is None:
        listed = ", ".join(shorten(name, 30) for name in columns) or "none"
        problem = f"found the fields {listed}, expected {' or '.join(names)}. {_ELSE}"
        raise InputError(problem, path="rows")
    for number, row in fields:
        row["value"] = row.pop(value, None)
        if not has_ids:
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
    """Return rows as `value_rows` does, but stream rows that have the `form` already."""
    if isinstance(source, Mapping | str) or not isinstance(source, Iterable):
        return value_rows(source, form, task)
    items = iter(source)
    first = next(items, _EMPTY)
    if first is _EMPTY:
        return ()
    needed = {"id", "value", "task"} if form == "answers" else {"id", "value"}
    is_row = needed.issubset(first) if isinstance(first, Mapping) else not _is_value(first)
    rest = chain([first], items) if items is source else source
    return rest if is_row and frame_rows(source) is None else value_rows(rest, form, task)


def joined_values(answers: Any, labels: Any) -> tuple[Any, Any]:
    """Return answers and labels in forms that can be joined.

    Two pandas series are joined by index. A list of values is joined by position, also with a
    series, regardless of its index.

    Raises:
        InputError: lists of values have different lengths, or an index has a label twice.
    """
    if not _holds_values(answers) or not _holds_values(labels):
        return answers, labels
    if _index_of(answers) is not None and _index_of(labels) is not None:
        return series_by_index(answers=answers, labels=labels)
    if len(answers) != len(labels):
        raise InputError(
            f"found {len(answers)} answers and {len(labels)} labels, expected as many: lists are "
            "joined by position (None: no label), dicts of id -> value by id"
        )
    return list(answers), list(labels)


def series_by_index(**sources: Any) -> tuple[Any, ...]:
    """Return pandas series as index -> value, unless they have default row numbers.

    If one of the sources is not a series, all are returned unchanged.
    """
    indexes = [_index_of(source) for source in sources.values()]
    if None in indexes or all(map(_is_row_numbers, indexes)):
        return tuple(sources.values())
    return tuple(_by_index(series, name) for name, series in sources.items())


def plain_values(source: Any) -> Any:
    """Return a series or an array of values as a list, a series with ids as id -> value.

    Other sources are returned unchanged. InputError: a label of the index occurs twice.
    """
    if not _holds_values(source):
        return source
    index = _index_of(source)
    if index is not None and not _is_row_numbers(index):
        return _by_index(source, "values")
    return source.tolist() if hasattr(source, "tolist") else list(source)


def _holds_values(source: Any) -> bool:
    """Return whether a collection has values: not rows, answers, or id -> value."""
    if not isinstance(source, Collection) or isinstance(source, str | Mapping | set | frozenset):
        return False
    return frame_rows(source) is None and _is_value(next(iter(source), {}))


def _items(source: object) -> Iterable[Any]:
    if (rows := frame_rows(source)) is not None:
        return rows
    if isinstance(source, Mapping):
        return ({"id": key, "value": value} for key, value in source.items())
    if not isinstance(source, Iterable) or isinstance(source, str | bytes | set | frozenset):
        raise InputError(f"found {shorten(type(source).__name__, 40)}, expected {_EXPECTED}")
    index = _index_of(source)
    ids = count(1) if index is None or _is_row_numbers(index) else index
    return (
        {"id": key, "value": item} if _is_value(item) else item
        for key, item in zip(ids, source, strict=False)
    )


def _index_of(source: Any) -> Sequence[Any] | None:
    """Return the index of a pandas series; None for others."""
    index: Any = getattr(source, "index", None)  # lists have a method of this name
    is_series = hasattr(source, "to_frame") and index is not None and not callable(index)
    return list(index) if is_series else None


def _is_row_numbers(index: Sequence[Any] | None) -> bool:
    return index is None or index == list(range(len(index)))


def _by_index(series: Any, name: str) -> Mapping[Any, Any]:
    """Return index -> value; InputError if a label of the index occurs twice."""
    values = dict(zip(series.index, series, strict=True))
    if len(values) < len(series):
        twice = Counter(series.index).most_common(1)[0][0]
        raise InputError(f"{name}: the index has {shorten(repr(twice), 40)} twice, expected once")
    return values


def _is_value(item: Any) -> bool:
    is_scalar = hasattr(item, "item") and not getattr(item, "shape", ())  # of numpy
    return is_missing(item) or isinstance(item, str | int | float) or is_scalar


def _task_of(values: Iterable[Any]) -> str:
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    return "quality" if any(not 0 <= number <= 1 for number in numbers) else "support"


def yes_no_of(value: Any) -> Any:
    """Return yes and no, as words or as 1 and 0, as True and False; other values unchanged."""
    if isinstance(value, str):
        grade = GRADE_WORDS.get(value.strip().lower())
        return value if grade is None else grade > 0
    return bool(value) if isinstance(value, int | float) and value in (0, 1) else value


def _yes_no(value: Any, number: int) -> bool | None:
    answer = yes_no_of(value)
    if answer is None or isinstance(answer, bool):
        return answer
    problem = (
        f"value: found {shorten(repr(value), 40)}, expected yes or no, true or false, 1 or 0 "
        "(ratings: task='quality'; a probability has its own field). Other words: pnyx.check"
    )
    raise located(InputError(problem), "rows", number, "row")
