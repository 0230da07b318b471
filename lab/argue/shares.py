"""Shares with bootstrap intervals, for the benchmarks of this folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

DRAWS = 2000
"""Number of bootstrap samples."""

Row = TypeVar("Row")
Figures = Callable[[Sequence[Row]], dict[str, float]]


def mean(values: Sequence[float]) -> float:
    """Return the mean; NaN of nothing."""
    return float(np.mean(values)) if len(values) else float("nan")


def samples(groups: Sequence[Sequence[Row]], figures: Figures[Row]) -> list[dict[str, float]]:
    """Return the figures of samples of groups; each group is drawn with all its rows."""
    rng, count = np.random.default_rng(0), len(groups)
    return [
        figures([row for i in rng.integers(0, count, count) for row in groups[i]])
        for _ in range(DRAWS)
    ]


def ends(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of the 95 % interval of samples, without NaN."""
    low, high = np.nanquantile(values, [0.025, 0.975])
    return float(low), float(high)


def intervals(
    groups: Sequence[Sequence[Row]], figures: Figures[Row]
) -> dict[str, tuple[float, float, float]]:
    """Return value, low and high of each figure, by resampling groups."""
    drawn = samples(groups, figures)
    whole = figures([row for group in groups for row in group])
    return {name: (value, *ends([draw[name] for draw in drawn])) for name, value in whole.items()}


def percent(interval: tuple[float, float, float]) -> str:
    """Return a share and its interval in percent."""
    value, low, high = interval
    return f"{100 * value:.0f} % [{100 * low:.0f}, {100 * high:.0f}]"


def grouped(rows: Sequence[Row], key: Callable[[Row], str]) -> list[list[Row]]:
    """Return rows with the same key together, in order of first occurrence."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return list(groups.values())
