"""Notes of `pnyx measure report` below its tables: what is missing, unscored or repeated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pnyx.cli.measure.tables import few_warning, listed, untested_note
from pnyx.core.errors import escaped, shorten
from pnyx.display.text import many
from pnyx.reports.strict import zero_notes

if TYPE_CHECKING:
    from pnyx.formats.reports.judged_report import JudgedReport
    from pnyx.reports.measures.report_measures import MeasuredReports, Reports


def report_notes(
    result: Reports, runs: Mapping[str, Sequence[JudgedReport]], min_scored: float
) -> list[str]:
    """Return notes for readers of the figures, one line each; reports by run."""
    notes: list[str] = []
    for run in result.runs:
        name = escaped(run.name)
        if run.missing:
            count, of = len(run.missing), len(run.per_topic)
            how = f"counted as 0 in the means over {of}"
            if result.missing == "skip":
                how = f"left out: means are over at most {of - count} of {of} topics"
                how += "; --missing zero counts them as 0, as an empty report is in any case"
            notes.append(f"warning: {name}: no report on {listed(run.missing)}, {how}")
        if run.unscored:
            parts = (f"{n} of {of} {kind}" for kind, (n, of) in run.unscored.items())
            notes.append(f"{name}: unscored and left out: {', '.join(parts)}")
        empty = [judged.topic_id for judged in runs[run.name] if judged.empty]
        if empty := [topic for topic in empty if topic in run.per_topic]:
            rule = "as 0; --missing only applies to topics without a report"
            notes.append(f"warning: {name}: the report on {listed(empty)} is empty, counted {rule}")
        if run.repeated:
            notes.append(_repeated_note(run, name, strict=result.strict))
        if result.strict:
            notes += zero_notes(run, result.compared, empty)
        notes += _too_few(result, run, name, min_scored)
    nuggets = (n for reports in runs.values() for judged in reports for n in judged.nuggets)
    importances = {nugget.importance.strip().lower() for nugget in nuggets}
    if others := sorted(importances - {"", *result.weights}):
        names = ", ".join(shorten(other, 30) for other in others)
        notes.append(f"nuggets of importance {names} weigh {result.weights['other']:g} (--weight)")
    notes += untested_note(result.comparisons, "topics")
    return notes + few_warning(result.bootstrap, len(result.topics), "topic")


def _repeated_note(run: MeasuredReports, name: str, *, strict: bool) -> str:
    """Return how many sentences are repetitions, and sentence precision without them."""
    counted = f"{name}: {many(run.repeated, 'repeated sentence')}"
    if strict:
        return f"{counted}: attested ones count once"
    once = "not defined" if run.precision_once is None else f"{run.precision_once:.3f}"
    return f"{counted}; sentence_precision without repetitions: {once}"


def _too_few(result: Reports, run: MeasuredReports, name: str, least: float) -> Iterator[str]:
    """Yield warnings of values based on less than a share of their topics or items."""
    from pnyx.reports.measures.exports import rests_on

    topics = len(result.topics)
    few = [n for n in result.compared if 0 < run.measures[n].scored < least * topics]
    if few:
        values = f"a value on less than {least:.0%} of the topics, not necessarily the same ones"
        yield f"warning: {name}: {', '.join(few)} have {values}"
    thin = {
        n: f"{n} on {sum(low)} of {topics} topics"
        for n in result.compared
        if any(low := [rests_on(values, n) < least for values in run.per_topic.values()])
    }
    if thin:
        rest = f"are based on less than {least:.0%} of their items (--min-scored)"
        yield f"warning: {name}: these {rest}: {', '.join(thin.values())}"
