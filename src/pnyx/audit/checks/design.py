"""How a measure's interval shrinks with more labels: its variance by items and by groups.

The variance of a measure of n items is that of its influence values over n, times the design effect
of groups: 1 + (m - 1) r, with m the labels of a group (weighted by size) and r the correlation of
influence values within groups (Kish, Survey Sampling, 1965).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from pnyx.audit.checks.sample_size import MIN_RARER, enough_groups
from pnyx.stats.distributions import beta_quantile, student_quantile
from pnyx.stats.intervals import Range, share_interval
from pnyx.stats.weighted_measures import Floats, Index, Weighted, prepare

MANY_GROUPS = 30
"""With fewer groups, the correlation within groups is taken from the upper end of its interval."""
CAUTION = 0.8  # One-sided confidence of that upper end
UNKNOWN_CORRELATION = 0.2  # Assumed where all labels are of one group
_STEP = 1e-4  # By which an item's weight is changed, to see its influence
_CELLS = 1_000_000  # Weights in memory at once


@dataclass(frozen=True, slots=True)
class Correlation:
    """How similar the items of a group are (intraclass correlation), in [0, 1].

    Attributes:
        estimate: by analysis of variance; None if no group has two items, or there is one group.
        used: what the plan takes it to be; with few groups, the upper end of the estimate's
            one-sided interval of 80 %.
    """

    estimate: float | None
    used: float


@dataclass(frozen=True, slots=True)
class Design:
    """What determines the interval of a measure.

    Attributes:
        value: of the measure.
        spread: variance of an item's influence on the measure.
        correlation: of influence values within groups.
        sizes: (groups,) labelled items of each group.
        per_group: labels that each new group gets.
        bounds: the range of the measure.
        confidence: of the interval.
        rarer: share of the labels that are of the rarer answer; None if the measure needs none.
    """

    value: float
    spread: float
    correlation: Correlation
    sizes: Index
    per_group: int
    bounds: Range
    confidence: float
    rarer: float | None = None

    def effect(self, more_groups: int = 0) -> float:
        """Return the design effect after labelling more groups."""
        items = self.items(more_groups)
        squares = float((self.sizes.astype(np.float64) ** 2).sum())
        squares += more_groups * self.per_group**2
        return 1 + max(0.0, squares / items - 1) * self.correlation.used

    def items(self, more_groups: int = 0) -> int:
        """Return how many items are labelled then."""
        return int(self.sizes.sum()) + more_groups * self.per_group

    def variance(self, more_groups: int = 0) -> float:
        """Return the variance of the measure then."""
        return self.spread * self.effect(more_groups) / self.items(more_groups)

    def interval(self, more_groups: int = 0) -> tuple[float, float]:
        """Return the interval then, if the value stays: as `interval_of` has it."""
        degrees = max(1, len(self.sizes) + more_groups - 1)
        t = student_quantile(degrees, (1 + self.confidence) / 2)
        low, high = self.bounds
        share = (self.value - low) / (high - low)
        scaled = self.variance(more_groups) / (high - low) ** 2
        ends = share_interval(share, share * (1 - share) / scaled, t)
        return low + (high - low) * ends[0], low + (high - low) * ends[1]

    def decides(self, more_groups: int) -> bool:
        """Return whether the labels are then enough to decide about a bar."""
        sizes = np.append(self.sizes, np.full(more_groups, self.per_group))
        few = self.rarer is not None and self.rarer * self.items(more_groups) < MIN_RARER
        return enough_groups(sizes) and not few

    def chance(self, bar: float, more_groups: int) -> float:
        """Return the chance that the interval then excludes the bar, with the value on its side.

        The value may move as far as the labels so far leave it uncertain.
        """
        low, high = self.interval(more_groups)
        room = low - bar if self.value > bar else bar - high
        moves = math.sqrt(max(0.0, self.variance() - self.variance(more_groups)))
        if moves <= 1e-12:
            return float(room >= 0)
        return NormalDist().cdf(room / moves)


def influences(measure: Weighted, gold: Floats, score: Floats) -> Floats:
    """Return by how much each item moves a measure, (n,), as if it counted once more, times n."""
    ready, count = prepare(measure, gold, score), len(gold)
    blocks = []
    step = max(1, _CELLS // count)
    base = float(ready(np.ones((1, count)))[0])
    for start in range(0, count, step):
        rows = min(step, count - start)
        weights = np.ones((rows, count))
        weights[np.arange(rows), start + np.arange(rows)] += _STEP
        blocks.append((ready(weights) - base) / _STEP * count)
    return np.concatenate(blocks)


def correlation_of(values: Floats, clusters: Index) -> Correlation:
    """Estimate the correlation of values within clusters, by one-way analysis of variance.

    The interval is that of the F distribution (Searle, Linear Models, 1971), with the mean size of
    clusters that corrects for unequal ones.
    """
    sizes = np.bincount(clusters).astype(np.float64)
    count, groups = len(values), len(sizes)
    if groups == count:  # No items share a group, so there is nothing to estimate
        return Correlation(None, 0.0)
    if groups < 2:
        return Correlation(None, UNKNOWN_CORRELATION)
    means = np.bincount(clusters, values) / sizes
    between = float((sizes * (means - values.mean()) ** 2).sum()) / (groups - 1)
    within = float(((values - means[clusters]) ** 2).sum()) / (count - groups)
    if between <= 0 and within <= 0:
        return Correlation(None, UNKNOWN_CORRELATION)
    size = (count - float((sizes**2).sum()) / count) / (groups - 1)
    estimate = max(0.0, (between - within) / (between + (size - 1) * within))
    if within <= 0:
        return Correlation(1.0, 1.0)
    if groups >= MANY_GROUPS:
        return Correlation(estimate, estimate)
    ratio = between / within * _f_quantile(CAUTION, count - groups, groups - 1)
    high = min(1.0, max(0.0, (ratio - 1) / (ratio + size - 1)))
    return Correlation(estimate, max(high, estimate))


def _f_quantile(below: float, top: float, bottom: float) -> float:
    """Return the value below which an F variable lies with chance `below`."""
    share = beta_quantile(below, top / 2, bottom / 2)
    return bottom / top * share / (1 - share)
