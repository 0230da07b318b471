"""What `pnyx measure perspectives` prints for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pnyx.cli.measure_runs import (
    BETTER,
    WORSE,
    difference_cells,
    draws_legend,
    few_warning,
    listed,
    mark,
    rearranged_note,
    spaced,
    test_legend,
)
from pnyx.cli.tables import interval, number, table
from pnyx.errors import shorten

if TYPE_CHECKING:
    from pnyx.measure.perspective_leaning import Leaning
    from pnyx.measure.perspective_means import CoverageMean
    from pnyx.measure.perspective_results import MeasuredCoverage, PerspectiveCoverage
    from pnyx.measure.perspective_table import Bounded
    from pnyx.measure.retrieval import Comparison

__all__ = ["correction_legend", "leaning_rows", "notes", "report"]

_ASKED = {"question": "question", "pro": "supporting perspective", "con": "opposing perspective"}


def notes(found: PerspectiveCoverage, leaning: Sequence[Leaning]) -> list[str]:
    """Return what a reader of the numbers must know, a line each."""
    lines = []
    for run in found.runs:
        lines += [f"{shorten(run.name, 40)}: {note}" for note in _run_notes(run)]
    for one in leaning:
        if one.unscored:
            lines.append(f"{shorten(one.name, 40)}: {one.unscored} pairs of --leaning are unscored")
    untested = sum(c.p_holm is None for c in found.comparisons)
    if untested:
        lines.append(f"{untested} comparisons have too few questions or no variance for the test")
    lines += _correction_notes(found)
    fewest = min(len(run.per_topic) for run in found.runs)
    return lines + few_warning(found.draws, fewest, "question")


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


def _run_notes(run: MeasuredCoverage) -> list[str]:
    lines = []
    pairs = run.pairs
    if pairs["unscored"]:
        reasons = ", ".join(f"{n} {shorten(why, 40)}" for why, n in pairs["reasons"].items())
        lines.append(f"{pairs['unscored']} of {pairs['asked']} pairs are unscored: {reasons}")
    if run.absent:
        lines.append(f"{listed(run.absent, 'question')} absent, counted as empty rankings")
    if run.without_perspectives:
        lines.append(f"{listed(run.without_perspectives)} without perspectives, not measured")
    if run.rearranged:
        lines.append(rearranged_note(len(run.rearranged)))
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
        *spaced(table(_rows(found), left=2), len(found.runs)),
    ]
    if found.union is not None:
        lines += ["", f"the first {found.union.depth} of all runs together", *_union(found)]
    if leaning:
        lines += ["", *table(leaning_rows(leaning), left=2)]
    for run in found.runs if per_topic else ():
        lines += ["", shorten(run.name), *table(_topic_rows(run))]
    return [*lines, "", *_legend(found, leaning)]


def _rows(found: PerspectiveCoverage) -> list[list[str]]:
    compared = {(c.run, c.measure): c for c in found.comparisons}
    measured = {c.measure for c in found.comparisons}
    opened = any(mean.open for run in found.runs for mean in run.measures.values())
    corrected = any(run.corrected for run in found.runs)
    header = ["measure", "run", "mean" + ("  " if compared else ""), "95 % interval", "questions"]
    header += ["bounds", "their interval"] if opened else []
    header += ["corrected", "95 % interval"] if corrected else []
    if found.baseline is not None:
        header += ["difference", "95 % interval", "p", "p (Holm)", "d"]
    rows = [header]
    for name in found.runs[0].measures:
        for place, run in enumerate(found.runs):
            mean = run.measures[name]
            c = compared.get((run.name, name))
            marked = f" {mark(c):1}" if compared else ""
            rows.append(
                ["" if place else name, shorten(run.name, 40), number(mean.measured.value) + marked,
                 interval(mean.measured.low, mean.measured.high), _of(mean)]
            )  # fmt: skip
            rows[-1] += _bounds(mean) if opened else []
            rows[-1] += _corrected(run, name) if corrected else []
            if found.baseline is not None:
                reference = run.name == found.baseline and name in measured
                rows[-1] += _compared(c, reference)
    return rows


def _of(mean: CoverageMean) -> str:
    scored, asked = mean.measured.scored, mean.measured.asked
    return str(asked) if scored == asked else f"{scored} of {asked}"


def _bounds(mean: CoverageMean) -> list[str]:
    return [interval(mean.least, mean.most), interval(mean.low, mean.high)]


def _corrected(run: MeasuredCoverage, name: str) -> list[str]:
    one = run.corrected.get(name)
    return ["", ""] if one is None else [number(one.value), interval(one.low, one.high)]


def _compared(c: Comparison | None, reference: bool) -> list[str]:
    return ["baseline" if reference else "", "", "", "", ""] if c is None else difference_cells(c)


def _union(found: PerspectiveCoverage) -> list[str]:
    assert found.union is not None  # noqa: S101 - asked by the caller
    rows = [["measure", "mean", "95 % interval", "questions", "bounds"]]
    for name, mean in found.union.measures.items():
        m = mean.measured
        rows.append(
            [name, number(m.value), interval(m.low, m.high), _of(mean),
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
        lines.append(
            f"{BETTER} {WORSE} higher, lower than {shorten(found.baseline, 40)}: "
            + test_legend(found.test, found.comparisons)
        )
    if found.draws:
        lines.append(draws_legend("the questions", found.draws, found.seed))
    return lines
