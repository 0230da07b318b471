"""Measures over weighted pairs, for many weightings at once, as a bootstrap needs them.

A weighted measure takes `gold` (n,), `score` (n,) and `weights` (draws, n), the number of times
each pair occurs in a draw. It returns one value per draw, NaN if undefined. The plain measure is
one draw with weights 1, so that each measure has one definition and the bootstrap uses the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, wraps
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Index: TypeAlias = npt.NDArray[np.intp]
Codes: TypeAlias = npt.NDArray[np.integer[Any]]

_CELLS = 200_000  # Weights written out at once: they stay in the processor's cache
_DRAWS, _ROWS = 64, 1024  # Draws by pairs that are summed at once, for the same reason


class ClusterWeights:
    """Weights (draws, n) of pairs drawn by cluster, not written out.

    A product with them is the product of the cluster counts (draws, clusters) with the sums over
    each cluster's pairs; `clusters` (n,) are the cluster numbers of the pairs.
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

    def __getitem__(self, at: tuple[slice, slice | Codes]) -> ClusterWeights:
        """Return the weights of some draws and pairs."""
        rows, pairs = at
        return ClusterWeights(self._times[rows], self._clusters[pairs])

    def _drawn(self, sums: Floats) -> Floats:
        """Return the totals of cluster sums (clusters, ...) in each draw, (draws, ...)."""
        return np.asarray(self._times @ sums)

    def __matmul__(self, values: Floats | npt.NDArray[np.bool_]) -> Floats:
        """Return the sums (draws,) of values (n,)."""
        sums = np.bincount(self._clusters, values, self._times.shape[1])
        return self._drawn(sums.astype(np.float64))

    def sum(self, axis: Literal[1]) -> Floats:
        """Return the sum of each draw (draws,)."""
        del axis
        counts = np.bincount(self._clusters, minlength=self._times.shape[1])
        return self._drawn(counts.astype(np.float64))

    def by(self, codes: Codes, count: int, amounts: Floats | None = None) -> Floats:
        """Return the weight of each code, or of its amounts; see `weight_by`."""
        cells = self._times.shape[1], count
        cell = self._clusters * count + codes
        sums = np.bincount(cell, amounts, cells[0] * count).astype(np.float64)
        return self._drawn(sums.reshape(cells))

    def written_out(self) -> Floats:
        """Return them as an array."""
        return np.take(self._times, self._clusters, axis=1)

    def blocks(self) -> Iterator[tuple[Floats, Index]]:
        """Yield the draws in blocks, (clusters, some draws), with the clusters of the pairs."""
        for start in range(0, len(self._times), _DRAWS):
            yield np.ascontiguousarray(self._times[start : start + _DRAWS].T), self._clusters


class EachCluster(ClusterWeights):
    """A draw for each cluster (n,), numbered from 0, in which only its own pairs count, once."""

    __slots__ = ()

    def __init__(self, clusters: Index, count: int) -> None:
        super().__init__(np.broadcast_to(np.float64(1), (count, count)), clusters)

    def __getitem__(self, at: tuple[slice, slice | Codes]) -> EachCluster:
        """Return the weights of some pairs in all draws."""
        return EachCluster(self._clusters[at[1]], len(self))

    def _drawn(self, sums: Floats) -> Floats:
        return sums

    @property
    def clusters(self) -> Index:
        """The number of each pair's cluster, which is also the number of its draw."""
        return self._clusters

    def counts(self) -> Index:
        """Return the number of pairs in each draw."""
        return np.bincount(self._clusters, minlength=len(self))


Weights: TypeAlias = Floats | ClusterWeights
Weighted: TypeAlias = Callable[[Floats, Floats, Weights], Floats]
"""(gold, score, weights) -> one value for each row of weights, NaN where undefined."""


