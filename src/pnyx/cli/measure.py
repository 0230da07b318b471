"""`pnyx measure`: a judge's answers against people's labels, and runs against qrels."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from pnyx.app.measure_specs import BootstrapSpec
from pnyx.app.spec import Spec, opt
from pnyx.cli.measure_perspectives import perspectives
from pnyx.cli.measure_retrieval import retrieval
from pnyx.cli.measure_retrievers import retrievers
from pnyx.cli.measure_review import review
from pnyx.cli.measure_runs import check_plot, draws_legend, few_warning, finish
from pnyx.cli.measure_thresholds import amount, thresholds
from pnyx.cli.params import Command, Group, json_option, takes
from pnyx.errors import OptionError, shorten
from pnyx.view.tables import Column, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pnyx.cli.measure_runs import Part
    from pnyx.measure.agreement import Agreement
    from pnyx.measure.base import Measured

__all__ = ["command"]

_MEASURES = "measures.json"

_HELP = "Measure answers against labels and runs against qrels, with intervals."

_EXAMPLE = """\b
Example:
  pnyx judge relevance items.jsonl --out results
  pnyx measure relevance results --labels labels.jsonl
  pnyx measure retrieval my.run --qrels qrels.txt
  pnyx measure perspectives my.run --perspectives views.jsonl \\
    --verdicts results
  pnyx measure retrievers bm25.run dense.run --annotations results
"""

_ANSWERS_HELP = """Measure a judge's ANSWERS (answers.jsonl, or the results folder that holds it):
{what}.

{more}Answers and labels are joined on id (and dimension). Yes/no answers get F1, accuracy, average
precision, AUROC, calibration error and Brier score; relevance also nDCG and MAP of each group's
ranking by probability; graded labels Spearman's correlation; ratings Spearman, exact accuracy and
mean absolute error. Each comes with a 95 % interval from drawing whole groups (topics) anew, and
with how many of the questions asked it rests on: unscored answers are left out and counted.
docs/measures.md defines each. A results folder also gets measures.json.
Exit status 3: some of the labelled questions are unscored.
"""

_ANSWERS_EXAMPLE = """\b
Example:
  pnyx measure {task} results --labels labels.jsonl
  pnyx measure {task} answers.jsonl --labels labels.jsonl --json
