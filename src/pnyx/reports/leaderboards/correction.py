"""Correction of a judge's leaderboard with people's labels of some topics, and tests of systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pnyx.core.errors import InputError, shorten
from pnyx.core.tabular import Result
from pnyx.formats.questions import topic_order
from pnyx.formats.reports.leaderboards import Leaderboard
from pnyx.judging.measures.ppi import PredictionPowered, prediction_powered
from pnyx.search.measures.table import RunTable, each_pair
from pnyx.stats.base import BOOTSTRAP, TEST, Bootstrap, Measured, plain, row_of
from pnyx.stats.intervals import UNIT, Range
from pnyx.stats.significance import SIGNIFICANT, Comparison, Test, holm
from pnyx.stats.weighted_measures import Floats, defined_mean


@dataclass(frozen=True, slots=True)
class CorrectedDifference:
    """The difference of two runs in people's labels; `p_holm` is adjusted for all pairs."""

    run: str
    other: str
    estimate: PredictionPowered
    p_holm: float | None = None

    @property
    def significant(self) -> bool:
        """Whether the corrected p is below 0.05."""
        return self.p_holm is not None and self.p_holm < SIGNIFICANT

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        return {
            **row_of(self, "run other"),
            **self.estimate.row(),
            **row_of(self, "p_holm significant"),
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CorrectedLeaderboard(Result):
    """Each run's mean in people's labels, estimated with the judge's help, best first.

    `absent` runs have no labels: their judge's scores cannot be corrected, and are left out.
    `shares`: all values are from 0 to 1, so that the intervals of means are valid for any
    distribution; those of other values, and of differences, are Student's.
    """

    leaderboard: str
    people: str
    measure: str
    people_measure: str
    runs: Mapping[str, PredictionPowered]
    differences: tuple[CorrectedDifference, ...]
    absent: tuple[str, ...]
    unscored: int
    shares: bool = True

    def rows(self) -> list[dict[str, Any]]:
        """Return each run's corrected mean, with the judge's mean."""
        return [
            {"run": run, **estimate.corrected.row(), "judge": estimate.judge}
            for run, estimate in self.runs.items()
        ]

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        return {
            **row_of(self, "leaderboard people measure people_measure"),
            "runs": [{"run": run, **estimate.row()} for run, estimate in self.runs.items()],
            "differences": plain(self.differences),
            "absent": list(self.absent),
            "unscored": self.unscored,
            "shares": self.shares,
        }


def correct_leaderboard(
    judge: Leaderboard,
    people: Leaderboard,
    measure: str,
    other: str,
    *,
    baseline: str | None = None,
    bootstrap: Bootstrap = BOOTSTRAP,
) -> CorrectedLeaderboard:
    """Correct a judge's leaderboard with people's labels of some of its topics.

    The labelled topics should be a random sample of the judge's. Systems are compared on the same
    topics: the difference of two systems is corrected as one number per topic.

    Args:
        judge: scores for all topics.
        people: labels for some of them.
        measure: the judge's measure.
        other: the measure of people's labels.
        baseline: the run that the others are compared with; by default every pair is compared.
        bootstrap: only its confidence is used; the intervals are Student's, nothing is resampled.

    Raises:
        InputError: they have no run and topic in common, or the judge has no run named `baseline`.
    """
    scores, labels = _table_of_board(judge), _table_of_board(people)
    having = scores.having(measure)
    topics = sorted({topic for run in having.values() for topic in run}, key=topic_order)
    columns = {
        run: (scores.column(run, measure, topics), labels.column(run, other, topics))
        for run in having
    }
    has = {run: bool(np.isfinite(mine + theirs).any()) for run, (mine, theirs) in columns.items()}
    if not any(has.values()):
        problem = f"no run and topic has {shorten(measure, 40)!r} here and a label of people"
        raise InputError(problem, path=judge.name)
    values = np.concatenate([side for sides in columns.values() for side in sides])
    finite = values[np.isfinite(values)]
    bounds = UNIT if bool(((finite >= 0) & (finite <= 1)).all()) else None
    ppi = {run: _estimate(*columns[run], bootstrap, bounds) for run in columns if has[run]}
    order = sorted(ppi, key=lambda run: _height(ppi[run]), reverse=True)
    pairs = each_pair(order, _checked(baseline, order, judge.name), measure)
    estimates = [
        _estimate(columns[run][0] - columns[less][0], columns[run][1] - columns[less][1], bootstrap)
        for run, less, _ in pairs
    ]
    corrected = holm([estimate.p for estimate in estimates])
    return CorrectedLeaderboard(
        leaderboard=judge.name,
        people=people.name,
        measure=measure,
        people_measure=other,
        runs={run: ppi[run] for run in order},
        differences=tuple(
            CorrectedDifference(run, less, estimate, p)
            for (run, less, _), estimate, p in zip(pairs, estimates, corrected, strict=True)
        ),
        absent=tuple(run for run, here in has.items() if not here),
        unscored=sum(int(np.isnan(columns[run][0]).sum()) for run in ppi),
        shares=bounds is not None,
    )


def _height(estimate: PredictionPowered) -> float:
    value = estimate.corrected.value
    return -np.inf if value is None else value


def _estimate(
    scores: Floats, labels: Floats, bootstrap: Bootstrap, bounds: Range | None = None
) -> PredictionPowered:
    scored = np.isfinite(scores)
    labelled = scored & np.isfinite(labels)
    return prediction_powered(
        labels[labelled],
        scores[labelled],
        scores[scored & ~labelled],
        bootstrap.confidence,
        bounds=bounds,
    )


def _table_of_board(board: Leaderboard) -> RunTable[Measured]:
    """Return a leaderboard's values for single topics."""
    cells: dict[str, dict[str, dict[str, Measured]]] = {}
    for cell in board.cells:
        of_topic = cells.setdefault(cell.run_id, {}).setdefault(cell.topic_id, {})
        of_topic[cell.measure] = Measured(cell.value, int(cell.value is not None), 1)
    return RunTable(cells)


def _checked(baseline: str | None, runs: Sequence[str], where: str) -> str | None:
    if baseline is not None and baseline not in runs:
        problem = f"no run {shorten(baseline, 60)!r} (found: {shorten(', '.join(runs), 200)})"
        raise InputError(problem, path=where)
    return baseline


def system_differences(
    board: Leaderboard,
    measures: Sequence[str] = (),
    *,
    baseline: str | None = None,
    test: Test = TEST,
    bootstrap: Bootstrap = BOOTSTRAP,
) -> tuple[Comparison, ...]:
    """Test each difference between two runs of a leaderboard, over the topics in common.

    Args:
        board: the leaderboard.
        measures: all by default; all tests are one family (Holm-Bonferroni).
        baseline: the run that the others are compared with; by default every pair is compared.
        test: two-sided and paired, over topics.
        bootstrap: for the intervals; its seed is also used for the randomisation test.

    Raises:
        InputError: there is no run named `baseline`.
    """
    table, pairs = _table_of_board(board), []
    for measure in measures or board.measures:
        means = {
            run: defined_mean(table.column(run, measure, topics))
            for run, topics in table.having(measure).items()
        }
        ranked = {run: mean for run, mean in means.items() if mean is not None}
        order = sorted(ranked, key=lambda run: ranked[run], reverse=True)
        pairs += each_pair(order, _checked(baseline, order, board.name), measure)
    return table.compare(pairs, test, bootstrap)
