"""Chance-corrected agreement of raters: Krippendorff's alpha on three scales, Cohen's kappa."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from pnyx.stats.weighted_measures import (
    Codes,
    Floats,
    Index,
    Ties,
    Weights,
    on_arrays,
    prepared,
    ratio,
    weight_by,
    written_out,
)

AlphaLevel: TypeAlias = Literal["nominal", "ordinal", "interval"]
"""The distance of two values: whether they differ; the number of values ranked between them; their
squared difference."""

ALPHA_LEVELS: tuple[AlphaLevel, ...] = get_args(AlphaLevel)

Ratings: TypeAlias = Sequence[Sequence[float | None]] | Floats

_DIGITS = 9  # Means of several labels carry rounding errors; values that differ by more are unequal


def krippendorff_alpha(ratings: Ratings, level: AlphaLevel = "ordinal") -> float | None:
    """Return Krippendorff's alpha: 1 for perfect agreement, 0 for chance, below 0 for worse.

    Any number of raters and missing ratings are allowed; an item counts if it has at least two
    ratings (Krippendorff, Content Analysis, 2004, 11.3).

    Args:
        ratings: (raters, items), None or NaN where a rater did not rate an item.
        level: how the distance of two values is measured; see `AlphaLevel`.

    Returns:
        None if it is undefined: no item has two ratings, or all of these are equal.

    Raises:
        ValueError: the rows differ in length, or the level is unknown.
    """
    if level not in ALPHA_LEVELS:
        raise ValueError(f"found level {level!r}, expected one of: {', '.join(ALPHA_LEVELS)}")
    rows = [[np.nan if v is None else float(v) for v in row] for row in ratings]
    if len({len(row) for row in rows}) > 1:
        raise ValueError("found rows of different lengths, expected one rating or None per item")
    table = np.array(rows, dtype=np.float64).reshape(len(rows), len(rows[0]) if rows else 0)
    value = float(RatedUnits(table).alpha(level, np.ones((1, table.shape[1])))[0])
    return value if np.isfinite(value) else None


@prepared
def weighted_alpha_nominal(gold: Floats, score: Floats) -> Callable[[Weights], Floats]:
    """Krippendorff's alpha of two raters on the nominal scale, in [-1, 1]."""
    first, second, count = _codes(gold, score)
    differ = first != second

    def alpha(weights: Weights) -> Floats:
        total = 2 * weights.sum(axis=1)
        shares = weight_by(first, weights, count) + weight_by(second, weights, count)
        least = total * total - (shares * shares).sum(axis=1)
        return 1.0 - ratio(2 * (weights @ differ) * (total - 1), least)

    return alpha


@on_arrays
def weighted_alpha_ordinal(gold: Floats, score: Floats, weights: Floats) -> Floats:
    """Krippendorff's alpha of two raters on the ordinal scale, in [-1, 1]."""
    return RatedUnits(np.stack([gold, score])).alpha("ordinal", weights)


@on_arrays
def weighted_alpha_interval(gold: Floats, score: Floats, weights: Floats) -> Floats:
    """Krippendorff's alpha of two raters on the interval scale, in [-1, 1]."""
    return RatedUnits(np.stack([gold, score])).alpha("interval", weights)


@prepared
def weighted_kappa(gold: Floats, score: Floats) -> Callable[[Weights], Floats]:
    """Cohen's kappa, in [-1, 1]: agreement beyond chance, given each side's shares (Cohen 1960)."""
    first, second, count = _codes(gold, score)
    same = first == second

    def kappa(weights: Weights) -> Floats:
        total = weights.sum(axis=1)
        shares = [weight_by(side, weights, count) for side in (first, second)]
        expected = ratio((shares[0] * shares[1]).sum(axis=1), total * total)
        agreed = ratio(weights @ same, total)
        return ratio(agreed - expected, np.where(1 - expected <= 1e-12, 0.0, 1 - expected))

    return kappa


def _codes(gold: Floats, score: Floats) -> tuple[Codes, Codes, int]:
    """Return a code for each value of both sides, and the number of codes."""
    if all(((side == 0) | (side == 1)).all() for side in (gold, score)):
        return gold.astype(np.int8), score.astype(np.int8), 2
    codes = np.unique(np.round(np.concatenate([gold, score]), _DIGITS), return_inverse=True)[1]
    return codes[: len(gold)], codes[len(gold) :], int(codes.max(initial=0)) + 1


class RatedUnits:
    """The ratings of items with at least two, prepared for weighting; see `krippendorff_alpha`.

    Coincidences of value pairs need not be counted. The distances of the interval scale sum to
    variances within items and overall, those of the ordinal scale to variances of mean ranks (the
    number of ranked values between two is the difference of their mean ranks), and those of the
    nominal scale to squared counts.
    """

    def __init__(self, table: Floats) -> None:
        has = np.isfinite(table)
        self.counts = has.sum(axis=0)
        comparable = has & (self.counts >= 2)
        # Ratings of the same unit are adjacent.
        self.unit: npt.NDArray[np.intp] = np.nonzero(comparable.T)[0]
        self.values: Floats = np.round(table.T[comparable.T], _DIGITS)
        self._starts = np.flatnonzero(np.diff(self.unit, prepend=-1))

    def alpha(self, level: AlphaLevel, weights: Weights) -> Floats:
        """Return alpha for each row of weights (draws, items); NaN if it is undefined."""
        if len(self.values) == 0:
            return np.full(len(weights), np.nan)
        if level == "nominal":
            return self._nominal(weights[:, self.unit])
        each = written_out(weights[:, self.unit])
        if level == "interval":
            return self._variances(self.values[None, :] - self.values.mean(), each)
        return self._variances(Ties(self.values).ranks(each), each)

    def _per_unit(self, amounts: Floats) -> Floats:
        return np.asarray(np.add.reduceat(amounts, self._starts, axis=1))

    def _variances(self, x: Floats, each: Floats) -> Floats:
        size = np.diff(np.append(self._starts, len(self.values)))
        centred = x - np.repeat(self._per_unit(x) / size, size, axis=1)
        disagreement = self._per_unit(centred * centred) * (size / (size - 1))
        within = (each[:, self._starts] * disagreement).sum(axis=1)
        total = each.sum(axis=1)
        middle = ratio((each * x).sum(axis=1), total)[:, None]
        least = 1e-12 * float(np.abs(x).max(initial=0.0))
        off = np.where(np.abs(x - middle) <= least, 0.0, x - middle)
        return 1.0 - ratio(within * (total - 1), total * (each * off * off).sum(axis=1))

    @cached_property
    def _unequal(self) -> tuple[Index, Floats]:
        """The codes of the values, and the disagreement within each unit on the nominal scale."""
        codes = np.unique(self.values, return_inverse=True)[1]
        size = np.diff(np.append(self._starts, len(self.values)))
        pairs = self.unit * (int(codes.max()) + 1) + codes
        kind, counts = np.unique(pairs, return_counts=True)
        equal = np.bincount(kind // (int(codes.max()) + 1), counts * counts)[
            self.unit[self._starts]
        ]
        return codes, (size * size - equal) / (size - 1)

    def _nominal(self, each: Weights) -> Floats:
        codes, disagreement = self._unequal
        within = each[:, self._starts] @ disagreement
        total = each.sum(axis=1)
        shares = weight_by(codes, each, int(codes.max()) + 1)
        return 1.0 - ratio(within * (total - 1), total * total - (shares * shares).sum(axis=1))
