"""Agreement of leaderboards: rank correlation, and conclusions about pairs of systems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from pnyx.core.tabular import Result
from pnyx.formats.reports.leaderboards import Leaderboard
from pnyx.reports.leaderboards.accuracy import Conclusions, pair_conclusions
from pnyx.reports.leaderboards.coefficients import COEFFICIENTS, coefficients
from pnyx.reports.leaderboards.overlap import Shared, paired_measures, share
from pnyx.stats.base import BOOTSTRAP, Bootstrap, plain, row_of, withheld
from pnyx.stats.intervals import draw_weights, interval_of
from pnyx.stats.weighted_measures import Floats

LEAST_RUNS: Final = 3
"""With two runs, a rank correlation is 1 or -1, whatever the judge."""

Bounds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One coefficient with its intervals, from resampling topics, runs, and both."""

    value: float | None  # in [-1, 1], None if it is undefined
    runs: int  # number of runs
    over_topics: Bounds | None = None  # for other topics and the same runs
    over_runs: Bounds | None = None  # for other runs and the same topics
    over_both: Bounds | None = None  # for other topics and other runs
    why: str = ""  # why there is no value
    no_interval: Mapping[str, str] = field(default_factory=dict)

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        row = row_of(self, "value runs over_topics over_runs over_both")
        return {**row, "reason": self.why or None, **withheld(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardAgreement:
    """One leaderboard and the reference, by one measure of each."""

    leaderboard: str
    reference: str
    measure: str
    reference_measure: str
    shared: Shared
    coefficients: Mapping[str, Coefficient]
    conclusions: Conclusions

    @property
    def points(self) -> list[tuple[str, float, float]]:
        """Each run's macro averages here and in the reference, over the cells in common."""
        first, second = (side[0] for side in self.shared.means())
        return [
            (run, float(x), float(y))
            for run, x, y in zip(self.shared.runs, first, second, strict=True)
            if np.isfinite(x)
        ]

    @property
    def undefined(self) -> int:
        """How many figures have no value, and how many cells have no counterpart."""
        compared, size = self.shared.cells
        undefined_coefficients = sum(c.value is None for c in self.coefficients.values())
        return size - compared + undefined_coefficients + (self.conclusions.accuracy.value is None)

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        names = ("run", "value", "reference")
        return {
            **row_of(self, "leaderboard reference measure reference_measure"),
            **self.shared.row(),
            "coefficients": plain(self.coefficients),
            "conclusions": self.conclusions.row(),
            "systems": [dict(zip(names, point, strict=True)) for point in self.points],
        }


@dataclass(frozen=True, slots=True, repr=False)
class LeaderboardsCompared(Result):
    """The results of all comparisons."""

    comparisons: tuple[LeaderboardAgreement, ...]
    bootstrap: Bootstrap

    def rows(self) -> list[dict[str, Any]]:
        """Return one object for each coefficient of each comparison, and for the accuracy."""
        rows = []
        for comparison in self.comparisons:
            named = row_of(comparison, "leaderboard reference measure reference_measure")
            for name, coefficient in comparison.coefficients.items():
                rows.append({**named, "figure": name, **coefficient.row()})
            accuracy = comparison.conclusions.accuracy
            bounds = None if accuracy.low is None else [accuracy.low, accuracy.high]
            runs = len(comparison.shared.runs)
            last = Coefficient(accuracy.value, runs, why=comparison.conclusions.why).row()
            rows.append({**named, "figure": "accuracy", **last, "over_runs": bounds})
        return rows

    def row(self) -> dict[str, Any]:
        """Return the object of `--json` (docs/reference/measures.md)."""
        return {
            "task": "compare",
            "comparisons": plain(self.comparisons),
            "interval": self.bootstrap.row("bootstrap over topics, runs, and both"),
        }


def compare_leaderboards(
    leaderboards: Sequence[Leaderboard],
    reference: Leaderboard,
    measures: Sequence[str] = (),
    *,
    pairs: Sequence[tuple[str, str]] = (),
    bootstrap: Bootstrap = BOOTSTRAP,
) -> LeaderboardsCompared:
    """Compare leaderboards with a reference, such as judges' with people's.

    Runs and topics found on only one side are listed and left out; a mean is over the cells in
    common. Higher values are better.

    Args:
        leaderboards: each is compared on its own.
        reference: the leaderboard that they are compared with.
        measures: the measures to compare; by default all in common, unless there are `pairs`.
        pairs: a measure of the leaderboards and one of the reference.
        bootstrap: over topics, over runs, and over both.

    Raises:
        InputError: a measure is missing, or a leaderboard has none in common with the reference.
    """
    comparisons = [
        _agreement(board, reference, pair, bootstrap)
        for board in leaderboards
        for pair in paired_measures(board, reference, measures, pairs)
    ]
    return LeaderboardsCompared(tuple(comparisons), bootstrap)


def _agreement(
    board: Leaderboard, reference: Leaderboard, pair: tuple[str, str], bootstrap: Bootstrap
) -> LeaderboardAgreement:
    shared = share(board, reference, *pair)
    tested = pair_conclusions(shared.runs, shared.first, shared.second, bootstrap)
    if not shared.topics and shared.runs:
        why = "a side has no values for topics, which the tests need"
        tested = replace(tested, pairs=(), why=why)
    return LeaderboardAgreement(
        leaderboard=board.name,
        reference=reference.name,
        measure=pair[0],
        reference_measure=pair[1],
        shared=shared,
        coefficients=_coefficients(shared, bootstrap),
        conclusions=tested,
    )


def _coefficients(shared: Shared, bootstrap: Bootstrap) -> dict[str, Coefficient]:
    has = np.isfinite(shared.first).any(axis=1)
    runs = int(has.sum())
    if runs < LEAST_RUNS:
        why = f"{LEAST_RUNS} runs are needed, found {runs}"
        return {name: Coefficient(None, runs, why=why) for name in COEFFICIENTS}
    some = replace(shared, first=shared.first[has], second=shared.second[has])
    first, second = some.means()
    value = coefficients(first, second, np.ones((1, runs)))
    drawn = dict(_drawn(some, bootstrap))
    drawn_topics = some.first.shape[1]
    counts = {"topics": drawn_topics, "runs": runs, "both": min(drawn_topics, runs)}
    result = {}
    for name in COEFFICIENTS:
        point = float(value[name][0])
        if not np.isfinite(point):
            why = "a side has the same value for all runs"
            result[name] = Coefficient(None, runs, why=why)
            continue
        nothing = np.empty(0)
        ends = {
            how: interval_of(point, drawn[how][name] if how in drawn else nothing, count, bootstrap)
            for how, count in counts.items()
        }
        topics, systems, both = (None if low is None or high is None else (low, high)
                  for low, high, _ in ends.values())  # fmt: skip
        problems = {how: why for how, (*_, why) in ends.items() if why}
        result[name] = Coefficient(point, runs, topics, systems, both, no_interval=problems)
    return result


def _drawn(shared: Shared, bootstrap: Bootstrap) -> Iterator[tuple[str, Mapping[str, Floats]]]:
    """Yield the draws of each coefficient, by what is resampled."""
    if bootstrap.draws == 0:
        return
    runs, topics = shared.first.shape
    plain_, ones = shared.means(), np.ones((1, runs))
    weights = _weights(runs, replace(bootstrap, seed=bootstrap.seed + 1))
    yield "runs", coefficients(*plain_, weights)
    if topics > 1:
        means = shared.means(_weights(topics, bootstrap))
        yield "topics", coefficients(*means, ones)
        yield "both", coefficients(*means, weights)


def _weights(count: int, bootstrap: Bootstrap) -> Floats:
    return np.concatenate(list(draw_weights(np.arange(count, dtype=np.intp), bootstrap)))
