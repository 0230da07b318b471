"""Tables and notes of `pnyx measure perspectives`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pnyx.cli.measure.tables import (
    compared_legend,
    few_warning,
    listed,
    run_notes,
    runs_table,
    topics_table,
    untested_note,
)
from pnyx.cli.options import reasons_shown
from pnyx.core.errors import count_of, escaped
from pnyx.display.tables import Column, Table, draws_legend, interval, number
from pnyx.judging.judge_names import short_name

if TYPE_CHECKING:
    from pnyx.display.tables import Part
    from pnyx.perspectives.measures.lean import Leaning
    from pnyx.perspectives.measures.results import (
        MeasuredCoverage,
        PerspectiveCoverage,
        UnionCoverage,
    )
    from pnyx.perspectives.measures.table import Bounded

_ASKED = {"question": "question", "pro": "supporting perspective", "con": "opposing perspective"}


def notes(result: PerspectiveCoverage, leaning: Sequence[Leaning]) -> list[str]:
    """Return notes for readers of the figures, one line each."""
    lines = []
    for run in result.runs:
        pairs = run.pairs
        why = reasons_shown(pairs["reasons"])
        unscored = f"{pairs['unscored']} of {pairs['asked']} pairs are unscored: {why}"
        absent = f"{listed(run.absent, 'question')} absent, counted as empty rankings"
        without = f"{listed(run.without_perspectives)} without perspectives, not measured"
        source_notes = (
            (pairs["unscored"], unscored),
            (run.absent, absent),
            (run.without_perspectives, without),
        )
        lines += run_notes(run.name, source_notes, len(run.rearranged))
    for lean in leaning:
        if lean.unscored:
            name = escaped(lean.name, 40)
            lines.append(f"{name}: {lean.unscored} pairs of --leaning are unscored")
    lines += untested_note(result.comparisons, "questions")
    lines += _correction_notes(result)
    fewest = min(len(run.per_topic) for run in result.runs)
    return lines + few_warning(result.bootstrap, fewest, "question")


def _correction_notes(result: PerspectiveCoverage) -> list[str]:
    correction = result.correction
    if correction is None:
        return []
    lines = []
    if correction["unscored"]:
        lines.append(f"{correction['unscored']} labelled pairs are unscored and left out")
    counts = [measured.labelled for run in result.runs for measured in run.corrected.values()]
    fewest, few = correction["fewest_questions"], correction["few_questions"]
    count = min(counts, default=0)
    labels = f"labels of {count_of(count, 'measured question')}"
    if count < fewest:
        lines.append(
            f"warning: not corrected: {labels}, expected at least {fewest}, picked at "
            "random, with labels of all perspectives of the first documents"
        )
    elif count < few:
        lines.append(f"warning: corrected by {labels}: the estimate depends on single questions")
    return lines


def _correction_legend(result: PerspectiveCoverage) -> list[str]:
    """Explain corrected values; nothing if there are none."""
    counts = [
        measured.labelled
        for run in result.runs
        for measured in run.corrected.values()
        if measured.value is not None
    ]
    if not counts:
        return []
    return [
        "corrected: estimate of people's verdicts on all questions (prediction-powered), from "
        f"their labels of {min(counts)} or more, which must be picked at random"
    ]


def report(
    result: PerspectiveCoverage, leaning: Sequence[Leaning], source: str, per_topic: bool
) -> list[Part]:
    """Return the tables; `source` is the file of perspectives."""
    runs = count_of(len(result.runs), "run")
    of = (
        f"perspectives: {runs} on {result.perspectives} perspectives on {result.questions} "
        f"questions of {escaped(source, 200)}"
    )
    parts: list[Part] = [
        [of, f"verdicts: {escaped(short_name(result.judge), 100)}"],
        _means(result),
    ]
    parts += [] if result.union is None else [_union(result.union)]
    parts += [leaning_table(leaning)] if leaning else []
    if per_topic:
        parts += [topics_table(run, "question", _topic_cell) for run in result.runs]
    effect = ["d: mean difference in standard deviations of the questions' differences"]
    legend = coverage_legend(result, leaning) + effect * (result.baseline is not None)
    legend += compared_legend(result) + draws_legend("the questions", result.bootstrap)
    return [*parts, legend]


def _means(result: PerspectiveCoverage) -> Table:
    def bounds(run: MeasuredCoverage, name: str) -> list[Any]:
        mean = run.measures[name]
        return [(mean.least, mean.most), (mean.bounds_low, mean.bounds_high)]

    further: list[Any] = []
    if any(mean.open for run in result.runs for mean in run.measures.values()):
        names = ("bounds", "their interval")
        further.append(([Column(name, "interval") for name in names], bounds))
    if any(run.corrected for run in result.runs):
        column = Column("corrected, 95 % interval", "figure")
        further.append(([column], lambda run, name: [run.corrected.get(name, "")]))
    return runs_table(result, "questions", lambda run, n: run.measures[n], *further)


def _union(union: UnionCoverage) -> Table:
    columns = (
        Column("measure", "measure"),
        Column("mean, 95 % interval", "figure"),
        Column("questions", "counts"),
        Column("bounds", "interval"),
    )
    rows = [(name, mean, mean, (mean.least, mean.most)) for name, mean in union.measures.items()]
    return Table(columns, rows, title=f"the first {union.depth} of all runs together")


def leaning_table(leaning: Sequence[Leaning]) -> Table:
    """Return the table of retrievers queried in three ways."""
    columns = (
        Column("leaning"),
        Column("asked as"),
        Column("(p-n)/p, 95 % interval", "figure"),
        Column("p", "number"),
        Column("n", "number"),
        Column("questions", "counts"),
        Column("shift, 95 % interval", "figure"),
    )
    rows: list[Sequence[Any]] = []
    for lean in leaning:
        for row_number, (asked_as, of) in enumerate(lean.by.items()):
            name = "" if row_number else escaped(lean.name, 40)
            shift = lean.shifts.get((asked_as, "question"), "")
            rows.append((name, _ASKED[asked_as], of.delta, of.p, of.n, of.delta, shift))
    return Table(columns, rows)


def _topic_cell(value: Bounded | None) -> str:
    """Return a value, its bounds if it is undecided, or a dash if it is not defined."""
    if value is None or not value.open:
        return number(None if value is None else value.value)
    if value.most is None:
        return f"from {number(value.least)}"
    return interval((value.least, value.most))


def coverage_legend(result: PerspectiveCoverage, leaning: Sequence[Leaning]) -> list[str]:
    """Explain bounds, corrected values and shares."""
    lines = []
    if any(mean.open for run in result.runs for mean in run.measures.values()):
        lines.append("bounds: over all questions, with unscored pairs counted as no, and as yes")
    lines += _correction_legend(result)
    if leaning:
        lines.append("p, n: share of documents for the supporting and for the opposing perspective")
    return lines
