"""How many more labels a check of a judge needs, and which rows to label first."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pnyx.audit.checks.bars import ALIASES, canonical_bars
from pnyx.audit.checks.design import Design, correlation_of, influences
from pnyx.audit.checks.items import CheckItems
from pnyx.audit.checks.labelled_rows import join_items, labels_of, pair_clusters
from pnyx.audit.checks.sample_size import rarer_labels, too_few
from pnyx.core.errors import InputError, shorten
from pnyx.judging.measures.agreement import measure_agreement
from pnyx.judging.measures.ground_truth import LabelledVerdicts
from pnyx.judging.measures.pairs import PairColumns
from pnyx.judging.measures.rates import corrected_rate
from pnyx.judging.measures.registry import MEASURES
from pnyx.stats.base import BOOTSTRAP, Bootstrap, Measured, row_of
from pnyx.stats.intervals import SIGNED, UNIT, Range
from pnyx.stats.weighted_measures import Floats, Index, Weighted, Weights, ratio

MIN_LABELS = 10
"""Labels below which nothing can be planned."""
FIRST_LABELS = 30
"""Labels that are advised in that case."""
MOST_LABELS = 5_000
"""A plan never asks for more labels: the estimate is then too close to the bar."""
LIKELY = 0.8
"""Chance of a decision that `LabelGoal.likely_more` gives."""


@dataclass(frozen=True, slots=True)
class LabelGoal:
    """How many more labels one goal needs.

    Attributes:
        measure: the name that Pnyx uses everywhere.
        value: the measure on the labels so far.
        half_width: the half-width that its interval is to have, or None.
        bar: the bar that its interval is to exclude, or None.
        reached: whether the labels so far are enough.
        more: labels to add; None if no number can be named, for the reason in `why`.
        more_groups: the least number of new groups among them; equal to `more` without groups.
        more_singly: labels that would suffice with one per new group; None as for `more`.
        expected: the interval then, if the value stays as it is.
        chance: of a decision about the bar then, as the value may move; None of a half-width.
        likely_more: labels that decide about the bar with a chance of 80 %; None if there is no
            such number up to `MOST_LABELS`, or the goal is a half-width.
        correlation: of items within groups, estimated; None if it cannot be.
        used_correlation: the value that the plan assumes; higher if there are few groups.
        design_effect: by how much groups increase the variance, with `used_correlation`.
        why: why no number can be named; empty if one is.
        rough: whether the labels so far show no disagreement, so that the number is a guess.
    """

    measure: str
    value: Measured
    half_width: float | None
    bar: float | None
    reached: bool
    more: int | None
    more_groups: int
    more_singly: int | None = None
    expected: tuple[float, float] | None = None
    chance: float | None = None
    likely_more: int | None = None
    correlation: float | None = None
    used_correlation: float = 0.0
    design_effect: float = 1.0
    why: str = ""
    rough: bool = False

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        return row_of(self, " ".join(self.__slots__))


@dataclass(frozen=True, slots=True)
class LabelCandidate:
    """A row without labels, with how much the judge doubts its verdict (0.5 is the most)."""

    id: str
    line: int
    group: str
    verdict: bool | float
    doubt: float | None

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        return row_of(self, "id line group verdict doubt")


@dataclass(frozen=True, slots=True)
class LabelPlan:
    """How many more labels are needed, and the rows to label, in their order.

    Attributes:
        judge: the column of verdicts.
        group: the column of groups; empty without one.
        labels: rows with a label and a verdict.
        groups: their groups; equal to `labels` without groups.
        goals: the half-width, or a bar each.
        first: rows without labels, in the order in which to label them.
        new_groups: groups among them that have no label yet.
        seed: of their order.
        words: what the table writes for yes and for no.
    """

    judge: str
    group: str
    labels: int
    groups: int
    goals: tuple[LabelGoal, ...]
    first: tuple[LabelCandidate, ...]
    new_groups: int
    seed: int
    words: tuple[str, str] = ("yes", "no")

    @property
    def more(self) -> int | None:
        """Labels that reach all goals; None if a goal has no number."""
        numbers = [goal.more for goal in self.goals if goal.more is not None]
        return max(numbers, default=0) if len(numbers) == len(self.goals) else None

    @property
    def more_groups(self) -> int:
        """New groups that reach all goals that have a number."""
        return max((goal.more_groups for goal in self.goals), default=0)

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        names = "judge group labels groups more more_groups goals new_groups seed first"
        return row_of(self, names)


def plan_labels(
    items: CheckItems,
    judge: str,
    *,
    half_width: float | None = None,
    measure: str = "kappa",
    bars: Mapping[str, float] | None = None,
    bootstrap: Bootstrap = BOOTSTRAP,
) -> LabelPlan:
    """Plan how many more rows to label, and which first.

    Rows to label are drawn at random, evenly over groups and over the judge's doubt, rows of groups
    without labels first. Each of these is equally likely to come early, so the labels stay a random
    sample, as corrected rates need it.

    Args:
        items: the table; its rows without any label are those that can be labelled.
        judge: a column of verdicts.
        half_width: of the interval of `measure`, in (0, 1).
        measure: kappa, accuracy, sensitivity (tpr) or specificity (tnr).
        bars: measure -> bar that its interval is to exclude.
        bootstrap: how intervals are drawn; its seed also draws the rows.

    Raises:
        InputError: the table has no such judge or no labels, a measure cannot be planned, or a bar
            cannot be.
        ValueError: neither a half-width nor a bar is given, or the half-width is not in (0, 1).
    """
    if half_width is None and not bars:
        raise ValueError("expected a half_width or bars")
    if half_width is not None and not 0 < half_width < 1:
        raise ValueError(f"half_width: found {half_width!r}, expected a number between 0 and 1")
    joined = join_items(items, judge)
    planner = _Planner(joined, items.source, bootstrap)
    goals = [] if half_width is None else [planner.goal(measure, half_width, None)]
    goals += [planner.goal(name, None, bar) for name, bar in canonical_bars(bars or {}).items()]
    labelled_groups = {pair.group for pair in joined.pairs} - {""}
    candidates = []  # rows that nobody has labelled and that the judge has scored
    for item in items.items:
        verdict = item.verdicts.get(judge)
        if verdict is not None and not labels_of(item, items.people):
            probability = item.probabilities.get(judge)
            doubt = None if probability is None else min(probability, 1 - probability)
            candidates.append(LabelCandidate(item.id, item.line, item.group, verdict, doubt))
    first = label_order(candidates, labelled_groups, bootstrap.seed)
    new = {candidate.group for candidate in first} - labelled_groups - {""}
    return LabelPlan(
        judge, items.group, len(planner.gold), planner.groups, tuple(goals), first, len(new),
        bootstrap.seed, items.words,
    )  # fmt: skip


def _sensitivity(gold: Floats, score: Floats, weights: Weights) -> Floats:
    """Share of people's yes to which the judge says yes."""
    return ratio(weights @ (gold * score), weights @ gold)


