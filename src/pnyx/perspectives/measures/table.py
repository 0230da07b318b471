"""Which documents of a topic's ranking support which perspective, and measures of its first k.

The measures are those of BERDS (Chen and Choi 2024).

If pairs are unscored, a value has bounds: with these pairs counted against the ranking, and for it.
A measure (`MRecall@5`) is a value, as in ir-measures: hashable, and equal if its notation is equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pnyx.core.errors import InputError, shorten
from pnyx.core.plugins import loaded
from pnyx.core.records import Perspective, Stance
from pnyx.perspectives.measures.verdicts import Verdicts
from pnyx.stats.base import Measured, row_of
from pnyx.stats.weighted_measures import Floats

Flags: TypeAlias = npt.NDArray[np.bool_]

MAX_DEPTH = 1_000_000

_UNIONS = 50_000  # Maximum unions of documents to examine; beyond it, a cover only gets bounds
_NOTATION = re.compile(r"([A-Za-z]\w*)@([0-9]{1,7})")


@dataclass(frozen=True, slots=True)
class Bounded:
    """A topic's value within bounds set by the verdicts; both ends are None if it is undefined."""

    least: float | None
    most: float | None  # None on its own means no upper limit

    @property
    def value(self) -> float | None:
        """The value; None if it depends on unscored pairs or is not defined."""
        return self.least if self.least == self.most else None

    @property
    def scored(self) -> int:
        """1 if there is a value, else 0."""
        return int(self.value is not None)

    @property
    def asked(self) -> int:
        """1: the topic."""
        return 1

    @property
    def open(self) -> bool:
        """Whether the value depends on unscored pairs."""
        return self.least != self.most

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        measured = Measured(self.value, self.scored, self.asked)
        bounds = row_of(self, "least most")
        return {**measured.row(), "open": int(self.open), "bounds": bounds}


@dataclass(frozen=True, slots=True, eq=False)
class TopicTable:
    """One topic: its ranking (n documents) and its perspectives (m, at least 1)."""

    topic: str
    documents: tuple[str, ...]
    perspectives: tuple[str, ...]
    sides: tuple[Stance | None, ...]
    yes: Flags
    unscored: Flags  # (n, m): True if `yes` is not known
    reasons: tuple[str, ...]  # why
    probability: Floats  # NaN without one

    def first(self, k: int) -> tuple[Flags, Flags]:
        """Return `yes`, and pairs that could be yes, for the first k documents."""
        return self.yes[:k], self.yes[:k] | self.unscored[:k]

    def needed(self, k: int) -> int:
        """Return how many perspectives k documents must cover: all, or k if there are more."""
        return min(len(self.perspectives), k)


def table_of(
    topic: str, documents: Sequence[str], perspectives: Sequence[Perspective], verdicts: Verdicts
) -> TopicTable:
    """Look up the verdicts on a topic's documents, best first."""
    shape = len(documents), len(perspectives)
    yes, unscored = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
    probability = np.full(shape, np.nan)
    reasons = []
    for row, document in enumerate(documents):
        for column, perspective in enumerate(perspectives):
            verdict = verdicts.of(topic, document, perspective.id)
            if verdict.value is None:
                unscored[row, column] = True
                reasons.append(verdict.unscored)
            else:
                yes[row, column] = verdict.value
            if verdict.probability is not None:
                probability[row, column] = verdict.probability
    ids, sides = tuple(p.id for p in perspectives), tuple(p.stance for p in perspectives)
    return TopicTable(
        topic, tuple(documents), ids, sides, yes, unscored, tuple(reasons), probability
    )


def mrecall(table: TopicTable, k: int) -> Bounded:
    """MRecall@k: 1 if the first k documents cover all perspectives, else 0 (BERDS, section 3).

    With more than k perspectives, k different ones are enough (Min et al., EMNLP 2021).
    """
    sure, possible = (int(yes.any(axis=0).sum()) for yes in table.first(k))
    needed = table.needed(k)
    return Bounded(float(sure >= needed), float(possible >= needed))


def precision(table: TopicTable, k: int) -> Bounded:
    """Precision@k: the share of k documents that support some perspective (BERDS, section 3).

    Missing documents support none, as in trec_eval's P_k: returning fewer must not pay off.
    """
    sure, possible = (int(yes.any(axis=1).sum()) for yes in table.first(k))
    return Bounded(sure / k, possible / k)


def _cover_depth(table: TopicTable, k: int) -> Bounded:
    """CoverDepth@k: how many documents from the top cover all perspectives (BERDS, Table 5)."""
    sure, possible = (_depth(yes, table.needed(k)) for yes in table.first(k))
    return Bounded(possible, sure)


def _depth(flags: Flags, needed: int) -> float | None:
    covered = np.logical_or.accumulate(flags, axis=0).sum(axis=1)
    enough = np.flatnonzero(covered >= needed)
    return float(enough[0] + 1) if len(enough) else None


def minimum_cover(table: TopicTable, k: int) -> Bounded:
    """MinCover@k: the fewest of the first k documents that cover all perspectives (BERDS, 7).

    Unions of documents are examined level by level; beyond 50,000, only bounds are returned.
    """
    sure, possible = (_smallest(yes, table.needed(k)) for yes in table.first(k))
    return Bounded(possible[0], sure[1])


