"""Measures of answers and of single documents: against labels, or a summary without labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pnyx.cli.measure.tables import few_warning
from pnyx.cli.options import Outcome, reasons_shown
from pnyx.core.errors import OptionError, count_of, escaped
from pnyx.display.tables import Column, OwnWords, Table, draws_legend
from pnyx.judging.judge_names import short_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pnyx.cli.measure.options import MeasureSpec
    from pnyx.display.tables import Part
    from pnyx.judging.measures.agreement import Agreement
    from pnyx.judging.measures.ground_truth import LabelledVerdicts
    from pnyx.judging.verdicts import Verdict
    from pnyx.stats.base import Measured

_MEASURES = "measures.json"
_MOST, _END = 50, 10  # rows of groups in a table; if there are more, of each end


def measure_answers(results: str | Iterator[Verdict], spec: MeasureSpec) -> Outcome:
    """Measure yes/no answers or ratings against labels; without labels, summarise them.

    If some yes/no answers have no label, the share of yes among all is also corrected for the
    judge's errors, as if the labelled answers were a random sample.
    """
    if spec.labels is None:
        return _summarise(results, spec, "--labels")
    from pnyx.judging.measures.ground_truth import join_labels

    return _measure_joined(results, join_labels(results, spec.labels, judge=spec.by), spec)


def measure_documents(results: str | Iterator[Verdict], spec: MeasureSpec) -> Outcome:
    """Measure the scores of single documents in answers to the task rag against qrels or labels.

    Two formats score each document (listwise-rag-fine, support). A score, as a share of the scale,
    is read as the probability that the document is relevant, and from 0.5 as a yes. Labels are
    joined on ITEM/DOCUMENT. Without qrels and labels, the answers are summarised.
    """
    if spec.qrels is None and spec.labels is None:
        return _summarise(results, spec, "--qrels or --labels")
    from pnyx.judging.measures.documents import join_documents

    return _measure_joined(results, join_documents(results, spec.truth(), judge=spec.by), spec)


def _summarise(results: str | Iterator[Verdict], spec: MeasureSpec, needed: str) -> Outcome:
    """Summarise answers in words, without labels."""
    from pnyx.display.summary import summary_parts, warning_lines
    from pnyx.judging.measures.summary import summarise_answers

    if spec.plot is not None:
        raise OptionError(f"--plot requires {needed}")
    summary = summarise_answers(results, judge=spec.by, bootstrap=spec.bootstrap)
    notes = [f"warning: {line}" for line in warning_lines(summary)]
    if summary.reasons:
        unscored = sum(summary.reasons.values())
        notes.append(f"{unscored} answers are unscored: {reasons_shown(summary.reasons)}")
    return Outcome(summary.row(), lambda: summary_parts(summary), bool(summary.reasons), notes)


def _measure_joined(
    results: str | Iterator[Verdict], joined: LabelledVerdicts, spec: MeasureSpec
) -> Outcome:
    """Measure answers on labels; those of a folder are also written to it."""
    from pnyx.core.files import write_json
    from pnyx.core.folders import refuse_device
    from pnyx.display.plots import reliability_plot
    from pnyx.display.rates import rate_notes, rate_table
    from pnyx.judging.measures.agreement import measure_agreement

    folder = Path(results) if isinstance(results, str) and Path(results).is_dir() else None
    if folder is not None:
        refuse_device(folder / _MEASURES)
    result = measure_agreement(joined, bootstrap=spec.bootstrap)
    row, rate = result.row(), None
    if joined.unlabelled and joined.task != "quality":
        from pnyx.judging.measures.rates import corrected_rate

        rate = corrected_rate(joined, bootstrap=spec.bootstrap)
        row["rate"] = rate.row()
    note = f"Dots: mean probability and share of yes, {_counts(result)}; lines: Wilson's 95 %."
    spec.draw(lambda: reliability_plot(result.reliability, result.joined.judge, [note]))
    if folder is not None:
        write_json(folder / _MEASURES, row)
    notes = _notes(result) + (rate_notes(rate) if rate else [])
    tables = [rate_table(rate)] if rate else []
    return Outcome(row, lambda: [*_report(result), *tables], result.counts["unscored"], notes)


def _notes(result: Agreement) -> list[str]:
    """Return notes that a reader of the numbers must know, one per line."""
    counts = result.counts
    notes = [f"warning: {note}"] if (note := result.joined.scale_note) else []
    if counts["unscored"]:
        why = reasons_shown(counts["reasons"])
        notes.append(f"{counts['unscored']} of {counts['asked']} answers are unscored: {why}")
    for count, what in (
        (counts["without_probability"], "answers have no probability"),
        (counts["answers_without_label"], "answers have no label and are left out"),
        (counts["labels_without_answer"], "labels have no answer and are left out"),
        (counts["tied_labels"], "labels are tied between annotators and are ignored"),
    ):
        if count:
            notes.append(f"{count} {what}")
    ranked, groups = result.macro_groups.get("map"), len(result.per_group)
    if ranked is not None and ranked < groups:
        notes.append(f"{groups - ranked} of {groups} groups have no relevant pair: no nDCG, no MAP")
    return notes + few_warning(result.bootstrap, result.clusters, result.clustered_by)


def _report(result: Agreement) -> list[Part]:
    """Return the tables for people."""
    from pnyx.judging.measures.group_figures import MIN_GROUP_LABELS, small_groups

    parts: list[Part] = [
        [f"{result.joined.task}: {escaped(short_name(result.joined.judge))}, {_counts(result)}"],
        _measures(result),
    ]
    if "avg" in result.summary:
        from pnyx.judging.measures.registry import SUMMARY

        columns = (
            Column("dimension"),
            Column("which is"),
            Column("value, 95 % interval", "figure"),
        )
        rows = [
            (name, SUMMARY.get(name, "mean of the four"), m) for name, m in result.summary.items()
        ]
        parts.append(Table(columns, rows))
    small = small_groups(result.per_group)
    large = {name: part for name, part in result.per_group.items() if name not in small}
    line = (
        f"{count_of(len(small), 'group')} with fewer than {MIN_GROUP_LABELS} scored answers: no "
        "separate figures (--json has the counts)"
    )
    for title, part in (
        ("dimension", result.per_dimension),
        ("aspect", result.per_aspect),
        ("group", large),
    ):
        if part:
            names = [name for name in result.measures if "@" not in name]
            ends = _ends(part, names[0])
            left = len(part) - len(ends)
            note = (
                f"the {_END} lowest and the {_END} highest {title}s by {names[0]}; "
                f"--json also has the other {left:,}"
            )
            parts.append(_grid(title, ends, names, [note] if left else []))
    drawn = draws_legend(f"{result.clusters} {result.clustered_by}s", result.bootstrap)
    return [*parts, [OwnWords(line)] if small else [], drawn]


def _counts(result: Agreement) -> str:
    counts = result.counts
    return f"{counts['scored']} of {counts['asked']} labelled questions scored"


def _measures(result: Agreement) -> Table:
    means = {"mean over groups": result.macro, "mean over dimensions": result.dimension_mean}
    nonempty = {title: part for title, part in means.items() if part}
    columns = [Column("measure", "measure"), Column("value, 95 % interval", "figure")]
    columns += [Column("answers", "counts")]
    columns += [Column(title, "figure") for title in nonempty]
    rows = [
        (name, m, m, *(part[name] for part in nonempty.values()))
        for name, m in result.measures.items()
    ]
    return Table(columns, rows)


def _ends(
    part: Mapping[str, Mapping[str, Measured]], name: str
) -> Mapping[str, Mapping[str, Measured]]:
    """Return the groups with the lowest and highest values."""
    if len(part) <= _MOST:
        return part
    values = {key: value for key in part if (value := part[key][name].value) is not None}
    ranked = sorted(values, key=lambda key: values[key])
    return {key: part[key] for key in (*ranked[:_END], *ranked[_END:][-_END:])}


def _grid(
    title: str,
    part: Mapping[str, Mapping[str, Measured]],
    names: Sequence[str],
    notes: Sequence[str] = (),
) -> Table:
    """Return a row of values for each group or dimension, with its number of answers."""
    columns = [Column(title), *(Column(name, "figure") for name in names)]
    columns.append(Column("answers", "counts"))
    rows: list[Sequence[Any]] = [
        (escaped(key, 40), *(measures[name] for name in names), measures[names[0]])
        for key, measures in part.items()
    ]
    return Table(columns, rows, notes)