def _specificity(gold: Floats, score: Floats, weights: Weights) -> Floats:
    """Share of people's no to which the judge says no."""
    return ratio(weights @ ((1 - gold) * (1 - score)), weights @ (1 - gold))


_PLANNED: Mapping[str, tuple[Weighted, Range]] = {
    "kappa": (MEASURES["kappa"].weighted, SIGNED),
    "accuracy": (MEASURES["accuracy"].weighted, UNIT),
    "sensitivity": (_sensitivity, UNIT),
    "specificity": (_specificity, UNIT),
}
"""Measure that can be planned -> how it is computed, and its range."""


class _Planner:
    """Labelled items, and the intervals that their measures have with more of them."""

    def __init__(self, joined: LabelledVerdicts, source: str, bootstrap: Bootstrap) -> None:
        pairs = PairColumns.of(joined.pairs)
        quality = joined.task == "quality"
        gold = pairs.labels(lambda label: label.rating if quality else label.yes)
        score = pairs.value()
        scored = np.isfinite(gold) & np.isfinite(score)
        names, numbers = np.unique(pair_clusters(pairs)[scored], return_inverse=True)
        self.gold, self.score = gold[scored], score[scored]
        self.clusters: Index = numbers.astype(np.intp)
        self.groups = len(names)
        self._joined, self._source, self._bootstrap = joined, source, bootstrap
        self._values = dict(measure_agreement(joined, bootstrap=bootstrap).measures)
        if not quality:
            rates = corrected_rate(joined, bootstrap=bootstrap)
            self._values |= {"sensitivity": rates.sensitivity, "specificity": rates.specificity}

    def goal(self, measure: str, half_width: float | None, bar: float | None) -> LabelGoal:
        """Return how many more labels make an interval narrow, or have it exclude a bar."""
        measure = ALIASES.get(measure, measure)
        value = self._value(measure)
        goal = LabelGoal(measure, value, half_width, bar, False, None, 0)
        few = bar is not None and bool(too_few(self._joined, measure))
        if not few and _reaches((value.low, value.high), half_width, bar):
            return replace(goal, reached=True, more=0)
        if len(self.gold) < MIN_LABELS or value.value is None:
            why = f"a plan needs {MIN_LABELS} labels and a value: label about {FIRST_LABELS} rows"
            return replace(goal, why=why)
        return self._planned(goal, *self._design(measure, value.value))

    def _value(self, measure: str) -> Measured:
        if measure in _PLANNED and measure in self._values:
            return self._values[measure]
        names = ", ".join(name for name in _PLANNED if name in self._values)
        problem = f"cannot plan labels for {shorten(measure, 40)!r}: expected one of {names}"
        raise InputError(problem, path=self._source)

    def _design(self, measure: str, value: float) -> tuple[Design, bool]:
        """Return what determines the interval, and whether it is a guess."""
        weighted, bounds = _PLANNED[measure]
        values = influences(weighted, self.gold, self.score)
        count = len(values)
        spread = float(values @ values) / (count - 1)
        correlation = correlation_of(values, self.clusters)
        rough = spread <= 1e-9
        if rough:  # Without an error so far, half an error is assumed
            kinds = {"sensitivity": self.gold.sum(), "specificity": (1 - self.gold).sum()}
            units = kinds.get(measure, count)
            low, high = bounds
            share = (value - low) / (high - low)
            share = min(max(share, 0.5 / (units + 1)), 1 - 0.5 / (units + 1))
            value = low + (high - low) * share
            spread = (high - low) ** 2 * share * (1 - share) * count / float(units)
        sizes = np.bincount(self.clusters)
        level = self._bootstrap.confidence
        per_group = max(1, round(float(sizes.mean())))
        labels = rarer_labels(self.gold, measure)
        rarer = None if labels is None else (labels + 0.5) / (count + 1)
        return Design(value, spread, correlation, sizes, per_group, bounds, level, rarer), rough

    def _planned(self, goal: LabelGoal, design: Design, rough: bool) -> LabelGoal:
        groups = _least_groups(design, goal)
        goal = replace(
            goal,
            correlation=design.correlation.estimate,
            used_correlation=design.correlation.used,
            design_effect=design.effect(),
            rough=rough,
        )
        if groups is None:
            what = "stays too wide" if goal.bar is None else "would still hold the bar"
            why = f"the interval {what} with {MOST_LABELS:,} more"
            return replace(goal, why=why)
        goal = replace(
            goal,
            more=groups * design.per_group,
            more_groups=groups,
            more_singly=_least_groups(replace(design, per_group=1), goal),
            expected=design.interval(groups),
        )
        if goal.bar is None:
            return goal
        bar = goal.bar
        likely = _least(lambda k: design.chance(bar, k) >= LIKELY, MOST_LABELS // design.per_group)
        return replace(
            goal,
            chance=design.chance(bar, groups),
            likely_more=None if likely is None else likely * design.per_group,
        )


def _least_groups(design: Design, goal: LabelGoal) -> int | None:
    """Return the least number of new groups that reach a goal, if the value stays."""

    def enough(groups: int) -> bool:
        return _reaches(design.interval(groups), goal.half_width, goal.bar) and (
            goal.bar is None or design.decides(groups)
        )

    return _least(enough, MOST_LABELS // design.per_group)


def _reaches(
    interval: tuple[float | None, float | None], half_width: float | None, bar: float | None
) -> bool:
    """Return whether an interval is narrow enough, or excludes the bar."""
    low, high = interval
    if low is None or high is None:
        return False
    if half_width is not None:
        return (high - low) / 2 <= half_width
    return bar is not None and (low >= bar or high < bar)


def _least(enough: Callable[[int], bool], most: int) -> int | None:
    """Return the least number from 1 that is enough, None if not even `most` is."""
    if most < 1 or not enough(most):
        return None
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def label_order(
    candidates: Sequence[LabelCandidate], labelled_groups: Set[str], seed: int
) -> tuple[LabelCandidate, ...]:
    """Return rows in the order in which to label them: groups without labels first, then others.

    Within these two parts, rows are arranged by group, verdict and doubt, and visited from a random
    start in bit-reversed steps. So the first N rows are spread evenly over groups and doubt,
    whatever N, and each row is equally likely to be among them.
    """
    rng = random.Random(seed)
    groups = sorted({candidate.group for candidate in candidates})
    rng.shuffle(groups)
    rank = {group: number for number, group in enumerate(groups)}
    new = [c for c in candidates if not c.group or c.group not in labelled_groups]
    old = [c for c in candidates if c.group and c.group in labelled_groups]
    ordered = []
    for part in (new, old):
        rng.shuffle(part)  # Rows that are alike in all that counts come in random order
        part.sort(key=lambda c: (rank[c.group], c.verdict, c.doubt or 0.0))
        start = rng.randrange(len(part)) if part else 0
        ordered += [part[(start + step) % len(part)] for step in _bit_reversed(len(part))]
    return tuple(ordered)


def _bit_reversed(count: int) -> list[int]:
    """Return the numbers below `count` so that any first part of them is spread evenly."""
    bits = max(1, (count - 1).bit_length())
    return sorted(range(count), key=lambda number: int(f"{number:0{bits}b}"[::-1], 2))
