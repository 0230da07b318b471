"""A judge's answers measured against people's labels: pooled, by group and by dimension."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from pnyx.measure.base import Measured
from pnyx.measure.bootstrap import LEVEL, draw_weights, percentile_interval
from pnyx.measure.gold import Joined, Pair
from pnyx.measure.registry import MEASURES, Measure
from pnyx.measure.weighted import Floats, ratio

__all__ = ["DRAWS", "Agreement", "measure_agreement"]

DRAWS = 1000

Index = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How well one judge's answers agree with labels.

    Attributes:
        joined: what was measured.
        measures: over all pairs; each only where the labels carry what it needs.
        macro: the mean over the groups that have a value, empty without groups.
        macro_groups: measure -> how many groups that mean is over.
        per_group: group -> measure -> value, without intervals.
        per_dimension: quality: dimension -> measure -> value.
        dimension_mean: quality: the mean over the dimensions that have a value.
        clusters: how many clusters the bootstrap draws from.
        clustered_by: `group`, or `item` where no pair has a group.
        draws: of the bootstrap.
        seed: of the bootstrap.
        undefined_draws: measure (`macro.f1`, `cogency.spearman`) -> draws without a value, where
            there are any.
    """

    joined: Joined
    measures: Mapping[str, Measured]
    macro: Mapping[str, Measured]
    macro_groups: Mapping[str, int]
    per_group: Mapping[str, Mapping[str, Measured]]
    per_dimension: Mapping[str, Mapping[str, Measured]]
    dimension_mean: Mapping[str, Measured]
    clusters: int
    clustered_by: str
    draws: int
    seed: int
    undefined_draws: Mapping[str, int] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, Any]:
        """How much was joined, scored and left out, for JSON."""
        pairs = self.joined.pairs
        reasons = Counter(p.unscored.partition(":")[0] for p in pairs if p.value is None)
        return {
            "asked": len(pairs),
            "scored": len(pairs) - reasons.total(),
            "unscored": reasons.total(),
            "reasons": dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
            "without_probability": sum(
                p.value is not None and p.probability is None for p in pairs
            ) if self.joined.task != "quality" else None,
            "answers_without_label": self.joined.answers_without_label,
            "labels_without_answer": self.joined.labels_without_answer,
            "tied_labels": self.joined.tied,
        }  # fmt: skip

    def row(self) -> dict[str, Any]:
        """Return the object of `measures.json` (docs/measures.md)."""
        macro = {
            name: {**m.row(), "groups": self.macro_groups[name]} for name, m in self.macro.items()
        }
        return {
            "task": self.joined.task,
            "judge": self.joined.judge,
            "counts": self.counts,
            "measures": _rows(self.measures),
            "macro": macro,
            "per_group": {group: _rows(found) for group, found in self.per_group.items()},
            "per_dimension": {name: _rows(found) for name, found in self.per_dimension.items()},
            "dimension_mean": _rows(self.dimension_mean),
            "interval": {
                "method": "percentile cluster bootstrap",
                "level": LEVEL,
                "clusters": self.clusters,
                "clustered_by": self.clustered_by,
                "draws": self.draws,
                "seed": self.seed,
                "undefined_draws": dict(self.undefined_draws),
            },
        }


def _rows(measures: Mapping[str, Measured]) -> dict[str, dict[str, Any]]:
    return {name: m.row() for name, m in measures.items()}


def measure_agreement(joined: Joined, *, draws: int = DRAWS, seed: int = 0) -> Agreement:
    """Measure a judge's answers against labels, each value with a cluster-bootstrap interval.

    Args:
        joined: what `pnyx.measure.gold.join_labels` returns.
        draws: of the bootstrap; 0 for no intervals.
        seed: of the bootstrap.

    Returns:
        Values are None where nothing can be said. Intervals are None where fewer than two
        clusters hold a scored pair or fewer than half of the draws have a value.
    """
    return _Agreeing(joined, draws, seed).result()