def in_blocks(weights: Weights, columns: int) -> Iterator[Weights]:
    """Yield blocks of draws that are small enough to be written out with `columns` columns."""
    step = max(1, _CELLS // max(1, columns))
    for start in range(0, len(weights), step):
        yield weights[start : start + step, :]


def written_out(weights: Weights) -> Floats:
    """Return weights as an array."""
    return weights.written_out() if isinstance(weights, ClusterWeights) else weights


def weight_by(codes: Codes, weights: Weights, count: int, amounts: Floats | None = None) -> Floats:
    """Return the weight of each code (draws, count); `codes` (n,) are those of the pairs.

    With `amounts` (n,), a pair counts by its amount times its weight.
    """
    if isinstance(weights, ClusterWeights):
        return weights.by(codes, count, amounts)
    rows = weights if amounts is None else weights * amounts
    sums = [np.bincount(codes, row, count) for row in rows]
    return np.array(sums, dtype=np.float64).reshape(len(weights), count)


def on_arrays(measure: Callable[[Floats, Floats, Floats], Floats]) -> Weighted:
    """Return a measure that gets its weights written out, one block of draws at a time."""

    @wraps(measure)
    def blockwise(gold: Floats, score: Floats, weights: Weights) -> Floats:
        if not isinstance(weights, ClusterWeights):
            return measure(gold, score, weights)
        if isinstance(weights, EachCluster):
            return _one_by_one(measure, gold, score, weights)
        blocks = in_blocks(weights, len(gold))
        return np.concatenate([measure(gold, score, written_out(block)) for block in blocks])

    return blockwise


def _one_by_one(
    measure: Callable[[Floats, Floats, Floats], Floats],
    gold: Floats,
    score: Floats,
    weights: EachCluster,
) -> Floats:
    order = np.argsort(weights.clusters, kind="stable")
    ends = np.searchsorted(weights.clusters[order], np.arange(len(weights) + 1))
    values = np.full(len(weights), np.nan)
    for draw, (start, end) in enumerate(pairwise(ends.tolist())):
        if start < end:
            some = order[start:end]
            values[draw] = measure(gold[some], score[some], np.ones((1, end - start)))[0]
    return values


def prepared(prepare: Callable[[Floats, Floats], Callable[[Weights], Floats]]) -> Weighted:
    """Return the measure whose part that does not depend on the weights is `prepare`."""

    @wraps(prepare)
    def measure(gold: Floats, score: Floats, weights: Weights) -> Floats:
        return prepare(gold, score)(weights)

    measure.prepare = prepare  # type: ignore[attr-defined]
    return measure


def prepare(measure: Weighted, gold: Floats, score: Floats) -> Callable[[Weights], Floats]:
    """Return a measure of these pairs that can be called with weights repeatedly."""
    preparing = getattr(measure, "prepare", None)
    return partial(measure, gold, score) if preparing is None else preparing(gold, score)


def measured_once(
    measure: Weighted, gold: Sequence[float] | Floats, score: Sequence[float] | Floats
) -> float | None:
    """Return a measure of unweighted pairs; None if it is undefined (also without pairs)."""
    if len(gold) == 0:
        return None
    pairs = np.asarray(gold, dtype=np.float64), np.asarray(score, dtype=np.float64)
    value = float(measure(*pairs, np.ones((1, len(gold))))[0])
    return value if np.isfinite(value) else None


def numbers(values: Sequence[float | None]) -> Floats:
    """Return the values as an array, NaN for None."""
    return np.array([np.nan if v is None else v for v in values], dtype=np.float64)


def defined_mean(values: Floats) -> float | None:
    """Return the mean of the defined values; None if there are none."""
    defined = values[np.isfinite(values)]
    return float(defined.mean()) if len(defined) else None


def ratio(top: Floats, bottom: Floats) -> Floats:
    """Return top / bottom, NaN where `bottom` is 0."""
    out: Floats = np.full(np.broadcast_shapes(top.shape, bottom.shape), np.nan)
    np.divide(top, bottom, out=out, where=bottom != 0)
    return out


class Ties:
    """Pairs sorted by a key (n,), ascending; equal keys are adjacent."""

    def __init__(self, keys: Floats) -> None:
        self._order = np.argsort(keys, kind="stable")
        ordered = keys[self._order]
        last = np.append(ordered[1:] != ordered[:-1], True)
        self._ends = np.flatnonzero(last)
        self._block = np.empty(len(keys), dtype=np.intp)
        self._block[self._order] = np.cumsum(last) - last

    def at(self, amounts: Floats) -> Floats:
        """Return the sum of `amounts` (draws, n) for each distinct key."""
        sums = np.cumsum(amounts[:, self._order], axis=1)[:, self._ends]
        return np.diff(sums, axis=1, prepend=0.0)

    def ranks(self, weights: Floats) -> Floats:
        """Return the 1-based rank of each pair in each draw; ties share their mean rank."""
        here = self.at(weights)
        middle = np.cumsum(here, axis=1) - (here - 1) / 2
        return np.asarray(middle[:, self._block])


class RunningSums:
    """The weight (draws,) of the first N pairs, for ascending N.

    `times` (clusters, draws) is how often each cluster was drawn; `clusters` (n,) is the cluster of
    each pair, in order.
    """

    def __init__(self, times: Floats, clusters: Index) -> None:
        self._times, self._clusters = times, clusters
        self._done, self._sum = 0, np.zeros(times.shape[1])

    def first(self, counts: Codes) -> Floats:
        """Return the weights of the first `counts` (k,) pairs, (k, draws)."""
        weights = np.empty((len(counts), len(self._sum)))
        filled = 0
        while filled < len(counts):
            stop = min(self._done + _ROWS, int(counts[-1]))
            sums = np.empty((stop - self._done + 1, len(self._sum)))
            sums[0] = self._sum
            some = self._clusters[self._done : stop]
            np.take(self._times, some, axis=0, out=sums[1:], mode="clip")
            _cumulate(sums)
            end = filled + int(np.searchsorted(counts[filled:], stop, side="right"))
            places = counts[filled:end] - self._done
            np.take(sums, places, axis=0, out=weights[filled:end], mode="clip")
            self._done, self._sum, filled = stop, sums[-1], end
        return weights


def _cumulate(rows: Floats) -> None:
    """Sum rows cumulatively in place, eight at a time along the columns, which is fast."""
    if rows.shape[1] < 8 or len(rows) < 16:
        np.cumsum(rows, axis=0, out=rows)
        return
    whole = len(rows) // 8 * 8
    groups = rows[:whole].reshape(-1, 8, rows.shape[1])
    for row in range(1, 8):
        groups[:, row] += groups[:, row - 1]
    ends = groups[:, 7].copy()
    _cumulate(ends)
    groups[1:] += ends[:-1, None]
    for row in range(whole, len(rows)):
        rows[row] += rows[row - 1]
