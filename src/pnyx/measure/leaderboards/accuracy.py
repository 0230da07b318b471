"""What two leaderboards conclude of each pair of systems (Auto-ARGUE, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np

from pnyx.measure.core.base import BOOTSTRAP, Bootstrap, Measured, row_of
from pnyx.measure.core.intervals import UNIT, Bounds, draw_weights, interval_of
from pnyx.measure.core.signed_rank import LEAST_TOPICS, SignedRank, wilcoxon
from pnyx.measure.core.significance import SIGNIFICANT
from pnyx.measure.core.weighted import Floats, ratio

Outcome: TypeAlias = Literal["better", "worse", "no difference"]
_FEW_RUNS = "fewer than three runs to draw from"
_OUTCOMES: tuple[Outcome, Outcome, Outcome] = ("worse", "no difference", "better")


@dataclass(frozen=True, slots=True)
class SystemPair:
    """One pair of systems: what Wilcoxon's test over topics says of it in either leaderboard."""

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
    """All pairs of systems.

    Attributes:
        pairs: each with what both leaderboards conclude of it; empty where nothing is tested.
        accuracy: the share of pairs of which both conclude the same; its interval is over systems.
        significant: of the pairs that are different in both leaderboards, the share in the same
            direction.
        why: why nothing is tested, empty where it is.
    """

    pairs: tuple[SystemPair, ...]
    accuracy: Measured
    significant: Measured
    why: str = ""

    def count(self, *, here: bool, reference: bool) -> int:
        """Return how many pairs are found to differ in either leaderboard, in both or in none."""
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
    """Compare what two leaderboards conclude of each pair of systems.

    In each leaderboard a system is better or worse than another where Wilcoxon's signed-rank test
    over the topics has p < .05 (ties and zeros as in `scipy.stats.wilcoxon`), else no different.
    The interval draws systems; a system drawn twice makes no pair with itself.

    Args:
        runs: names of the systems.
        first: values (runs, topics), NaN where there is none.
        second: the same of the other leaderboard.
        bootstrap: of the interval.
    """
    asked = len(runs) * (len(runs) - 1) // 2
    places = list(combinations(range(len(runs)), 2))
    tested = {
        (a, b): _pair(runs[a], runs[b], first[a] - first[b], second[a] - second[b])
        for a, b in places
    }
    pairs = {n: pair for n, pair in tested.items() if pair.topics >= LEAST_TOPICS}
    if not pairs:
        most = max((pair.topics for pair in tested.values()), default=first.shape[1])
        why = f"p < .05 needs {LEAST_TOPICS} topics or more, found {most}"
        why = why if asked else "at least two runs are needed"
        return Conclusions((), Measured(None, 0, asked), Measured(None, 0, 0), why)
    agree = np.array([pair.agree for pair in pairs.values()], dtype=np.float64)
    both = [p for p in pairs.values() if "no difference" not in (p.outcome, p.reference)]
    right = sum(pair.agree for pair in both)
    return Conclusions(
        tuple(pairs.values()),
        Measured(
            float(agree.mean()), len(pairs), asked,
            *_over_systems(list(pairs), agree, len(runs), bootstrap),
        ),
        Measured(right / len(both) if both else None, len(both), len(both)),
    )  # fmt: skip


def _pair(run: str, other: str, first: Floats, second: Floats) -> SystemPair:
    both = np.isfinite(first) & np.isfinite(second)
    here, there = wilcoxon(first[both]), wilcoxon(second[both])
    return SystemPair(run, other, int(both.sum()), _outcome(here), _outcome(there), here.p, there.p)


def _outcome(test: SignedRank) -> Outcome:
    return _OUTCOMES[(test.direction if test.p < SIGNIFICANT else 0) + 1]


def _over_systems(
    places: Sequence[tuple[int, int]], agree: Floats, runs: int, bootstrap: Bootstrap
) -> Bounds:
    """Return the interval of the share of agreement where systems are drawn anew."""
    known, same = np.zeros((2, runs, runs))
    for (first, other), agreed in zip(places, agree, strict=True):
        known[first, other], same[first, other] = 1.0, agreed
    drawn = [
        ratio(((weights @ same) * weights).sum(axis=1), ((weights @ known) * weights).sum(axis=1))
        for weights in draw_weights(np.arange(runs, dtype=np.intp), bootstrap)
    ]
    if not drawn or runs < 3:
        return None, None, _FEW_RUNS if drawn else ""
    return interval_of(float(agree.mean()), np.concatenate(drawn), runs, bootstrap, bounds=UNIT)
