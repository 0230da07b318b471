"""Measures over weighted pairs, for many weightings at once: what a bootstrap draws from.

A weighted measure takes `gold` (n,), `score` (n,) and `weights` (draws, n), how often each pair
occurs in a draw, and returns one value for each draw, NaN where undefined. The plain measure is one
draw of weights 1: there is one definition of each, so the bootstrap cannot drift from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Weighted: TypeAlias = Callable[[Floats, Floats, Floats], Floats]
"""(gold, score, weights) -> one value for each row of weights, NaN where undefined."""


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

    def up_to(self, amounts: Floats) -> Floats:
        """Return, for each distinct key, the sum of `amounts` (draws, n) at it and below."""
        return np.asarray(np.cumsum(amounts[:, self._order], axis=1)[:, self._ends])

    def at(self, amounts: Floats) -> Floats:
        """Return, for each distinct key, the sum of `amounts` (draws, n) at it."""
        return np.diff(self.up_to(amounts), axis=1, prepend=0.0)

    def ranks(self, weights: Floats) -> Floats:
        """Return the 1-based rank of each pair in each draw, ties sharing the mean of theirs."""
        here = self.at(weights)
        middle = np.cumsum(here, axis=1) - (here - 1) / 2
        return np.asarray(middle[:, self._block])
