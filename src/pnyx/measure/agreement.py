"""A judge's answers measured against people's labels: pooled, by group and by dimension."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pnyx.judge.verdicts import Source
from pnyx.measure.base import BOOTSTRAP, Bootstrap, Measured, Result
from pnyx.measure.bootstrap import draw_weights, drawn_value
from pnyx.measure.calibration_error import ReliabilityBin, reliability
from pnyx.measure.cells import Cell, DerivedCell, GroupMean, Index, PooledCell, RankedCell
from pnyx.measure.gold import Joined, Pair, join_labels
from pnyx.measure.registry import (
    DERIVED_MEASURES,
    MEASURES,
    RANKING_MEASURES,
    SUMMARY,
    SUMMARY_AVERAGE,
)
from pnyx.measure.weighted import Floats, defined_mean, numbers

__all__ = ["Agreement", "measure_agreement"]


@dataclass(frozen=True, slots=True, repr=False)
class Agreement(Result):
    """How well one judge's answers agree with labels.

    Attributes:
        joined: what was measured.
        measures: over all pairs, measures of rankings as means over the groups; each only where
            the labels carry what it needs.
        macro: the mean over the groups that have a value, empty without groups.
        macro_groups: measure -> how many groups that mean is over.
        per_group: group -> measure -> value, without intervals.
        per_dimension: quality: dimension -> measure -> value.
        dimension_mean: quality: the mean over the dimensions that have a value.
        clusters: how many clusters the bootstrap draws from.
        clustered_by: `group`, or `item` where no pair has a group.
        reliability: the bins of a reliability diagram, empty for quality.
        summary: relevance: DIRAS's four dimensions and their mean (`registry.SUMMARY`), those of
            them that the labels allow.
        bootstrap: how the intervals were drawn.
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
    reliability: Sequence[ReliabilityBin]
    summary: Mapping[str, Measured]
    bootstrap: Bootstrap
    undefined_draws: Mapping[str, int] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, Any]:
        """How much was joined, scored and left out, for JSON."""
        pairs = self.joined.pairs
        said = [pair.verdict for pair in pairs]
        reasons = Counter(v.unscored.partition(":")[0] for v in said if v.value is None)
        return {
            "asked": len(pairs),
            "scored": len(pairs) - reasons.total(),
            "unscored": reasons.total(),
            "reasons": dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
            "without_probability": sum(
                v.value is not None and v.probability is None for v in said
            ) if self.joined.task != "quality" else None,
            "answers_without_label": self.joined.answers_without_label,
            "labels_without_answer": self.joined.labels_without_answer,
            "tied_labels": self.joined.tied,
        }  # fmt: skip

    def rows(self) -> list[dict[str, Any]]:
        """Return the measures of all pairs, then those of single dimensions and groups."""
        found = [{"measure": name, **m.row()} for name, m in self.measures.items()]
        for what, parts in (("dimension", self.per_dimension), ("group", self.per_group)):
            for key, part in parts.items():
                found += [{"measure": n, what: key, **m.row()} for n, m in part.items()]
        return found

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
            "summary": _rows(self.summary),
            "reliability": [part.row() for part in self.reliability],
            "interval": {
                **self.bootstrap.row(
                    "percentile cluster bootstrap",
                    clusters=self.clusters,
                    clustered_by=self.clustered_by,
                ),
                "undefined_draws": dict(self.undefined_draws),
            },
        }


def _rows(measures: Mapping[str, Measured]) -> dict[str, dict[str, Any]]:
    return {name: m.row() for name, m in measures.items()}


