"""`pnyx measure`: a judge's answers against people's labels, and runs against qrels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli.measure_perspectives import perspectives
from pnyx.cli.measure_retrieval import retrieval
from pnyx.cli.measure_retrievers import retrievers
from pnyx.cli.measure_review import review
from pnyx.cli.measure_runs import check_plot, drawing_options, draws_legend, few_warning, finish
from pnyx.cli.measure_thresholds import amount, thresholds
from pnyx.cli.options import json_option
from pnyx.cli.tables import interval, number, table
from pnyx.errors import shorten

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pnyx.measure.agreement import Agreement
    from pnyx.measure.base import Measured

__all__ = ["command"]

_MEASURES = "measures.json"

_HELP = "Measure a judge's answers on people's labels, or rankings on qrels; with intervals."

_EXAMPLE = """\b
Example:
  pnyx judge relevance items.jsonl --out results
  pnyx measure relevance results --labels labels.jsonl
  pnyx measure retrieval my.run --qrels qrels.txt
  pnyx measure perspectives my.run --perspectives views.jsonl --verdicts results
  pnyx measure retrievers bm25.run dense.run --annotations results/answers.jsonl
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


class _Group(click.Group):
    """A group that lists its commands in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the tasks in that order."""
        return list(self.commands)


@click.group(name="measure", cls=_Group, help=_HELP, epilog=_EXAMPLE, no_args_is_help=True)
def command() -> None:
    """Measure; see `_HELP`."""


def _answers_command(task: str) -> click.Command:
    """Return the command that measures answers to one task."""
    what, more = _TASKS[task]

    @command.command(
        name=task,
        short_help=f"{what[0].upper()}{what[1:]}.",
        help=_ANSWERS_HELP.format(what=what, more=more),
        epilog=_ANSWERS_EXAMPLE.format(task=task),
    )
    @click.argument("answers")
    @click.option("--labels", required=True, metavar="LABELS", help="People's labels, JSONL.")
    @click.option("--judge", metavar="NAME", help="Whose answers, where the file holds several's.")
    @drawing_options
    @json_option
    def measure(**options: Any) -> int:
        return _measure_answers(task, **options)

    return measure if task == "quality" else _PLOT(measure)


_PLOT = click.option(
    "--plot", metavar="FILE.svg", help="Draw how often answers of each probability are right."
)


def _measure_answers(
    task: str,
    answers: str,
    labels: str,
    judge: str | None,
    draws: int,
    seed: int,
    as_json: bool,
    plot: str | None = None,
) -> int:
    """Measure answers to a task's questions, print what was found, return the exit status."""
    if answers == labels == "-":
        raise click.UsageError("ANSWERS and LABELS cannot both be standard input")
    check_plot(plot)
    from pnyx.files import atomic_text
    from pnyx.measure.agreement import measure_agreement
    from pnyx.measure.base import Bootstrap

    folder = Path(answers) if answers != "-" and Path(answers).is_dir() else None
    bootstrap = Bootstrap(draws, seed)
    found = measure_agreement(answers, labels, task, judge=judge, bootstrap=bootstrap)
    row = found.row()
    if plot is not None:
        from pnyx.view.plots import reliability_plot

        note = f"Dots: mean probability and share of yes, {_counts(found)}; lines: Wilson's 95 %."
        with atomic_text(plot) as stream:
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


def _report(found: Agreement) -> list[str]:
    """Return the tables for people."""
    lines = [
        f"{found.joined.task}: {shorten(found.joined.judge)}, {_counts(found)}",
        "",
        *table(_rows(found)),
    ]
    if "avg" in found.summary:
        from pnyx.measure.registry import SUMMARY

        shown = [
            (name, SUMMARY.get(name, "mean of the four"), number(m.value), interval(m.low, m.high))
            for name, m in found.summary.items()
        ]
        lines += ["", *table([("dimension", "which is", "value", "95 % interval"), *shown], left=2)]
    for title, part in (("dimension", found.per_dimension), ("group", found.per_group)):
        if part:
            names = [name for name in found.measures if "@" not in name]
            lines += ["", *table(_grid(title, part, names))]
    legend = draws_legend(f"{found.clusters} {found.clustered_by}s", found.bootstrap)
    return [*lines, "", *legend] if legend else lines


def _counts(found: Agreement) -> str:
    counts = found.counts
    return f"{counts['scored']} of {counts['asked']} labelled questions scored"


def _rows(found: Agreement) -> list[Sequence[str]]:
    means = {"mean over groups": found.macro, "mean over dimensions": found.dimension_mean}
    shown = {title: part for title, part in means.items() if part}
    rows: list[Sequence[str]] = [
        ("measure", "value", "95 % interval", "scored of asked",
         *(cell for title in shown for cell in (title, "95 % interval")))
    ]  # fmt: skip
    for name, m in found.measures.items():
        cells = [name, number(m.value), interval(m.low, m.high), f"{m.scored} of {m.asked}"]
        for part in shown.values():
            cells += [number(part[name].value), interval(part[name].low, part[name].high)]
        rows.append(cells)
    return rows


def _grid(
    title: str, part: Mapping[str, Mapping[str, Measured]], names: Sequence[str]
) -> list[Sequence[str]]:
    """Return a row of values for each group or dimension, with how many it rests on."""
    rows: list[Sequence[str]] = [(title, *names, "scored of asked")]
    for key, measures in part.items():
        first = measures[names[0]]
        values = [_with_interval(measures[name]) for name in names]
        rows.append((shorten(key, 40), *values, f"{first.scored} of {first.asked}"))
    return rows


def _with_interval(measured: Measured) -> str:
    value, bounds = number(measured.value), interval(measured.low, measured.high)
    return value if bounds == "-" else f"{value} {bounds}"


for _task in _TASKS:
    _answers_command(_task)
command.add_command(retrieval)
command.add_command(perspectives)
command.add_command(retrievers)
command.add_command(thresholds)
command.add_command(amount)
command.add_command(review)
