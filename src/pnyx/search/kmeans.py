"""k-means on the unit sphere, around scikit-learn's: cosine decides which centroid is nearest."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pnyx.errors import MissingExtra

__all__ = [
    "MINI_BATCH_ABOVE",
    "Counts",
    "Means",
    "Vectors",
    "by_size",
    "distinct_points",
    "k_means_engine",
    "nearest_centroids",
]

MINI_BATCH_ABOVE = 20_000
"""Distinct points above which k-means takes samples of them (MiniBatchKMeans): all of them at once
take minutes beyond that, for an error a few percent lower."""

_FEW = 2_000
"""Distinct points up to which the best of four starts is taken; it costs next to nothing there."""

_ROWS_AT_ONCE = 16_384

Vectors: TypeAlias = NDArray[np.float32]
Counts: TypeAlias = NDArray[np.int64]
Means: TypeAlias = Callable[[Vectors, Counts, int, int], tuple[Vectors, str]]


def k_means_engine() -> Means:
    """Return k-means: (points, how often each counts, k, seed) to (unit centroids, engine's name).

    Raises:
        MissingExtra: scikit-learn is not installed.
    """
    try:
        import sklearn
        from sklearn.cluster import KMeans, MiniBatchKMeans
    except ImportError as error:
        raise MissingExtra("clustering", "clusters") from error

    def means(points: Vectors, weights: Counts, k: int, seed: int) -> tuple[Vectors, str]:
        if len(points) > MINI_BATCH_ABOVE:
            model = MiniBatchKMeans(k, random_state=seed, batch_size=4096, n_init=3)
        else:
            model = KMeans(k, random_state=seed, n_init=4 if len(points) <= _FEW else 1)
        centers = model.fit(points, sample_weight=weights).cluster_centers_
        engine = f"scikit-learn {sklearn.__version__} {type(model).__name__}"
        # A centre of exactly zero has no direction; it stays, and no point is nearest to it.
        lengths = np.maximum(np.linalg.norm(centers, axis=1, keepdims=True), 1e-12)
        return (centers / lengths).astype(np.float32), engine

    return means


def distinct_points(points: Vectors, rows: Counts) -> tuple[Vectors, Counts, Counts]:
    """Merge equal points (an embedder may ignore case): points, their documents, who has which."""
    seen: dict[bytes, int] = {}
    merged = np.array(
        [
            seen.setdefault(hashlib.blake2b(row.tobytes(), digest_size=16).digest(), len(seen))
            for row in points
        ]
    )
    _, firsts = np.unique(merged, return_index=True)
    out = np.where(rows >= 0, merged[rows], -1)
    return points[firsts], np.bincount(out[out >= 0], minlength=len(firsts)), out


def nearest_centroids(points: Vectors, centroids: Vectors) -> tuple[Counts, NDArray[np.float64]]:
    """Return the nearest centroid of each point and the cosine to it."""
    nearest = np.zeros(len(points), dtype=np.int64)
    cosines = np.zeros(len(points))
    for start in range(0, len(points), _ROWS_AT_ONCE):
        stop = start + _ROWS_AT_ONCE
        products = points[start:stop] @ centroids.T
        nearest[start:stop] = products.argmax(axis=1)
        cosines[start:stop] = products.max(axis=1)
    return nearest, cosines


def by_size(centroids: Vectors, nearest: Counts, weights: Counts) -> tuple[Vectors, Counts]:
    """Number clusters from the largest to the smallest; leave empty ones out."""
    sizes = np.bincount(nearest, weights=weights, minlength=len(centroids))
    order = np.argsort(-sizes, kind="stable")[: int((sizes > 0).sum())]
    numbers = np.zeros(len(centroids), dtype=np.int64)
    numbers[order] = np.arange(len(order))
    return centroids[order], numbers[nearest]
