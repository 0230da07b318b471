"""Krippendorff's alpha as the book defines it: by the matrix of coincidences."""

from __future__ import annotations

import numpy as np


def alpha_by_coincidences(table: np.ndarray, level: str) -> float | None:
    """Of ratings (raters, items), NaN for missing; None where undefined (2004, 11.3.2 and 11.3.5).

    Slow and plain, to check the sums of variances in `pnyx.stats` by.
    """
    values = sorted({v for v in table.ravel().tolist() if not np.isnan(v)})
    place = {value: i for i, value in enumerate(values)}
    seen = np.zeros((len(values), len(values)))
    for unit in table.T:
        rated = [place[v] for v in unit.tolist() if not np.isnan(v)]
        for i, first in enumerate(rated):
            for j, second in enumerate(rated):
                if i != j:
                    seen[first, second] += 1 / (len(rated) - 1)
    marginal = seen.sum(axis=1)
    total = marginal.sum()
    distance = np.zeros_like(seen)
    for c in range(len(values)):
        for k in range(len(values)):
            between = marginal[min(c, k) : max(c, k) + 1].sum() - (marginal[c] + marginal[k]) / 2
            distance[c, k] = {
                "nominal": float(c != k),
                "ordinal": between**2,
                "interval": (values[c] - values[k]) ** 2,
            }[level]
    expected = (np.outer(marginal, marginal) * distance).sum()
    if expected == 0:
        return None
    return float(1 - (total - 1) * (seen * distance).sum() / expected)
