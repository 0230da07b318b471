"""A judge's answers measured against human labels: pooled, by group and by dimension."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pnyx.core.tabular import Result
from pnyx.judging.dimensions import aspects_of
from pnyx.judging.measures.binary import ReliabilityBin, reliability
from pnyx.judging.measures.cells import (
    AnswersCell,
    DerivedCell,
    defined_places,
    group_mean,
    pooled_cell,
    ranking_cell,
)
from pnyx.judging.measures.ground_truth import LabelledVerdicts, join_labels
from pnyx.judging.measures.group_figures import published_figures
from pnyx.judging.measures.pairs import PairColumns
from pnyx.judging.measures.registry import (
    DERIVED_MEASURES,
    MEASURES,
    RANKING_MEASURES,
    SUMMARY,
    SUMMARY_AVERAGE,
    Spread,
)
from pnyx.judging.verdicts import Source
from pnyx.stats.base import BOOTSTRAP, Bootstrap, Measured, plain
from pnyx.stats.intervals import draw_clusters, draw_weights
from pnyx.stats.weighted_measures import (
    ClusterWeights,
    EachCluster,
    Floats,
    Index,
    Weights,
    defined_mean,
    numbers,
)


@dataclass(frozen=True, slots=True, repr=False)
class Agreement(Result):
    """How well a judge's answers agree with labels, by the measures that the labels allow.

    `measures` are over all pairs, ranking measures as means over the groups. `macro` has the means
    over the groups with a value (`macro_groups` of them). `per_group` has no intervals; these means
    are computed from it, and files and frames have `published_figures`. Only quality has
    `per_dimension`, `dimension_mean` and `per_aspect` (the means over each branch of the taxonomy,
    and over `all` except its root); other tasks have `reliability` bins, and relevance has
    `summary` (DIRAS's dimensions and their mean). The bootstrap draws `clusters`: groups or, if no
    pair has one, items. `undefined_draws` counts draws without a value (`cogency.spearman`).
    """

    joined: LabelledVerdicts
    measures: Mapping[str, Measured]
    macro: Mapping[str, Measured]
    macro_groups: Mapping[str, int]
    per_group: Mapping[str, Mapping[str, Measured]]
    per_dimension: Mapping[str, Mapping[str, Measured]]
    dimension_mean: Mapping[str, Measured]
    per_aspect: Mapping[str, Mapping[str, Measured]]
    clusters: int
    clustered_by: str
    reliability: Sequence[ReliabilityBin]
    summary: Mapping[str, Measured]
    bootstrap: Bootstrap
    undefined_draws: Mapping[str, int] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, Any]:
        """The number of answers joined, scored and left out, for JSON."""
        joined, pairs = self.joined, PairColumns.of(self.joined.pairs)
        valued, stated = np.isfinite(pairs.value()), np.isfinite(pairs.probability())
        without = int(np.count_nonzero(valued & ~stated))
        return {
            **counts_of(len(pairs), pairs.unscored),
            "without_probability": without if joined.task != "quality" else None,
            "answers_without_label": joined.answers_without_label,
            "labels_without_answer": joined.labels_without_answer,
            "tied_labels": joined.tied,
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return the measures of all pairs, then those of single dimensions and groups."""
        listed = [{"measure": name, **m.row()} for name, m in self.measures.items()]
        for what, parts in (
            ("dimension", self.per_dimension),
            ("group", published_figures(self.per_group)),
        ):
            for key, part in parts.items():
                listed += [{"measure": n, what: key, **m.row()} for n, m in part.items()]
        return listed

    def row(self) -> dict[str, Any]:
        """Return the object of `measures.json` (docs/reference/measures.md)."""
        clusters = {"clusters": self.clusters, "clustered_by": self.clustered_by}
        interval = self.bootstrap.row("cluster bootstrap", **clusters)
        result = {
            "task": self.joined.task,
            "judge": self.joined.judge,
            "counts": self.counts,
            "measures": self.measures,
            "macro": {
                n: {**m.row(), "groups": self.macro_groups[n]} for n, m in self.macro.items()
            },
            "per_group": published_figures(self.per_group),
            "per_dimension": self.per_dimension,
            "dimension_mean": self.dimension_mean,
            "per_aspect": self.per_aspect,
            "summary": self.summary,
            "reliability": self.reliability,
            "interval": {**interval, "undefined_draws": self.undefined_draws},
        }
        return {name: plain(value) for name, value in result.items()}


def counts_of(total: int, unscored: Sequence[str]) -> dict[str, Any]:
    """Return the numbers asked, scored and unscored, and the reasons, most frequent first."""
    reasons = Counter(reason.partition(":")[0] for reason in unscored)
    return {
        "asked": total,
        "scored": total - len(unscored),
        "unscored": len(unscored),
        "reasons": dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
    }


def measure_agreement(
    answers: LabelledVerdicts | Source,
    labels: Source | None = None,
    task: str | None = None,
    *,
    judge: str | None = None,
    bootstrap: Bootstrap = BOOTSTRAP,
) -> Agreement:
    """Measure a judge's answers against labels, each value with a cluster-bootstrap interval.

    Args:
        answers: the result of `pnyx.ask`, a file or results folder, or `LabelledVerdicts`.
        labels: human labels, a file or in memory; see `join_labels`. Not needed for
            `LabelledVerdicts`.
        task: support, relevance or quality; by default the task of the first answer.
        judge: the judge whose answers count, if there are several.
        bootstrap: how intervals are drawn.

    Returns:
        Values are None if undefined. Intervals are None if fewer than two clusters have a scored
        pair or fewer than half of the resamples have a value.

    Raises:
        InputError: answers or labels are malformed, or none match.
    """
    if not isinstance(answers, LabelledVerdicts):
        answers = join_labels(answers, labels, task, judge=judge)
    return _Agreeing(answers, bootstrap).result()


def _rows_by(names: Iterable[str]) -> Iterator[tuple[str, Index]]:
    """Yield each name, sorted, with its row numbers; the empty name is left out."""
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        rows.setdefault(name, []).append(row)
    for name in sorted(filter(None, rows)):
        yield name, np.array(rows[name], dtype=np.intp)


def _columns(pairs: PairColumns) -> dict[str, Floats]:
    """Return the columns of `GoldColumn` and `ScoreColumn` by name, (pairs,) each; NaN for none."""
    yes, gain = pairs.labels(lambda gold: gold.yes), pairs.labels(lambda gold: gold.gain)
    value = pairs.value()
    probability = np.where(np.isnan(value), np.nan, pairs.probability())
    return {
        "yes": yes,
        "gain": gain,
        "grade": np.where(np.isnan(gain), yes, gain),
        "uncertain": pairs.labels(lambda gold: gold.uncertain),
        "rating": pairs.labels(lambda gold: gold.rating),
        "correct": np.where(np.isnan(value), np.nan, value == yes),
        "value": value,
        "probability": probability,
        "confidence": np.where(value == 1, probability, 1 - probability),
        "doubt": np.where(value == 1, 1 - probability, probability),
    }


class _Agreeing:
    """Measures one join: the cells, and the draws that they share."""

    def __init__(self, joined: LabelledVerdicts, bootstrap: Bootstrap) -> None:
        self.joined, self.bootstrap = joined, bootstrap
        self.pairs = PairColumns.of(joined.pairs)
        self.columns = _columns(self.pairs)
        self.order, self.groups = self.pairs.in_order(), self.pairs.groups
        ids, groups = self.pairs.ids, sorted(set(filter(None, self.groups)))
        alone = sorted({ids[row] for row, group in enumerate(self.groups) if not group})
        numbered = {name: number for number, name in enumerate(groups)}
        single = {name: number for number, name in enumerate(alone, len(groups))}
        both = zip(self.groups, ids, strict=True)
        places = (numbered[group] if group else single[name] for group, name in both)
        self.clusters: Index = np.fromiter(places, np.intp, len(ids))
        self.undefined: dict[str, int] = {}

    def result(self) -> Agreement:
        pairs, quality = self.pairs, self.joined.task == "quality"
        pooled = self._cells(np.arange(len(pairs)))
        by_group = self._by_group(pooled)
        by_dimension = dict(
            self._split(verdict.dimension for verdict in pairs.verdicts) if quality else ()
        )
        means = self._group_means(pooled, by_group)
        yes, probability = self.columns["yes"], self.columns["probability"]
        stated = np.isfinite(probability)
        every = [c for columns in (pooled, means, *by_dimension.values()) for c in columns.values()]
        for weights in self._draws():
            for cell in every:
                cell.draw(weights)
        return Agreement(
            self.joined,
            measures=self._measured(pooled),
            macro=self._measured(means, "macro."),
            macro_groups={name: len(mean.places) for name, mean in means.items()},
            per_group=by_group,
            per_dimension={
                dimension: self._measured(cells, f"{dimension}.")
                for dimension, cells in by_dimension.items()
            },
            dimension_mean=self._dimension_mean("dimension_mean", pooled, by_dimension),
            per_aspect=self._aspects(by_dimension),
            clusters=int(self.clusters.max()) + 1,
            clustered_by="group" if any(self.groups) else "item",
            reliability=() if quality else reliability(yes[stated], probability[stated]),
            summary=self._summary(pooled),
            bootstrap=self.bootstrap,
            undefined_draws=self.undefined,
        )

    def _draws(self) -> Iterator[Weights]:
        """Yield weights of the pairs, written out for ratings, whose measures need that."""
        if self.joined.task == "quality":
            yield from draw_weights(self.clusters, self.bootstrap)
            return
        for times in draw_clusters(int(self.clusters.max()) + 1, self.bootstrap):
            yield ClusterWeights(times, self.clusters)

    def _cells(self, places: Index) -> dict[str, AnswersCell]:
        """Return the measures that the labels of these pairs allow."""
        task, cells = self.joined.task, dict[str, AnswersCell]()
        for name, measure in MEASURES.items():
            if task not in measure.inputs:
                continue
            gold_name, score_name = measure.inputs[task]
            label = self.columns["yes" if gold_name == "correct" else gold_name]
            if not np.isfinite(label).any():
                continue
            labelled = defined_places(label, places)
            scored = defined_places(self.columns[score_name], labelled)
            gold, score = (self.columns[n] for n in (gold_name, score_name))
            if len(scored) < len(gold):
                gold, score = gold[scored], score[scored]
            cells[name] = pooled_cell(measure, gold, score, scored, labelled)
        for name, ranking in RANKING_MEASURES.items():
            if task == ranking.task and any(self.groups):
                gold, score = self.columns[ranking.gold], self.columns["probability"]
                groups = self._labelled_groups(places, gold)
                cells[name] = ranking_cell(ranking, gold, score, groups)
        for name, derived in DERIVED_MEASURES.items():
            if task in derived.tasks and all(part in cells for part in derived.parts):
                cells[name] = DerivedCell(derived, [cells[part] for part in derived.parts])
        return cells

    def _labelled_groups(self, places: Index, gold: Floats) -> list[Index]:
        """Return the positions of each group's labelled pairs, in the order of the answers."""
        inside = np.zeros(len(self.groups), dtype=np.bool_)
        inside[places] = np.isfinite(gold[places])
        ordered = self.order[inside[self.order]]
        return [ordered[rows] for _, rows in _rows_by([self.groups[row] for row in ordered])]

    def _by_group(self, pooled: Mapping[str, AnswersCell]) -> dict[str, dict[str, Measured]]:
        """Return the measures of each group's pairs separately."""
        names = sorted(set(filter(None, self.groups)))  # clusters are numbered in this order
        if not names:
            return {}
        weights = EachCluster(self.clusters, int(self.clusters.max()) + 1)
        columns = {}
        for name, cell in pooled.items():
            values, *counts = (column[: len(names)].tolist() for column in cell.each(weights))
            finite = (value if math.isfinite(value) else None for value in values)
            columns[name] = list(map(Measured, finite, *counts))
        return {
            group: dict(zip(columns, row, strict=True))
            for group, row in zip(names, zip(*columns.values(), strict=True), strict=True)
        }

    def _summary(self, pooled: Mapping[str, AnswersCell]) -> dict[str, Measured]:
        """Return DIRAS's dimensions by their short names, and their mean if all exist."""
        if self.joined.task not in SUMMARY_AVERAGE.tasks:
            return {}
        summary = {short: pooled[name] for short, name in SUMMARY.items() if name in pooled}
        if len(summary) == len(SUMMARY):
            summary["avg"] = DerivedCell(SUMMARY_AVERAGE, list(summary.values()))
        return self._measured(summary, "summary.")

    def _split(self, names: Iterable[str]) -> Iterator[tuple[str, dict[str, AnswersCell]]]:
        """Yield the measures of the pairs of each name; pairs without a name are left out."""
        for name, rows in _rows_by(names):
            yield name, self._cells(rows)

    def _measured(self, cells: Mapping[str, AnswersCell], part: str = "") -> dict[str, Measured]:
        return {
            name: self._with_interval(
                part + name, cell.value, cell.drawn, [cell], cell, cell.spread
            )
            for name, cell in cells.items()
        }

    def _with_interval(
        self,
        name: str,
        value: float | None,
        drawn: Floats,
        parts: Sequence[AnswersCell],
        base: AnswersCell,
        spread: Spread,
    ) -> Measured:
        counts = (np.count_nonzero(np.bincount(self.clusters[c.places])) for c in parts)
        clusters = int(min(counts, default=0))
        if value is None:
            return Measured(value, base.scored, base.asked)
        undefined = int(np.count_nonzero(~np.isfinite(drawn)))
        if undefined:
            self.undefined[name] = undefined
        ends = spread.interval(value, drawn, clusters, self.bootstrap)
        return Measured(value, base.scored, base.asked, *ends)

    def _group_means(
        self, pooled: Mapping[str, AnswersCell], by_group: Mapping[str, Mapping[str, Measured]]
    ) -> dict[str, AnswersCell]:
        first = {group: row for row, group in reversed(list(enumerate(self.groups)))}
        firsts = np.array([first[group] for group in by_group], dtype=np.intp)
        means = {}
        for name, cell in pooled.items() if by_group else ():
            values = numbers([cells[name].value for cells in by_group.values()])
            means[name] = group_mean(values, firsts, cell.asked, cell.scored, cell.spread.bounds)
        return means

    def _aspects(
        self, by_dimension: Mapping[str, Mapping[str, AnswersCell]]
    ) -> dict[str, dict[str, Measured]]:
        """Return the means over the dimensions of each aspect, and of all dimensions with one."""
        aspects = {
            aspect: {name: by_dimension[name] for name in names if name in by_dimension}
            for aspect, names in aspects_of(self.joined.task).items()
        }
        aspects = {aspect: measures for aspect, measures in aspects.items() if measures}
        if aspects:
            aspects["all"] = {name: m for part in aspects.values() for name, m in part.items()}
        return {
            aspect: self._dimension_mean(
                f"per_aspect.{aspect}",
                self._cells(np.concatenate([self._places(name) for name in measures])),
                measures,
            )
            for aspect, measures in aspects.items()
        }

    def _places(self, dimension: str) -> Index:
        named = [verdict.dimension == dimension for verdict in self.pairs.verdicts]
        return np.flatnonzero(np.array(named, dtype=np.bool_))

    def _dimension_mean(
        self,
        part: str,
        pooled: Mapping[str, AnswersCell],
        by_dimension: Mapping[str, Mapping[str, AnswersCell]],
    ) -> dict[str, Measured]:
        """Return the means over dimensions; a draw counts if every dimension has a value."""
        means: dict[str, Measured] = {}
        for name, cell in pooled.items() if by_dimension else ():
            cells = [c[name] for c in by_dimension.values() if c[name].value is not None]
            value = defined_mean(numbers([c.value for c in cells]))
            drawn = [c.drawn for c in cells if len(c.drawn)]
            mean = np.mean(drawn, axis=0) if drawn else np.empty(0)
            spread = Spread(cell.spread.bounds)
            means[name] = self._with_interval(f"{part}.{name}", value, mean, cells, cell, spread)
        return means