def _smallest(flags: Flags, needed: int) -> tuple[float | None, float | None]:
    """Return the bounds of the smallest number of rows that cover `needed` columns."""
    if int(flags.any(axis=0).sum()) < needed:
        return None, None
    masks = _maximal({sum(1 << int(c) for c in np.flatnonzero(row)) for row in flags} - {0})
    level, count = {0}, 0
    while not any(union.bit_count() >= needed for union in level):
        if len(level) * len(masks) > _UNIONS:
            return float(count + 1), float(_greedy(masks, needed))
        level = {union | mask for union in level for mask in masks}
        count += 1
    return float(count), float(count)


def _maximal(masks: set[int]) -> list[int]:
    """Remove masks that another one contains; in a fixed order."""
    maximal = [m for m in masks if not any(m != other and m & other == m for other in masks)]
    return sorted(maximal)


def _greedy(masks: Sequence[int], needed: int) -> int:
    union = count = 0
    while union.bit_count() < needed:
        union |= max(masks, key=lambda mask: (mask & ~union).bit_count())
        count += 1
    return count


def opposed(sides: Iterable[Stance | None]) -> bool:
    """Return whether these are two perspectives, one supporting and one opposing."""
    return sorted(map(str, sides)) == ["con", "pro"]


# The measures by name ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PerspectiveMeasure:
    """A measure of a ranking's first k documents; `high` is None if the depth is the limit.

    Without `always`, it is undefined for some topics although all their pairs are scored.
    """

    name: str
    compute: Callable[[TopicTable, int], Bounded | None] = field(repr=False)
    low: float = 0
    high: float | None = 1
    always: bool = True

    def __matmul__(self, k: int) -> PerspectiveMeasureAt:
        return PerspectiveMeasureAt(self, k)


@dataclass(frozen=True, slots=True, repr=False)
class PerspectiveMeasureAt:
    """A measure of the first k documents; str() gives its notation."""

    measure: PerspectiveMeasure
    k: int

    def __post_init__(self) -> None:
        if type(self.k) is not int or not 1 <= self.k <= MAX_DEPTH:
            raise ValueError(f"the depth is {self.k!r}, expected 1 to {MAX_DEPTH}")

    def __repr__(self) -> str:
        return f"{self.measure.name}@{self.k}"

    def of(self, table: TopicTable) -> Bounded | None:
        """Return its value for one topic; None if it is not defined for it."""
        return self.measure.compute(table, self.k)


def _sided(name: str, value: Callable[[bool, bool], float], low: float = 0) -> PerspectiveMeasure:
    """Return a measure of whether the first k cover each of two opposite perspectives."""

    def compute(table: TopicTable, k: int) -> Bounded | None:
        if not opposed(table.sides):
            return None
        places = table.sides.index("pro"), table.sides.index("con")
        pro, con = ({bool(f[:, column].any()) for f in table.first(k)} for column in places)
        values = [value(*world) for world in product(pro, con)]
        return Bounded(min(values), max(values))

    return PerspectiveMeasure(name, compute, low)


_SIDED = (  # BERDS, section 7, Figure 2
    _sided("ProOnly", lambda pro, con: float(pro and not con)),
    _sided("ConOnly", lambda pro, con: float(con and not pro)),
    _sided("BothSides", lambda pro, con: float(pro and con)),
    _sided("NoSide", lambda pro, con: float(not pro and not con)),
    # Above 0, a retriever that fails prefers the supporting side.
    _sided("ProLead", lambda pro, con: float(pro) - float(con), -1),
)

PERSPECTIVE_MEASURES: dict[str, PerspectiveMeasure] = {
    m.name: m
    for m in (
        PerspectiveMeasure("MRecall", mrecall),
        PerspectiveMeasure("Precision", precision),
        PerspectiveMeasure("CoverDepth", _cover_depth, low=1, high=None, always=False),
        PerspectiveMeasure("MinCover", minimum_cover, low=1, high=None, always=False),
        *_SIDED,
    )
}

SIDED = tuple(m.name for m in _SIDED)
"""Measures that only apply to questions with two opposite perspectives."""


def parse_perspective_measure(notation: str) -> PerspectiveMeasureAt | None:
    """Parse the notation of a measure, including plugins' measures; None if the name is unknown."""
    name = re.split(r"[@(]", notation, maxsplit=1)[0]
    measure = PERSPECTIVE_MEASURES.get(name)
    if measure is None:
        others = loaded("measures", PERSPECTIVE_MEASURES, PerspectiveMeasure)
        measure = dict(others).get(name)
    if measure is None:
        return None
    read = _NOTATION.fullmatch(notation)
    if read is None or not 1 <= int(read[2]) <= MAX_DEPTH:
        problem = f"expected {name}@ and a depth from 1 to {MAX_DEPTH}, as in {name}@5"
        raise InputError(f"--measure {shorten(notation, 40)}: {problem}")
    return measure @ int(read[2])
