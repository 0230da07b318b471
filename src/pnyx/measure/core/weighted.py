"""Measures over weighted pairs, for many weightings at once: what a bootstrap draws from.

A weighted measure takes `gold` (n,), `score` (n,) and `weights` (draws, n), how often each pair
occurs in a draw, and returns one value for each draw, NaN where undefined. The plain measure is one
draw of weights 1: there is one definition of each, so the bootstrap cannot drift from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Index: TypeAlias = npt.NDArray[np.intp]

_CELLS = 200_000  # Weights written out at once: they stay in the processor's cache


class ClusterWeights:
    """Weights (draws, n) of pairs drawn by cluster, not written out.

    A product with them is one of how often each cluster was drawn (draws, clusters) with the sums
    over its pairs; `clusters` (n,) are the numbers of the pairs' clusters.
    """

    __slots__ = ("_clusters", "_times")

    def __init__(self, times: Floats, clusters: Index) -> None:
        self._times, self._clusters = times, clusters

    @property
    def shape(self) -> tuple[int, int]:
        """Draws and pairs."""
        return len(self._times), len(self._clusters)

    def __len__(self) -> int:
        return len(self._times)

    def __getitem__(self, at: tuple[slice, slice | Index]) -> ClusterWeights:
        """Return the weights of some draws and pairs."""
        rows, pairs = at
        return ClusterWeights(self._times[rows], self._clusters[pairs])

    def __matmul__(self, values: Floats) -> Floats:
        """Return the sums (draws,) of values (n,), or (draws, k) of (n, k)."""
        count = self._times.shape[1]
        sums = [np.bincount(self._clusters, column, count) for column in np.atleast_2d(values.T)]
        return np.asarray(self._times @ (sums[0] if values.ndim == 1 else np.stack(sums, axis=1)))

    def sum(self, axis: Literal[1]) -> Floats:
        """Return the sum of each draw (draws,)."""
        del axis
        return self @ np.ones(len(self._clusters))

    def by(self, codes: Index, count: int) -> Floats:
        """Return the weight of each code (draws, count); `codes` (n,) are those of the pairs."""
        clusters = self._times.shape[1]
        sums = np.bincount(self._clusters * count + codes, minlength=clusters * count)
        return np.asarray(self._times @ sums.reshape(clusters, count).astype(np.float64))

    def written_out(self) -> Floats:
        """Return them as an array."""
        return np.take(self._times, self._clusters, axis=1)


Weights: TypeAlias = Floats | ClusterWeights
Weighted: TypeAlias = Callable[[Floats, Floats, Weights], Floats]
"""(gold, score, weights) -> one value for each row of weights, NaN where undefined."""


def in_blocks(weights: Weights, columns: int) -> Iterator[Weights]:
    """Yield blocks of draws that are small enough to be written out with so many columns."""
    step = max(1, _CELLS // max(1, columns))
    for start in range(0, len(weights), step):
        yield weights[start : start + step, :]


def written_out(weights: Weights) -> Floats:
    """Return weights as an array."""
    return weights.written_out() if isinstance(weights, ClusterWeights) else weights


def weight_by(codes: Index, weights: Weights, count: int) -> Floats:
    """Return the weight of each code (draws, count); `codes` (n,) are those of the pairs."""
    if isinstance(weights, ClusterWeights):
        return weights.by(codes, count)
    sums = [np.bincount(codes, row, count) for row in weights]
    return np.array(sums, dtype=np.float64).reshape(len(weights), count)


def on_arrays(measure: Callable[[Floats, Floats, Floats], Floats]) -> Weighted:
    """Return a measure that gets its weights written out, a block of draws at a time."""

    @wraps(measure)
    def blockwise(gold: Floats, score: Floats, weights: Weights) -> Floats:
        if not isinstance(weights, ClusterWeights):
            return measure(gold, score, weights)
        blocks = in_blocks(weights, len(gold))
        return np.concatenate([measure(gold, score, written_out(block)) for block in blocks])

    return blockwise


def measured_once(
    measure: Weighted, gold: Sequence[float] | Floats, score: Sequence[float] | Floats
) -> float | None:
    """Return a measure of plain pairs, None where it is undefined (also without any pair)."""
    if len(gold) == 0:
        return None
    pairs = np.asarray(gold, dtype=np.float64), np.asarray(score, dtype=np.float64)
    value = float(measure(*pairs, np.ones((1, len(gold))))[0])
    return value if np.isfinite(value) else None


def numbers(values: Sequence[float | None]) -> Floats:
    """Return the values as an array, NaN for None."""
    return np.array([np.nan if v is None else v for v in values], dtype=np.float64)


def defined_mean(values: Floats) -> float | None:
    """Return the mean of the defined values, None without any."""
    defined = values[np.isfinite(values)]
    return float(defined.mean()) if len(defined) else None


def ratio(top: Floats, bottom: Floats) -> Floats:
    """Return top / bottom, NaN where `bottom` is 0."""
    out: Floats = np.full(np.broadcast_shapes(top.shape, bottom.shape), np.nan)
    np.divide(top, bottom, out=out, where=bottom != 0)
    return out


class Ties:
    """Pairs ordered by a key (n,), ascending, those with equal keys together."""

    def __init__(self, keys: Floats) -> None:
        self._order = np.argsort(keys, kind="stable")
        ordered = keys[self._order]
        last = np.append(ordered[1:] != ordered[:-1], True)
        self._ends = np.flatnonzero(last)
        self._block = np.empty(len(keys), dtype=np.intp)
        self._block[self._order] = np.cumsum(last) - last

    def at(self, amounts: Floats) -> Floats:
        """Return, for each distinct key, the sum of `amounts` (draws, n) at it."""
        sums = np.cumsum(amounts[:, self._order], axis=1)[:, self._ends]
        return np.diff(sums, axis=1, prepend=0.0)

    def ranks(self, weights: Floats) -> Floats:
        """Return the 1-based rank of each pair in each draw, ties sharing the mean of theirs."""
        here = self.at(weights)
        middle = np.cumsum(here, axis=1) - (here - 1) / 2
        return np.asarray(middle[:, self._block])
