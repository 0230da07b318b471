"""Results of trials: does a score fall as items get worse, does a verdict stay the same?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pnyx.core.tabular import Result
from pnyx.stats.base import BOOTSTRAP, Bootstrap, Measured, row_of
from pnyx.stats.intervals import SIGNED, cluster_mean, draw_weights, interval_of
from pnyx.stats.weighted_measures import Floats, defined_mean, ratio

Index = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, repr=False)
class Decline(Result):
    """A score over levels at which items become worse.

    Attributes:
        levels: ascending.
        points: the mean score at each level, over the items that reach it.
        pearson: correlation of level and mean score, in [-1, 1] (ConQRet, 6.2); undefined if the
            score never changes, or for two levels, which any line fits.
        steps: the decrease of the score from each level to the next, over items scored at both.
        fall: the decrease from the first level to the last that counts.
        strictly: whether every step that counts is above 0 (strict monotonic decrease, Table 17);
            None if one has no value.
        counted: number of levels that count, from the first: those that half of the items reach.
    """

    levels: Sequence[float]
    points: Sequence[Measured]
    pearson: Measured
    steps: Sequence[Measured]
    fall: Measured
    strictly: bool | None
    counted: int

    def rows(self) -> list[dict[str, Any]]:
        """Return the mean score at each level."""
        return [
            {"level": level, **point.row()}
            for level, point in zip(self.levels, self.points, strict=True)
        ]

    def _ending(self) -> list[str]:
        return [f"Fall from the first level to the last: {self.fall}"]

    def row(self) -> dict[str, Any]:
        """Return the object in a trial's `summary.json`."""
        return {
            "levels": list(self.levels),
            **row_of(self, "points pearson steps fall counted"),
            "strictly_decreasing": self.strictly,
        }


def numbered(clusters: Sequence[str]) -> Index:
    """Return the numbers of clusters from their names."""
    return np.unique(np.array(clusters, dtype=str), return_inverse=True)[1].astype(np.intp)


def measure_decline(
    levels: Sequence[float],
    table: Floats,
    present: npt.NDArray[np.bool_],
    clusters: Index,
    bootstrap: Bootstrap = BOOTSTRAP,
) -> Decline:
    """Measure the decrease of a score over levels.

    Args:
        levels: (n,) ascending, two or more.
        table: (items, n) scores in [0, 1]; NaN if missing.
        present: (items, n) whether the item was asked at that level.
        clusters: (items,) the units that the bootstrap draws.
        bootstrap: how intervals are drawn.
    """
    reached = present.sum(axis=0)
    counted = max(2, int((2 * reached >= reached[0]).sum()))
    points = [
        cluster_mean(table[:, n], clusters, bootstrap, int(present[:, n].sum()))
        for n in range(len(levels))
    ]
    steps = [
        cluster_mean(
            table[:, n] - table[:, n + 1], clusters, bootstrap, int(reached[n + 1]), SIGNED
        )
        for n in range(len(levels) - 1)
    ]
    whole = table[:, 0] - table[:, counted - 1]
    fall = cluster_mean(whole, clusters, bootstrap, int(reached[counted - 1]), SIGNED)
    falls = [step.value for step in steps[: counted - 1]]
    defined = [value for value in falls if value is not None]
    strictly = all(value > 1e-12 for value in defined) if len(defined) == len(falls) else None
    pearson = _pearson(
        np.array(levels)[:counted], table[:, :counted], clusters, bootstrap, int(reached[0])
    )
    return Decline(levels, points, pearson, steps, fall, strictly, counted)


def _pearson(
    levels: Floats, table: Floats, clusters: Index, bootstrap: Bootstrap, total: int
) -> Measured:
    has = np.isfinite(table)
    scored = int(has.all(axis=1).sum())
    means = np.array([defined_mean(column) for column in table.T], dtype=np.float64)
    value = float(_correlated(levels, means[None, :])[0])
    if not np.isfinite(value) or len(levels) < 3:
        return Measured(None, scored, total)
    filled = np.where(has, table, 0.0)
    drawn = [
        _correlated(levels, ratio(weights @ filled, weights @ has.astype(np.float64)))
        for weights in draw_weights(clusters, bootstrap)
    ]
    draws = np.concatenate(drawn) if drawn else np.empty(0)
    ends = interval_of(value, draws, int(clusters.max()) + 1, bootstrap, bounds=SIGNED)
    return Measured(value, scored, total, *ends)


def _correlated(levels: Floats, means: Floats) -> Floats:
    """Return Pearson's correlation of levels (n,) with each row of means (draws, n)."""
    off = levels - levels.mean()
    away = means - means.mean(axis=1, keepdims=True)
    away = np.where(np.abs(away) <= 1e-12, 0.0, away)
    size = np.sqrt((off * off).sum() * (away * away).sum(axis=1))
    return np.clip(ratio(away @ off, size), -1.0, 1.0)
