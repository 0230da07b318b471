"""`pnyx measure`: a judge's answers against people's labels, and runs against qrels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli.measure.tables import PlotSpec, few_warning
from pnyx.cli.options import Outcome, reasons_shown
from pnyx.cli.params import Group, verb
from pnyx.core.errors import OptionError, escaped
from pnyx.core.rooms import room_commands
from pnyx.core.spec import file_opt, out_opt
from pnyx.display.tables import Column, OwnWords, Table, draws_legend
from pnyx.display.text import many
from pnyx.judging.judge_names import short_name
from pnyx.judging.measures.options import BootstrapSpec, JudgedSpec, TruthSpec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pnyx.display.tables import Part
    from pnyx.judging.measures.agreement import Agreement
    from pnyx.judging.measures.ground_truth import LabelledVerdicts
    from pnyx.stats.base import Measured

_MEASURES = "measures.json"
_RATES_GONE = "the corrected share of yes is reported if some answers have no label"
_MOST, _END = 50, 10  # groups that a table shows; of more, this many lowest and highest ones

_HELP = """Measure a judge's ANSWERS (answers.jsonl, or the results folder that holds it):
{what}.

Without --labels it prints how many answers are yes, or the mean ratings, with intervals. pnyx
measure RESULTS does the same without naming the task.

{more}Answers and labels are joined on id (and dimension). Yes/no answers get F1, accuracy, average
precision, AUROC, calibration error and Brier score; relevance also nDCG and MAP of each group's
ranking by probability; graded labels Spearman's correlation; ratings Spearman, accuracy and
mean absolute error. Each comes with a 95 % interval from a bootstrap over groups (topics), and the
number of questions it is based on: unscored answers are excluded and counted.
docs/reference/measures.md defines each. A results folder also gets measures.json. Exit status 3:
some of the labelled questions are unscored.

\b
Example:
  pnyx measure {task} results
  pnyx measure {task} results --labels labels.jsonl
  pnyx measure {task} answers.jsonl --labels labels.jsonl --json
