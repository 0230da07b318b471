"""Maximal marginal relevance and round-robin merging, as in BERDS (Chen and Choi 2024, 5)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from pnyx.core.errors import InputError
from pnyx.search.engine import Hit
from pnyx.search.plan import check_least

T = TypeVar("T", bound=Hashable)

Floats: TypeAlias = npt.NDArray[np.float64]

Similarity: TypeAlias = npt.NDArray[np.floating] | Callable[[int], npt.NDArray[np.floating]]
"""Similarity of the candidates: their vectors [n, d], compared by cosine (a vector of length 0 is
similar to nothing), or a function from a 0-based position to that candidate's similarity with each,
[n]. For a matrix [n, n] of similarities, pass `matrix.__getitem__`."""


def mmr(
    relevance: Sequence[float] | npt.NDArray[np.floating],
    similarity: Similarity,
    k: int,
    lam: float,
) -> list[int]:
    """Choose k of n candidates by maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998).

    As in BERDS, Eq. 1, the next candidate is the first i that maximises

        lam * relevance[i] - (1 - lam) * max(similarity(i, j) for j chosen before)

    where the second term is 0 at first. O(n k) similarities.

    Args:
        relevance: of each candidate, best first, on the scale of the similarity (`of_best`).
        similarity: vectors [n, d], compared by cosine, or a function from a 0-based position to
            that candidate's similarities [n] (of a matrix [n, n]: `matrix.__getitem__`).
        k: how many to choose, at least 1; all if there are fewer.
        lam: in [0, 1]: 1 ranks by relevance alone; BERDS uses 0.75 to 0.99.

    Returns 0-based positions in the order chosen. Raises InputError for `k` or `lam` out of range,
    ValueError for values that are not finite or shapes that do not fit.
    """
    check_least("k", k, 1)
    if not 0.0 <= lam <= 1.0:  # also rejects NaN
        raise InputError(f"lambda is {lam:g}, expected a number from 0 to 1")
    wanted = np.asarray(relevance, dtype=np.float64)
    if wanted.ndim != 1 or not np.isfinite(wanted).all():
        raise ValueError("relevance must be one finite number for each candidate")
    alike = _by_cosine(similarity, len(wanted)) if not callable(similarity) else similarity
    nearest = np.zeros(len(wanted))
    left = np.ones(len(wanted), dtype=bool)
    order: list[int] = []
    while len(order) < min(k, len(wanted)):
        value = lam * wanted - (1.0 - lam) * nearest
        chosen = int(np.argmax(np.where(left, value, -np.inf)))
        left[chosen] = False
        seen = np.asarray(alike(chosen), dtype=np.float64)
        if seen.shape != wanted.shape or not np.isfinite(seen).all():
            raise ValueError("similarity must be one finite number for each candidate")
        nearest = np.maximum(nearest, seen) if order else seen
        order.append(chosen)
    return order


def _by_cosine(vectors: npt.NDArray[np.floating], count: int) -> Callable[[int], Floats]:
    rows = np.asarray(vectors, dtype=np.float64)
    if rows.ndim != 2 or len(rows) != count or not np.isfinite(rows).all():
        raise ValueError(f"expected finite vectors [{count}, d], found shape {rows.shape}")
    # Scaled by the largest entry first: the square of a huge or tiny one is not representable.
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    rows = np.divide(rows, largest, out=np.zeros_like(rows), where=largest > 0)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    units = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)

    def cosine(position: int) -> Floats:
        # Not BLAS, whose rounding depends on the position of a row: copies would not tie.
        similarities: Floats = np.einsum("ij,j->i", units, units[position])
        return similarities

    return cosine


def of_best(scores: Sequence[float]) -> Floats:
    """Divide scores by the best of them (BERDS, B.6): float64 [n], finite."""
    values = np.asarray(scores, dtype=np.float64)
    top = float(values.max(initial=0.0))
    if top <= 0:
        return np.zeros_like(values)
    with np.errstate(over="ignore"):  # limits the result for a best score near 0
        largest = np.finfo(np.float64).max
        return np.clip(values / top, -largest, largest)


def round_robin(rankings: Sequence[Sequence[T]], k: int) -> list[T]:
    """Merge rankings in turns, the first of each, then the second; the top k unique (BERDS, 5)."""
    check_least("k", k, 1)
    merged: dict[T, None] = {}
    for depth in range(max(map(len, rankings), default=0)):
        for ranking in rankings:
            if depth < len(ranking):
                merged.setdefault(ranking[depth])
        if len(merged) >= k:
            break
    return list(merged)[:k]


def in_order(hits: Sequence[Hit], order: Sequence[int]) -> list[Hit]:
    """Put hits in the order of 0-based positions; the others follow, and scores become 1 / rank."""
    if len(set(order)) != len(order) or not all(0 <= i < len(hits) for i in order):
        raise ValueError("expected distinct 0-based positions")
    placed = set(order)
    positions = [*order, *(i for i in range(len(hits)) if i not in placed)]
    return [
        hits[i]._replace(rank=rank, score=1.0 / rank) for rank, i in enumerate(positions, start=1)
    ]
