"""Selective answers: where a judge is confident, with a bound on the share of errors.

docs/explain/decisions/recalibration.md explains why the bound holds.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pnyx.judging.calibration.curves import STRICT
from pnyx.stats.distributions import beta_quantile, binomial_below

CONFIDENCE = 0.95
"""Confidence of the bound of each side."""

_REGIONS = 24
_STARTS = 2

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Region:
    """The confident answers with one verdict among the labelled ones."""

    __pydantic_config__ = STRICT

    kept: int = 0
    errors: int = 0
    bound: float | None = None  # upper 95 % bound on their share of errors (Clopper-Pearson)
    design_effect: float = 1.0  # factor by which groups inflate the variance

    def __post_init__(self) -> None:
        counts = 0 <= self.errors <= self.kept and (self.bound is None) == (self.kept == 0)
        if not counts or not 0 <= (self.bound or 0.0) <= 1 or self.design_effect < 1:
            raise ValueError("its numbers contradict each other")


@dataclass(frozen=True, slots=True)
class ConfidenceRegions:
    """The probabilities at which a judge's answer is accepted.

    Attributes:
        error: the largest accepted share of errors, for yes and no separately.
        low: a *no* is accepted if the judge's own probability is at most this; None: never.
        high: a *yes* is accepted if it is at least this; None: never.
        no: the answers below `low`.
        yes: the answers above `high`.
        labelled: number of labelled answers used for the choice.
        labelled_yes: number of these that are labelled yes; None in files that do not say so.
    """

    __pydantic_config__ = STRICT

    error: float
    low: float | None
    high: float | None
    no: Region
    yes: Region
    labelled: int
    labelled_yes: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.error < 1:
            raise ValueError(f"error: found {self.error:g}, expected more than 0, less than 1")
        low, high = (0.0 if x is None else x for x in (self.low, self.high))
        if not (0 <= low <= 1 and 0 <= high <= 1):
            raise ValueError(f"found low {low:g} and high {high:g}, expected 0 to 1")
        if self.low is not None and self.high is not None and low >= high:
            raise ValueError(f"found low {low:g} and high {high:g}, expected low < high")
        if self.labelled < max(1, self.no.kept + self.yes.kept):
            raise ValueError(f"found {self.labelled} labelled, expected at least what is kept")
        of_yes = self.labelled_yes
        if of_yes is not None and not self.no.errors <= of_yes <= self.labelled - self.yes.errors:
            raise ValueError(f"found {of_yes} labelled yes, which the errors contradict")
        if (self.low is None) != (not self.no.kept) or (self.high is None) != (not self.yes.kept):
            raise ValueError("a limit without kept answers, or kept answers without a limit")

    @property
    def share(self) -> float:
        """The share of the labelled answers that are kept, in [0, 1]."""
        return (self.no.kept + self.yes.kept) / self.labelled

    @property
    def missed(self) -> float | None:
        """The share of the answers labelled yes that are kept as no; None if unknown."""
        return None if not self.labelled_yes else self.no.errors / self.labelled_yes

    @property
    def per_class(self) -> str:
        """The number of answers of each class that are kept with the wrong verdict, in words."""
        if self.labelled_yes is None:
            return ""
        parts = []
        of_no = self.labelled - self.labelled_yes
        for label, wrong, of, verdict in (
            ("yes", self.no.errors, self.labelled_yes, "no"),
            ("no", self.yes.errors, of_no, "yes"),
        ):
            share = f" ({100 * wrong / of:.0f} %)" if of else ""
            parts.append(f"{wrong} of {of} labelled {label}{share} kept as {verdict}")
        return ", ".join(parts)

    def keeps(self, probability: float, *, verdict: bool) -> bool:
        """Return whether a verdict is accepted, by its probability of yes before recalibration."""
        if verdict:
            return self.high is not None and probability >= self.high
        return self.low is not None and probability <= self.low

    def __str__(self) -> str:
        if self.low is None and self.high is None:
            return (
                f"nothing is kept: no region of the {self.labelled} labelled answers has an "
                f"error that is surely at most {self.error:g}"
            )
        parts = []
        for verdict, sign, limit, side in (
            ("no", "<=", self.low, self.no),
            ("yes", ">=", self.high, self.yes),
        ):
            errors = f", {side.errors} of {side.kept} wrong, at most {side.bound or 0:.3f}"
            rule = f"{verdict} where {sign} {limit or 0:.4g}{errors}"
            parts.append(f"never {verdict}" if limit is None else rule)
        by_class = f"; {self.per_class}" if self.labelled_yes is not None else ""
        return f"keeps {self.share:.0%} ({'; '.join(parts)}{by_class})"


def choose_thresholds(
    probabilities: Sequence[float],
    labels: Sequence[bool],
    error: float,
    groups: Sequence[Hashable] | None = None,
    *,
    verdicts: Sequence[bool] | None = None,
) -> ConfidenceRegions:
    """Choose the widest regions in which at most `error` of a judge's verdicts are wrong.

    With a probability of at least 95 % over the sampling of the labelled answers, the share of
    errors below `low` is at most `error` among further answers of the same kind. The same holds
    above `high`, and for both together with at least 90 %. With `groups` this is approximate.

    Args:
        probabilities: the judge's probabilities of yes, in [0, 1].
        labels: the true label of each.
        error: the largest share of errors, in (0, 1).
        groups: the topic of each, if errors on a topic are correlated.
        verdicts: the judge's yes or no to each, non-decreasing with the probability; by default yes
            from 1/2.

    Raises:
        ValueError: lengths differ, nothing is labelled, a number is out of range, or a yes has a
            lower probability than a no.
    """
    p, y = np.asarray(probabilities, dtype=np.float64), np.asarray(labels, dtype=np.bool_)
    v = p >= 0.5 if verdicts is None else np.asarray(verdicts, dtype=np.bool_)
    if not len(p) == len(y) == len(v) > 0 or (groups is not None and len(groups) != len(p)):
        raise ValueError("expected a label, and a verdict and group if any, for each probability")
    if not ((p >= 0) & (p <= 1)).all() or not 0 < error < 1:
        raise ValueError(f"error {error} or a probability is out of range")
    if v.any() and not v.all() and p[v].min() <= p[~v].max():
        raise ValueError("a yes has no higher probability than a no")
    places = None
    if groups is not None and len(set(groups)) > 1:
        numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
        places = np.array([numbers[group] for group in groups])
    low, no = _widest(p, y, ~v, error, places)
    high, yes = _widest(-p, ~y, v, error, places)
    high = None if high is None else -high
    return ConfidenceRegions(error, low, high, no, yes, len(p), int(y.sum()))


def _widest(
    scores: Floats, wrong: Bools, allowed: Bools, error: float, groups: npt.NDArray[np.int_] | None
) -> tuple[float | None, Region]:
    """Return the highest score up to which the error is at most `error` with confidence.

    Regions, fixed by the scores alone, are tested from the narrowest by the fallback procedure
    (Wiens 2003): two starting points get half of the 5 % each, and a region that passes hands on
    its level. `allowed` answers are sorted before the others by score.
    """
    effect = 1.0
    if groups is not None and allowed.any():
        effect = _design_effect(wrong[allowed], groups[allowed])
    part = (1 - CONFIDENCE) / _STARTS
    limits, starts = _regions(scores, part, error, effect)
    widest: tuple[float | None, Region] = None, Region(design_effect=effect)
    level = 0.0
    for limit, start in zip(limits, starts, strict=True):
        inside = scores <= limit
        if (inside & ~allowed).any():
            break
        level += part if start else 0.0
        errors, count = int((inside & wrong).sum()), int(inside.sum())
        some, of = _effective(errors, count, effect)
        if level and binomial_below(some, of, error) <= level:
            widest = limit, Region(count, errors, error_bound(some, of), effect)
        else:
            level = 0.0
    return widest


def _regions(
    scores: Floats, part: float, error: float, effect: float
) -> tuple[list[float], list[bool]]:
    """Return the ends of nested regions, growing by a factor, and those at which a level starts."""
    ordered = np.sort(scores)
    fewest = math.ceil(effect * math.ceil(math.log(part) / math.log1p(-error)))
    if fewest > len(ordered):
        return [], []
    sizes = np.unique(np.geomspace(fewest, len(ordered), _REGIONS).round().astype(int))
    limits = np.unique(ordered[sizes - 1])  # tied answers are in or out together
    starts = np.zeros(len(limits), dtype=bool)
    # No part starts at the end: a region of all answers has one verdict only if all have it.
    starts[np.linspace(0, len(limits), _STARTS, endpoint=False).astype(int)] = True
    return limits.tolist(), starts.tolist()


def _design_effect(wrong: Bools, groups: npt.NDArray[np.int_]) -> float:
    """Return by how much groups inflate the variance of the error share, at least 1 (Kish 1965)."""
    share, count = float(wrong.mean()), len(wrong)
    sizes = np.bincount(groups)
    totals = np.bincount(groups, weights=wrong)
    clusters = int((sizes > 0).sum())
    if clusters < 2 or share in (0.0, 1.0):
        return 1.0
    residuals = totals - share * sizes
    variance = clusters / (clusters - 1) * float((residuals**2).sum()) / count**2
    return max(1.0, variance / (share * (1 - share) / count))


def _effective(errors: int, count: int, effect: float) -> tuple[int, int]:
    """Return effective errors and answers, rounded conservatively (Korn and Graubard 1998)."""
    of = math.floor(count / effect)
    return min(of, math.ceil(errors / effect)), of


def error_bound(errors: int, count: int) -> float:
    """Return Clopper and Pearson's one-sided upper bound (1934) on a share of errors."""
    return 1.0 if errors >= count else beta_quantile(CONFIDENCE, errors + 1, count - errors)
