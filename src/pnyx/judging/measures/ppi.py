"""Prediction-powered inference: few human labels correct many scores of a judge.

The mean of human labels over all topics is estimated from the labels of few topics, plus a share of
the difference between the judge's mean over the other topics and over these. The estimate is
unbiased for any judge; a good judge makes it more precise (Angelopoulos, Bates, Fannjiang, Jordan
and Zrnic, Science 382, 2023; PPI++: Angelopoulos, Duchi and Zrnic, arXiv:2311.01453).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from pnyx.core.errors import InputError, shorten
from pnyx.core.tabular import Result
from pnyx.formats.cells import frame_rows, is_missing, plain_cell
from pnyx.judging.value_rows import series_by_index, yes_no_of
from pnyx.stats.base import Measured, row_of
from pnyx.stats.distributions import student_below, student_quantile
from pnyx.stats.intervals import Range, log_odds_interval
from pnyx.stats.weighted_measures import Floats

LEAST_LABELLED = 4
"""Two parameters are estimated from the labelled topics, and Student's t needs two degrees."""


@dataclass(frozen=True, slots=True, repr=False)
class PredictionPowered(Result):
    """A mean of human labels, estimated with the help of a judge.

    Attributes:
        corrected: the estimate over all topics, of which `scored` are labelled; None for too few.
        people: the mean over the labelled topics alone, with its interval.
        judge: the judge's own mean over all topics, without an interval: it may be biased.
        trust: the weight of the judge, lambda of PPI++ in [0, 1].
        worth: number of labels with which the human mean alone would be as precise; None without
            variance.
        p: of the two-sided test that the mean is 0; for differences.
    """

    corrected: Measured
    people: Measured
    judge: float | None
    trust: float | None = None
    worth: float | None = None
    p: float | None = None

    def rows(self) -> list[dict[str, object]]:
        """Return a row for each of the three means."""
        estimates = {"corrected": self.corrected, "people": self.people}
        rows: list[dict[str, object]] = [{"mean": n, **m.row()} for n, m in estimates.items()]
        return [*rows, {"mean": "judge", "value": self.judge}]

    def row(self) -> dict[str, object]:
        """Return the object of `--json`."""
        return row_of(self, "corrected people judge trust worth p")


Scores: TypeAlias = Mapping[Any, Any] | Iterable[Any]
"""Numbers, or yes and no (also as words): an array, a list, a series, or id -> value."""


def prediction_powered(
    people: Scores,
    judge: Scores,
    further: Scores = (),
    confidence: float = 0.95,
    unit: float | None = None,
    bounds: Range | None = None,
) -> PredictionPowered:
    """Estimate the mean that human labels would have over all topics.

    lambda is that of PPI++, Cov(people, judge) / ((1 + n/N) Var(judge)) within [0, 1]. The variance
    is lambda^2 Var(judge)/N + Var(people - lambda judge)/n. Its second term and Student's quantile
    have n - 2 degrees of freedom: the papers' normal quantile is for many labels and covers too
    little with few (docs/explain/decisions/people-and-judges.md).

    Args:
        people: labels (n,) of the labelled topics, a random sample of all topics. None in a list,
            or a missing entry of a dict, means that the topic of the judge's score is not labelled.
        judge: the judge's scores (n,) of the same topics, in the same order or by the same ids; two
            pandas series are joined by index.
        further: the judge's scores (N,) of the other topics.
        confidence: level of the intervals.
        unit: the weight of one answer if values are shares in [0, 1]: the interval is symmetric in
            log-odds, with a 0 and a 1 of that weight added (Agresti and Coull, Am. Stat. 52, 1998).
            There is no test in this case.
        bounds: the lowest and highest value of a label. The interval is computed with one more
            label at each of them, because Student's interval covers too few means if most labels
            are at a bound (docs/lab/corrected-means.md).

    Raises:
        InputError: a value is not a number, or people and judge have different topics.
    """
    return _estimate(*_samples(people, judge, further), confidence, unit, bounds)


def _estimate(
    people: Floats,
    judge: Floats,
    further: Floats,
    confidence: float,
    unit: float | None,
    bounds: Range | None,
) -> PredictionPowered:
    n, others = len(people), len(further)
    everything = np.concatenate([judge, further])
    judged_mean = float(everything.mean()) if n + others else None
    plain, alone = _plain(people, n + others, confidence, bounds)
    if n < LEAST_LABELLED or (others == 1 and unit is None and bounds is None):
        return PredictionPowered(Measured(None, n, n + others), plain, judged_mean)
    if plain.low is None and unit is None:  # equal labels, for which lambda is 0
        return PredictionPowered(plain, plain, judged_mean, 0.0)
    trust = _trust(people, judge, everything, others)
    value, unlabelled = float(people.mean()), 0.0
    if trust:
        value += trust * float(further.mean() - judge.mean())
        low, high = bounds or (0.0, 1.0)
        most = (high - low) ** 2 / 4  # variance of labels half at each end
        unlabelled = trust**2 * (float(further.var(ddof=1)) / others if others > 1 else most)
    errors = people - trust * judge
    if unit is not None:
        value = min(1.0, max(0.0, value))
        ends = _share_bounds(value, errors, unlabelled, unit, confidence)
        return PredictionPowered(Measured(value, n, n + others, *ends), plain, judged_mean, trust)
    degrees = n - 2 if trust else n - 1  # lambda is not estimated for people alone
    if bounds is None:
        middle = value
        variance = float(errors.var()) / (n - 2) if trust else alone
    else:
        value = min(bounds[1], max(bounds[0], value))
        middle, variance = _with_ends(value, errors, bounds)
    variance += unlabelled
    ends = _ends(value, middle, variance, degrees, confidence, bounds)
    return PredictionPowered(
        Measured(value, n, n + others, *ends),
        plain,
        judged_mean,
        trust,
        n * alone / variance if variance > 0 else None,
        2 * student_below(-abs(middle) / math.sqrt(variance), degrees) if variance > 0 else None,
    )