def measure_agreement(
    answers: Joined | Source,
    labels: Source | None = None,
    task: str | None = None,
    *,
    judge: str | None = None,
    bootstrap: Bootstrap = BOOTSTRAP,
) -> Agreement:
    """Measure a judge's answers against labels, each value with a cluster-bootstrap interval.

    Args:
        answers: what `pnyx.ask` returned, a file or results folder of it, or what `join_labels`
            returned, which needs no labels.
        labels: people's labels, a file or in memory; see `join_labels`, also for the rest.
        task: support, relevance or quality; by default as the first answer is about.
        judge: whose answers count, where there are those of several.
        bootstrap: how intervals are drawn.

    Returns:
        Values are None where nothing can be said. Intervals are None where fewer than two
        clusters have a scored pair or fewer than half of the resamples have a value.

    Raises:
        InputError: answers or labels are not what they must be, or none belong together.
    """
    if not isinstance(answers, Joined):
        answers = join_labels(answers, labels, task, judge=judge)
    return _Agreeing(answers, bootstrap).result()


def _columns(pairs: Sequence[Pair]) -> dict[str, Floats]:
    """Return the columns of `GoldColumn` and `ScoreColumn` by name, (pairs,) each; NaN for none."""
    gold, said = [p.gold for p in pairs], [p.verdict for p in pairs]
    yes, gain = numbers([g.yes for g in gold]), numbers([g.gain for g in gold])
    value = numbers([v.value for v in said])
    probability = numbers([None if v.value is None else v.probability for v in said])
    return {
        "yes": yes,
        "gain": gain,
        "grade": np.where(np.isnan(gain), yes, gain),
        "uncertain": numbers([g.uncertain for g in gold]),
        "rating": numbers([g.rating for g in gold]),
        "correct": np.where(np.isnan(value), np.nan, value == yes),
        "value": value,
        "probability": probability,
        "confidence": np.where(value == 1, probability, 1 - probability),
        "doubt": np.where(value == 1, 1 - probability, probability),
    }


