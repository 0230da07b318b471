"""A judge's leaderboard corrected by people's labels of some topics, and differences of systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from pnyx.corpora.benchmarks.leaderboards import Leaderboard
from pnyx.errors import InputError, shorten
from pnyx.measure.core.base import BOOTSTRAP, Bootstrap, plain, row_of
from pnyx.measure.core.ppi import PredictionPowered, prediction_powered
from pnyx.measure.core.significance import (
    SIGNIFICANT,
    Comparison,
    Test,
    differ,
    family,
    holm,
)
from pnyx.measure.core.weighted import Floats, defined_mean


@dataclass(frozen=True, slots=True)
class CorrectedDifference:
    """The difference of two runs in people's labels; `p_holm` is corrected over all pairs."""

    run: str
    other: str
    found: PredictionPowered
    p_holm: float | None = None

    @property
    def significant(self) -> bool:
        """Whether the corrected p is below .05."""
        return self.p_holm is not None and self.p_holm < SIGNIFICANT

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        return {
            **row_of(self, "run other"),
            **self.found.row(),
            **row_of(self, "p_holm significant"),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedLeaderboard:
    """Each run's mean in people's labels, estimated with the judge's help, best first.

    `absent` runs have no labels: their judge's scores cannot be corrected, and are left out.
    """

    leaderboard: str
    people: str
    measure: str
    people_measure: str
    runs: Mapping[str, PredictionPowered]
    differences: tuple[CorrectedDifference, ...]
    absent: tuple[str, ...]
    unscored: int

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        return {
            **row_of(self, "leaderboard people measure people_measure"),
            "runs": [{"run": run, **one.row()} for run, one in self.runs.items()],
            "differences": plain(self.differences),
            "absent": list(self.absent),
            "unscored": self.unscored,
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
    """Correct a judge's leaderboard by people's labels of some of its topics.

    The labelled topics should be a random sample of the judge's. Systems are compared over the same
    topics: the difference of two is corrected as one number for each topic.

    Args:
        judge: scores of all topics.
        people: labels of some of them.
        measure: the judge's measure.
        other: the people's.
        baseline: the run that the others are compared with; by default each is with each.
        bootstrap: its confidence counts; the intervals are Student's, nothing is drawn.

    Raises:
        InputError: no run and topic is in both; the judge has no such run as the baseline.
    """
    scores, labels, runs, topics = _tables(judge, people, measure, other)
    has = [bool(row.any()) for row in np.isfinite(labels) & np.isfinite(scores)]
    if not any(has):
        problem = f"no run and topic has {shorten(measure, 40)!r} here and a label of people"
        raise InputError(problem, path=judge.name)
    found = {
        run: _estimate(scores[place], labels[place], bootstrap)
        for place, run in enumerate(runs)
        if has[place]
    }
    order = sorted(found, key=lambda run: _height(found[run]), reverse=True)
    place = {run: n for n, run in enumerate(runs)}
    differences = []
    for run, less in _compared(order, baseline, judge.name):
        one, two = place[run], place[less]
        apart = _estimate(scores[one] - scores[two], labels[one] - labels[two], bootstrap)
        differences.append(CorrectedDifference(run, less, apart))
    corrected = holm([one.found.p for one in differences])
    return CorrectedLeaderboard(
        leaderboard=judge.name,
        people=people.name,
        measure=measure,
        people_measure=other,
        runs={run: found[run] for run in order},
        differences=tuple(
            replace(one, p_holm=p) for one, p in zip(differences, corrected, strict=True)
        ),
        absent=tuple(run for run, here in zip(runs, has, strict=True) if not here),
        unscored=int(np.isnan(scores[has]).sum()) if topics else 0,
    )


def _height(one: PredictionPowered) -> float:
    value = one.corrected.value
    return -np.inf if value is None else value


def _estimate(scores: Floats, labels: Floats, bootstrap: Bootstrap) -> PredictionPowered:
    scored = np.isfinite(scores)
    labelled = scored & np.isfinite(labels)
    return prediction_powered(
        labels[labelled], scores[labelled], scores[scored & ~labelled], bootstrap.confidence
    )


def _tables(
    judge: Leaderboard, people: Leaderboard, measure: str, other: str
) -> tuple[Floats, Floats, list[str], list[str]]:
    """Return scores and labels (runs, topics) of the judge's runs and topics, NaN for none."""
    cells = [cell for cell in judge.cells if cell.measure == measure]
    runs = list(dict.fromkeys(cell.run_id for cell in cells))
    topics = list(dict.fromkeys(cell.topic_id for cell in cells))
    scores = _table(judge, measure, runs, topics)
    return scores, _table(people, other, runs, topics), runs, topics


def _table(board: Leaderboard, measure: str, runs: Sequence[str], topics: Sequence[str]) -> Floats:
    values = board.values
    table = [
        [np.nan if (v := values.get((measure, run, t))) is None else v for t in topics]
        for run in runs
    ]
    return np.array(table, dtype=np.float64).reshape(len(runs), len(topics))


def _compared(order: Sequence[str], baseline: str | None, where: str) -> list[tuple[str, str]]:
    if baseline is None:
        return list(combinations(order, 2))
    if baseline not in order:
        problem = f"no run {shorten(baseline, 60)!r} (found: {shorten(', '.join(order), 200)})"
        raise InputError(problem, path=where)
    return [(run, baseline) for run in order if run != baseline]


def system_differences(
    board: Leaderboard,
    measures: Sequence[str] = (),
    *,
    baseline: str | None = None,
    test: Test = "randomisation",
    bootstrap: Bootstrap = BOOTSTRAP,
) -> tuple[Comparison, ...]:
    """Test each difference between two runs of a leaderboard, over the topics that both have.

    Args:
        board: the leaderboard.
        measures: all by default; all tests are one family (Holm-Bonferroni).
        baseline: the run that the others are compared with; by default each is with each.
        test: two-sided and paired, over topics.
        bootstrap: of the intervals; its seed is also that of the randomisation test.

    Raises:
        InputError: there is no such run as the baseline.
        MissingExtra: scipy is not installed, which the t-test needs.
    """
    tested = []
    for measure in measures or board.measures:
        scores, _, runs, _ = _tables(board, board, measure, measure)
        means = {run: defined_mean(row) for run, row in zip(runs, scores, strict=True)}
        ranked = {run: mean for run, mean in means.items() if mean is not None}
        order = sorted(ranked, key=lambda run: ranked[run], reverse=True)
        place = {run: n for n, run in enumerate(runs)}
        pairs = _compared(order, baseline, board.name)
        if not pairs:
            continue
        columns = [scores[place[run]] - scores[place[less]] for run, less in pairs]
        for (run, less), one in zip(
            pairs, differ(np.stack(columns, 1), test, bootstrap), strict=True
        ):
            tested.append((run, less, measure, one))
    return family(tested)
