"""How far two rankings of the same systems agree, for many draws of topics and systems at once.

Each coefficient takes values (draws, n) of both sides and how often each system was drawn (draws,
n); a system drawn twice is never compared with itself. The plain coefficient is one draw of ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from pnyx.measure.core.weighted import Floats, ratio

COEFFICIENTS: Final = (
    "kendall_tau_b",
    "tau_ap",
    "tau_ap_b",
    "tau_gap",
    "spearman",
    "pearson",
)

_CELLS = 2_000_000  # Signs of pairs held at once
_NOISE = 1e-12  # Values that agree to this share of the largest are equal but for rounding


def coefficients(first: Floats, second: Floats, weights: Floats) -> Mapping[str, Floats]:
    """Return each coefficient of each draw, NaN where it is undefined; higher values are better.

    - `kendall_tau_b`: concordant less discordant pairs, ties as by Kendall (Biometrika 33, 1945).
    - `tau_ap`: of the systems that the first puts above a system, how many the second does, too,
      averaged over systems (Yilmaz, Aslam and Robertson, SIGIR 2008). Errors at the top of the
      first count more. A tie of the first puts neither above the other; one of the second counts
      as an error (Urbano and Marrero, ICTIR 2017).
    - `tau_ap_b`: mean of `tau_ap` both ways; with ties tau_AP,b of Urbano and Marrero.
    - `tau_gap`: `tau_ap` in which a pair counts by its difference in the second (Gao and Oard,
      SIGIR 2015).
    - `spearman`, `pearson`: correlations of ranks (ties: mean ranks) and of values.

    All lie in [-1, 1], and are undefined where a side is constant.

    Args:
        first: values (draws, n); with one row, the same in all draws.
        second: values (draws, n).
        weights: how often each system is drawn (draws, n).
    """
    draws = max(len(first), len(second), len(weights))
    step = max(1, _CELLS // max(1, first.shape[1] ** 2))
    blocks = []
    for start in range(0, draws, step):
        some = slice(start, start + step)
        sides = [side if len(side) == 1 else side[some] for side in (first, second, weights)]
        blocks.append(_block(*sides))
    return {name: np.concatenate([block[name] for block in blocks]) for name in COEFFICIENTS}


@dataclass(frozen=True, slots=True)
class _Side:
    """Values, and the signs (draws, n, n) of the differences of a system (axis 1) to others."""

    values: Floats
    signs: Floats

    @classmethod
    def of(cls, values: Floats) -> _Side:
        apart = values[:, :, None] - values[:, None, :]
        least = _NOISE * np.abs(values).max(axis=1, initial=0.0)[:, None, None]
        return cls(values, np.where(np.abs(apart) <= least, 0.0, np.sign(apart)))


def _block(first: Floats, second: Floats, weights: Floats) -> dict[str, Floats]:
    draws = max(len(first), len(second), len(weights))
    weights = np.broadcast_to(weights, (draws, weights.shape[1]))
    lacking = ((np.isnan(first) | np.isnan(second)) & (weights > 0)).any(axis=1)
    a, b = (_Side.of(np.nan_to_num(side)) for side in (first, second))
    there, back = _ap(a, b, weights), _ap(b, a, weights)
    result = {
        "kendall_tau_b": _kendall(a, b, weights),
        "tau_ap": there,
        "tau_ap_b": (there + back) / 2,
        "tau_gap": _gap(a, b, weights),
        "spearman": _pearson(_ranks(a, weights), _ranks(b, weights), weights),
        "pearson": _pearson(a.values, b.values, weights),
    }
    return {name: np.where(lacking, np.nan, values) for name, values in result.items()}


def _kendall(a: _Side, b: _Side, weights: Floats) -> Floats:
    agreed, first, other = (
        _paired(signs, weights) for signs in (a.signs * b.signs, np.abs(a.signs), np.abs(b.signs))
    )
    return np.clip(ratio(agreed, np.sqrt(first * other)), -1.0, 1.0)


def _paired(amounts: Floats, weights: Floats) -> Floats:
    """Return the sum of amounts (draws or 1, n, n) over all pairs drawn."""
    return np.asarray(((amounts @ weights[:, :, None])[:, :, 0] * weights).sum(axis=1))


def _ap(listed: _Side, truth: _Side, weights: Floats) -> Floats:
    above = (listed.signs < 0).astype(np.float64)
    return _shares_above(above * (truth.signs < 0), above, listed, truth, weights)


def _gap(listed: _Side, truth: _Side, weights: Floats) -> Floats:
    apart = np.abs(truth.values[:, :, None] - truth.values[:, None, :]) * np.abs(truth.signs)
    above = (listed.signs < 0) * apart
    return _shares_above(above * (truth.signs < 0), above, listed, truth, weights)


def _shares_above(
    right: Floats, above: Floats, listed: _Side, truth: _Side, weights: Floats
) -> Floats:
    """Return the mean share of right pairs among those above each system, from -1 to 1."""
    others = weights[:, None, :]
    share = ratio((right * others).sum(axis=2), (above * others).sum(axis=2))
    counted = np.where(np.isnan(share), 0.0, weights)
    mean = ratio((np.nan_to_num(share) * counted).sum(axis=1), counted.sum(axis=1))
    defined = [_paired(np.abs(side.signs), weights) > 0 for side in (listed, truth)]
    return np.where(defined[0] & defined[1], np.clip(2 * mean - 1, -1.0, 1.0), np.nan)


def _ranks(side: _Side, weights: Floats) -> Floats:
    """Return 1-based ranks from the lowest, ties sharing the mean of theirs."""
    total = weights.sum(axis=1)[:, None]
    return np.asarray((total + 1 + (side.signs * weights[:, None, :]).sum(axis=2)) / 2)


def _pearson(x: Floats, y: Floats, weights: Floats) -> Floats:
    a, b = (_centred(values, weights) for values in (x, y))
    size = (weights * a * a).sum(axis=1) * (weights * b * b).sum(axis=1)
    return np.clip(ratio((weights * a * b).sum(axis=1), np.sqrt(size)), -1.0, 1.0)


def _centred(values: Floats, weights: Floats) -> Floats:
    """Return distances from each draw's mean, rounding errors as 0."""
    mean = ((weights * values).sum(axis=1) / weights.sum(axis=1))[:, None]
    least = _NOISE * np.abs(values).max(axis=1, initial=0.0)[:, None]
    return np.where(np.abs(values - mean) <= least, 0.0, values - mean)
