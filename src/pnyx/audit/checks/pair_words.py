"""Which of two texts a cell prefers: A and B, 1 and 2, first and second, or names of models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pnyx.core.errors import InputError, shorten
from pnyx.formats.cells import is_missing

Choice: TypeAlias = Literal["a", "b", "tie"]

_SIDES: Mapping[str, Choice] = {"a": "a", "b": "b", "1": "a", "2": "b"}
_PLACES: Mapping[str, Choice] = {"first": "a", "left": "a", "second": "b", "right": "b"}
_TIES = frozenset((
    "tie", "tied", "draw", "equal", "same", "both", "neither", "none of them", "no preference",
    "c", "tie (bothbad", "both good", "both bad", "bothbad",
))  # fmt: skip
"""As `_bare` leaves them: `tie (bothbad)`, as LMSYS writes, loses its last bracket."""
_BLANK = frozenset(("", "-", "none", "null", "nan", "n/a"))
_NAMED = re.compile(
    r"(?:the )?(?:model|assistant|response|answer|option|output|text|argument|candidate)?[ _-]*"
    r"(a|b|1|2|first|second|left|right)(?: (?:one|response|answer|option|output|text|argument))?"
)
NAME_COLUMNS = (("model_a", "model_b"), ("a_model", "b_model"), ("name_a", "name_b"))
"""Columns that name the models of a row, if the table has them."""


@dataclass(frozen=True, slots=True)
class PairWords:
    """How the cells of a table of pairs are read.

    Attributes:
        a: the column that names the model whose text is A; empty without one.
        b: the same of B.
        by_position: whether A and B (1 and 2) name the text that is shown first and second, rather
            than the two texts in whichever order.
        source: the file, for messages.
    """

    a: str = ""
    b: str = ""
    by_position: bool = False
    source: str = "table"

    def choice(
        self, row: Mapping[str, Any], column: str, line: int, *, b_first: bool = False
    ) -> Choice | None:
        """Return which text a cell prefers, None for an empty one.

        Raises:
            InputError: the cell says something else.
        """
        cell = row.get(column)
        if is_missing(cell):
            return None
        number = isinstance(cell, float) and cell.is_integer()
        word = _bare(f"{cell:.0f}" if number else str(cell))
        if word in _BLANK:
            return None
        is_a, is_b = (name != "" and word == _bare(str(row.get(name))) for name in (self.a, self.b))
        if is_a != is_b:
            return "a" if is_a else "b"
        if word in _TIES:
            return "tie"
        named = _NAMED.fullmatch(word)
        if named is None:
            raise self._fault(cell, column, line)
        if named[1] in _SIDES and not self.by_position:
            return _SIDES[named[1]]
        position: Choice = _PLACES[named[1]] if named[1] in _PLACES else _SIDES[named[1]]
        return ("b" if position == "a" else "a") if b_first else position

    def _fault(self, cell: object, column: str, line: int) -> InputError:
        return InputError(
            f"column {shorten(column, 40)}: found {shorten(repr(cell), 40)}, expected A, B or tie; "
            "1 or 2; first or second; or a model that the columns model_a and model_b name",
            path=self.source,
            line=line,
        )


def _bare(text: str) -> str:
    """Return a cell without case, brackets and surplus space: `[[A]]` is `a`."""
    return " ".join(text.strip().strip("[](){}\"'`*. ").lower().split())
