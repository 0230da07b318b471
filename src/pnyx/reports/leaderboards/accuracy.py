"""Conclusions of two leaderboards about each pair of systems (Auto-ARGUE, section 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from pnyx.stats.base import BOOTSTRAP, Bootstrap, Measured, row_of
from pnyx.stats.intervals import UNIT, Bounds, draw_weights, interval_of
from pnyx.stats.signed_rank import LEAST_TOPICS, Counts, SignedRanks, wilcoxon
from pnyx.stats.significance import SIGNIFICANT
from pnyx.stats.weighted_measures import Floats, ratio

Outcome: TypeAlias = Literal["better", "worse", "no difference"]
_FEW_RUNS = "fewer than three runs to draw from"
_OUTCOMES: tuple[Outcome, Outcome, Outcome] = ("worse", "no difference", "better")
_CELLS = 200_000  # Differences to test at once


@dataclass(frozen=True, slots=True)
class SystemPair:
    """One pair of systems, with the result of Wilcoxon's test over topics in each leaderboard."""

    run: str
    other: str
    topics: int
    outcome: Outcome
    reference: Outcome
    p: float
    reference_p: float

    @property
    def agree(self) -> bool:
        """Whether both leaderboards conclude the same."""
        return self.outcome == self.reference

    @property
    def inverted(self) -> bool:
        """Whether both find a difference, in opposite directions."""
        return {self.outcome, self.reference} == {"better", "worse"}

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        return row_of(self, "run other topics outcome reference p reference_p agree")


@dataclass(frozen=True, slots=True)
class Conclusions:
    """All pairs of systems."""

    pairs: tuple[SystemPair, ...]  # with both leaderboards' conclusions; empty if nothing is tested
    accuracy: Measured  # share of pairs with the same conclusion, over systems
    significant: Measured  # share of pairs with the same direction, of those that differ in both
    why: str = ""  # reason if nothing is tested

    def count(self, *, here: bool, reference: bool) -> int:
        """Return how many pairs differ here, in the reference, in both or in neither."""
        none = "no difference"
        return sum(
            (p.outcome != none) is here and (p.reference != none) is reference for p in self.pairs
        )

    @property
    def inversions(self) -> int:
        """How many pairs differ in both leaderboards, in opposite directions."""
        return sum(pair.inverted for pair in self.pairs)

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        both = self.count(here=True, reference=True)
        return {
            **row_of(self, "accuracy significant"),
            "pairs": {
                "tested": len(self.pairs),
                "agree": sum(pair.agree for pair in self.pairs),
                "differ_in_both": both,
                "inversions": self.inversions,
                "differ_only_here": self.count(here=True, reference=False),
                "differ_only_in_reference": self.count(here=False, reference=True),
                "differ_in_neither": self.count(here=False, reference=False),
            },
            "reason": self.why or None,
        }


def pair_conclusions(
    runs: Sequence[str], first: Floats, second: Floats, bootstrap: Bootstrap = BOOTSTRAP
) -> Conclusions:
    """Compare the conclusions of two leaderboards about each pair of systems.

    In each, a system is better or worse than another if Wilcoxon's signed-rank test over the topics
    has p < 0.05 (ties and zeros as in `scipy.stats.wilcoxon`), else not different. `first` and
    `second` are values (runs, topics), NaN if missing. The interval resamples systems; a system
    drawn twice is not paired with itself.
    """
    places = np.argwhere(np.triu(np.ones((len(runs), len(runs)), dtype=np.bool_), 1))
    count, step = len(places), max(1, _CELLS // max(1, first.shape[1]))
    blocks = [places[start : start + step] for start in range(0, count, step)]
    tested = [pair for block in blocks for pair in _pairs(runs, block, first, second)]
    enough = np.array([pair.topics >= LEAST_TOPICS for pair in tested], dtype=np.bool_)
    pairs = tuple(pair for pair in tested if pair.topics >= LEAST_TOPICS)
    if not pairs:
        most = max((pair.topics for pair in tested), default=first.shape[1])
        why = f"p < .05 needs {LEAST_TOPICS} topics or more, found {most}"
        why = why if count else "at least two runs are needed"
        return Conclusions((), Measured(None, 0, count), Measured(None, 0, 0), why)
    agree = np.array([pair.agree for pair in pairs], dtype=np.float64)
    both = [p for p in pairs if "no difference" not in (p.outcome, p.reference)]
    right = sum(pair.agree for pair in both)
    return Conclusions(
        pairs,
        Measured(
            float(agree.mean()), len(pairs), count,
            *_over_systems(places[enough], agree, len(runs), bootstrap),
        ),
        Measured(right / len(both) if both else None, len(both), len(both)),
    )  # fmt: skip


def _pairs(
    runs: Sequence[str], places: Counts, first: Floats, second: Floats
) -> Iterator[SystemPair]:
    """Yield the pairs at these positions (m, 2), tested in both leaderboards."""
    a, b = places.T
    differences = [side[a] - side[b] for side in (first, second)]
    both = np.isfinite(differences).all(axis=0)
    here, there = (wilcoxon(np.where(both, side, np.nan)) for side in differences)
    topics, p, reference_p = (column.tolist() for column in (both.sum(axis=1), here.p, there.p))
    columns = topics, _outcomes(here), _outcomes(there), p, reference_p
    for run, other, *row in zip(a.tolist(), b.tolist(), *columns, strict=True):
        yield SystemPair(runs[run], runs[other], *row)


def _outcomes(tests: SignedRanks) -> list[Outcome]:
    significant = np.where(tests.p < SIGNIFICANT, tests.direction, 0)
    return [_OUTCOMES[direction + 1] for direction in significant.tolist()]


def _over_systems(places: Counts, agree: Floats, runs: int, bootstrap: Bootstrap) -> Bounds:
    """Return the interval of the share of agreement, by resampling systems."""
    is_compared, same = np.zeros((2, runs, runs))
    first, other = places.T
    is_compared[first, other], same[first, other] = 1.0, agree
    drawn = [
        ratio(
            ((weights @ same) * weights).sum(axis=1),
            ((weights @ is_compared) * weights).sum(axis=1),
        )
        for weights in draw_weights(np.arange(runs, dtype=np.intp), bootstrap)
    ]
    if not drawn or runs < 3:
        return None, None, _FEW_RUNS if drawn else ""
    return interval_of(float(agree.mean()), np.concatenate(drawn), runs, bootstrap, bounds=UNIT)
