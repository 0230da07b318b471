"""What people would say of measured questions, drawn: the interval of a calibrated estimate."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from pnyx.measure.bootstrap import percentile_interval
from pnyx.measure.perspective_effects import given, latent, logistic, logit
from pnyx.measure.weighted import Floats

__all__ = ["Covered", "People", "Shares", "drawn_interval"]

_MOVES = np.linspace(-12.0, 12.0, 49)
_AT_ONCE = 100
"""So many draws are held at once."""


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
    people: People, moves: Floats, rng: np.random.Generator
) -> tuple[float, float] | None:
    """Return the 95 % bootstrap interval of a mean over questions.

    Args:
        people: what is drawn.
        moves: (draws,), how far the log-odds of the mean are moved.
        rng: for the resamples.
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
    return percentile_interval(np.concatenate(drawn))
