"""Which values count as yes or as no, as the user says: `--yes "4,5"`, `--yes "score>=0.5"`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pnyx.audit.checks.answer_words import AnswerCell, normal_word, number_of
from pnyx.core.errors import InputError, shorten

_COMPARE: Final[dict[str, Callable[[float, float], bool]]] = {
    "": operator.eq,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_BOUND: Final = re.compile(r"\s*+(>=|<=|>|<)\s*+(\S(?:.*\S)?)\s*+")


@dataclass(frozen=True, slots=True)
class Value:
    """A value, or a bound on numbers, that counts as yes or as no.

    Attributes:
        text: as the user wrote it.
        column: the only column that it is for; empty: every column of verdicts and labels.
    """

    text: str
    column: str = ""
    word: str = ""
    number: float | None = None
    comparison: str = ""

    def matches(self, cell: AnswerCell) -> bool:
        """Return whether a cell has this value."""
        if self.number is None:
            return cell.number is None and cell.word == self.word
        return cell.number is not None and _COMPARE[self.comparison](cell.number, self.number)


@dataclass(frozen=True, slots=True)
class Choices:
    """The values that count as yes, and as no, in one column."""

    yes: tuple[Value, ...] = ()
    no: tuple[Value, ...] = ()

    @property
    def values(self) -> tuple[Value, ...]:
        """All of them."""
        return (*self.yes, *self.no)

    @property
    def for_column(self) -> bool:
        """Whether the values name the column."""
        return any(value.column for value in self.values)

    @property
    def on_numbers(self) -> bool:
        """Whether some value is a number or a bound."""
        return any(value.number is not None for value in self.values)

    @property
    def has_bound(self) -> bool:
        """Whether some value is a bound."""
        return any(value.comparison for value in self.values)

    def truth(self, cell: AnswerCell) -> bool | None:
        """Return the answer in a cell; None if it has none of the values."""
        yes = any(value.matches(cell) for value in self.yes)
        no = any(value.matches(cell) for value in self.no)
        if yes and no:
            raise InputError(f"{shorten(cell.text, 40)!r} is named by --yes and by --no")
        return yes if yes or no else None


def read_values(
    texts: Sequence[str], option: str, columns: Mapping[str, Iterable[AnswerCell]]
) -> tuple[Value, ...]:
    """Read the values of an option; commas separate values that no cell has as a whole.

    InputError: no cell of the column has the value.
    """
    words = {name: {cell.word for cell in cells} for name, cells in columns.items()}
    values: list[Value] = []
    for text in texts:
        column, rest = _column_of(str(text), words)
        occurring = {word for name in words if column in ("", name) for word in words[name]}
        is_whole = bool(_BOUND.fullmatch(rest)) or normal_word(rest) in occurring
        parts = [rest] if is_whole else rest.split(",")
        values += [_value(part.strip(), column, option) for part in parts if part.strip()]
    for value in values:
        _check_occurs(value, values, option, columns)
    return tuple(values)


def _check_occurs(
    value: Value, values: Sequence[Value], option: str, columns: Mapping[str, Iterable[AnswerCell]]
) -> None:
    """Refuse a word that no cell is; of several numbers, which are a scale, one must occur."""
    cells = [cell for name in columns if value.column in ("", name) for cell in columns[name]]
    alternatives = [value]
    if value.number is not None:
        alternatives = [v for v in values if v.number is not None and v.column == value.column]
    if value.comparison or any(v.matches(cell) for v in alternatives for cell in cells):
        return
    words = ", ".join(dict.fromkeys(shorten(cell.text, 20) for cell in cells[:200]))
    problem = f"no cell is {shorten(value.text, 40)!r} (found: {shorten(words, 200)})"
    raise InputError(f"{option}: {problem}")


def _column_of(text: str, columns: Iterable[str]) -> tuple[str, str]:
    """Split `COLUMN=VALUES` and `COLUMN>=0.5`; the column is empty if the text has none."""
    for name in sorted(columns, key=len, reverse=True):
        rest = text[len(name) :].lstrip()
        if text.startswith(name) and rest[:1] in ("=", ">", "<"):
            return name, rest.removeprefix("==").removeprefix("=")
    return "", text


def _value(text: str, column: str, option: str) -> Value:
    bound = _BOUND.fullmatch(text)
    number = number_of(bound[2] if bound else text)
    if bound:
        if number is None:
            problem = f"found {shorten(text, 40)!r}, expected a number after {bound[1]}"
            raise InputError(f"{option}: {problem}")
        return Value(text, column, number=number, comparison=bound[1])
    return Value(text, column, normal_word(text), number)


def choices_for(column: str, yes: Iterable[Value], no: Iterable[Value]) -> Choices:
    """Return the values for one column: those that name it, else those that name no column."""
    for name in (column, ""):
        chosen = Choices(
            tuple(value for value in yes if value.column == name),
            tuple(value for value in no if value.column == name),
        )
        if chosen.yes or chosen.no:
            return chosen
    return Choices()