def _samples(people: Scores, judge: Scores, further: Scores) -> tuple[Floats, Floats, Floats]:
    """Return the labels, the judge's scores of the same topics, and those of the others."""
    people, judge = series_by_index(people=people, judge=judge)
    if isinstance(people, Mapping) or isinstance(judge, Mapping):
        if not (isinstance(people, Mapping) and isinstance(judge, Mapping)):
            raise InputError("people, judge: found one dict, expected two, or two lists")
        if unjudged := [key for key in people if key not in judge]:
            raise InputError(
                f"people: {len(unjudged)} of {len(people)} labels are of topics that the judge has "
                f"not scored, such as {shorten(unjudged[0], 40)!r}"
            )
        people, judge = [people.get(key) for key in judge], list(judge.values())
    labels, scores = _numbers(people, "people"), _numbers(judge, "judge")
    others = _numbers(further.values() if isinstance(further, Mapping) else further, "further")
    if len(labels) != len(scores):
        raise InputError(
            f"found {len(labels)} labels of people and {len(scores)} scores of the judge, expected "
            "as many: they are of the same topics; scores of other topics belong in further"
        )
    for name, values in (("judge", scores), ("further", others)):
        if np.isnan(values).any():
            raise InputError(f"{name}: found a topic without a score, expected a number for each")
    for name, values in (("people", labels), ("judge", scores), ("further", others)):
        if np.isinf(values).any():
            raise InputError(f"{name}: found an infinite number, expected finite ones")
    labelled = ~np.isnan(labels)
    if labelled.all():
        return labels, scores, others
    return labels[labelled], scores[labelled], np.concatenate([scores[~labelled], others])


def _numbers(values: Any, name: str) -> Floats:
    """Return numbers, NaN for missing ones; InputError if this is not a list of numbers."""
    if isinstance(values, np.ndarray) and values.dtype == np.float64 and values.ndim == 1:
        return values
    expected = "a list of numbers, or of yes and no"
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InputError(f"{name}: found {shorten(repr(values), 40)}, expected {expected}")
    if frame_rows(values) is not None:
        expected = f"{expected}, such as one of its columns"
        raise InputError(f"{name}: found a data frame, expected {expected}")
    numbers = []
    for position, cell in enumerate(values, start=1):
        value = yes_no_of(None if is_missing(cell) else plain_cell(cell))
        if value is not None and not isinstance(value, int | float):
            problem = f"found {shorten(repr(value), 40)}, expected a number, or yes or no"
            raise InputError(f"{name}, value {position}: {problem}")
        numbers.append(math.nan if value is None else float(value))
    return np.array(numbers, np.float64)


def _trust(people: Floats, judge: Floats, everything: Floats, others: int) -> float:
    """Return lambda of PPI++, the weight of the judge's values that minimises the variance."""
    spread = float(everything.var(ddof=1))
    if not others or not spread > 0:
        return 0.0
    together = float(((people - people.mean()) * (judge - judge.mean())).mean())
    return min(1.0, max(0.0, together / ((1 + len(people) / others) * spread)))


def _with_ends(value: float, errors: Floats, bounds: Range) -> tuple[float, float]:
    """Return the mean, and its variance, with one more label at each bound."""
    low, high = bounds
    total = len(errors) + 2
    middle = (len(errors) * value + low + high) / total
    squares = float(((errors - errors.mean()) ** 2).sum())
    squares += (value - low) ** 2 + (high - value) ** 2
    return middle, squares / (total - 1) / total


def _ends(
    value: float,
    middle: float,
    variance: float,
    degrees: int,
    confidence: float,
    bounds: Range | None,
) -> tuple[float, float]:
    """Return Student's interval, which contains the value and stays within the bounds."""
    half = student_quantile(degrees, (1 + confidence) / 2) * math.sqrt(variance)
    low, high = min(value, middle - half), max(value, middle + half)
    return (low, high) if bounds is None else (max(bounds[0], low), min(bounds[1], high))


def _share_bounds(
    value: float, errors: Floats, unlabelled: float, unit: float, confidence: float
) -> tuple[float, float]:
    total = len(errors) + 2 * unit
    middle = (len(errors) * value + unit) / total
    squares = float(((errors - errors.mean()) ** 2).sum())
    squares += unit * (value**2 + (1 - value) ** 2)
    variance = squares / (total - 1) / total + unlabelled
    spread = variance / (middle * (1 - middle)) ** 2
    low, high = log_odds_interval(middle, spread, total - 1, confidence)
    return min(low, value), max(high, value)


def _plain(
    people: Floats, total: int, confidence: float, bounds: Range | None
) -> tuple[Measured, float]:
    """Return the mean of the labels alone, its interval (from three labels), and its variance."""
    n = len(people)
    if not n:
        return Measured(None, 0, total), 0.0
    mean = float(people.mean())
    # Without bounds, equal labels say nothing about their spread; ignore rounding errors.
    if n < 3 or (bounds is None and float(np.ptp(people)) <= 1e-12):
        return Measured(mean, n, total), 0.0
    if bounds is None:
        middle, variance = mean, float(people.var(ddof=1)) / n
    else:
        middle, variance = _with_ends(mean, people, bounds)
    ends = _ends(mean, middle, variance, n - 1, confidence, bounds)
    return Measured(mean, n, total, *ends), variance
