"""Agreement of two rankings of the same systems, for many resamples of topics and systems at once.

Each coefficient takes values (draws, n) for both sides and how often each system was drawn (draws,
n); a system drawn twice is never compared with itself. Weights of 1 give the plain coefficient.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from pnyx.stats.correlation import alike
from pnyx.stats.weighted_measures import Floats, ratio

Singles: TypeAlias = npt.NDArray[np.float32]

COEFFICIENTS: Final = (
    "kendall_tau_b",
    "tau_ap",
    "tau_ap_b",
    "tau_gap",
    "spearman",
    "pearson",
)

_CELLS = 100_000  # Pairs of systems to process at once, so that they fit in the processor's cache
_NOISE = 1e-12  # Values that agree to this share of the largest are equal up to rounding


def coefficients(first: Floats, second: Floats, weights: Floats) -> Mapping[str, Floats]:
    """Return each coefficient of each draw, NaN if it is undefined; higher values are better.

    - `kendall_tau_b`: concordant minus discordant pairs, ties as by Kendall (Biometrika 33, 1945).
    - `tau_ap`: the share of the systems that the first puts above a system and the second does too,
      averaged over systems (Yilmaz, Aslam and Robertson, SIGIR 2008). Errors at the top of the
      first count more. A tie of the first puts neither above the other; one of the second counts
      as an error (Urbano and Marrero, ICTIR 2017).
    - `tau_ap_b`: mean of `tau_ap` in both directions; with ties tau_AP,b of Urbano and Marrero.
    - `tau_gap`: `tau_ap` with pairs weighted by their difference in the second (Gao and Oard,
      SIGIR 2015).
    - `spearman`, `pearson`: correlations of ranks (ties: mean ranks) and of values.

    All are in [-1, 1], and undefined if a side is constant.

    Args:
        first: values (draws, n); with one row, the same in all draws.
        second: values (draws, n).
        weights: how often each system is drawn (draws, n).
    """
    draws = max(len(first), len(second), len(weights))
    alike = len(first) == len(second) == 1
    step = max(1, _CELLS // max(1, first.shape[1] ** (1 if alike else 2)))
    blocks = []
    for start in range(0, draws, step):
        some = slice(start, start + step)
        sides = [side if len(side) == 1 else side[some] for side in (first, second, weights)]
        blocks.append(_block(*sides))
    return {name: np.concatenate([block[name] for block in blocks]) for name in COEFFICIENTS}


@dataclass(frozen=True, slots=True)
class _Side:
    """Values, and which systems (axis 2) are above a system (axis 1), and below, (draws, n, n).

    As floats, because matrix products are fast; for whole numbers below 2^24 they are exact.
    """

    values: Floats
    differences: Floats
    above: Singles
    below: Singles

    @classmethod
    def of(cls, values: Floats) -> _Side:
        differences = values[:, None, :] - values[:, :, None]
        least = _NOISE * np.abs(values).max(axis=1, initial=0.0)[:, None, None]
        return cls(
            values,
            differences,
            (differences > least).astype(np.float32),
            (differences < -least).astype(np.float32),
        )


def _block(first: Floats, second: Floats, weights: Floats) -> dict[str, Floats]:
    draws = max(len(first), len(second), len(weights))
    weights = np.broadcast_to(weights, (draws, weights.shape[1]))
    incomplete = ((np.isnan(first) | np.isnan(second)) & (weights > 0)).any(axis=1)
    a, b = (_Side.of(np.nan_to_num(side)) for side in (first, second))
    right, wrong = a.above * b.above, a.above * b.below
    above, other, same = (_over(side, weights) for side in (a.above, b.above, right))
    untied = [(side * weights).sum(axis=1) for side in (above, other)]
    there, back = (_mean_share(same, side, untied, weights) for side in (above, other))
    far, near = _over(right * b.differences, weights), _over(wrong * b.differences, weights)
    first_ranks, second_ranks = _ranks(a, above, weights), _ranks(b, other, weights)
    agreed = ((same - _over(wrong, weights)) * weights).sum(axis=1)
    result = {
        "kendall_tau_b": np.clip(ratio(agreed, np.sqrt(untied[0] * untied[1])), -1.0, 1.0),
        "tau_ap": there,
        "tau_ap_b": (there + back) / 2,
        "tau_gap": _mean_share(far, far - near, untied, weights),
        "spearman": alike((_centred(x, weights) for x in (first_ranks, second_ranks)), weights),
        "pearson": alike((_centred(side.values, weights) for side in (a, b)), weights),
    }
    return {name: np.where(incomplete, np.nan, values) for name, values in result.items()}


def _over(amounts: npt.NDArray[Any], weights: Floats) -> Floats:
    """Return the sums (draws, n) of amounts (draws or 1, n, n) over the systems drawn."""
    drawn = weights.astype(amounts.dtype)
    sums = drawn @ amounts[0].T if len(amounts) == 1 else (amounts @ drawn[:, :, None])[:, :, 0]
    return np.asarray(sums, dtype=np.float64)


def _mean_share(right: Floats, above: Floats, untied: Sequence[Floats], weights: Floats) -> Floats:
    """Return the mean share of correct pairs above each system, from -1 to 1."""
    share = ratio(right, above)
    counted = np.where(np.isnan(share), 0.0, weights)
    mean = ratio((np.nan_to_num(share) * counted).sum(axis=1), counted.sum(axis=1))
    defined = (untied[0] > 0) & (untied[1] > 0)
    return np.where(defined, np.clip(2 * mean - 1, -1.0, 1.0), np.nan)


def _ranks(side: _Side, above: Floats, weights: Floats) -> Floats:
    """Return 1-based ranks from the lowest; ties get their mean rank."""
    total = weights.sum(axis=1)[:, None]
    return np.asarray((total + 1 + _over(side.below, weights) - above) / 2)


def _centred(values: Floats, weights: Floats) -> Floats:
    """Return differences from each draw's mean, with rounding errors set to 0."""
    mean = ((weights * values).sum(axis=1) / weights.sum(axis=1))[:, None]
    least = _NOISE * np.abs(values).max(axis=1, initial=0.0)[:, None]
    return np.where(np.abs(values - mean) <= least, 0.0, values - mean)