"""

_UNSURE = """Labels may mark where people were unsure (uncertain). If some answers have no label,
the share of yes among all is also corrected for the judge's errors; the labelled answers must be a
random sample.
"""
_TASKS = {
    "support": (
        "yes/no answers to support, perspectives or stance questions, or those about reports\n"
        "(nugget, negative, needs-citation, unanswerable)",
        _UNSURE,
    ),
    "relevance": (
        "yes/no answers to relevance questions, or those about reports; labels may be graded\n"
        "(gain)",
        _UNSURE,
    ),
    "quality": ("ratings, by dimension", ""),
}
"""Task -> what its answers are, and a note on its labels."""


@click.group(name="measure", cls=Group, no_args_is_help=True)
def command() -> None:
    """Measure answers against labels and runs against qrels, with intervals.

    pnyx measure RESULTS summarises the results of pnyx judge: how many answers are a yes.

    \b
    Example:
      pnyx judge relevance items.jsonl --out results
      pnyx measure results
      pnyx measure relevance results --labels labels.jsonl
      pnyx measure retrieval my.run --qrels qrels.txt
      pnyx measure perspectives my.run --perspectives views.jsonl \\
        --verdicts results
      pnyx measure correlation bm25.run dense.run --annotations results
      pnyx measure report judged
      pnyx measure rag judged-arguments --qrels qrels.txt
    """


class _LabelsSpec(PlotSpec, JudgedSpec, heading="Labels"):
    """Whose answers are measured, and on which labels."""

    labels: str | None = file_opt(
        None,
        "People's labels (JSONL).",
        metavar="LABELS",
        default_text="none: a summary of the answers",
    )
    plot: str | None = out_opt(
        None, "Write a reliability diagram.", metavar="FILE.svg", needs="labels"
    )


class AgreementSpec(BootstrapSpec, _LabelsSpec):
    """How answers are measured."""


def _answers_command(task: str) -> None:
    """Add the command that measures answers to one task."""
    what, more = _TASKS[task]

    @verb(
        task,
        group=command,
        restricts=True,
        short_help=f"{what[0].upper()}{what[1:]}.",
        help=_HELP.format(what=what, more=more, task=task),
        without={"spec": "plot" if task == "quality" else ""},
        gone={} if task == "quality" else {"--rates": _RATES_GONE},
    )
    @click.argument("answers")
    def measure(answers: str, spec: AgreementSpec) -> Outcome:
        if answers == spec.labels == "-":
            raise OptionError("ANSWERS and LABELS cannot both be standard input")
        spec.check_needs()
        if spec.labels is None:
            return _summarise(answers, spec)
        spec.check_plot()
        from pnyx.judging.measures.ground_truth import join_labels

        joined = join_labels(answers, spec.labels, task, judge=spec.judge)
        return _measure_joined(answers, joined, spec, corrects=task != "quality")


class DocumentsSpec(BootstrapSpec, PlotSpec, TruthSpec):
    """How scores of single documents are measured."""

    plot: str | None = out_opt(None, "Write a reliability diagram.", metavar="FILE.svg")


@verb("rag", group=command, restricts=True, short_help="Scores of single documents.")
@click.argument("answers")
def documents(answers: str, spec: DocumentsSpec) -> Outcome:
    """Measure the scores of single documents in ANSWERS of pnyx judge rag against qrels.

    Without --qrels and --labels: how many answers are supported, and the mean of each dimension.

    Two formats score each document (listwise-rag-fine, support). A score, as a share of the scale,
    is read as the probability that the document is relevant, and from 0.5 as a yes; measures are
    those of pnyx measure relevance. The items must give their documents ids, and their topic as
    group. --labels are joined on ITEM/DOCUMENT. Documents that nobody judged are left out and
    counted, as are those without a score. Exit status 3: some labelled documents are unscored.

    \b
    Example:
      pnyx judge rag items.jsonl --format listwise-rag-fine --out results \\
        --judge http://127.0.0.1:8000/v1#my-model
      pnyx measure rag results
      pnyx measure rag results --qrels qrels.txt
    """
    from pnyx.judging.measures.documents import join_documents

    if spec.qrels is None and spec.labels is None:
        if spec.plot is not None:
            raise OptionError("--plot requires --qrels or --labels")
        return _summarise(answers, spec)
    if answers == "-" and "-" in (spec.labels, spec.qrels):
        raise OptionError("only one file can be standard input")
    spec.check_plot()
    joined = join_documents(answers, spec.truth(), judge=spec.judge)
    return _measure_joined(answers, joined, spec)


def _summarise(answers: str, spec: AgreementSpec | DocumentsSpec) -> Outcome:
    """Summarise answers in words, without labels."""
    from pnyx.display.summary import summary_parts, warning_lines
    from pnyx.judging.measures.summary import summarise_answers

    summary = summarise_answers(answers, judge=spec.judge, bootstrap=spec.bootstrap)
    notes = [f"warning: {line}" for line in warning_lines(summary)]
    if summary.reasons:
        unscored = sum(summary.reasons.values())
        notes.append(f"{unscored} answers are unscored: {reasons_shown(summary.reasons)}")
    return Outcome(summary.row(), lambda: summary_parts(summary), bool(summary.reasons), notes)


def command_of_results(path: str) -> str | None:
    """Return the command that measures results, by the task that they name; None for no results."""
    folder = Path(path)
    if folder.is_dir() and (folder / "reports.jsonl").is_file():
        return "report"
    if not folder.exists():
        return None
    from pnyx.judging.verdicts import YES_NO_TASKS, read_verdicts

    first = next(read_verdicts(path), None)
    task = "" if first is None else first.task
    measured_as = {**dict.fromkeys(YES_NO_TASKS, "support"), "stance": "support"}
    name = measured_as.get(task, task)
    if name not in command.commands:
        raise click.UsageError(
            f"{escaped(path, 60)}: found answers to {escaped(task, 40) or 'no task'}, expected "
            f"those to one of: {', '.join(_TASKS)}, rag"
        )
    return name


def _measure_joined(
    answers: str,
    joined: LabelledVerdicts,
    spec: AgreementSpec | DocumentsSpec,
    *,
    corrects: bool = False,
) -> Outcome:
    """Measure answers on labels; `corrects`: also the share of yes, if some have no label."""
    from pnyx.core.devices import refuse_device
    from pnyx.core.files import write_json
    from pnyx.display.plots import reliability_plot
    from pnyx.display.rates import rate_notes, rate_table
    from pnyx.judging.measures.agreement import measure_agreement

    folder = Path(answers) if answers != "-" and Path(answers).is_dir() else None
    if folder is not None:
        refuse_device(folder / _MEASURES)
    result = measure_agreement(joined, bootstrap=spec.bootstrap)
    row, rate = result.row(), None
    if corrects and joined.unlabelled:
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
        f"{many(len(small), 'group')} with fewer than {MIN_GROUP_LABELS} scored answers: no "
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


for _task in _TASKS:
    _answers_command(_task)
for _door in room_commands("measure").values():
    command.add_command(_door.load())
command.command_of = command_of_results
command.gone = {
    "review": "pnyx view shows where a judge and labels differ, pnyx label relevance ITEMS "
    "--out LABELS lets people label again, pnyx measure relevance ANSWERS --labels LABELS says who "
    "is right"
}
