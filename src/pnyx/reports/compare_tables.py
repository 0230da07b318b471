"""Notes, tables and plot panels of `pnyx compare`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pnyx.cli.measure.tables import differences_table, few_warning, listed
from pnyx.core.errors import count_of, escaped
from pnyx.display.tables import Column, Table, chance, draws_legend
from pnyx.formats.runs.sources import run_names

if TYPE_CHECKING:
    from pnyx.display.scatter import Scatter
    from pnyx.display.tables import Part
    from pnyx.formats import Leaderboard
    from pnyx.reports.leaderboards.agreement import LeaderboardAgreement, LeaderboardsCompared
    from pnyx.reports.leaderboards.correction import CorrectedLeaderboard
    from pnyx.stats.significance import Comparison

_NAMES = {
    "kendall_tau_b": "Kendall's tau-b",
    "tau_ap": "tau_AP",
    "tau_ap_b": "tau_AP,b",
    "tau_gap": "tau_GAP",
    "spearman": "Spearman's rho",
    "pearson": "Pearson's r",
}
_APART = 0.00051
"""Stated means with four digits may differ this much from the computed ones."""


# Notes -------------------------------------------------------------------------------------------


_NOT_SHARES = (
    "some values are outside 0 to 1: the corrected intervals are Student's, which are too narrow "
    "if most labels are similar and a few are far off"
)


def notes_on(
    result: LeaderboardsCompared,
    boards: Sequence[Leaderboard],
    corrected: Sequence[CorrectedLeaderboard],
) -> list[str]:
    """Return notes for readers of the figures, one line each."""
    from pnyx.reports.leaderboards.agreement import LEAST_RUNS

    notes = [line for board in boards for line in _misstated(board)]
    for comparison in result.comparisons:
        notes += [f"{_what(comparison)}: {line}" for line in _left_out(comparison)]
    for few in corrected:
        where = f"{escaped(few.leaderboard, 60)}, {escaped(few.measure, 40)}"
        if not few.shares:
            notes.append(f"{where}: {_NOT_SHARES}")
        if few.absent:
            notes.append(f"{where}: {listed(few.absent, 'run')} without labels, not corrected")
    topics = [len(c.shared.topics) for c in result.comparisons if c.shared.topics]
    notes += few_warning(result.bootstrap, min(topics), "topic") if topics else []
    runs = [len(comparison.shared.runs) for comparison in result.comparisons]
    runs = [count for count in runs if count >= LEAST_RUNS]
    notes += few_warning(result.bootstrap, min(runs), "run") if runs else []
    return list(dict.fromkeys(notes))


def _misstated(board: Leaderboard) -> Iterator[str]:
    """Report stated overall values that are not the mean over the topics."""
    sums: dict[tuple[str, str], list[float]] = {}
    for cell in board.cells:
        if cell.value is not None:
            sums.setdefault((cell.run_id, cell.measure), []).append(cell.value)
    differing = 0
    for cell in board.stated:
        values = sums.get((cell.run_id, cell.measure))
        if values and cell.value is not None:
            mean = sum(values) / len(values)
            differing += abs(mean - cell.value) > _APART * max(1.0, abs(mean))
    if differing:
        name = escaped(board.name, 60)
        stated = f"{differing} stated overall values are not the mean over its topics"
        yield f"{name}: {stated}; the means are used"


def _what(comparison: LeaderboardAgreement) -> str:
    measure = comparison.measure
    if measure != comparison.reference_measure:
        measure = f"{measure} with {comparison.reference_measure}"
    return f"{escaped(comparison.leaderboard, 60)}, {escaped(measure, 60)}"


def _left_out(comparison: LeaderboardAgreement) -> Iterator[str]:
    shared = comparison.shared
    for kind, unshared in (("run", shared.runs_apart), ("topic", shared.topics_apart)):
        here, there = (list(names) for names in unshared)
        if here and (kind == "run" or shared.topics):
            yield f"{listed(here, kind)} only there, left out"
        if there and (kind == "run" or shared.topics):
            yield f"{listed(there, kind)} only in {escaped(comparison.reference, 60)}, left out"
    compared, size = shared.cells
    if compared < size:
        yield (
            f"{size - compared} of {size} cells have no value ({shared.unscored[0]} there, "
            f"{shared.unscored[1]} in {escaped(comparison.reference, 60)}), left out on both sides"
        )
    if shared.runs and not shared.topics:
        yield "a side has only values over all topics, so these are compared"
    if comparison.conclusions.why:
        yield f"no accuracy: {comparison.conclusions.why}"
    reasons: dict[str, list[str]] = {}
    for name, coefficient in comparison.coefficients.items():
        if coefficient.value is None:
            reasons.setdefault(coefficient.why, []).append(_NAMES[name])
    for why, names in reasons.items():
        yield f"no {', '.join(names)}: {why}"


# Tables ------------------------------------------------------------------------------------------


def report_on(
    result: LeaderboardsCompared,
    corrected: Sequence[CorrectedLeaderboard],
    differences: Mapping[str, Sequence[Comparison]],
    test: str,
) -> list[Part]:
    """Return the tables for people."""
    parts: list[Part] = [_agreement(comparison) for comparison in result.comparisons]
    for few in corrected:
        parts += [_corrected(few), _corrected_differences(few)]
    for name, compared in differences.items():
        title = f"differences in {escaped(name, 100)}"
        parts.append(differences_table(compared, test, "measure", "run", "less", title=title))
    legend = [
        "other topics, other runs, both: 95 % intervals for other topics and the same runs, for "
        "other runs and the same topics, and for both",
        "tau_AP: the first as an estimate of the reference, errors at its top count more; "
        "tau_AP,b: mean of both directions; tau_GAP: larger reference gaps count more",
        "accuracy: share of pairs with the same result in Wilcoxon's test over topics (p < 0.05)",
        *draws_legend("topics and runs", result.bootstrap),
    ]
    return [*parts, legend]


def _agreement(comparison: LeaderboardAgreement) -> Table:
    columns = [Column("figure"), Column("value", "number")]
    columns += [Column(name, "interval") for name in ("other topics", "other runs", "both")]
    rows: list[Sequence[Any]] = []
    for name, figure in comparison.coefficients.items():
        over = {"topics": figure.over_topics, "runs": figure.over_runs, "both": figure.over_both}
        bounds = (
            (None, None, figure.no_interval.get(how, "")) if ends is None else ends
            for how, ends in over.items()
        )
        rows.append([_NAMES[name], figure.value, *bounds])
    accuracy = comparison.conclusions.accuracy
    rows.append(["accuracy", accuracy.value, None, accuracy, None])
    sides = f"{escaped(comparison.leaderboard, 60)} and {escaped(comparison.reference, 60)}"
    shared = comparison.shared
    sizes = f"{count_of(len(shared.runs), 'run')}, {count_of(len(shared.topics), 'topic')}"
    title = f"{_measures(comparison)}: {sides}, {sizes}"
    return Table(columns, rows, title=title, notes=_counts(comparison))


def _measures(comparison: LeaderboardAgreement) -> str:
    measures = dict.fromkeys((comparison.measure, comparison.reference_measure))
    names = [escaped(name, 60) for name in measures]
    return " against ".join(names)


def _counts(comparison: LeaderboardAgreement) -> list[str]:
    """Return a sentence that counts the pairs of runs by conclusion."""
    tested = comparison.conclusions
    if not tested.pairs:
        return []
    counts = tested.row()["pairs"]
    inverted = f", {counts['inversions']} of them inverted" if counts["differ_in_both"] else ""
    return [
        f"{counts['agree']} of {counts['tested']} pairs have the same conclusion. Different in "
        f"both: {counts['differ_in_both']}{inverted}; only in the first: "
        f"{counts['differ_only_here']}; only in the second: {counts['differ_only_in_reference']}; "
        f"in neither: {counts['differ_in_neither']}"
    ]


def _corrected(few: CorrectedLeaderboard) -> Table:
    columns = (
        Column("run"),
        Column("judge", "number"),
        Column("people, 95 % interval", "figure"),
        Column("corrected, 95 % interval", "figure"),
        Column("labelled topics", "counts"),
        Column("lambda", "number"),
        Column("worth labels", "number"),
    )
    rows = [
        [
            escaped(run, 40), row.judge, row.people, row.corrected, row.corrected, row.trust,
            None if row.worth is None else f"{row.worth:.1f}",
        ]
        for run, row in few.runs.items()
    ]  # fmt: skip
    measure = few.measure
    if few.people_measure != measure:
        measure = f"{measure} by {few.people_measure}"
    legend = [
        "corrected: estimate of people's mean over all topics (PPI++), from their labels and "
        "lambda times the judge's scores on the other topics; the labelled topics must be a "
        "random sample. worth labels: number of labels that would be as precise without the judge"
    ]
    title = f"{escaped(few.leaderboard, 60)} corrected by {escaped(few.people, 60)}: {measure}"
    return Table(columns, rows, title=title, legend=legend)


def _corrected_differences(few: CorrectedLeaderboard) -> Table | list[str]:
    columns = (
        Column("run"),
        Column("less"),
        Column("corrected difference", "figure"),
        Column("p", "number"),
        Column("(Holm)", "number"),
    )
    rows = []
    for difference in few.differences:
        mark = " *" if difference.significant else ""
        ends = (chance(difference.estimate.p), chance(difference.p_holm) + mark)
        sides = (escaped(difference.run, 40), escaped(difference.other, 40))
        rows.append([*sides, difference.estimate.corrected, *ends])
    tested = sum(difference.p_holm is not None for difference in few.differences)
    legend = f"*: p < 0.05 in a two-sided t-test, Holm-Bonferroni over {tested} comparisons"
    return Table(columns, rows, legend=[legend]) if rows else []


# Picture -----------------------------------------------------------------------------------------


def panels_of(result: LeaderboardsCompared) -> list[Scatter]:
    """Return a panel for each comparison."""
    from pnyx.display.scatter import Scatter

    paths = [*dict.fromkeys(comparison.leaderboard for comparison in result.comparisons)]
    paths.append(result.comparisons[0].reference)
    short = dict(zip(paths, run_names(paths), strict=True))
    panels = []
    for pair in result.comparisons:
        tau, accuracy = (pair.coefficients["kendall_tau_b"].value, pair.conclusions.accuracy.value)
        corner = [
            f"τ = {'–' if tau is None else f'{tau:.2f}'}",
            f"accuracy = {'–' if accuracy is None else f'{accuracy:.2f}'}",
        ]
        here, there = short[pair.leaderboard], short[pair.reference]
        across, up = (f"{here}: {pair.measure}", f"{there}: {pair.reference_measure}")
        panels.append(Scatter(_measures(pair), across, up, pair.points, corner))
    return panels
