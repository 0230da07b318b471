"""Fusion of several rankings of the same documents, by rank or by score.

The order of the rankings makes no difference, and ties are in document order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pnyx.core.errors import InputError, shorten
from pnyx.search.plan import check_least

Numbers: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
RankedList: TypeAlias = tuple[Numbers, Floats]
"""Document numbers, best first, and their scores."""

Normalisation: TypeAlias = Literal["minmax", "zscore"]

RRF_CONSTANT = 60.0
"""From Cormack et al.; a smaller constant gives the first ranks more weight."""


def fuse_rrf(
    rankings: Sequence[RankedList], *, constant: float = RRF_CONSTANT, k: int
) -> RankedList:
    """Fuse by reciprocal rank: the sum of 1 / (constant + rank) over the rankings.

    Cormack, Clarke and Buettcher, "Reciprocal rank fusion outperforms Condorcet and individual rank
    learning methods", SIGIR 2009. A ranking, a pair (numbers, scores) as of `Index.rank`, adds
    nothing to a document it does not contain. Returns at most `k` documents, at least 1. Raises
    InputError for `k` or `constant` (at least 0) out of range, ValueError for a ranking that is not
    one.
    """
    check_least("k", k, 1)
    if not (math.isfinite(constant) and constant >= 0):
        raise InputError(f"the rank constant is {constant}, expected at least 0")
    checked = list(map(_checked, rankings))
    values = [1.0 / (constant + np.arange(1.0, len(numbers) + 1)) for numbers, _ in checked]
    return _sum([numbers for numbers, _ in checked], values, [0.0] * len(checked), k)


def fuse_weighted(
    rankings: Sequence[RankedList],
    weights: Sequence[float],
    k: int,
    normalise: Normalisation = "minmax",
) -> RankedList:
    """Fuse by the weighted sum of scores normalised within each ranking.

    `minmax` is (score - lowest) / (highest - lowest), all 1 if all are equal; `zscore` is (score
    - mean) / standard deviation, all 0 if all are equal. A document missing from a ranking
    gets its lowest score, so the rankings, pairs (numbers, scores) as of `Index.rank`, should
    be longer than `k`. Weights are at least 0 and not all 0; only their proportions matter. Raises
    InputError for `k`, weights or `normalise` out of range, ValueError for a ranking that is not
    one.
    """
    check_least("k", k, 1)
    if len(weights) != len(rankings):
        raise InputError(f"found {len(weights)} weights for {len(rankings)} rankings")
    if not all(math.isfinite(w) and w >= 0 for w in weights) or not any(weights):
        weight_list = ", ".join(f"{w:g}" for w in weights)
        raise InputError(f"the weights are {weight_list}, expected numbers >= 0, not all 0")
    if normalise not in ("minmax", "zscore"):
        name = shorten(normalise, 40)
        raise InputError(f"unknown normalisation {name!r}, expected: minmax, zscore")
    checked = list(map(_checked, rankings))
    both = zip(weights, checked, strict=True)
    values = [weight * normalised(scores, normalise) for weight, (_, scores) in both]
    missing = [lowest(value, normalise) for value in values]
    return _sum([numbers for numbers, _ in checked], values, missing, k)


def lowest(values: Floats, normalise: Normalisation) -> float:
    """Return the score of a document missing from a ranking with these `values`."""
    # The lowest minmax score is 0; the lowest zscore is negative.
    return 0.0 if normalise == "minmax" else float(values.min(initial=0.0))


def normalised(scores: Floats, normalise: Normalisation) -> Floats:
    """Return the normalised scores of a ranking; see `fuse_weighted`."""
    if not len(scores):
        return scores
    largest = np.abs(scores).max()
    # Values near the limits of float64 would overflow as a difference or as a square.
    scaled = scores / largest if largest > 0 else scores
    low, high = scaled.min(), scaled.max()
    if normalise == "minmax":
        return (scaled - low) / (high - low) if high > low else np.ones(len(scores))
    deviation = scaled.std()
    # The mean of equal numbers may have a rounding error, which is not a deviation.
    return (scaled - scaled.mean()) / deviation if high > low else np.zeros(len(scores))


def _sum(numbers: list[Numbers], values: list[Floats], missing: list[float], k: int) -> RankedList:
    documents = _distinct(np.concatenate([np.zeros(0, dtype=np.int64), *numbers]))
    table = np.tile(np.array(missing), (len(documents), 1))
    for column, (number, value) in enumerate(zip(numbers, values, strict=True)):
        table[np.searchsorted(documents, number), column] = value
    if len(numbers) > 2:
        # Added from the smallest up, so that the sum does not depend on the order of the rankings.
        table.sort(axis=1)
    scores = table.sum(axis=1)
    order = np.argsort(-scores, kind="stable")[:k]
    return documents[order], scores[order]


def _checked(ranking: RankedList) -> RankedList:
    numbers = np.asarray(ranking[0], dtype=np.int64)
    scores = np.asarray(ranking[1], dtype=np.float64)
    if numbers.ndim != 1 or numbers.shape != scores.shape:
        raise ValueError(f"{numbers.shape} documents with {scores.shape} scores are not a ranking")
    if len(_distinct(numbers)) != len(numbers):
        raise ValueError("a ranking contains a document twice")
    if not np.isfinite(scores).all():
        raise ValueError("a ranking has a score that is not finite")
    return numbers, scores


def _distinct(numbers: Numbers) -> Numbers:
    """Return sorted distinct numbers; for so few, np.unique takes ten times as long."""
    ordered = np.sort(numbers)
    return ordered[np.diff(ordered, prepend=ordered[:1] - 1) > 0]
