"""Confidence intervals: of proportions, and by the cluster bootstrap of any other statistic.

Each resample draws as many whole clusters (topics) as there are, with replacement (Field and Welsh,
JRSS B 69, 2007). docs/lab/coverage.md has the simulated coverage of each interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pnyx.stats.base import BOOTSTRAP, Bootstrap, Measured
from pnyx.stats.weighted_measures import Floats, Index, defined_mean, ratio

Bounds: TypeAlias = tuple[float, float, str] | tuple[None, None, str]
"""Low and high; or None, and the reason (empty if no interval was requested)."""

FEW = "fewer than two topics, runs or items to draw from"
UNDEFINED = "undefined in more than half of the draws"
CONSTANT = "the same value in every draw, which says nothing about its spread"

Range: TypeAlias = tuple[float, float]
"""The lowest and highest value that a statistic can have."""

UNIT: Range = (0.0, 1.0)
SIGNED: Range = (-1.0, 1.0)

_Z95 = 1.959963984540054
_CELLS = 1_000_000  # Weights in memory at once; measures create a handful of arrays of this size


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """Return Wilson's score interval of a proportion, within [0, 1] (JASA 22, 1927)."""
    if not 0 <= successes <= trials or trials < 1:
        raise ValueError(f"found {successes} of {trials}, expected 0 <= successes <= trials >= 1")
    return share_interval(successes / trials, trials, _Z95)


def share_interval(share: float, trials: float, z: float) -> tuple[float, float]:
    """Return Wilson's interval of a proportion with an effective number of observations."""
    centre = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = (z / (1 + z * z / trials)) * math.sqrt(
        share * (1 - share) / trials + z * z / (4 * trials * trials)
    )
    # The interval always contains the share; rounding could exclude 0 and 1.
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))


def share_of(yes: int, scored: int, total: int) -> Measured:
    """Return the share yes / scored with Wilson's 95 % interval; None if nothing is scored."""
    if not scored:
        return Measured(None, 0, total)
    return Measured(yes / scored, scored, total, *wilson(yes, scored))


def log_odds_interval(
    value: float, variance: float, degrees: float = math.inf, confidence: float = 0.95
) -> tuple[float, float]:
    """Return a proportion's interval, symmetric in log-odds; 0 and 1 are their own intervals."""
    from pnyx.stats.distributions import student_quantile

    if not 0 < value < 1:
        return value, value
    below = (1 + confidence) / 2
    normal = degrees > 1e6
    quantile = (
        NormalDist().inv_cdf(below)
        if normal
        else student_quantile(max(2.0, round(degrees, 1)), below)
    )
    half = quantile * math.sqrt(variance)
    centre = math.log(value) - math.log1p(-value)
    low, high = (1 / (1 + math.exp(-min(700.0, max(-700.0, centre + d)))) for d in (-half, half))
    return low, high


