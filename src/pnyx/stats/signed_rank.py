"""Wilcoxon's signed-rank test: is one of two systems better on the same topics?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pnyx.stats.weighted_measures import Floats

LEAST_TOPICS = 6
"""With fewer differences the two-sided test cannot reach p < 0.05: 2 / 2^5 is 0.0625."""

Counts: TypeAlias = npt.NDArray[np.int64]

_EXACT, _EXACT_TIED = 50, 13  # Most topics with an exact p, without and with ties or zeros
_NOISE = 1e-12  # Relative to the largest difference: smaller gaps are rounding errors


@dataclass(frozen=True, slots=True)
class SignedRanks:
    """A test of each row, (m,): the rank sums above and below zero, and the two-sided p."""

    above: Floats
    below: Floats
    p: Floats

    @property
    def direction(self) -> Counts:
        """1 if the first is better, -1 if it is worse, 0 if neither, (m,)."""
        return np.sign(self.above - self.below).astype(np.int64)


def wilcoxon(differences: Floats) -> SignedRanks:
    """Test, two-sided, whether the differences of a row are centred at 0 (Wilcoxon 1945).

    As `scipy.stats.wilcoxon` with its defaults: zeros are left out, and equal sizes share their
    mean rank. p is exact for up to 50 differences without zeros and ties, and for up to 13 in any
    case; otherwise it is from the normal distribution, with a tie-corrected variance and without a
    continuity correction. If all differences are 0, p is 1.

    Args:
        differences: (m, n), one test per row; NaN for missing ones.
    """
    values = np.nan_to_num(differences)
    sizes = np.abs(values)
    least = _NOISE * sizes.max(axis=1, initial=0.0)
    sizes[sizes <= least[:, None]] = np.inf  # Sorted after all that count
    twice, tied, order = _doubled_ranks(sizes, least)
    positive = np.take_along_axis(values, order, axis=1) > 0
    counted = np.count_nonzero(twice, axis=1)
    stated = np.count_nonzero(~np.isnan(differences), axis=1)
    above, total = (twice * positive).sum(axis=1), twice.sum(axis=1)
    plain = (counted == stated) & (tied == 0)
    exact = stated <= np.where(plain, _EXACT, _EXACT_TIED)
    p = np.ones(len(values))
    p[exact] = _exact(twice[exact], above[exact])
    rest = ~exact & (counted > 0)
    p[rest] = _normal(above[rest], counted[rest], tied[rest])
    return SignedRanks(above / 2, (total - above) / 2, p)


def _doubled_ranks(sizes: Floats, least: Floats) -> tuple[Counts, Counts, Counts]:
    """Return twice the mean ranks, ascending, 0 for inf; sums of t^3 - t over ties; the order."""
    order = np.argsort(sizes, axis=1, kind="stable")
    ordered = np.take_along_axis(sizes, order, axis=1)
    column = np.broadcast_to(np.arange(sizes.shape[1]), sizes.shape)
    with np.errstate(invalid="ignore"):  # inf - inf
        first = np.diff(ordered, axis=1, prepend=-np.inf) > least[:, None]
    last = np.ones_like(first)
    last[:, :-1] = first[:, 1:]
    starts = np.maximum.accumulate(np.where(first, column, 0), axis=1)
    ends = np.where(last, column, sizes.shape[1])[:, ::-1]
    ends = np.minimum.accumulate(ends, axis=1)[:, ::-1]
    finite = np.isfinite(ordered)
    ties = ends - starts + 1
    tied = ((ties * ties - 1) * finite).sum(axis=1)
    return (starts + ends + 2) * finite, tied, order


def _normal(above: Counts, counted: Counts, tied: Counts) -> list[float]:
    n = counted
    variance = n * (n + 1) * (2 * n + 1) / 24 - tied / 48
    z = (above / 2 - n * (n + 1) / 4) / np.sqrt(variance)
    return [math.erfc(far) for far in (np.abs(z) / math.sqrt(2)).tolist()]


def _exact(twice: Counts, above: Counts) -> Floats:
    """Return each exact p from the number of sign patterns that give each sum of ranks."""
    p = np.ones(len(twice))
    alike: dict[bytes, list[int]] = {}
    for row, ranks in enumerate(twice):
        alike.setdefault(ranks.tobytes(), []).append(row)
    for rows in alike.values():
        ranks = twice[rows[0]]
        ways = np.zeros(int(ranks.sum()) + 1)
        ways[0] = 1.0
        for rank in ranks[ranks > 0]:
            ways[rank:] += ways[: len(ways) - rank].copy()
        low, high = np.cumsum(ways), np.cumsum(ways[::-1])[::-1]
        p[rows] = 2 * np.minimum(low, high)[above[rows]] / 2.0 ** np.count_nonzero(ranks)
    return np.minimum(1.0, p)
