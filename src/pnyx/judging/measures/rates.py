"""A judge's share of yes, corrected for its errors with human labels of some answers.

Two corrections side by side (docs/reference/measures.md, "Corrected rates"). Rogan and Gladen (Am.
J. Epidemiol. 107, 1978) invert the judge's share with its sensitivity and specificity on the
labels, and assume that these are the same among all answers. Prediction-powered inference
(`core.ppi`) adds the difference between people and the judge, and assumes that the labelled answers
are a random sample.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pnyx.core.errors import InputError
from pnyx.core.tabular import Result
from pnyx.judging.measures.ground_truth import LabelledVerdicts, join_labels
from pnyx.judging.measures.pairs import PairColumns
from pnyx.judging.measures.ppi import prediction_powered
from pnyx.judging.verdicts import Source
from pnyx.stats.base import BOOTSTRAP, Bootstrap, Measured, row_of
from pnyx.stats.distributions import student_quantile
from pnyx.stats.intervals import UNIT, cluster_mean, share_interval
from pnyx.stats.weighted_measures import Floats

_ESTIMATES = "judged people rogan_gladen prediction_powered sensitivity specificity"
_JEFFREYS = 0.5  # A yes and a no of this weight stand for what few labels have not shown
_FREE = 2  # Degrees of freedom used by two shares


@dataclass(frozen=True, slots=True, repr=False)
class CorrectedRate(Result):
    """The share of yes among all answers, by the judge and corrected.

    Attributes:
        judged: the judge's share over all scored answers, without an interval: it may be biased.
        people: people's share over the labelled answers alone.
        rogan_gladen: corrected by sensitivity and specificity; `scored` labels of `asked` answers.
            None if the judge is no better than chance on the labels, or if one class is missing.
        prediction_powered: corrected by the differences; None for fewer than four labels.
        sensitivity: share of people's yes that the judge answers with yes.
        specificity: share of people's no that it answers with no.
    """

    judged: Measured
    people: Measured
    rogan_gladen: Measured
    prediction_powered: Measured
    sensitivity: Measured
    specificity: Measured

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each estimate."""
        return [{"estimate": n, **getattr(self, n).row()} for n in _ESTIMATES.split()]

    def row(self) -> dict[str, Any]:
        """Return the object `rate` in `--json` output."""
        return row_of(self, _ESTIMATES)


def corrected_rate(
    answers: LabelledVerdicts | Source,
    labels: Source | None = None,
    *,
    judge: str | None = None,
    bootstrap: Bootstrap = BOOTSTRAP,
) -> CorrectedRate:
    """Correct a judge's share of yes with the labels of some of its answers.

    Answers of one group may correlate, which widens the intervals. Unscored answers are left out.

    Args:
        answers: yes/no answers, or the result of `join_labels`, which includes labels.
        labels: human labels of some of them; see `join_labels`.
        judge: the judge whose answers count, if there are several.
        bootstrap: its confidence level, and its draws for the shares without correction; without
            draws there are no intervals.

    Raises:
        InputError: answers or labels are malformed, none match, or they are ratings.
    """
    joined = (
        answers
        if isinstance(answers, LabelledVerdicts)
        else join_labels(answers, labels, judge=judge)
    )
    if joined.task == "quality":
        raise InputError("found ratings, expected answers of yes or no")
    pairs, numbers = PairColumns.of(joined.pairs), dict[str, int]()
    labels, values = pairs.labels(lambda gold: gold.yes), pairs.value()
    rows = [
        (people, judge, numbers.setdefault(group, len(numbers)) if group else -row, 1)
        for row, (people, judge, group) in enumerate(
            zip(labels, values, pairs.groups, strict=True), 2
        )
        if not np.isnan(judge)
    ]
    for (group, value), count in joined.unlabelled.items():
        if value is not None:
            cluster = numbers.setdefault(group, len(numbers)) if group else -1
            rows.append((np.nan, float(value), cluster, count))
    total = len(pairs) + sum(joined.unlabelled.values())
    return _Sample(np.array(rows, dtype=np.float64).reshape(-1, 4), total, bootstrap).rate()


