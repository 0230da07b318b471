"""Confidence intervals."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from pnyx.measure.base import Measured

__all__ = ["log_odds_interval", "share_of", "student_quantile", "wilson"]

_Z95 = 1.959963984540054


def wilson(successes: int, trials: int, z: float = _Z95) -> tuple[float, float]:
    """Return Wilson's score interval for a proportion: (low, high), 0 <= low <= share <= high <= 1.

    Args:
        successes: 0 <= successes <= trials.
        trials: at least 1.
        z: normal quantile; the default gives 95 %.

    Raises:
        ValueError: counts out of range.

    Source: E. B. Wilson, JASA 22 (1927).
    """
    if not 0 <= successes <= trials or trials < 1:
        raise ValueError(f"found {successes} of {trials}, expected 0 <= successes <= trials >= 1")
    share = successes / trials
    centre = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = (z / (1 + z * z / trials)) * math.sqrt(
        share * (1 - share) / trials + z * z / (4 * trials * trials)
    )
    # It always holds the share itself; rounding could leave 0 and 1 just outside.
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))


def share_of(yes: int, scored: int, asked: int) -> Measured:
    """Return the share yes / scored with Wilson's 95 % interval; None where nothing is scored."""
    if not scored:
        return Measured(None, 0, asked)
    return Measured(yes / scored, scored, asked, *wilson(yes, scored))


@lru_cache(maxsize=256)
def student_quantile(degrees: float, below: float = 0.975) -> float:
    """Return the value below which Student's t lies with a chance `below`.

    Args:
        degrees: of freedom, at least 2, whole or not.
        below: in [0.5, 1).

    Raises:
        ValueError: one is out of range.
    """
    if not degrees >= 2 or not 0.5 <= below < 1:
        raise ValueError(f"found {degrees} degrees and {below}, expected from 2, and [0.5, 1)")
    # t = sqrt(degrees) tan(a) has a density of cos(a)^(degrees - 1) in a.
    angles = np.linspace(0.0, math.pi / 2, 20_001)
    density = np.cos(angles) ** (degrees - 1)
    area = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    angle = float(np.interp(2 * below - 1, area / area[-1], angles))
    return math.sqrt(degrees) * math.tan(angle)


def _quantile(degrees: float, below: float) -> float:
    if degrees > 1e6:
        return NormalDist().inv_cdf(below)
    return student_quantile(max(2.0, round(degrees, 1)), below)


def log_odds_interval(
    value: float, variance: float, degrees: float = math.inf, confidence: float = 0.95
) -> tuple[float, float]:
    """Return the interval of a share that is symmetric in log-odds; within (0, 1).

    Args:
        value: in [0, 1]; 0 and 1 have no log-odds and are their own interval.
        variance: of its log-odds.
        degrees: of freedom of the variance, at least 2.
        confidence: of the interval.
    """
    if not 0 < value < 1:
        return value, value
    half = _quantile(degrees, (1 + confidence) / 2) * math.sqrt(variance)
    centre = math.log(value) - math.log1p(-value)
    low, high = (1 / (1 + math.exp(-min(700.0, max(-700.0, centre + d)))) for d in (-half, half))
    return low, high
