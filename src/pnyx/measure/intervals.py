"""Confidence intervals."""

from __future__ import annotations

import math

__all__ = ["wilson"]

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
