"""Who supports what in one topic's ranking, and what that says of its first k documents.

Everything here is defined for complete verdicts by BERDS (Chen and Choi 2024). Where pairs are
unscored, a value is what it can lie between: with them read against the ranking and in its favour.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pnyx.measure.perspective_verdicts import Verdicts
from pnyx.measure.weighted import Floats
from pnyx.records import Perspective, Stance

__all__ = [
    "Bounded",
    "Table",
    "cover_depth",
    "minimum_cover",
    "mrecall",
    "opposed",
    "precision",
    "side_covered",
    "table_of",
]

Flags: TypeAlias = npt.NDArray[np.bool_]

_UNIONS = 50_000
"""So many different unions of documents are followed; beyond, a smallest cover is only bounded."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """A topic's value, as far as the verdicts fix it.

    Attributes:
        least: it is at least that.
        most: it is at most that; None where there is no limit. Both are None where the value is
            not defined, whatever the unscored pairs are.
    """

    least: float | None
    most: float | None

    @property
    def value(self) -> float | None:
        """The value; None where it depends on unscored pairs or is not defined."""
        return self.least if self.least == self.most else None

    @property
    def open(self) -> bool:
        """Whether the value depends on unscored pairs."""
        return self.least != self.most


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """One topic: its ranking against its perspectives.

    Attributes:
        topic: its id.
        documents: ids, (n,), best first.
        perspectives: ids, (m,), m at least 1.
        sides: (m,), the side of each perspective on the question; None where it is not known.
        yes: (n, m), whether the document supports the perspective.
        unscored: (n, m), whether that is open; nothing is both.
        reasons: why pairs are open, one for each of these.
        probability: (n, m), of yes; NaN where there is none.
    """

    topic: str
    documents: tuple[str, ...]
    perspectives: tuple[str, ...]
    sides: tuple[Stance | None, ...]
    yes: Flags
    unscored: Flags
    reasons: tuple[str, ...]
    probability: Floats

    def first(self, k: int) -> tuple[Flags, Flags]:
        """Return `yes`, and what could be yes, of the first k documents."""
        return self.yes[:k], self.yes[:k] | self.unscored[:k]

    def needed(self, k: int) -> int:
        """Return how many perspectives k documents must cover: all, or k where there are more."""
        return min(len(self.perspectives), k)


def table_of(
    topic: str,
    documents: Sequence[str],
    perspectives: Sequence[Perspective],
    verdicts: Verdicts,
) -> Table:
    """Look up the verdicts on a topic's documents.

    Args:
        topic: its id.
        documents: ids, best first.
        perspectives: all of the topic, at least one.
        verdicts: who supports what.
    """
    shape = len(documents), len(perspectives)
    yes, unscored = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
    probability = np.full(shape, np.nan)
    reasons = []
    for row, document in enumerate(documents):
        for column, perspective in enumerate(perspectives):
            found = verdicts.of(topic, document, perspective.id)
            if found.value is None:
                unscored[row, column] = True
                reasons.append(found.unscored)
            else:
                yes[row, column] = found.value
            if found.probability is not None:
                probability[row, column] = found.probability
    ids, sides = tuple(p.id for p in perspectives), tuple(p.stance for p in perspectives)
    return Table(topic, tuple(documents), ids, sides, yes, unscored, tuple(reasons), probability)


def mrecall(table: Table, k: int) -> Bounded:
    """MRecall@k: 1 if the first k documents cover all perspectives, else 0 (BERDS, section 3).

    Of more than k perspectives, k different ones are enough (Min et al., EMNLP 2021). Documents
    that a ranking lacks cover nothing.
    """
    sure, possible = (int(one.any(axis=0).sum()) for one in table.first(k))
    needed = table.needed(k)
    return Bounded(float(sure >= needed), float(possible >= needed))


def precision(table: Table, k: int) -> Bounded:
    """Precision@k: the share of k documents that support some perspective (BERDS, section 3).

    A ranking of fewer than k documents is measured as if others followed that support none, as in
    trec_eval's P_k: returning less must not pay.
    """
    sure, possible = (int(one.any(axis=1).sum()) for one in table.first(k))
    return Bounded(sure / k, possible / k)


def cover_depth(table: Table, k: int) -> Bounded:
    """CoverDepth@k: how many documents from the top it takes to cover every perspective (Table 5).

    It is not defined where the first k do not (MRecall@k = 0), and the paper's mean leaves such
    topics out. Its sizes, 17.8 and more for 2.3 perspectives, can only be depths in the ranking:
    two well-chosen documents would do (`minimum_cover`).
    """
    sure, possible = (_depth(one, table.needed(k)) for one in table.first(k))
    return Bounded(possible, sure)


def _depth(flags: Flags, needed: int) -> float | None:
    covered = np.logical_or.accumulate(flags, axis=0).sum(axis=1)
    enough = np.flatnonzero(covered >= needed)
    return float(enough[0] + 1) if len(enough) else None


def minimum_cover(table: Table, k: int) -> Bounded:
    """MinCover@k: the fewest of the first k documents that cover every perspective.

    The size of the best subset that BERDS speaks of (section 7): what any reordering of the first
    k documents could reach. Not defined where MRecall@k = 0. Exact by following all unions of
    documents, level by level; of more than 50,000 of them only bounds are given.
    """
    sure, possible = (_smallest(one, table.needed(k)) for one in table.first(k))
    return Bounded(possible[0], sure[1])


def _smallest(flags: Flags, needed: int) -> tuple[float | None, float | None]:
    """Return between what the smallest number of rows lies that cover `needed` columns."""
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
    """Leave out what another mask holds; in a fixed order."""
    kept = [m for m in masks if not any(m != other and m & other == m for other in masks)]
    return sorted(kept)


def _greedy(masks: Sequence[int], needed: int) -> int:
    union = count = 0
    while union.bit_count() < needed:
        union |= max(masks, key=lambda mask: (mask & ~union).bit_count())
        count += 1
    return count


def opposed(sides: Iterable[Stance | None]) -> bool:
    """Return whether these are two perspectives, one supporting and one opposing."""
    return sorted(map(str, sides)) == ["con", "pro"]


def side_covered(table: Table, k: int) -> tuple[Bounded, Bounded] | None:
    """Return whether the first k documents cover the supporting and the opposing perspective.

    Returns:
        1 or 0 for pro and con; None unless the question has exactly two perspectives, one of each
        side, as in BERDS (section 7 and its footnote 9).
    """
    if not opposed(table.sides):
        return None
    sure, possible = table.first(k)
    pro, con = (
        Bounded(float(sure[:, place].any()), float(possible[:, place].any()))
        for place in (table.sides.index("pro"), table.sides.index("con"))
    )
    return pro, con
