"""Every measure of a ranking against perspectives, by name and depth: `MRecall@5`.

    MRecall = PERSPECTIVE_MEASURES["MRecall"]
    (MRecall @ 5).of(table)

A measure is a value, as in ir-measures: equal where its notation is, and a key of dictionaries.
`pnyx.measure.perspective_irmeasures` makes MRecall a measure of ir-measures itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product

from pnyx.errors import InputError, shorten
from pnyx.measure.perspective_table import (
    Bounded,
    Table,
    cover_depth,
    minimum_cover,
    mrecall,
    precision,
    side_covered,
)

__all__ = [
    "MAX_DEPTH",
    "PERSPECTIVE_MEASURES",
    "SIDED",
    "PerspectiveMeasure",
    "PerspectiveMeasureAt",
    "parse_perspective_measure",
]

MAX_DEPTH = 1_000_000

_NOTATION = re.compile(r"([A-Za-z]\w*)@([0-9]{1,7})")
_BERDS = "BERDS (Chen and Choi 2024)"


@dataclass(frozen=True, slots=True)
class PerspectiveMeasure:
    """One measure of a ranking's first k documents.

    Attributes:
        name: what stands before the depth.
        description: one line for people.
        source: where it is defined.
        compute: (table, k) -> the value; None where the measure does not apply to the topic.
        low: its least value.
        high: its greatest value; None where the depth is.
        better: 1 where more is better, -1 where less is, 0 where neither is.
        always: whether every topic has a value once its pairs are scored. The mean of one that
            has not is a mean over the topics that have one.
    """

    name: str
    description: str
    source: str
    compute: Callable[[Table, int], Bounded | None] = field(repr=False)
    low: float = 0
    high: float | None = 1
    better: int = 1
    always: bool = True

    def __matmul__(self, k: int) -> PerspectiveMeasureAt:
        """Return the measure of the first k documents.

        Raises:
            ValueError: k is not a whole number from 1 to a million.
        """
        return PerspectiveMeasureAt(self, k)


@dataclass(frozen=True, slots=True, repr=False)
class PerspectiveMeasureAt:
    """A measure of the first k documents; its text is its notation."""

    measure: PerspectiveMeasure
    k: int

    def __post_init__(self) -> None:
        if type(self.k) is not int or not 1 <= self.k <= MAX_DEPTH:
            raise ValueError(f"the depth is {self.k!r}, expected 1 to {MAX_DEPTH}")

    def __repr__(self) -> str:
        return f"{self.measure.name}@{self.k}"

    def of(self, table: Table) -> Bounded | None:
        """Return its value on one topic; None where it does not apply to it."""
        return self.measure.compute(table, self.k)


def _on_sides(value: Callable[[bool, bool], float]) -> Callable[[Table, int], Bounded | None]:
    """Return a measure of whether both sides are covered: (pro, con) -> value."""

    def compute(table: Table, k: int) -> Bounded | None:
        covered = side_covered(table, k)
        if covered is None:
            return None
        worlds = product(*({bool(side.least), bool(side.most)} for side in covered))
        values = [value(pro, con) for pro, con in worlds]
        return Bounded(min(values), max(values))

    return compute


def _sided(
    name: str, description: str, value: Callable[[bool, bool], float], better: int, low: float = 0
) -> PerspectiveMeasure:
    source = f"{_BERDS}, 7, Figure 2"
    return PerspectiveMeasure(name, description, source, _on_sides(value), low, better=better)


_SIZE = 1, None, -1, False
"""Range and direction of a number of documents, which is not defined for every topic."""

PERSPECTIVE_MEASURES: dict[str, PerspectiveMeasure] = {
    m.name: m
    for m in (
        PerspectiveMeasure(
            "MRecall",
            "the first k cover all perspectives, or k of them where there are more",
            f"{_BERDS}, 3; Min et al., EMNLP 2021",
            mrecall,
        ),
        PerspectiveMeasure(
            "Precision",
            "share of the first k that support some perspective",
            f"{_BERDS}, 3",
            precision,
        ),
        PerspectiveMeasure(
            "CoverDepth",
            "how many documents from the top cover all perspectives, where the first k do",
            f"{_BERDS}, 7, Table 5",
            cover_depth,
            *_SIZE,
        ),
        PerspectiveMeasure(
            "MinCover",
            "fewest of the first k that cover all perspectives, where the first k do",
            f"after {_BERDS}, 7",
            minimum_cover,
            *_SIZE,
        ),
        _sided(
            "ProOnly",
            "of two opposite perspectives the first k cover the supporting one alone",
            lambda pro, con: float(pro and not con),
            0,
        ),
        _sided(
            "ConOnly",
            "of two opposite perspectives the first k cover the opposing one alone",
            lambda pro, con: float(con and not pro),
            0,
        ),
        _sided(
            "BothSides",
            "the first k cover both of two opposite perspectives",
            lambda pro, con: float(pro and con),
            1,
        ),
        _sided(
            "NoSide",
            "the first k cover neither of two opposite perspectives",
            lambda pro, con: float(not pro and not con),
            -1,
        ),
        _sided(
            "ProLead",
            "ProOnly less ConOnly: above 0, a retriever that fails prefers the supporting side",
            lambda pro, con: float(pro) - float(con),
            0,
            -1,
        ),
    )
}
"""Name -> measure, in the order in which they are shown."""

SIDED = ("ProOnly", "ConOnly", "BothSides", "NoSide", "ProLead")
"""Those that apply to questions with two opposite perspectives alone."""


def parse_perspective_measure(notation: str) -> PerspectiveMeasureAt | None:
    """Read the notation of a measure, e.g. `MRecall@5`; None where the name is no measure here.

    Raises:
        InputError: the name is one, but what follows is not `@` and a depth.
    """
    name = re.split(r"[@(]", notation, maxsplit=1)[0]
    if name not in PERSPECTIVE_MEASURES:
        return None
    read = _NOTATION.fullmatch(notation)
    if read is None or not 1 <= int(read[2]) <= MAX_DEPTH:
        problem = f"expected {name}@ and a depth from 1 to {MAX_DEPTH}, as in {name}@5"
        raise InputError(f"--measure {shorten(notation, 40)}: {problem}")
    return PERSPECTIVE_MEASURES[name] @ int(read[2])