"""

_UNSURE = "Labels may say where people were unsure (uncertain).\n"
_TASKS = {
    "support": ("yes/no answers to support, perspectives or stance questions", _UNSURE),
    "relevance": ("yes/no answers to relevance questions; labels may be graded (gain)", _UNSURE),
    "quality": ("ratings, by dimension", ""),
}
"""Task -> what its answers are, and what more there is to say of its labels."""


class _Group(Group):
    """A group that lists its commands in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the tasks in that order."""
        return list(self.commands)


@click.group(name="measure", cls=_Group, help=_HELP, epilog=_EXAMPLE, no_args_is_help=True)
def command() -> None:
    """Measure; see `_HELP`."""


@dataclass(frozen=True, kw_only=True)
class _LabelsSpec(Spec):
    """Whose answers are measured on which labels."""

    heading: ClassVar[str] = "Labels"

    labels: str = opt(..., "People's labels (JSONL).", metavar="LABELS", raw=True)
    judge: str | None = opt(
        None, "Judge whose answers are measured, if the file has several.", metavar="NAME"
    )
    plot: str | None = opt(None, "Write a reliability diagram.", metavar="FILE.svg", raw=True)


@dataclass(frozen=True, kw_only=True)
class AgreementSpec(BootstrapSpec, _LabelsSpec):
    """How answers are measured."""


def _answers_command(task: str) -> click.Command:
    """Return the command that measures answers to one task."""
    what, more = _TASKS[task]

    @command.command(
        name=task,
        cls=Command,
        short_help=f"{what[0].upper()}{what[1:]}.",
        help=_ANSWERS_HELP.format(what=what, more=more),
        epilog=_ANSWERS_EXAMPLE.format(task=task),
    )
    @click.argument("answers")
    @takes("spec", AgreementSpec, without=("plot",) if task == "quality" else ())
    @json_option
    def measure(answers: str, spec: AgreementSpec, as_json: bool) -> int:
        return _measure_answers(task, answers, spec, as_json)

    return measure


def _measure_answers(task: str, answers: str, spec: AgreementSpec, as_json: bool) -> int:
    """Measure answers to a task's questions, print what was found, return the exit status."""
    if answers == spec.labels == "-":
        raise OptionError("ANSWERS and LABELS cannot both be standard input")
    check_plot(spec.plot)
    from pnyx.files import atomic_text
    from pnyx.measure.agreement import measure_agreement

    folder = Path(answers) if answers != "-" and Path(answers).is_dir() else None
    found = measure_agreement(
        answers, spec.labels, task, judge=spec.judge, bootstrap=spec.bootstrap
    )
    row = found.row()
    if spec.plot is not None:
        from pnyx.view.plots import reliability_plot

        note = f"Dots: mean probability and share of yes, {_counts(found)}; lines: Wilson's 95 %."
        with atomic_text(spec.plot) as stream:
            stream.write(reliability_plot(found.reliability, found.joined.judge, [note]))
    if folder is not None:
        with atomic_text(folder / _MEASURES) as stream:
            stream.write(json.dumps(row, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    unscored = found.counts["unscored"]
    return finish(row, _notes(found), lambda: _report(found), as_json, unscored=unscored)


def _notes(found: Agreement) -> list[str]:
    """Return what a reader of the numbers must know, a line each."""
    counts = found.counts
    notes = []
    if counts["unscored"]:
        reasons = ", ".join(f"{n} {shorten(reason, 40)}" for reason, n in counts["reasons"].items())
        notes.append(f"{counts['unscored']} of {counts['asked']} answers are unscored: {reasons}")
    for count, what in (
        (counts["without_probability"], "answers have no probability"),
        (counts["answers_without_label"], "answers have no label and are left out"),
        (counts["labels_without_answer"], "labels have no answer and are left out"),
        (counts["tied_labels"], "labels are tied between annotators and count as no label"),
    ):
        if count:
            notes.append(f"{count} {what}")
    ranked, groups = found.macro_groups.get("map"), len(found.per_group)
    if ranked is not None and ranked < groups:
        notes.append(f"{groups - ranked} of {groups} groups have no relevant pair, so no nDCG, MAP")
    return notes + few_warning(found.bootstrap, found.clusters, found.clustered_by)


def _report(found: Agreement) -> list[Part]:
    """Return the tables for people."""
    parts: list[Part] = [
        [f"{found.joined.task}: {shorten(found.joined.judge)}, {_counts(found)}"],
        _measures(found),
    ]
    if "avg" in found.summary:
        from pnyx.measure.registry import SUMMARY

        columns = (
            Column("dimension"),
            Column("which is"),
            Column("value, 95 % interval", "figure"),
        )
        rows = [
            (name, SUMMARY.get(name, "mean of the four"), m) for name, m in found.summary.items()
        ]
        parts.append(Table(columns, rows))
    for title, part in (("dimension", found.per_dimension), ("group", found.per_group)):
        if part:
            names = [name for name in found.measures if "@" not in name]
            parts.append(_grid(title, part, names))
    return [*parts, draws_legend(f"{found.clusters} {found.clustered_by}s", found.bootstrap)]


def _counts(found: Agreement) -> str:
    counts = found.counts
    return f"{counts['scored']} of {counts['asked']} labelled questions scored"


def _measures(found: Agreement) -> Table:
    means = {"mean over groups": found.macro, "mean over dimensions": found.dimension_mean}
    shown = {title: part for title, part in means.items() if part}
    columns = [Column("measure"), Column("value, 95 % interval", "figure")]
    columns += [Column("answers", "counts")]
    columns += [Column(title, "figure") for title in shown]
    rows = [
        (name, m, m, *(part[name] for part in shown.values())) for name, m in found.measures.items()
    ]
    return Table(columns, rows)


def _grid(title: str, part: Mapping[str, Mapping[str, Measured]], names: Sequence[str]) -> Table:
    """Return a row of values for each group or dimension, with how many it rests on."""
    columns = [Column(title), *(Column(name, "figure") for name in names)]
    columns.append(Column("answers", "counts"))
    rows: list[Sequence[Any]] = [
        (shorten(key, 40), *(measures[name] for name in names), measures[names[0]])
        for key, measures in part.items()
    ]
    return Table(columns, rows)


for _task in _TASKS:
    _answers_command(_task)
command.add_command(retrieval)
command.add_command(perspectives)
command.add_command(retrievers)
command.add_command(thresholds)
command.add_command(amount)
command.add_command(review)
