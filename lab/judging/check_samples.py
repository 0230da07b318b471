"""Simulated answers to questions, labelled yes or no by people and by a judge of known kappa."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pnyx.audit.checks.items import CheckItem, CheckItems
from pnyx.stats.weighted_measures import Floats


@dataclass(frozen=True)
class Judge:
    """A judge with the same error rate on people's yes and on their no.

    Attributes:
        kappa: its true kappa.
        share: share of yes in people's labels, in (0, 1).
        correlation: correlation between answers to the same question, in people's labels and in
            the errors of the judge.
    """

    kappa: float
    share: float
    correlation: float

    @property
    def right(self) -> float:
        """Return the accuracy that gives its kappa, by bisection."""
        low, high = 0.5, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self._kappa(middle) < self.kappa else (low, middle)
        return low

    def _kappa(self, right: float) -> float:
        yes = self.share * right + (1 - self.share) * (1 - right)
        chance = self.share * yes + (1 - self.share) * (1 - yes)
        return (right - chance) / (1 - chance)

    def rows(
        self, rng: np.random.Generator, sizes: Sequence[int], first: int = 0
    ) -> Iterator[CheckItem]:
        """Yield answers to questions of these sizes; questions are numbered from `first`."""
        right, count = self.right, len(sizes)
        share, on_yes, on_no = (self._beta(rng, x, count) for x in (self.share, right, right))
        for question, size in enumerate(sizes):
            people = rng.random(size) < share[question]
            judge = people == (
                rng.random(size) < np.where(people, on_yes[question], on_no[question])
            )
            name = f"q{first + question:05d}"
            both = zip(people.tolist(), judge.tolist(), strict=True)
            for row, (label, verdict) in enumerate(both):
                yield CheckItem(
                    f"{name}-{row:03d}", name, row, {"judge": verdict}, {"human": label}
                )

    def _beta(self, rng: np.random.Generator, mean: float, count: int) -> Floats:
        if not self.correlation:
            return np.full(count, mean)
        size = 1 / self.correlation - 1
        return rng.beta(mean * size, (1 - mean) * size, count)


def sizes_of(labels: int, questions: int, *, uneven: bool = False) -> list[int]:
    """Return the number of answers to each question."""
    if not uneven:
        return [labels // questions] * questions
    shares = 1 / np.arange(1, questions + 1)
    return [max(1, round(labels * x)) for x in (shares / shares.sum()).tolist()]


def table(rows: Iterable[CheckItem]) -> CheckItems:
    """Return rows in the form that `pnyx check` uses."""
    return CheckItems(list(rows), "yes-no", ("judge",), ("human",), "question")


def naive_kappa(rows: Iterable[CheckItem]) -> tuple[float, float]:
    """Return kappa and its standard error under the assumption of independent answers."""
    cells = np.zeros((2, 2))
    for row in rows:
        cells[int(bool(row.labels["human"])), int(bool(row.verdicts["judge"]))] += 1
    count, cells = cells.sum(), cells / cells.sum()
    people, judge = cells.sum(1), cells.sum(0)
    chance = float(people @ judge)
    if chance >= 1:
        return math.nan, math.nan
    kappa = (float(np.trace(cells)) - chance) / (1 - chance)
    agree = sum(cells[i, i] * (1 - (people[i] + judge[i]) * (1 - kappa)) ** 2 for i in (0, 1))
    differ = sum(cells[i, 1 - i] * (judge[i] + people[1 - i]) ** 2 for i in (0, 1))
    variance = agree + (1 - kappa) ** 2 * differ - (kappa - chance * (1 - kappa)) ** 2
    return kappa, math.sqrt(max(0.0, variance) / count) / (1 - chance)