@dataclass(slots=True)
class _Cell:
    """One measure over some of the pairs.

    Attributes:
        measure: which.
        gold: its column of the labels, of the scored pairs.
        score: its column of the answers, of the scored pairs.
        places: the scored pairs' places among all pairs.
        asked: how many pairs have the label it needs.
        drawn: its values in the draws so far.
    """

    measure: Measure
    gold: Floats
    score: Floats
    places: Index
    asked: int
    drawn: list[Floats] = field(default_factory=list)

    @property
    def value(self) -> float | None:
        return self.measure.value(self.gold, self.score)

    def draw(self, weights: Floats) -> None:
        if len(self.places):
            chosen = weights if len(self.places) == weights.shape[1] else weights[:, self.places]
            self.drawn.append(self.measure.weighted(self.gold, self.score, chosen))


@dataclass(slots=True)
class _GroupMean:
    """The mean of one measure over the groups in which it is defined.

    Attributes:
        pooled: the measure over all pairs.
        values: (groups,), NaN where undefined.
        drawn: the mean in the draws so far.
    """

    pooled: _Cell
    values: Floats
    drawn: list[Floats] = field(default_factory=list)

    @property
    def has(self) -> npt.NDArray[np.bool_]:
        return np.isfinite(self.values)

    def draw(self, weights: Floats) -> None:
        """Add the means with each group as often as it was drawn, weights (draws, groups)."""
        chosen = weights[:, self.has]
        self.drawn.append(ratio(chosen @ self.values[self.has], chosen.sum(axis=1)))


