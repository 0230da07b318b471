"""One measure over some of the pairs, with its bootstrap values.

Three kinds share one interface: measures of all pairs together, of each group's ranking, and those
computed from other measures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pnyx.measure.registry import DerivedMeasure, Measure, RankingMeasure
from pnyx.measure.weighted import Floats, defined_mean, numbers, ratio

__all__ = ["Cell", "DerivedCell", "GroupMean", "Index", "PooledCell", "RankedCell"]

Index: TypeAlias = npt.NDArray[np.intp]


class Cell:
    """A measure over some of the pairs.

    Attributes:
        value: the measure, None if it is undefined.
        asked: how many pairs have the label it needs.
        scored: how many of these have the answer it needs.
        places: the pairs that stand for the clusters it rests on, by their places among all.
    """

    def __init__(self, value: float | None, asked: int, scored: int, places: Index) -> None:
        self.value, self.asked, self.scored, self.places = value, asked, scored, places
        self._drawn: list[Floats] = []

    @property
    def drawn(self) -> Floats:
        """Its values in the draws so far, none where there is nothing to draw from."""
        return np.concatenate(self._drawn) if self._drawn else np.empty(0)

    def draw(self, weights: Floats) -> None:
        """Add the values with each pair as often as it was drawn, weights (draws, pairs)."""
        if len(self.places):
            self._drawn.append(self._weighted(weights))

    def _weighted(self, weights: Floats) -> Floats:
        raise NotImplementedError


class PooledCell(Cell):
    """A measure of pairs together, whatever their groups.

    Args:
        measure: which.
        gold: its column of the labels, of the scored pairs.
        score: its column of the answers, of the scored pairs.
        places: the scored pairs' places among all pairs.
        asked: how many pairs have the label it needs.
    """

    def __init__(
        self, measure: Measure, gold: Floats, score: Floats, places: Index, asked: int
    ) -> None:
        super().__init__(measure.value(gold, score), asked, len(places), places)
        self._measure, self._gold, self._score = measure, gold, score

    def _weighted(self, weights: Floats) -> Floats:
        chosen = weights if len(self.places) == weights.shape[1] else weights[:, self.places]
        return self._measure.weighted(self._gold, self._score, chosen)


class GroupMean(Cell):
    """The mean of a measure's values in single groups, over those in which it is defined.

    Args:
        values: (groups,), NaN where undefined.
        firsts: (groups,) the place of one pair of each group. A group is drawn whole, so that
            one pair's weight is the group's.
        asked: how many pairs have the label the measure needs.
        scored: how many of these have the answer it needs.
    """

    def __init__(self, values: Floats, firsts: Index, asked: int, scored: int) -> None:
        has = np.isfinite(values)
        super().__init__(defined_mean(values), asked, scored, firsts[has])
        self._values = values[has]

    @property
    def groups(self) -> int:
        """How many groups it is defined in."""
        return len(self._values)

    def _weighted(self, weights: Floats) -> Floats:
        chosen = weights[:, self.places]
        return ratio(chosen @ self._values, chosen.sum(axis=1))


class RankedCell(GroupMean):
    """The mean, over the groups, of a measure of each group's ranking.

    Args:
        measure: which.
        columns: of all pairs.
        groups: the places of each group's pairs that have a label, in the order of the answers.
    """

    def __init__(
        self, measure: RankingMeasure, columns: Mapping[str, Floats], groups: Sequence[Index]
    ) -> None:
        gold, score = columns[measure.gold], columns["probability"]
        ranked = [places[np.isfinite(score[places])] for places in groups]
        values = numbers([measure.ranked(gold[p], score[p]) for p in ranked])
        firsts = np.array([places[0] for places in groups], dtype=np.intp)
        super().__init__(values, firsts, sum(map(len, groups)), sum(map(len, ranked)))


class DerivedCell(Cell):
    """The mean of several measures, defined where each of them is; it draws nothing itself.

    It rests on what the least of them rests on.
    """

    def __init__(self, measure: DerivedMeasure, parts: Sequence[Cell]) -> None:
        mean = float(measure.mean([numbers([part.value]) for part in parts])[0])
        least = min(parts, key=lambda part: (part.scored, part.asked))
        places = min((part.places for part in parts), key=len)
        super().__init__(mean if np.isfinite(mean) else None, least.asked, least.scored, places)
        self._measure, self._parts = measure, parts

    @property
    def drawn(self) -> Floats:
        """The means of what its parts drew."""
        drawn = [part.drawn for part in self._parts]
        return self._measure.mean(drawn) if all(map(len, drawn)) else np.empty(0)

    def draw(self, weights: Floats) -> None:
        """Do nothing: its parts draw."""
