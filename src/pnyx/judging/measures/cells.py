"""One measure over some pairs: its values in the bootstrap's draws, and in each group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from pnyx.judging.measures.registry import DerivedMeasure, Measure, RankingMeasure, Spread
from pnyx.stats.intervals import UNIT, Range
from pnyx.stats.weighted_measures import (
    EachCluster,
    Floats,
    Index,
    Weights,
    defined_mean,
    numbers,
    prepare,
    ratio,
)

Each: TypeAlias = tuple[Floats, Index, Index]
"""Value, scored and asked of each cluster separately; the value is NaN if undefined."""

_UNIT = Spread()


class AnswersCell:
    """A measure over the pairs at `places`, which represent the clusters it is based on."""

    def __init__(
        self,
        value: float | None,
        total: int,
        scored: int,
        places: Index,
        weighted: Callable[[Weights], Floats] | None = None,
        each: Callable[[EachCluster], Each] | None = None,
        *,
        spread: Spread = _UNIT,
    ) -> None:
        self.value, self.asked, self.scored, self.places = value, total, scored, places
        self.spread = spread
        self._weighted, self._drawn, self._each = weighted, list[Floats](), each

    @property
    def drawn(self) -> Floats:
        """Its values in the draws so far, empty if there is nothing to draw from."""
        return np.concatenate(self._drawn) if self._drawn else np.empty(0)

    def draw(self, weights: Weights) -> None:
        """Add the values for pairs weighted by their number of draws, weights (draws, pairs)."""
        if len(self.places) and self._weighted is not None:
            self._drawn.append(self._weighted(weights))

    def each(self, weights: EachCluster) -> Each:
        """Return the measure of each cluster of all pairs separately."""
        if self._each is None:
            raise TypeError("this measure is not one of groups")
        return self._each(weights)


def defined_places(column: Floats, places: Index) -> Index:
    """Return the positions at which a column has a value; the same array if all have one."""
    has = np.isfinite(column[places])
    return places if has.all() else places[has]


def pooled_cell(
    measure: Measure, gold: Floats, score: Floats, places: Index, labelled: Index
) -> AnswersCell:
    """Return a measure of all scored pairs together, regardless of their groups.

    `gold` and `score` (n,) are those of the pairs at `places` (n,); `labelled` are all pairs with a
    label.
    """
    ready = prepare(measure.weighted, gold, score)

    def weighted(weights: Weights) -> Floats:
        return ready(weights if len(places) == weights.shape[1] else weights[:, places])

    def each(weights: EachCluster) -> Each:
        some = weights[:, places]
        return ready(some), some.counts(), weights[:, labelled].counts()

    value = float(ready(np.ones((1, len(gold))))[0]) if len(gold) else np.nan
    finite = value if np.isfinite(value) else None
    spread = measure.spread(gold, score)
    return AnswersCell(finite, len(labelled), len(places), places, weighted, each, spread=spread)


def ranking_cell(
    ranking: RankingMeasure, gold: Floats, score: Floats, groups: Sequence[Index]
) -> AnswersCell:
    """Return the mean over groups of a ranking measure of each group's labelled pairs."""
    ranked = [group[np.isfinite(score[group])] for group in groups]
    values = numbers([ranking.ranked(gold[group], score[group]) for group in ranked])
    firsts = np.array([group[0] for group in groups], dtype=np.intp)

    def each(weights: EachCluster) -> Each:
        of_group = np.full(len(weights), np.nan)
        of_group[weights.clusters[firsts]] = values
        scored, total = (
            weights[:, np.concatenate([firsts[:0], *rows])].counts() for rows in (ranked, groups)
        )
        return of_group, scored, total

    counts = sum(map(len, groups)), sum(map(len, ranked))
    return group_mean(values, firsts, *counts, each=each)


def group_mean(
    values: Floats,
    firsts: Index,
    total: int,
    scored: int,
    bounds: Range | None = UNIT,
    each: Callable[[EachCluster], Each] | None = None,
) -> AnswersCell:
    """Return the mean of groups' defined values; `firsts` are pairs with their groups' weights."""
    has = np.isfinite(values)
    finite, places = values[has], firsts[has]

    def weighted(weights: Weights) -> Floats:
        chosen = weights[:, places]
        return ratio(chosen @ finite, chosen.sum(axis=1))

    spread = Spread(bounds)
    return AnswersCell(defined_mean(values), total, scored, places, weighted, each, spread=spread)


class DerivedCell(AnswersCell):
    """The mean of several measures, defined if all are; its counts are the lowest of theirs."""

    def __init__(self, measure: DerivedMeasure, parts: Sequence[AnswersCell]) -> None:
        mean = float(measure.mean([numbers([part.value]) for part in parts])[0])
        least = min(parts, key=lambda part: (part.scored, part.asked))
        places = min((part.places for part in parts), key=len)
        bias = measure.bias({n: p.spread.bias for n, p in zip(measure.parts, parts, strict=True)})
        super().__init__(
            mean if np.isfinite(mean) else None,
            least.asked,
            least.scored,
            places,
            spread=Spread(units=min(filter(None, (p.spread.units for p in parts)), default=None),
                          bias=bias),
        )  # fmt: skip
        self._measure, self._parts = measure, parts

    @property
    def drawn(self) -> Floats:
        """The means of the draws of its parts."""
        drawn = [part.drawn for part in self._parts]
        return self._measure.mean(drawn) if all(map(len, drawn)) else np.empty(0)

    def each(self, weights: EachCluster) -> Each:
        """Return the mean for each cluster."""
        values, scored, total = zip(*(part.each(weights) for part in self._parts), strict=True)
        counts = np.stack([scored, total])
        least = np.lexsort(counts[::-1], axis=0)[None, :1]
        scored, total = np.take_along_axis(counts, least, axis=1)[:, 0]
        return self._measure.mean(values), scored, total