class _Agreeing:
    """The measuring of one join: the cells, and the draws that they share."""

    def __init__(self, joined: Joined, draws: int, seed: int) -> None:
        self.joined, self.draws, self.seed = joined, draws, seed
        pairs = joined.pairs
        self.columns = _columns(pairs)
        self.groups = [p.group for p in pairs]
        self.dimensions = [p.key[1] for p in pairs]
        names = [("group", p.group) if p.group else ("item", p.key[0]) for p in pairs]
        numbers = {name: i for i, name in enumerate(sorted(set(names)))}
        self.clusters: Index = np.array([numbers[name] for name in names], dtype=np.intp)
        self.undefined: dict[str, int] = {}

    def result(self) -> Agreement:
        everywhere = np.arange(len(self.joined.pairs))
        pooled = self._cells(everywhere)
        by_group = self._split(self.groups)
        by_dimension = self._split(self.dimensions) if self.joined.task == "quality" else {}
        firsts = self._first_of_each(by_group)
        means = self._group_means(pooled, by_group)
        for weights in draw_weights(self.clusters, self.draws, self.seed):
            for cells in (pooled, *by_dimension.values()):
                for cell in cells.values():
                    cell.draw(weights)
            for mean in means.values():
                mean.draw(weights[:, firsts])
        return Agreement(
            self.joined,
            measures={name: self._measured(name, cell) for name, cell in pooled.items()},
            macro={name: self._macro(name, mean) for name, mean in means.items()},
            macro_groups={name: int(mean.has.sum()) for name, mean in means.items()},
            per_group={
                group: {
                    name: Measured(cell.value, len(cell.places), cell.asked)
                    for name, cell in cells.items()
                }
                for group, cells in by_group.items()
            },
            per_dimension={
                dimension: {
                    name: self._measured(f"{dimension}.{name}", cell)
                    for name, cell in cells.items()
                }
                for dimension, cells in by_dimension.items()
            },
            dimension_mean=self._dimension_mean(pooled, by_dimension),
            clusters=int(self.clusters.max()) + 1,
            clustered_by="group" if any(self.groups) else "item",
            draws=self.draws,
            seed=self.seed,
            undefined_draws=self.undefined,
        )

    def _cells(self, places: Index) -> dict[str, _Cell]:
        """Return the measures that the labels of these pairs allow."""
        cells = {}
        for name, measure in MEASURES.items():
            if self.joined.task not in measure.inputs:
                continue
            gold_name, score_name = measure.inputs[self.joined.task]
            label = self.columns["yes" if gold_name == "correct" else gold_name]
            if not np.isfinite(label).any():
                continue
            asked = places[np.isfinite(label[places])]
            scored = asked[np.isfinite(self.columns[score_name][asked])]
            gold, score = self.columns[gold_name][scored], self.columns[score_name][scored]
            cells[name] = _Cell(measure, gold, score, scored, len(asked))
        return cells

    def _split(self, names: Sequence[str]) -> dict[str, dict[str, _Cell]]:
        """Return the measures of the pairs of each name; pairs without one are in none."""
        places: dict[str, list[int]] = {}
        for place, name in enumerate(names):
            places.setdefault(name, []).append(place)
        return {
            name: self._cells(np.array(places[name], dtype=np.intp))
            for name in sorted(places)
            if name
        }

    def _first_of_each(self, by_group: Mapping[str, Any]) -> Index:
        """Return a pair of each group; its weight in a draw is the group's."""
        first: dict[str, int] = {}
        for place, group in enumerate(self.groups):
            first.setdefault(group, place)
        return np.array([first[group] for group in by_group], dtype=np.intp)

    def _measured(self, name: str, cell: _Cell) -> Measured:
        drawn = np.concatenate(cell.drawn) if cell.drawn else np.empty(0)
        return self._with_interval(
            name,
            cell.value,
            drawn,
            len(set(self.clusters[cell.places])),
            len(cell.places),
            cell.asked,
        )

    def _with_interval(
        self, name: str, value: float | None, drawn: Floats, clusters: int, scored: int, asked: int
    ) -> Measured:
        if value is None or clusters < 2 or len(drawn) == 0:
            return Measured(value, scored, asked)
        undefined = int(np.count_nonzero(~np.isfinite(drawn)))
        if undefined:
            self.undefined[name] = undefined
        bounds = percentile_interval(drawn)
        return Measured(value, scored, asked, *(bounds or (None, None)))

    def _group_means(
        self, pooled: Mapping[str, _Cell], by_group: Mapping[str, Mapping[str, _Cell]]
    ) -> dict[str, _GroupMean]:
        if not by_group:
            return {}
        return {
            name: _GroupMean(cell, _numbers([cells[name].value for cells in by_group.values()]))
            for name, cell in pooled.items()
        }

    def _macro(self, name: str, mean: _GroupMean) -> Measured:
        drawn = np.concatenate(mean.drawn) if mean.drawn else np.empty(0)
        value, groups = _mean(mean.values), int(mean.has.sum())
        scored, asked = len(mean.pooled.places), mean.pooled.asked
        return self._with_interval(f"macro.{name}", value, drawn, groups, scored, asked)

    def _dimension_mean(
        self, pooled: Mapping[str, _Cell], by_dimension: Mapping[str, Mapping[str, _Cell]]
    ) -> dict[str, Measured]:
        """Return the means over dimensions; a draw counts where each of them has a value."""
        means: dict[str, Measured] = {}
        for name, cell in pooled.items() if by_dimension else ():
            cells = [c[name] for c in by_dimension.values() if c[name].value is not None]
            value = _mean(_numbers([c.value for c in cells]))
            drawn = [np.concatenate(c.drawn) for c in cells if c.drawn]
            clusters = min((len(set(self.clusters[c.places])) for c in cells), default=0)
            means[name] = self._with_interval(
                f"dimension_mean.{name}",
                value,
                np.mean(drawn, axis=0) if drawn else np.empty(0),
                clusters,
                len(cell.places),
                cell.asked,
            )
        return means


def _columns(pairs: Sequence[Pair]) -> dict[str, Floats]:
    """Return what labels and answers say, (pairs,) each, NaN where they say nothing."""
    yes = _numbers([p.gold.yes for p in pairs])
    value = _numbers([p.value for p in pairs])
    probability = _numbers([p.probability for p in pairs])
    return {
        "yes": yes,
        "gain": _numbers([p.gold.gain for p in pairs]),
        "uncertain": _numbers([p.gold.uncertain for p in pairs]),
        "rating": _numbers([p.gold.rating for p in pairs]),
        "correct": np.where(np.isnan(value), np.nan, value == yes),
        "value": value,
        "probability": probability,
        "confidence": np.where(value == 1, probability, 1 - probability),
        "doubt": np.where(value == 1, 1 - probability, probability),
    }


def _numbers(values: Sequence[float | None]) -> Floats:
    return np.array([np.nan if v is None else v for v in values], dtype=np.float64)


def _mean(values: Floats) -> float | None:
    defined = values[np.isfinite(values)]
    return float(defined.mean()) if len(defined) else None