def draw_clusters(
    count: int, bootstrap: Bootstrap = BOOTSTRAP, at_once: int | None = None
) -> Iterator[Floats]:
    """Yield how often each of `count` clusters is drawn, in blocks of draws, (rows, count)."""
    rng = np.random.default_rng(bootstrap.seed)
    at_once = max(1, _CELLS * 16 // 25 // max(1, count)) if at_once is None else at_once
    for start in range(0, bootstrap.draws if count else 0, at_once):
        rows = min(at_once, bootstrap.draws - start)
        drawn = rng.integers(0, count, size=(rows, count))
        drawn += np.arange(rows)[:, None] * count
        times = np.bincount(drawn.ravel(), minlength=rows * count)
        yield times.reshape(rows, count).astype(np.float64)


def draw_weights(
    clusters: npt.NDArray[np.intp], bootstrap: Bootstrap = BOOTSTRAP
) -> Iterator[Floats]:
    """Yield the weights of items (n,) in blocks of draws, (rows, n), by cluster numbers."""
    at_once = max(1, _CELLS // max(1, len(clusters)))
    for times in draw_clusters(int(clusters.max(initial=-1)) + 1, bootstrap, at_once):
        yield times[:, clusters]


def percentile_interval(values: Floats) -> tuple[float, float] | tuple[None, None]:
    """Return the interval of the defined draws; None if fewer than half are defined."""
    defined = values[np.isfinite(values)]
    if len(defined) == 0 or 2 * len(defined) < len(values):
        return None, None
    confidence = BOOTSTRAP.confidence
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def interval_of(
    value: float,
    drawn: Floats,
    clusters: int,
    bootstrap: Bootstrap = BOOTSTRAP,
    *,
    bounds: Range | None = None,
    units: float | None = None,
    unseen: float = 0.0,
) -> Bounds:
    """Return the interval of a statistic from the spread of its draws.

    With `bounds` it is Wilson's interval for the effective number of units that gives this spread,
    with Student's t for few clusters (Korn and Graubard, Survey Methodology 24, 1998); if all draws
    are equal to a bound, `units` is that number. Without bounds it is the percentile interval,
    widened for few clusters (Hesterberg, The American Statistician 69, 2015).

    Args:
        value: the statistic on all data.
        drawn: (draws,) its values in the draws, NaN if undefined.
        clusters: the number of clusters.
        bootstrap: its confidence level is used.
        bounds: the range of the statistic.
        units: number of observations that could make it less than perfect; default: `clusters`.
        unseen: variance that is added to that of the draws, for rare and large losses.

    Returns:
        Low and high; None for fewer than two clusters, if fewer than half of the draws are defined,
        and for a constant that is not at a bound (its spread is unknown). Then also the reason.
    """
    from pnyx.stats.distributions import student_quantile

    defined = drawn[np.isfinite(drawn)]
    if bootstrap.draws == 0 or clusters < 2:
        return None, None, FEW if bootstrap.draws else ""
    if len(defined) == 0 or 2 * len(defined) < len(drawn):
        return None, None, UNDEFINED
    below = (1 + bootstrap.confidence) / 2
    constant = float(np.ptp(defined)) <= 1e-12
    if bounds is None or not bounds[0] <= value <= bounds[1]:
        if constant:
            return None, None, CONSTANT
        t = student_quantile(clusters - 1, below) * math.sqrt(clusters / (clusters - 1))
        tail = NormalDist().cdf(-t)
        low, high = np.quantile(defined, [tail, 1 - tail])
        return min(value, float(low)), max(value, float(high)), ""
    low, high = bounds
    share = (value - low) / (high - low)
    variance = float(defined.var()) * clusters / (clusters - 1) + unseen
    variance /= (high - low) ** 2
    if min(share, 1 - share) <= 1e-12:
        z = NormalDist().inv_cdf(below)
        ends = share_interval(round(share), max(1.0, clusters if units is None else units), z)
    elif constant:
        return None, None, CONSTANT
    else:
        t = student_quantile(clusters - 1, below)
        ends = share_interval(share, share * (1 - share) / variance, t)
    return low + (high - low) * ends[0], low + (high - low) * ends[1], ""


def drawn_value(
    value: float,
    drawn: Floats,
    scored: int,
    total: int,
    clusters: int,
    bootstrap: Bootstrap,
    *,
    bounds: Range | None = None,
) -> Measured:
    """Return a value with the interval of its draws; None if it is NaN."""
    if not np.isfinite(value):
        return Measured(None, scored, total)
    ends = interval_of(value, drawn, clusters, bootstrap, bounds=bounds)
    return Measured(float(value), scored, total, *ends)


Ranges: TypeAlias = Range | list[Range | None] | None


def mean_intervals(
    table: Floats, bootstrap: Bootstrap = BOOTSTRAP, bounds: Ranges = None
) -> list[Bounds]:
    """Return the interval of each column's mean over rows; see `interval_of`."""
    ranges: list[Range | None] = bounds if isinstance(bounds, list) else [bounds] * table.shape[1]
    has = np.isfinite(table)
    filled, counted = np.where(has, table, 0.0), has.astype(np.float64)
    drawn = [
        ratio(weights @ filled, weights @ counted)
        for weights in draw_weights(np.arange(len(table), dtype=np.intp), bootstrap)
    ]
    result: list[Bounds] = []
    for n in range(table.shape[1]):
        defined = table[has[:, n], n]
        if not len(defined):
            result.append((None, None, ""))
            continue
        # A constant must not seem to vary because of rounding errors.
        same = bool(np.ptp(defined) == 0)
        column = defined if same or not drawn else np.concatenate([m[:, n] for m in drawn])
        mean = float(defined[0] if same else defined.mean())
        result.append(interval_of(mean, column, len(defined), bootstrap, bounds=ranges[n]))
    return result


def column_means(
    table: Floats, bootstrap: Bootstrap = BOOTSTRAP, bounds: Ranges = None
) -> list[Measured]:
    """Return each column's mean over the rows that have a value, with its interval."""
    return [
        Measured(defined_mean(column), int(np.isfinite(column).sum()), len(column), *ends)
        for column, ends in zip(table.T, mean_intervals(table, bootstrap, bounds), strict=True)
    ]


def cluster_mean(
    values: npt.ArrayLike,
    clusters: npt.ArrayLike,
    bootstrap: Bootstrap = BOOTSTRAP,
    total: int | None = None,
    bounds: Range | None = None,
) -> Measured:
    """Return the mean of the defined values, with its bootstrap interval over clusters.

    Args:
        values: (n,); NaN if a value is missing.
        clusters: (n,), the cluster of each value, such as its question: numbers or names.
        bootstrap: how the interval is drawn; fewer than two clusters have none.
        total: the number of values asked for, by default n.
        bounds: the range of a value; by default [0, 1] if each value is 0 or 1.
    """
    values, clusters = np.asarray(values, dtype=np.float64), np.asarray(clusters)
    has = np.isfinite(values)
    scored, total = int(has.sum()), len(values) if total is None else total
    if not scored:
        return Measured(None, 0, total)
    defined, groups = values[has], clusters[has]
    mean, count = float(defined.mean()), len(np.unique(groups))
    if bounds is None and np.isin(defined, (0.0, 1.0)).all():
        bounds = UNIT
    if bootstrap.draws == 0 or count < 2:
        drawn = defined
    elif np.ptp(defined) == 0:  # rounding errors must not look like variation
        mean, drawn = float(defined[0]), defined
    else:
        places = np.unique(groups, return_inverse=True)[1].astype(np.intp)
        drawn = np.concatenate(
            [ratio(w @ defined, w.sum(axis=1)) for w in draw_weights(places, bootstrap)]
        )
    ends = interval_of(mean, drawn, count, bootstrap, bounds=bounds)
    return Measured(mean, scored, total, *ends)


@dataclass(frozen=True, slots=True)
class PairedShares:
    """How often only one of two is right in `count` pairs; effective numbers, for clusters."""

    more: float
    less: float
    count: float

    def chance(self, difference: float, *, above: bool = False) -> float:
        """Return the one-sided p of a true difference of at most this (`above`: at least).

        The score test of Tango (Statistics in Medicine 17, 1998), which is valid for small samples
        and if the two never differ.
        """
        z = self._score(difference)
        return NormalDist().cdf(z if above else -z)

    def interval(self, confidence: float = BOOTSTRAP.confidence) -> tuple[float, float]:
        """Return the range of differences that the score test does not reject."""
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        middle = (self.more - self.less) / self.count
        return self._end(-1.0, middle, z), self._end(1.0, middle, -z)

    def _end(self, outer: float, inner: float, z: float) -> float:
        """Return the difference at which the score is z, between a bound and the observed one."""
        for _ in range(60):
            middle = (outer + inner) / 2
            beyond = abs(self._score(middle)) > abs(z)
            outer, inner = (middle, inner) if beyond else (outer, middle)
        return inner

    def _score(self, difference: float) -> float:
        n, d = self.count, difference
        a, c = 2 * n, -self.less * d * (1 - d)
        b = -self.more - self.less + (2 * n - self.more + self.less) * d
        share = (math.sqrt(max(0.0, b * b - 4 * a * c)) - b) / (2 * a)
        variance = n * (2 * share + d * (1 - d))
        gap = self.more - self.less - n * d
        return gap / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, gap)


def paired_shares(differences: Floats, clusters: Index) -> PairedShares:
    """Return differences of 1, 0 and -1 as shares of an effective number of independent pairs.

    `clusters` (n,) are numbered from 0; pairs of one cluster may correlate (Kish's design effect).
    """
    count, mean = len(differences), float(differences.mean()) if len(differences) else 0.0
    deviations = differences - mean
    plain, sums = float(deviations @ deviations), np.bincount(clusters, deviations)
    single = len(sums) in (count, 1) or not plain > 0
    effect = 1.0 if single else float(sums @ sums) / plain * len(sums) / (len(sums) - 1)
    effect = max(1.0, effect)
    more, less = (float((differences * side > 0).sum()) / effect for side in (1, -1))
    return PairedShares(more, less, count / effect)
