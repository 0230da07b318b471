"""Which side a retriever leans to, and how far it follows its query (BERDS, section 7, Fig. 3).

Each question is queried in three ways: as the question, as its supporting and as its opposing view.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pnyx.core.errors import InputError
from pnyx.core.records import Perspective, Question, Side
from pnyx.core.tabular import Result
from pnyx.formats.runs.rankings import rankings_of
from pnyx.formats.runs.sources import Run
from pnyx.judging.verdicts import Source
from pnyx.perspectives.measures.table import TopicTable, opposed, table_of
from pnyx.perspectives.measures.verdicts import Verdicts, read_verdicts
from pnyx.stats.base import BOOTSTRAP, Bootstrap, Measured, plain, row_of
from pnyx.stats.intervals import draw_weights, drawn_value
from pnyx.stats.weighted_measures import Floats, ratio

ASKED_AS = ("question", "pro", "con")
"""Forms of a query: the question, its supporting and its opposing perspective."""

SHIFTS = (("pro", "question"), ("con", "question"), ("pro", "con"))


@dataclass(frozen=True, slots=True)
class LeaningOf:
    """How far the first k documents lean: (p - n) / p; p and n are the shares for pro and con."""

    delta: Measured  # at most 1; None where p is 0
    p: float | None
    n: float | None
    least: float | None  # with every unscored pair counted for con
    most: float | None  # with every unscored pair counted for pro

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        return {**self.delta.row(), **row_of(self, "p n"), "bounds": row_of(self, "least most")}


@dataclass(frozen=True, slots=True, repr=False)
class Leaning(Result):
    """How one retriever leans in its first k documents, queried by `question`, `pro` and `con`.

    `shifts` are differences of two deltas, None if one is undefined; `unscored` counts the pairs
    within the depth, over the three runs.
    """

    name: str
    k: int
    by: Mapping[str, LeaningOf]
    shifts: Mapping[tuple[str, str], Measured]
    unscored: int

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each form of the query."""
        return [
            {"run": self.name, "asked_as": asked_as, **lean.delta.row(), **row_of(lean, "p n")}
            for asked_as, lean in self.by.items()
        ]

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        shifts = {f"{a}-{b}": shift.row() for (a, b), shift in self.shifts.items()}
        run_fields = {"run": self.name, "k": self.k, "asked_as": plain(self.by)}
        return {**run_fields, "shifts": shifts, "unscored": self.unscored}


def side_questions(perspectives: Mapping[str, Sequence[Perspective]], side: Side) -> list[Question]:
    """Return each question, under its own id, with one side's perspective as its text.

    Questions that do not have exactly one perspective of each side (`pro`, `con`) are left out.
    """
    return [
        Question(question, next(p.text for p in sides if p.stance == side))
        for question, sides in _opposed(perspectives).items()
    ]


def _opposed(perspectives: Mapping[str, Sequence[Perspective]]) -> dict[str, Sequence[Perspective]]:
    return {
        question: sides
        for question, sides in perspectives.items()
        if opposed(p.stance for p in sides)
    }


