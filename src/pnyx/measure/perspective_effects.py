"""How far a judge's errors fall together: log-odds that a whole question or perspective shares.

People's yes on a pair has the log-odds that the judge's answer gives it, and what its question and
its perspective add to that on all their documents. Both are taken to be normal; their standard
deviations are found by moments: such that the products of two pairs' errors, within perspectives
and between the perspectives of a question, are expected to be what they are on the labelled pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from pnyx.measure.weighted import Floats

__all__ = ["Effects", "effects_of", "given", "latent", "logistic", "logit", "shared_spread"]

Index = npt.NDArray[np.intp]

_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(7)
NODES: tuple[tuple[float, float], ...] = tuple(
    zip(_POINTS.tolist(), (_WEIGHTS / _WEIGHTS.sum()).tolist(), strict=True)
)
"""Points and weights of a standard normal expectation."""

_SPREADS = 6.0 * np.linspace(0.0, 1.0, 17) ** 1.5
_LATENT = np.linspace(-60.0, 60.0, 481)
_SHRINK = (16 * 3**0.5 / (15 * np.pi)) ** 2
"""A logistic curve over normal log-odds of variance v has a slope of about (1 + v * this)^-1/2."""
_LEAST = 1e-9


@dataclass(frozen=True, slots=True)
class Effects:
    """Standard deviations in log-odds.

    Attributes:
        question: of what all pairs of a question share.
        perspective: of what the pairs of a perspective share beyond that.
    """

    question: float
    perspective: float


def logit(chances: Floats) -> Floats:
    """Return log-odds."""
    p = np.clip(chances, _LEAST, 1 - _LEAST)
    return np.asarray(np.log(p) - np.log1p(-p), dtype=np.float64)


def logistic(z: Floats) -> Floats:
    """Return 1 / (1 + exp(-z)) without overflow."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -z)), dtype=np.float64)


def latent(chances: Floats, spread: float) -> Floats:
    """Return log-odds that have these chances on average, when normal ones are added to them."""
    return np.asarray(np.interp(logit(chances), _averages(spread), _LATENT))


@lru_cache(maxsize=64)
def _averages(spread: float) -> Floats:
    """Return the log-odds of the average chance at each point of `_LATENT`."""
    return logit(np.asarray(sum(w * logistic(_LATENT + spread * z) for z, w in NODES)))


def given(chances: Floats, spread: float, by: float = 0.0) -> list[tuple[float, Floats]]:
    """Return what chances are where a normal effect is shared by all: (weight, chances) pairs.

    Args:
        chances: on average over the effect.
        spread: its standard deviation, in log-odds.
        by: moves all log-odds.
    """
    if not spread:
        return [(1.0, logistic(logit(chances) + by) if by else chances)]
    base = latent(chances, spread) + by
    return [(w, logistic(base + spread * z)) for z, w in NODES]


def effects_of(
    chances: Floats, truth: Floats, questions: Index, perspectives: Index
) -> Effects | None:
    """Estimate the effects.

    Args:
        chances: (pairs,), of people's yes by the judge's answer alone.
        truth: (pairs,), 1 or 0.
        questions: (pairs,), the number of the question.
        perspectives: (pairs,), the number of the perspective, of no two questions the same.

    Returns:
        None where no perspective has two pairs.
    """
    together = _Products(perspectives)
    if not together.pairs:
        return None
    apart = _Products(questions, together)
    count = len(np.unique(questions))
    errors = truth - chances
    # The curve was fitted to the same pairs: it takes a share of what questions have in common.
    scale = count / max(1, count - 1)
    total = _spread(together, chances, scale * together.of(errors))
    question = min(total, _spread(apart, chances, scale * apart.of(errors)) if apart.pairs else 0.0)
    within = (total**2 - question**2) / (1 + _SHRINK * question**2)
    return Effects(question, within**0.5)


class _Products:
    """Sums of products over all two members of the same cluster, but not of the same `finer` one.

    Attributes:
        pairs: how many products there are.
    """

    def __init__(self, clusters: Index, finer: _Products | None = None) -> None:
        self._clusters, self._finer = clusters, finer
        self.pairs = round(float(self.of(np.ones(len(clusters)))))

    def of(self, values: Floats) -> float:
        """Return the sum over ordered pairs."""
        squared = float((np.bincount(self._clusters, weights=values) ** 2).sum())
        rest = float((values**2).sum())
        if self._finer is not None:
            rest += self._finer.of(values)
        return squared - rest


def _spread(products: _Products, chances: Floats, observed: float) -> float:
    """Return the standard deviation under which so large a sum of products is expected."""
    independent = products.of(chances)

    def expected(place: int) -> float:
        shared = given(chances, float(_SPREADS[place]))
        return sum(w * products.of(p) for w, p in shared) - independent

    low, high = 0, len(_SPREADS) - 1
    if observed <= 0 or observed >= expected(high):
        return 0.0 if observed <= 0 else float(_SPREADS[high])
    while high - low > 1:  # it rises with the spread
        middle = (low + high) // 2
        low, high = (middle, high) if expected(middle) < observed else (low, middle)
    ends = expected(low), expected(high)
    return float(np.interp(observed, ends, _SPREADS[[low, high]]))


def shared_spread(chances: Floats, truth: Floats, clusters: Index) -> float:
    """Estimate the standard deviation of what the members of a cluster share, in log-odds.

    Args:
        chances: (n,), of a yes.
        truth: (n,), 1 or 0.
        clusters: (n,), the number of the cluster.
    """
    products, count = _Products(clusters), len(np.unique(clusters))
    if not products.pairs:
        return 0.0
    # The curve was fitted to the same labels: it takes a share of what clusters have in common.
    scale = count / max(1, count - 1)
    return _spread(products, chances, scale * products.of(truth - chances))
