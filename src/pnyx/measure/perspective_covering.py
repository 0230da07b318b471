"""The chance that documents cover enough perspectives, given that of each pair to be a yes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from pnyx.judge.curves import Curve
from pnyx.measure.perspective_effects import Effects, given
from pnyx.measure.perspective_table import Table
from pnyx.measure.weighted import Floats

__all__ = ["Covering", "below_one"]


class Covering:
    """The pairs of some topics' first k documents, for the chance that these cover enough.

    Args:
        tables: the topics, all of whose pairs are scored.
        k: how many documents.
        signals: from a table to what the chances are read from, (n, m).
    """

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
        """Return the chance of each perspective to be covered, errors apart and together."""
        if not len(self._flat):
            return np.empty(0), np.empty(0)
        yes = below_one(curve(self._flat))
        apart = 1 - np.exp(np.add.reduceat(np.log1p(-yes), self._starts))
        return apart, np.maximum.reduceat(yes, self._starts)

    def expected(self, curve: Curve, effects: Effects) -> Floats:
        """Return each topic's chance that enough perspectives are covered, over shared effects."""
        found = np.zeros(self._count)
        if not len(self._flat):
            return found
        for weight, pairs in given(curve(self._flat), effects.question):
            chances = np.zeros(len(self._starts))
            for share, alone in given(pairs, effects.perspective):
                none = np.add.reduceat(np.log1p(-below_one(alone)), self._starts)
                chances += share * (1 - np.exp(none))
            found += weight * self.recalls(chances)
        return found

    def recalls(self, chances: Floats) -> Floats:
        """Return each topic's chance that enough perspectives are covered."""
        found = np.zeros(self._count)
        if len(chances):
            found[self._filled] = np.multiply.reduceat(chances, self._firsts)
        for topic, first, size in self._crowded:
            found[topic] = _at_least(chances[first : first + size], self._needed[topic])
        return found


def _at_least(chances: Floats, needed: int) -> float:
    """Return the chance that at least `needed` of independent events occur."""
    counts = np.zeros(needed + 1)  # the last stands for `needed` and more
    counts[0] = 1.0
    for chance in chances:
        moved = counts[:-1] * chance
        counts[:-1] -= moved
        counts[1:] += moved
    return float(counts[-1])


def below_one(chances: Floats) -> Floats:
    """Return chances whose complement has a logarithm."""
    return np.minimum(chances, 1 - 1e-12)


def _starts(lengths: Sequence[int]) -> npt.NDArray[np.intp]:
    return np.concatenate([[0], np.cumsum(lengths)])[:-1].astype(np.intp)  # of none, none
