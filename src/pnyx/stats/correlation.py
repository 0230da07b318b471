"""Agreement of numbers: rank correlation (Spearman, Kendall) and absolute error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from pnyx.stats.weighted_measures import Floats, Ties, Weights, on_arrays, ratio

_CELLS = 4_000_000  # Signs of pairs in memory at once


def kendall_tau_b(
    first: Sequence[float] | Floats, second: Sequence[float] | Floats
) -> float | None:
    """Return Kendall's rank correlation with ties, in [-1, 1] (tau-b; Biometrika 33, 1945).

    The number of concordant minus discordant pairs of two sequences (n,) of finite numbers, divided
    by the geometric mean of the numbers of pairs that each sequence orders. None if either is
    constant or has fewer than two numbers. O(n log n) (Knight, JASA 61, 1966).

    Raises:
        ValueError: the two differ in length, or a number is not finite.
    """
    sides = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if sides[0].shape != sides[1].shape or sides[0].ndim != 1:
        raise ValueError(f"found {len(first)} and {len(second)} numbers, expected equally many")
    if not all(np.isfinite(side).all() for side in sides):
        raise ValueError("found a number that is not finite")
    x, y = (np.unique(side, return_inverse=True)[1] for side in sides)
    both = x * (int(y.max(initial=0)) + 1) + y
    pairs = len(x) * (len(x) - 1) // 2
    tied_x, tied_y, tied = (_tied(side) for side in (x, y, both))
    if tied_x == pairs or tied_y == pairs:
        return None
    # Ties in the first are ordered by the second, so that they never count as inversions.
    crossed = _inversions(y[np.argsort(both, kind="stable")])
    agreed = pairs - tied_x - tied_y + tied - 2 * crossed
    tau = agreed / math.sqrt(pairs - tied_x) / math.sqrt(pairs - tied_y)
    return max(-1.0, min(1.0, tau))


def _tied(numbers: npt.NDArray[np.intp]) -> int:
    counts = np.unique(numbers, return_counts=True)[1].astype(np.int64)
    return int((counts * (counts - 1) // 2).sum())


def _inversions(numbers: npt.NDArray[np.intp]) -> int:
    """Return the number of inversions among non-negative integers.

    Bit by bit from the highest: two numbers that agree in all higher bits are an inversion if the
    earlier has a 1 and the later a 0.
    """
    inversions = 0
    for bit in reversed(range(int(numbers.max(initial=0)).bit_length())):
        ones = (numbers >> bit) & 1
        higher = numbers >> (bit + 1)
        starts = np.flatnonzero(np.append(True, higher[1:] != higher[:-1]))
        before = np.cumsum(ones) - ones
        before -= np.repeat(before[starts], np.diff(np.append(starts, len(numbers))))
        inversions += int(before[ones == 0].sum())
        numbers = numbers[np.argsort(numbers >> bit, kind="stable")]
    return inversions


@on_arrays
def weighted_kendall(gold: Floats, score: Floats, weights: Floats) -> Floats:
    """Kendall's tau-b, in [-1, 1]; undefined if either side is constant (Biometrika 33, 1945).

    Equal pairs are counted together, so ratings on few points are cheap; otherwise O(draws n^2).
    """
    cells, cell = np.unique(np.stack([gold, score]), axis=1, return_inverse=True)
    sums = np.zeros((weights.shape[0], cells.shape[1]))
    np.add.at(sums.T, cell.ravel(), weights.T)
    agreed = np.zeros(len(sums))
    step = max(1, _CELLS // max(1, cells.shape[1]))
    for start in range(0, cells.shape[1], step):
        some = slice(start, start + step)
        signs = np.prod([np.sign(side[some, None] - side[None, :]) for side in cells], axis=0)
        agreed += ((sums[:, some] @ signs) * sums).sum(axis=1)
    total = weights.sum(axis=1) ** 2
    ties = [total - (Ties(side).at(sums) ** 2).sum(axis=1) for side in cells]
    return np.clip(ratio(agreed, np.sqrt(ties[0] * ties[1])), -1.0, 1.0)


@on_arrays
def weighted_spearman(gold: Floats, score: Floats, weights: Floats) -> Floats:
    """Spearman's rank correlation, in [-1, 1], mean ranks for ties (Spearman 1904)."""
    middle = (weights.sum(axis=1, keepdims=True) + 1) / 2
    return alike((Ties(x).ranks(weights) - middle for x in (gold, score)), weights)


def weighted_pearson(gold: Floats, score: Floats, weights: Floats) -> Floats:
    """Pearson's correlation, in [-1, 1]; undefined if either side is constant (Pearson 1895)."""
    return alike((_centred(values, weights) for values in (gold, score)), weights)


def alike(sides: Iterable[Floats], weights: Floats) -> Floats:
    """Return the correlation in each draw, from both sides' deviations from the mean (draws, n)."""
    a, b = sides
    size = (weights * a * a).sum(axis=1) * (weights * b * b).sum(axis=1)
    return np.clip(ratio((weights * a * b).sum(axis=1), np.sqrt(size)), -1.0, 1.0)


def weighted_r2(gold: Floats, score: Floats, weights: Floats) -> Floats:
    """Coefficient of determination, at most 1, as in scikit-learn; undefined for equal labels."""
    spread = (weights * _centred(gold, weights) ** 2).sum(axis=1)
    return 1.0 - ratio(weights @ (gold - score) ** 2, spread)


def _centred(values: Floats, weights: Floats) -> Floats:
    """Return the deviations from each draw's mean, with rounding errors set to 0."""
    mean = (weights @ values)[:, None] / weights.sum(axis=1, keepdims=True)
    least = 1e-12 * float(np.abs(values).max(initial=0.0))
    return np.where(np.abs(values - mean) <= least, 0.0, values - mean)


def weighted_mean_absolute_error(gold: Floats, score: Floats, weights: Weights) -> Floats:
    """Mean absolute difference of rating and label, in points of the scale, at least 0."""
    return ratio(weights @ np.abs(gold - score), weights.sum(axis=1))