class _Sample:
    """Rows of label (NaN without), judge's answer, cluster (below 0: none), count."""

    def __init__(self, rows: Floats, total: int, bootstrap: Bootstrap) -> None:
        self._labels, self._answers, self._clusters, self._count = rows.T
        self._asked, self._bootstrap = total, bootstrap
        self._has = np.isfinite(self._labels)
        self._people, self._judge, self._places, _ = rows[self._has].T
        self._yes, self._no = self._people == 1, self._people == 0
        self._n, self._size = len(self._people), int(self._count.sum())
        self._share = float(self._count @ self._answers) / max(1, self._size)
        degrees = max(_FREE, len(np.unique(self._places)) - _FREE)
        self._quantile = student_quantile(degrees, (1 + bootstrap.confidence) / 2)

    def rate(self) -> CorrectedRate:
        everyone = np.ones(self._n, dtype=np.bool_)
        return CorrectedRate(
            Measured(self._share if self._size else None, self._size, self._asked),
            self._mean(self._people, everyone),
            self._rogan_gladen(),
            self._prediction_powered(),
            self._mean(self._judge, self._yes),
            self._mean(1 - self._judge, self._no),
        )

    def _mean(self, values: Floats, of: npt.NDArray[np.bool_]) -> Measured:
        return cluster_mean(values[of], self._places[of], self._bootstrap)

    def _prediction_powered(self) -> Measured:
        """Return the estimate of PPI++; its variance is that of the labels of each answer."""
        others = ~self._has
        further = np.repeat(self._answers[others], self._count[others].astype(np.intp))
        value = prediction_powered(self._people, self._judge, further, unit=1).corrected.value
        if value is None or not self._bootstrap.draws:
            return Measured(value, self._n, self._size)
        weights = self._share, 1 - self._share
        (yes, of_yes), (no, of_no) = (_smoothed(self._people[self._judge == s]) for s in (1, 0))
        middle, slope = weights[0] * yes + weights[1] * no, yes - no
        variance = weights[0] ** 2 * of_yes + weights[1] ** 2 * of_no
        variance += slope**2 * weights[0] * weights[1] / self._size
        errors = self._people - slope * self._judge
        widened = self._design_effect((errors - errors.mean()) / self._n, slope)
        units = middle * (1 - middle) / (variance * widened)
        return Measured(value, self._n, self._size, *share_interval(value, units, self._quantile))

    def _rogan_gladen(self) -> Measured:
        n_yes, n_no = int(self._yes.sum()), int(self._no.sum())
        hits = float(self._judge[self._yes].mean()) if n_yes else 0.0
        alarms = float(self._judge[self._no].mean()) if n_no else 1.0
        if hits <= alarms:
            why = "the judge is no better than chance" if n_yes and n_no else "labels are all alike"
            return Measured(None, self._n, self._size, no_interval=why)
        value = min(1.0, max(0.0, (self._share - alarms) / (hits - alarms)))
        if not self._bootstrap.draws:
            return Measured(value, self._n, self._size)
        errors = value * self._yes * (self._judge - hits) / n_yes
        errors += (1 - value) * self._no * (self._judge - alarms) / n_no
        low, high = self._fieller(self._design_effect(-errors, 1.0))
        return Measured(value, self._n, self._size, min(low, value), max(high, value))

    def _fieller(self, widened: float) -> tuple[float, float]:
        """Return the shares x at which share - x hits - (1 - x) alarms may be 0 (Fieller 1954).

        (over - x gain)^2 <= limit (known + (a - x)^2 of_hits + (b - 1 + x)^2 of_alarms): the error
        of the overall share comes from the unlabelled answers (known), and from hits and alarms of
        the labelled ones.
        """
        limit, others = self._quantile**2 * widened, self._size - self._n
        (hits, of_hits), (alarms, of_alarms) = map(
            _smoothed, (self._judge[self._yes], self._judge[self._no])
        )
        gain, over = hits - alarms, self._share - alarms
        a, b = (float(kind.sum()) / self._size for kind in (self._yes, self._no))
        variance = (a + b) ** 2 * gain**2 * _smoothed(self._people)[1]
        if others:
            variance += (1 - a - b) ** 2 * self._share * (1 - self._share) / others
        square = gain**2 - limit * (of_hits + of_alarms)
        linear = 2 * (limit * (a * of_hits + (1 - b) * of_alarms) - gain * over)
        plain = over**2 - limit * (variance + a**2 * of_hits + (1 - b) ** 2 * of_alarms)
        inner = linear**2 - 4 * square * plain
        if square <= 0 or inner < 0:
            return UNIT
        ends = ((-linear + sign * math.sqrt(inner)) / (2 * square) for sign in (-1, 1))
        low, high = (min(1.0, max(0.0, end)) for end in ends)
        return low, high

    def _design_effect(self, errors: Floats, slope: float) -> float:
        """Return the factor by which correlation in clusters increases the variance, at least 1."""
        every = slope * (self._answers - self._share) / max(1, self._size)
        every[self._has] += errors
        alone = self._clusters < 0
        grouped = np.bincount(self._clusters[~alone].astype(np.intp), (self._count * every)[~alone])
        clusters, plain = len(grouped), float(self._count @ every**2)
        if clusters < _FREE or not plain > 0:
            return 1.0
        together = float(grouped @ grouped) * clusters / (clusters - 1)
        together += float(self._count[alone] @ every[alone] ** 2)
        return max(1.0, together / plain)


def _smoothed(values: Floats) -> tuple[float, float]:
    """Return a share with Jeffreys' half a yes and half a no added, and its variance."""
    total = len(values) + 2 * _JEFFREYS
    share = (float(values.sum()) + _JEFFREYS) / total
    return share, share * (1 - share) / total
