"""Wilcoxon's signed-rank test: is one of two systems better on the same topics?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from pnyx.measure.core.weighted import Floats

LEAST_TOPICS = 6
"""With fewer differences the two-sided test cannot reach p < .05: 2 / 2^5 is .0625."""

Counts: TypeAlias = npt.NDArray[np.int64]

_EXACT, _EXACT_TIED = 50, 13  # Most topics with an exact p, without and with ties or zeros
_NOISE = 1e-12  # Differences that agree to this share of the largest are equal but for rounding


class SignedRank(NamedTuple):
    """A test of differences: the sums of ranks above and below zero, and the two-sided p."""

    above: float
    below: float
    p: float

    @property
    def direction(self) -> int:
        """1 where the first is better, -1 where it is worse, 0 where neither."""
        return (self.above > self.below) - (self.above < self.below)


def wilcoxon(differences: Sequence[float] | Floats) -> SignedRank:
    """Test, two-sided, whether differences (n,) lie about 0 (Wilcoxon, Biometrics Bull. 1, 1945).

    As `scipy.stats.wilcoxon` with its defaults: zeros are left out, equal sizes share their mean
    rank. p is exact with up to 50 differences of which none is 0 or ties, and with up to 13 in any
    case; else from the normal distribution, its variance corrected for ties, without a correction
    for continuity. Without any difference other than 0 p is 1.
    """
    values = np.asarray(differences, dtype=np.float64)
    least = _NOISE * float(np.abs(values).max(initial=0.0))
    signed = values[np.abs(values) > least]
    if len(signed) == 0:
        return SignedRank(0.0, 0.0, 1.0)
    twice, sizes = _doubled_ranks(np.abs(signed), least)
    above = int(twice[signed > 0].sum())
    total = int(twice.sum())
    plain = len(signed) == len(values) and bool((sizes == 1).all())
    if len(values) <= (_EXACT if plain else _EXACT_TIED):
        p = _exact(twice, above)
    else:
        n = len(signed)
        variance = n * (n + 1) * (2 * n + 1) / 24 - float((sizes**3 - sizes).sum()) / 48
        z = (above / 2 - n * (n + 1) / 4) / math.sqrt(variance)
        p = math.erfc(abs(z) / math.sqrt(2))
    return SignedRank(above / 2, (total - above) / 2, p)


def _doubled_ranks(sizes: Floats, least: float) -> tuple[Counts, Counts]:
    """Return twice the mean rank of each, which is whole, and how many share each rank."""
    order = np.argsort(sizes, kind="stable")
    ordered = sizes[order]
    group = np.append(0, np.cumsum(np.diff(ordered) > least))
    counts = np.bincount(group).astype(np.int64)
    ends = np.cumsum(counts)
    twice = np.empty(len(sizes), dtype=np.int64)
    twice[order] = (2 * ends - counts + 1)[group]
    return twice, counts


def _exact(twice: Counts, above: int) -> float:
    """Return p over all patterns of signs, by how many of them give each sum of ranks."""
    ways = np.zeros(int(twice.sum()) + 1)
    ways[0] = 1.0
    for rank in twice:
        ways[rank:] += ways[: len(ways) - rank].copy()
    low, high = float(ways[: above + 1].sum()), float(ways[above:].sum())
    return min(1.0, 2 * min(low, high) / 2.0 ** len(twice))
