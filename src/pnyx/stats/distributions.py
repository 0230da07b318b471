"""Probabilities and quantiles of Student's t, the binomial and the beta distribution.

All three are computed from the regularised incomplete beta function, by its continued fraction
(DLMF 8.17.22, summed by Lentz's method: Press et al., Numerical Recipes, 3rd ed., 5.2 and 6.4). The
factor is Loader's (Fast and Accurate Computation of Binomial Probabilities, 2000), which is exact
for large numbers, too. scipy has the same functions, but takes 143 MB
(docs/explain/decisions/dependencies.md); the tests compare with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

_STEPS = 100_000  # Continued fraction: it takes about the square root of the larger parameter
_TINY, _SMALL = 1e-300, 1e-16


def beta_below(x: float, a: float, b: float, rest: float | None = None) -> float:
    """Return the probability that a beta variable is below `x`, in [0, 1], with `a`, `b` > 0.

    `rest` is 1 - x, if it is known more exactly than by subtraction.
    """
    y = 1.0 - x if rest is None else rest
    if x <= 0 or y <= 0:
        return 0.0 if x <= 0 else 1.0
    if x * (a + b + 2) < a + 1:
        return _factor(x, y, a, b) * _fraction(x, a, b) / a
    return 1.0 - _factor(y, x, b, a) * _fraction(y, b, a) / b


def beta_quantile(below: float, a: float, b: float) -> float:
    """Return the value in [0, 1] below which a beta variable lies with probability `below`."""
    if below <= 0 or below >= 1:
        return 0.0 if below <= 0 else 1.0
    return _root(
        lambda x: beta_below(x, a, b) - below,
        lambda x: _factor(x, 1 - x, a, b) / (x * (1 - x)),
        (0.0, 1.0),
        a / (a + b),
    )


def binomial_below(successes: int, trials: int, chance: float) -> float:
    """Return the probability of at most `successes`, each of probability `chance`."""
    if successes >= trials or successes < 0:
        return float(successes >= trials)
    return beta_below(1 - chance, trials - successes, successes + 1, chance)


def student_below(t: float, degrees: float) -> float:
    """Return the probability that Student's t is below `t`."""
    if math.isinf(t):
        return float(t > 0)
    square = t * t
    x, rest = degrees / (degrees + square), square / (degrees + square)
    tail = 0.5 * beta_below(x, degrees / 2, 0.5, rest)
    return tail if t < 0 else 1.0 - tail


@lru_cache(maxsize=4096)
def student_quantile(degrees: float, below: float = 0.975) -> float:
    """Return the value below which Student's t lies with probability `below`, in (0, 1)."""
    if not 0 < below < 1:
        raise ValueError(f"found {below}, expected a probability between 0 and 1")
    if below > 0.5:
        return -student_quantile(degrees, 1 - below)
    if below == 0.5:
        return 0.0
    high = NormalDist().inv_cdf(below)  # the normal distribution has thinner tails
    low = high
    while student_below(low, degrees) > below:
        low *= 2
    norm = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2))
    norm /= math.sqrt(degrees * math.pi)
    return _root(
        lambda t: student_below(t, degrees) - below,
        lambda t: norm * (1 + t * t / degrees) ** (-(degrees + 1) / 2),
        (low, high),
        (low + high) / 2,
    )


def _factor(x: float, y: float, a: float, b: float) -> float:
    """Return x^a y^b / B(a, b), where y is 1 - x."""
    both = a + b
    exponent = a * _log(x, both / a) + b * _log(y, both / b)
    exponent += _stirling(both) - _stirling(a) - _stirling(b)
    return math.exp(exponent) * math.sqrt(a / both * b / (2 * math.pi))


def _log(x: float, scale: float) -> float:
    scaled = x * scale
    return math.log(scaled) if 0 < scaled < math.inf else math.log(x) + math.log(scale)


def _stirling(z: float) -> float:
    """Return the difference between log gamma and Stirling's formula (DLMF 5.11.1)."""
    if z < 12:
        return math.lgamma(z) - ((z - 0.5) * math.log(z) - z + 0.5 * math.log(2 * math.pi))
    s = 1 / (z * z)
    return (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s / 1188)))) / z


def _fraction(x: float, a: float, b: float) -> float:
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > _TINY else _TINY)
    value = d
    for m in range(1, _STEPS):
        for part in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 + part * d, 1 + part / c
            d = 1 / (d if abs(d) > _TINY else _TINY)
            c = c if abs(c) > _TINY else _TINY
            value *= d * c
        if abs(d * c - 1) <= 3 * _SMALL:
            break
    return value


def _root(
    off: Callable[[float], float],
    slope: Callable[[float], float],
    ends: tuple[float, float],
    start: float,
) -> float:
    """Return the root of an increasing function: Newton's steps, bisected outside the bracket."""
    (low, high), x = ends, start
    for _ in range(2_000):
        value = off(x)
        if value == 0:
            return x
        low, high = (x, high) if value < 0 else (low, x)
        steep = slope(x)
        following = x - value / steep if steep > 0 else math.inf
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - x) <= 4 * _SMALL * abs(following):
            return following
        x = following
    return x