class _Agreeing:
    """The measuring of one join: the cells, and the draws that they share."""

    def __init__(self, joined: Joined, bootstrap: Bootstrap) -> None:
        self.joined, self.bootstrap = joined, bootstrap
        pairs = joined.pairs
        self.columns = _columns(pairs)
        self.order: Index = np.argsort(np.array([p.verdict.line for p in pairs]), kind="stable")
        self.groups = [p.group for p in pairs]
        self.dimensions = [p.verdict.dimension for p in pairs]
        names = [("group", p.group) if p.group else ("item", p.verdict.id) for p in pairs]
        numbers = {name: i for i, name in enumerate(sorted(set(names)))}
        self.clusters: Index = np.array([numbers[name] for name in names], dtype=np.intp)
        self.undefined: dict[str, int] = {}

    def result(self) -> Agreement:
        everywhere = np.arange(len(self.joined.pairs))
        pooled = self._cells(everywhere)
        by_group = self._split(self.groups)
        by_dimension = self._split(self.dimensions) if self.joined.task == "quality" else {}
        means = self._group_means(pooled, by_group)
        self._draw([pooled, means, *by_dimension.values()])
        return Agreement(
            self.joined,
            measures={name: self._measured(name, cell) for name, cell in pooled.items()},
            macro={name: self._measured(f"macro.{name}", mean) for name, mean in means.items()},
            macro_groups={name: mean.groups for name, mean in means.items()},
            per_group={
                group: {
                    name: Measured(cell.value, cell.scored, cell.asked)
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
            reliability=self._reliability(),
            summary=self._summary(pooled),
            bootstrap=self.bootstrap,
            undefined_draws=self.undefined,
        )

    def _draw(self, parts: Sequence[Mapping[str, Cell]]) -> None:
        for weights in draw_weights(self.clusters, self.bootstrap):
            for cells in parts:
                for cell in cells.values():
                    cell.draw(weights)

    def _cells(self, places: Index) -> dict[str, Cell]:
        """Return the measures that the labels of these pairs allow."""
        task, cells = self.joined.task, dict[str, Cell]()
        for name, measure in MEASURES.items():
            if task not in measure.inputs:
                continue
            gold_name, score_name = measure.inputs[task]
            label = self.columns["yes" if gold_name == "correct" else gold_name]
            if not np.isfinite(label).any():
                continue
            asked = places[np.isfinite(label[places])]
            scored = asked[np.isfinite(self.columns[score_name][asked])]
            gold, score = self.columns[gold_name][scored], self.columns[score_name][scored]
            cells[name] = PooledCell(measure, gold, score, scored, len(asked))
        for name, ranking in RANKING_MEASURES.items():
            if task == ranking.task and any(self.groups):
                groups = self._labelled_groups(places, ranking.gold)
                cells[name] = RankedCell(ranking, self.columns, groups)
        for name, derived in DERIVED_MEASURES.items():
            if task in derived.tasks and all(part in cells for part in derived.parts):
                cells[name] = DerivedCell(derived, [cells[part] for part in derived.parts])
        return cells

    def _labelled_groups(self, places: Index, gold: str) -> list[Index]:
        """Return the places of each group's labelled pairs, in the order of the answers."""
        inside = np.zeros(len(self.groups), dtype=np.bool_)
        inside[places] = np.isfinite(self.columns[gold][places])
        groups: dict[str, list[int]] = {}
        for place in self.order[inside[self.order]].tolist():
            if self.groups[place]:
                groups.setdefault(self.groups[place], []).append(place)
        return [np.array(found, dtype=np.intp) for _, found in sorted(groups.items())]

    def _reliability(self) -> tuple[ReliabilityBin, ...]:
        if self.joined.task == "quality":
            return ()
        has = np.isfinite(self.columns["probability"])
        return reliability(self.columns["yes"][has], self.columns["probability"][has])

    def _summary(self, pooled: Mapping[str, Cell]) -> dict[str, Measured]:
        """Return DIRAS's dimensions by their short names, and their mean where all are there."""
        if self.joined.task not in SUMMARY_AVERAGE.tasks:
            return {}
        found = {short: pooled[name] for short, name in SUMMARY.items() if name in pooled}
        if len(found) == len(SUMMARY):
            found["avg"] = DerivedCell(SUMMARY_AVERAGE, list(found.values()))
        return {short: self._measured(f"summary.{short}", cell) for short, cell in found.items()}

    def _split(self, names: Sequence[str]) -> dict[str, dict[str, Cell]]:
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

    def _measured(self, name: str, cell: Cell) -> Measured:
        clusters = len(set(self.clusters[cell.places].tolist()))
        return self._with_interval(name, cell.value, cell.drawn, clusters, cell.scored, cell.asked)

    def _with_interval(
        self, name: str, value: float | None, drawn: Floats, clusters: int, scored: int, asked: int
    ) -> Measured:
        if value is None or clusters < 2 or len(drawn) == 0:
            return Measured(value, scored, asked)
        undefined = int(np.count_nonzero(~np.isfinite(drawn)))
        if undefined:
            self.undefined[name] = undefined
        return drawn_value(value, drawn, scored, asked, self.bootstrap)

    def _group_means(
        self, pooled: Mapping[str, Cell], by_group: Mapping[str, Mapping[str, Cell]]
    ) -> dict[str, GroupMean]:
        if not by_group:
            return {}
        firsts = self._first_of_each(by_group)
        return {
            name: GroupMean(
                numbers([cells[name].value for cells in by_group.values()]),
                firsts,
                cell.asked,
                cell.scored,
            )
            for name, cell in pooled.items()
        }

    def _dimension_mean(
        self, pooled: Mapping[str, Cell], by_dimension: Mapping[str, Mapping[str, Cell]]
    ) -> dict[str, Measured]:
        """Return the means over dimensions; a draw counts where each of them has a value."""
        means: dict[str, Measured] = {}
        for name, cell in pooled.items() if by_dimension else ():
            cells = [c[name] for c in by_dimension.values() if c[name].value is not None]
            value = defined_mean(numbers([c.value for c in cells]))
            drawn = [c.drawn for c in cells if len(c.drawn)]
            clusters = min((len(set(self.clusters[c.places].tolist())) for c in cells), default=0)
            means[name] = self._with_interval(
                f"dimension_mean.{name}",
                value,
                np.mean(drawn, axis=0) if drawn else np.empty(0),
                clusters,
                cell.scored,
                cell.asked,
            )
        return means
