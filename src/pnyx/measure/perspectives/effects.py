"""How far a judge's errors fall together, and the chance that documents cover enough perspectives.

People's yes on a pair has the log-odds that the judge's answer gives it, plus normal effects of its
question and its perspective. Their standard deviations are found by moments: the expected products
of two pairs' errors are set equal to those on the labelled pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pnyx.judge.calibration.curves import Curve
from pnyx.measure.core.intervals import percentile_interval
from pnyx.measure.core.weighted import Floats
from pnyx.measure.perspectives.table import Table

Index: TypeAlias = npt.NDArray[np.intp]

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
_AT_ONCE = 100  # Draws held at once


@dataclass(frozen=True, slots=True)
class Effects:
    """Standard deviations in log-odds: of a question's effect, and of a perspective's beyond it."""

    question: float
    perspective: float


def logit(chances: Floats) -> Floats:
    """Return log-odds."""
    p = np.clip(chances, _LEAST, 1 - _LEAST)
    return np.asarray(np.log(p) - np.log1p(-p), dtype=np.float64)


def _logistic(z: Floats) -> Floats:
    """Return 1 / (1 + exp(-z)) without overflow."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -z)), dtype=np.float64)


def _latent(chances: Floats, spread: float) -> Floats:
    """Return log-odds that have these chances on average when normal ones are added to them."""
    return np.asarray(np.interp(logit(chances), _averages(spread), _LATENT))


@lru_cache(maxsize=64)
def _averages(spread: float) -> Floats:
    """Return the log-odds of the average chance at each point of `_LATENT`."""
    return logit(np.asarray(sum(w * _logistic(_LATENT + spread * z) for z, w in NODES)))


def given(chances: Floats, spread: float, by: float = 0.0) -> list[tuple[float, Floats]]:
    """Return chances given a shared normal effect, all log-odds moved: (weight, chances) pairs."""
    if not spread:
        return [(1.0, _logistic(logit(chances) + by) if by else chances)]
    base = _latent(chances, spread) + by
    return [(w, _logistic(base + spread * z)) for z, w in NODES]


def effects_of(
    chances: Floats, truth: Floats, questions: Index, perspectives: Index
) -> Effects | None:
    """Estimate effects from pairs' chances, truth and clusters; None if no perspective has two."""
    together = _Products(perspectives)
    if not together.pairs:
        return None
    count = len(np.unique(questions))
    total = _shared(together, chances, truth, count)
    question = min(total, _shared(_Products(questions, together), chances, truth, count))
    within = (total**2 - question**2) / (1 + _SHRINK * question**2)
    return Effects(question, within**0.5)


class _Products:
    """Sums of products over pairs in the same cluster, but not in the same `finer` one."""

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
    """Estimate the standard deviation of what the members of a cluster share, in log-odds."""
    return _shared(_Products(clusters), chances, truth, len(np.unique(clusters)))


def _shared(products: _Products, chances: Floats, truth: Floats, clusters: int) -> float:
    if not products.pairs:
        return 0.0
    # The curve was fitted to the same labels: it takes a share of what clusters have in common.
    scale = clusters / max(1, clusters - 1)
    return _spread(products, chances, scale * products.of(truth - chances))


