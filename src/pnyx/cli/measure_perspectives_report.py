"""What `pnyx measure perspectives` prints for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pnyx.cli.measure_runs import (
    compared_legend,
    draws_legend,
    few_warning,
    listed,
    run_notes,
    runs_table,
    scored_of_asked,
    untested_note,
)
from pnyx.cli.tables import interval, number, table
from pnyx.errors import shorten

if TYPE_CHECKING:
    from pnyx.measure.perspective_leaning import Leaning
    from pnyx.measure.perspective_results import MeasuredCoverage, PerspectiveCoverage
    from pnyx.measure.perspective_table import Bounded

__all__ = ["corrected_cells", "correction_legend", "leaning_rows", "notes", "report"]

_ASKED = {"question": "question", "pro": "supporting perspective", "con": "opposing perspective"}


def notes(found: PerspectiveCoverage, leaning: Sequence[Leaning]) -> list[str]:
    """Return what a reader of the numbers must know, a line each."""
    lines = []
    for run in found.runs:
        pairs = run.pairs
        reasons = ", ".join(f"{n} {shorten(why, 40)}" for why, n in pairs["reasons"].items())
        unscored = f"{pairs['unscored']} of {pairs['asked']} pairs are unscored: {reasons}"
        absent = f"{listed(run.absent, 'question')} absent, counted as empty rankings"
        without = f"{listed(run.without_perspectives)} without perspectives, not measured"
        known = (
            (pairs["unscored"], unscored),
            (run.absent, absent),
            (run.without_perspectives, without),
        )
        lines += run_notes(run.name, known, len(run.rearranged))
    for one in leaning:
        if one.unscored:
            lines.append(f"{shorten(one.name, 40)}: {one.unscored} pairs of --leaning are unscored")
    lines += untested_note(found.comparisons, "questions")
    lines += _correction_notes(found)
    fewest = min(len(run.per_topic) for run in found.runs)
    return lines + few_warning(found.bootstrap, fewest, "question")


def _correction_notes(found: PerspectiveCoverage) -> list[str]:
    """Return whether the corrected values may be used."""
    correction = found.correction
    if correction is None:
        return []
    lines = []
    if correction["unscored"]:
        lines.append(f"{correction['unscored']} labelled pairs are unscored and left out")
    labels = f"labels of {correction['questions']} question"
    labels += "" if correction["questions"] == 1 else "s"
    if correction["questions"] < correction["fewest_questions"]:
        fewest = correction["fewest_questions"]
        return [*lines, f"warning: not corrected: {labels}, expected at least {fewest}"]
    if not correction["documents"]:
        lines.append(
            "Precision is not corrected: no labelled document has labels for all perspectives "
            "of its question (doc_id, perspective_id)"
        )
    if correction["questions"] < correction["few_questions"]:
        lines.append(f"warning: corrected by {labels}: the estimate depends on single questions")
    if "calibrated" in _methods(found):
        lines.append(
            "warning: corrected by labels of other questions: holds only where these and their "
            "documents are of the same kind as those measured"
            + ("; else state --shift" if not correction["shift"] else "")
            + ". Better label the first documents of some measured questions, picked at random"
        )
    return lines


def _methods(found: PerspectiveCoverage) -> dict[str, int]:
    """Return how values were corrected, and by how many labelled questions at least."""
    by: dict[str, int] = {}
    for one in (one for run in found.runs for one in run.corrected.values()):
        if one.method is not None:
            by[one.method] = min(one.labelled, by.get(one.method, one.labelled))
    return by


def correction_legend(found: PerspectiveCoverage) -> list[str]:
    """Say what corrected values rest on; nothing where there are none."""
    c = found.correction
    if c is None:
        return []
    methods = _methods(found)
    lines = [
        f"corrected: with the judge's errors on {c['pairs']} labelled pairs of "
        f"{c['questions']} questions taken into account"
    ]
    if "prediction-powered" in methods:
        count = methods["prediction-powered"]
        lines[0] += f"; prediction-powered, {count} or more of the measured questions labelled"
    if "calibrated" in methods:
        shift = f", judge's log-odds off by {c['shift']:g}" if c["shift"] else ""
        lines[0] += f"; calibrated on labels of other questions{shift}"
    return lines


def report(
    found: PerspectiveCoverage, leaning: Sequence[Leaning], source: str, per_topic: bool
) -> list[str]:
    """Return the tables.

    Args:
        found: the runs.
        leaning: of retrievers that were asked three ways.
        source: the file of perspectives.
        per_topic: whether each question is shown.
    """
    runs = f"{len(found.runs)} run{'s' if len(found.runs) > 1 else ''}"
    lines = [
        f"perspectives: {runs} on {found.perspectives} perspectives on {found.questions} "
        f"questions of {shorten(source, 200)}",
        f"verdicts: {shorten(found.judge, 100)}",
        "",
        *_means(found),
    ]
    if found.union is not None:
        lines += ["", f"the first {found.union.depth} of all runs together", *_union(found)]
    if leaning:
        lines += ["", *table(leaning_rows(leaning), left=2)]
    for run in found.runs if per_topic else ():
        lines += ["", shorten(run.name), *table(_topic_rows(run))]
    return [*lines, "", *_legend(found, leaning)]


def _means(found: PerspectiveCoverage) -> list[str]:
    def bounds(run: MeasuredCoverage, name: str) -> list[str]:
        mean = run.measures[name]
        return [interval(mean.least, mean.most), interval(mean.low, mean.high)]

    further = []
    if any(mean.open for run in found.runs for mean in run.measures.values()):
        further.append((["bounds", "their interval"], bounds))
    if any(run.corrected for run in found.runs):
        further.append((["corrected", "95 % interval"], corrected_cells))
    return runs_table(found, "questions", lambda run, n: run.measures[n].measured, *further)


def corrected_cells(run: MeasuredCoverage, name: str) -> list[str]:
    """Return the corrected value and its interval."""
    one = run.corrected.get(name)
    return ["", ""] if one is None else [number(one.value), interval(one.low, one.high)]


def _union(found: PerspectiveCoverage) -> list[str]:
    assert found.union is not None  # noqa: S101 - asked by the caller
    rows = [["measure", "mean", "95 % interval", "questions", "bounds"]]
    for name, mean in found.union.measures.items():
        m = mean.measured
        rows.append(
            [name, number(m.value), interval(m.low, m.high), scored_of_asked(m),
             interval(mean.least, mean.most)]
        )  # fmt: skip
    return table(rows)


def leaning_rows(leaning: Sequence[Leaning]) -> list[list[str]]:
    """Return the rows of a table of retrievers that were asked three ways, with its header."""
    rows = [["leaning", "asked as", "(p-n)/p", "95 % interval", "p", "n", "questions", "shift",
             "95 % interval"]]  # fmt: skip
    for one in leaning:
        for place, (asked, of) in enumerate(one.by.items()):
            shift = one.shifts.get((asked, "question"))
            delta = of.delta
            rows.append(
                [shorten(one.name, 40) if not place else "", _ASKED[asked], number(delta.value),
                 interval(delta.low, delta.high), number(of.p), number(of.n),
                 f"{delta.scored} of {delta.asked}",
                 "" if shift is None else number(shift.value),
                 "" if shift is None else interval(shift.low, shift.high)]
            )  # fmt: skip
    return rows


def _topic_rows(run: MeasuredCoverage) -> list[list[str]]:
    rows = [["question", *run.measures]]
    for topic, values in run.per_topic.items():
        cells = [_topic_cell(values.get(name)) for name in run.measures]
        rows.append([shorten(topic, 40), *cells])
    return rows


def _topic_cell(value: Bounded | None) -> str:
    """Return a value, its bounds where it is open, or a dash where it is not defined."""
    if value is None or not value.open:
        return number(None if value is None else value.value)
    if value.most is None:
        return f"from {number(value.least)}"
    return interval(value.least, value.most)


def _legend(found: PerspectiveCoverage, leaning: Sequence[Leaning]) -> list[str]:
    lines = []
    if any(mean.open for run in found.runs for mean in run.measures.values()):
        lines.append("bounds: over all questions, with unscored pairs read as no, and as yes")
    lines += correction_legend(found)
    if leaning:
        lines.append("p, n: share of documents for the supporting and for the opposing perspective")
    if found.baseline is not None:
        lines.append("d: mean difference in standard deviations of the questions' differences")
    return lines + compared_legend(found) + draws_legend("the questions", found.bootstrap)
