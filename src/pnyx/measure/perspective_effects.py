"""How far a judge's errors fall together: log-odds that a whole question or perspective shares.

People's yes on a pair has the log-odds that the judge's answer gives it, and what its question and
its perspective add to that on all their documents. Both are taken to be normal; their standard
deviations are found by moments: such that the products of two pairs' errors, within perspectives
and between the perspectives of a question, are expected to be what they are on the labelled pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pnyx.measure.bootstrap import percentile_interval
from pnyx.measure.weighted import Floats

__all__ = [
    "Covered",
    "Effects",
    "People",
    "Shares",
    "drawn_interval",
    "effects_of",
    "given",
    "latent",
    "logistic",
    "logit",
    "shared_spread",
]

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
_MOVES = np.linspace(-12.0, 12.0, 49)
_AT_ONCE = 100
"""So many draws are held at once."""


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
    count = len(np.unique(questions))
    total = _shared(together, chances, truth, count)
    question = min(total, _shared(_Products(questions, together), chances, truth, count))
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
    return _shared(_Products(clusters), chances, truth, len(np.unique(clusters)))


def _shared(products: _Products, chances: Floats, truth: Floats, clusters: int) -> float:
    if not products.pairs:
        return 0.0
    # The curve was fitted to the same labels: it takes a share of what clusters have in common.
    scale = clusters / max(1, clusters - 1)
    return _spread(products, chances, scale * products.of(truth - chances))


class People(Protocol):
    """What people would say of each measured question."""

    def mean(self, by: float) -> float:
        """Return the expected mean over questions with all log-odds moved."""
        ...

    def draw(self, by: Floats, rng: np.random.Generator) -> Floats:
        """Return values (draws, questions), drawn with all log-odds moved by (draws,)."""
        ...


class Covered:
    """Questions that are covered or not.

    Args:
        chances: (questions,).
    """

    def __init__(self, chances: Floats) -> None:
        self._log_odds = logit(chances)

    def mean(self, by: float) -> float:
        """See `People`."""
        return float(logistic(self._log_odds + by).mean())

    def draw(self, by: Floats, rng: np.random.Generator) -> Floats:
        """See `People`."""
        chances = logistic(self._log_odds + by[:, None])
        return (rng.random(chances.shape) < chances).astype(np.float64)


class Shares:
    """Shares of k documents that support some perspective.

    Args:
        chances: (documents,).
        topics: (documents,), the number of the question, in order.
        questions: how many there are.
        k: what shares are of.
        spread: of what the documents of a question have in common, in log-odds.
    """

    def __init__(
        self, chances: Floats, topics: npt.NDArray[np.intp], questions: int, k: int, spread: float
    ) -> None:
        self._chances, self._latent = chances, latent(chances, spread)
        self._topics, self._questions, self._k, self._spread = topics, questions, k, spread

    def mean(self, by: float) -> float:
        """See `People`."""
        weighted = (w * p.sum() for w, p in given(self._chances, self._spread, by))
        return float(sum(weighted)) / (self._k * self._questions)

    def draw(self, by: Floats, rng: np.random.Generator) -> Floats:
        """See `People`."""
        own = by[:, None] + self._spread * rng.normal(size=(len(by), self._questions))
        chances = logistic(self._latent + own[:, self._topics])
        yes = (rng.random(chances.shape) < chances).astype(np.float64)
        shares = np.zeros((len(by), self._questions))
        filled, firsts = np.unique(self._topics, return_index=True)
        shares[:, filled] = np.add.reduceat(yes, firsts, axis=1) / self._k
        return shares


def drawn_interval(
    people: People, moves: Floats, rng: np.random.Generator, confidence: float
) -> tuple[float, float] | tuple[None, None]:
    """Return the interval of a mean over questions, these drawn anew.

    Args:
        people: what is drawn.
        moves: (draws,), how far the log-odds of the mean are moved.
        rng: of the draws.
        confidence: of the interval.
    """
    # Moving the log-odds of all questions by 1 moves those of their mean by less.
    means = logit(np.array([people.mean(by) for by in _MOVES.tolist()]))
    centre = float(logit(np.array([people.mean(0.0)]))[0])
    needed = np.interp(centre + moves, np.maximum.accumulate(means), _MOVES)
    drawn = []
    for by in np.array_split(needed, -(-len(needed) // _AT_ONCE)):
        values = people.draw(by, rng)
        again = rng.integers(0, values.shape[1], values.shape)
        drawn.append(np.take_along_axis(values, again, axis=1).mean(axis=1))
    return percentile_interval(np.concatenate(drawn), confidence)
