"""Percentile intervals by the cluster bootstrap.

Answers on one topic are correlated, so whole topics are resampled (Field and Welsh, JRSS B 69,
2007): each resample takes as many clusters as there are, with replacement.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from pnyx.measure.weighted import Floats, ratio

__all__ = ["LEVEL", "draw_weights", "mean_intervals", "percentile_interval"]

LEVEL = 0.95
_CELLS = 1_000_000
"""So many weights are held at once; measures make a handful of arrays of that size."""


def draw_weights(clusters: npt.NDArray[np.intp], draws: int, seed: int) -> Iterator[Floats]:
    """Yield the weights of the items in blocks of draws, (rows, n); the rows sum to `draws`.

    Args:
        clusters: (n,), the number of each item's cluster, from 0 and without a gap.
        draws: how many.
        seed: the same seed gives the same draws.
    """
    if len(clusters) == 0 or draws == 0:
        return
    count = int(clusters.max()) + 1
    rng = np.random.default_rng(seed)
    at_once = max(1, _CELLS // len(clusters))
    for start in range(0, draws, at_once):
        rows = min(at_once, draws - start)
        drawn = rng.integers(0, count, size=(rows, count))
        drawn += np.arange(rows)[:, None] * count
        times = np.bincount(drawn.ravel(), minlength=rows * count).reshape(rows, count)
        yield times[:, clusters].astype(np.float64)


def percentile_interval(values: Floats) -> tuple[float, float] | None:
    """Return the bounds between which the middle 95 % of the defined draws lie.

    Args:
        values: one for each draw, NaN where the measure is undefined.

    Returns:
        None if fewer than half of the resamples are defined.
    """
    defined = values[np.isfinite(values)]
    if len(defined) == 0 or 2 * len(defined) < len(values):
        return None
    low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def mean_intervals(
    table: Floats, draws: int, seed: int
) -> list[tuple[float, float] | tuple[None, None]]:
    """Return the interval of each column's mean over rows that are drawn, topics as a rule.

    Args:
        table: (rows, columns), NaN where a row has no value.
        draws: of the bootstrap; 0 for no intervals.
        seed: the same seed draws the same rows.

    Returns:
        None for both bounds where fewer than two rows have a value.
    """
    has = np.isfinite(table)
    filled, counted = np.where(has, table, 0.0), has.astype(np.float64)
    drawn = [
        ratio(weights @ filled, weights @ counted)
        for weights in draw_weights(np.arange(len(table), dtype=np.intp), draws, seed)
    ]
    bounds: list[tuple[float, float] | tuple[None, None]] = []
    for place in range(table.shape[1]):
        defined = table[has[:, place], place]
        if len(defined) < 2 or not drawn:
            bounds.append((None, None))
        elif np.ptp(defined) == 0:  # not to show rounding errors of a constant
            bounds.append((float(defined[0]), float(defined[0])))
        else:
            column = np.concatenate([means[:, place] for means in drawn])
            bounds.append(percentile_interval(column) or (None, None))
    return bounds