def measure_leaning(
    name: str,
    runs: Mapping[str, Run],
    perspectives: Mapping[str, Sequence[Perspective]],
    verdicts: Verdicts | Source,
    k: int = 5,
    *,
    bootstrap: Bootstrap = BOOTSTRAP,
) -> Leaning:
    """Measure how far a retriever's leaning follows its question.

    The deltas are over the documents of all questions together, as in the paper. Questions with an
    unscored pair within the depth, in any of the three runs, only affect the bounds.

    Args:
        name: of the retriever.
        runs: `question`, `pro` and `con` -> the run of these queries (`side_questions`), under the
            questions' ids.
        perspectives: the result of `pnyx.formats.by_question`; only questions with two
            perspectives, one of each side, count.
        verdicts: which document supports which perspective, as for `measure_perspectives`.
        k: how many documents, at least 1.
        bootstrap: over questions.

    Raises:
        InputError: no question has one perspective of each side, or no question of a run has, or
            a run contradicts itself.
        ValueError: the runs are not these three.
    """
    if sorted(runs) != sorted(ASKED_AS):
        raise ValueError(f"found the runs {', '.join(runs)}, expected {', '.join(ASKED_AS)}")
    opposed = _opposed(perspectives)
    if not opposed:
        raise InputError(
            "leaning needs a question with two perspectives, one of each side (stance pro and "
            "con); found none"
        )
    tables = _tables(name, runs, opposed, read_verdicts(verdicts), k)
    closed = np.array(
        [not any(t.unscored.any() for t in of) for of in zip(*tables.values(), strict=True)]
    )
    counts = {asked_as: _counts(table) for asked_as, table in tables.items()}
    weights = [np.ones((1, int(closed.sum())))]
    weights += draw_weights(np.arange(int(closed.sum())), bootstrap)
    deltas = {}
    for asked_as, of in counts.items():
        pro = [w @ of[closed, 0] for w in weights]
        con = [w @ of[closed, 2] for w in weights]
        deltas[asked_as] = np.concatenate([ratio(p - n, p) for p, n in zip(pro, con, strict=True)])
    measured = {a: _measured(deltas[a], closed, bootstrap) for a in ASKED_AS}
    return Leaning(
        name,
        k,
        {
            asked_as: _leaning(measured[asked_as], counts[asked_as], closed, k)
            for asked_as in ASKED_AS
        },
        {(a, b): _measured(deltas[a] - deltas[b], closed, bootstrap) for a, b in SHIFTS},
        sum(
            int(table.unscored.sum()) for topic_tables in tables.values() for table in topic_tables
        ),
    )


def _tables(
    name: str,
    runs: Mapping[str, Run],
    opposed: Mapping[str, Sequence[Perspective]],
    verdicts: Verdicts,
    k: int,
) -> dict[str, list[TopicTable]]:
    """Return a table for each question, for each of the three forms of the query."""
    tables = {}
    for asked_as in ASKED_AS:
        ranked = rankings_of(runs[asked_as]).by_topic
        if not any(question in opposed for question in ranked):
            problem = "has no question with two opposite perspectives"
            raise InputError(f"{name}: the run asked as {asked_as} {problem}")
        tables[asked_as] = [
            table_of(question, ranked.get(question, ())[:k], sides, verdicts)
            for question, sides in opposed.items()
        ]
    return tables


def _counts(tables: Sequence[TopicTable]) -> Floats:
    """Return (topics, 4): documents that support pro, that may support it, and the same for con."""
    rows = []
    for table in tables:
        places = table.sides.index("pro"), table.sides.index("con")
        possible = table.yes | table.unscored
        rows.append([float(f[:, p].sum()) for p in places for f in (table.yes, possible)])
    return np.array(rows, dtype=np.float64).reshape(-1, 4)


def _measured(drawn: Floats, closed: np.ndarray[Any, Any], bootstrap: Bootstrap) -> Measured:
    """Return the first value, with an interval computed from the others."""
    scored = int(closed.sum())
    return drawn_value(
        drawn[0], drawn[1 if scored > 1 else len(drawn) :], scored, len(closed), scored, bootstrap
    )


def _leaning(measured: Measured, counts: Floats, closed: np.ndarray[Any, Any], k: int) -> LeaningOf:
    documents = k * int(closed.sum())
    sums = counts[closed].sum(axis=0)
    p, n = (float(sums[column]) / documents if documents else None for column in (0, 2))
    pro_least, pro_most, con_least, con_most = map(float, counts.sum(axis=0))
    least = (pro_least - con_most) / pro_least if pro_least else None
    most = (pro_most - con_least) / pro_most if pro_most else None
    return LeaningOf(measured, p, n, least, most)