class Covering:
    """The pairs of closed topics' first k documents, for the chance that these cover enough."""

    def __init__(self, tables: Sequence[Table], k: int, signals: Callable[[Table], Floats]) -> None:
        self._count = len(tables)
        self._needed = [table.needed(k) for table in tables]
        # Topics without documents cover nothing. Of the others, each perspective's pairs follow
        # each other, as do each topic's perspectives.
        self._filled = np.array([n for n, t in enumerate(tables) if t.documents], dtype=np.intp)
        blocks = [signals(tables[n])[:k].T for n in self._filled]
        self._flat = np.concatenate([b.ravel() for b in blocks]) if blocks else np.empty(0)
        self._starts = _starts([len(row) for block in blocks for row in block])
        sizes = [len(block) for block in blocks]
        self._firsts = _starts(sizes)
        self._crowded = [
            (int(topic), int(first), size)
            for topic, first, size in zip(self._filled, self._firsts, sizes, strict=True)
            if self._needed[topic] < size
        ]

    def chances(self, curve: Curve) -> tuple[Floats, Floats]:
        """Return each perspective's chance to be covered, with errors apart and together."""
        if not len(self._flat):
            return np.empty(0), np.empty(0)
        yes = curve(self._flat)
        return self._covered(yes), np.maximum.reduceat(_below_one(yes), self._starts)

    def expected(self, curve: Curve, effects: Effects) -> Floats:
        """Return each topic's chance that enough is covered, over shared effects."""
        found = np.zeros(self._count)
        if not len(self._flat):
            return found
        for weight, pairs in given(curve(self._flat), effects.question):
            parts = (share * self._covered(p) for share, p in given(pairs, effects.perspective))
            found += weight * self.recalls(sum(parts, np.zeros(len(self._starts))))
        return found

    def recalls(self, chances: Floats) -> Floats:
        """Return each topic's chance that enough perspectives are covered."""
        found = np.zeros(self._count)
        if len(chances):
            found[self._filled] = np.multiply.reduceat(chances, self._firsts)
        for topic, first, size in self._crowded:
            found[topic] = _at_least(chances[first : first + size], self._needed[topic])
        return found

    def _covered(self, yes: Floats) -> Floats:
        none = np.add.reduceat(np.log1p(-_below_one(yes)), self._starts)
        return np.asarray(1 - np.exp(none))


def _at_least(chances: Floats, needed: int) -> float:
    """Return the chance that at least `needed` of independent events occur."""
    counts = np.zeros(needed + 1)  # the last stands for `needed` and more
    counts[0] = 1.0
    for chance in chances:
        moved = counts[:-1] * chance
        counts[:-1] -= moved
        counts[1:] += moved
    return float(counts[-1])


def _below_one(chances: Floats) -> Floats:
    """Return chances whose complement has a logarithm."""
    return np.minimum(chances, 1 - 1e-12)


def _starts(lengths: Sequence[int]) -> Index:
    return np.concatenate([[0], np.cumsum(lengths)])[:-1].astype(np.intp)  # of none, none


class Covered:
    """Questions that are covered or not, by their chances (questions,)."""

    def __init__(self, chances: Floats) -> None:
        self._log_odds = logit(chances)

    def mean(self, by: float) -> float:
        """Return the expected mean over questions with all log-odds moved."""
        return float(_logistic(self._log_odds + by).mean())

    def draw(self, by: Floats, rng: np.random.Generator) -> Floats:
        """Return values (draws, questions), drawn with all log-odds moved by (draws,)."""
        chances = _logistic(self._log_odds + by[:, None])
        return (rng.random(chances.shape) < chances).astype(np.float64)


class Shares:
    """Shares of k documents that support some perspective; `topics` are questions by number."""

    def __init__(
        self, chances: Floats, topics: Index, questions: int, k: int, spread: float
    ) -> None:
        self._chances, self._log_odds = chances, _latent(chances, spread)
        self._topics, self._questions, self._k, self._spread = topics, questions, k, spread

    def mean(self, by: float) -> float:
        """See `Covered`."""
        weighted = (w * p.sum() for w, p in given(self._chances, self._spread, by))
        return float(sum(weighted)) / (self._k * self._questions)

    def draw(self, by: Floats, rng: np.random.Generator) -> Floats:
        """See `Covered`."""
        own = by[:, None] + self._spread * rng.normal(size=(len(by), self._questions))
        chances = _logistic(self._log_odds + own[:, self._topics])
        yes = (rng.random(chances.shape) < chances).astype(np.float64)
        shares = np.zeros((len(by), self._questions))
        filled, firsts = np.unique(self._topics, return_index=True)
        shares[:, filled] = np.add.reduceat(yes, firsts, axis=1) / self._k
        return shares


People: TypeAlias = Covered | Shares  # What people would say of each measured question


def drawn_interval(
    people: People, moves: Floats, rng: np.random.Generator, confidence: float
) -> tuple[float, float] | tuple[None, None]:
    """Return the interval of a mean over questions, drawn anew, its log-odds moved by `moves`."""
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
