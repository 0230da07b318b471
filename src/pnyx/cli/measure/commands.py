"""`pnyx measure`: compare results with labels according to their task; measure runs and reports."""

from __future__ import annotations

import difflib
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pnyx.cli.measure.options import MeasureSpec
from pnyx.cli.options import Outcome
from pnyx.cli.params import Command, verb
from pnyx.core.errors import InputError, OptionError, escaped
from pnyx.core.rooms import MeasureDoor, RoomCommands, load, named
from pnyx.core.spec import opts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pnyx.judging.verdicts import Verdict

_THRESHOLDS: Final = MeasureDoor(
    "pnyx.cli.measure.annotations:measure_by_threshold",
    frozenset("thresholds labels qrels relevant_from unjudged at plot draws seed".split()),
)
_AMOUNT: Final = MeasureDoor(
    "pnyx.cli.measure.annotations:measure_amounts", frozenset("amount at topics plot".split())
)

_USE = "use pnyx measure RESULTS, which reads the task from the results"
_GONE: Final = {
    **dict.fromkeys(("support", "relevance", "quality", "rag", "preference"), _USE),
    "thresholds": "use pnyx measure RESULTS --by-threshold",
    "correlation": "use pnyx measure retrieval RUN... --annotations FILE",
    "amount": "use pnyx measure RESULTS --amount",
    "review": "pnyx view shows where a judge and labels differ, pnyx label relevance ITEMS "
    "--out LABELS lets people label again, pnyx measure RESULTS --labels LABELS says who is right",
    "--judge": "use --by NAME",
    "--rates": "the corrected share of yes is reported if some answers have no label",
}
"""Removed subcommands and options -> what to use instead."""


class _MeasureCommand(Command):
    """The command, which lets a subcommand measure the results of some tasks (`MEASURED_BY`)."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Parse the arguments, or let a subcommand do so if it measures the first results."""
        first = args[0] if args else ""
        if first and first not in self.words:
            files = named("MEASURED_BY")
            args = [*(files[name] for name in files if (Path(first) / name).is_file()), *args]
            near = difflib.get_close_matches(first, self.words, 1)
            if near and first not in self.gone and not Path(first).exists():
                excerpt = escaped(first, 40)
                raise click.UsageError(f"No such file: {excerpt!r}. Did you mean {near[0]!r}?")
        return super().make_context(info_name, args, parent, **extra)


@verb(
    "measure",
    restricts=True,
    kind=_MeasureCommand,
    words=RoomCommands("measure"),
    gone=_GONE,
)
@click.argument("results")
def command(results: str, spec: MeasureSpec) -> Outcome:
    """Measure RESULTS of pnyx judge against people's labels, or summarise them.

    RESULTS name their task. Yes/no answers get F1, accuracy, AUROC and calibration error; ratings
    get correlations and errors; pairs get flips and position bias. Intervals are 95 %.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx judge support ex/items.jsonl --out results
      $ pnyx measure results --labels ex/item-labels.jsonl
      ...
      measure            value, 95 % interval  answers      mean over groups
      f1                 0.540 [0.365, 0.705]      240  0.550 [0.375, 0.713]
      accuracy           0.879 [0.812, 0.925]      240  0.879 [0.812, 0.925]

    \b
    More: pnyx measure --help-all, docs/reference/measures.md.
    \f
    Each figure has an interval from a bootstrap over groups. A results folder also gets
    measures.json. Unscored answers are left out and counted. --qrels replaces --labels for rag and
    --by-threshold. --plot draws a reliability diagram, or the figures of --by-threshold or
    --amount. Exit status 3: something is unscored.
    """
    if [results, spec.labels, spec.qrels, spec.topics].count("-") > 1:
        raise OptionError("only one file can be standard input")
    spec.check_needs()
    if spec.thresholds and spec.amount:
        raise OptionError("--by-threshold and --amount exclude each other")
    source: str | Iterator[Verdict] = results
    if spec.thresholds or spec.amount:
        door = _THRESHOLDS if spec.thresholds else _AMOUNT
        where = f"with --{'thresholds' if spec.thresholds else 'amount'}"
    else:
        task, source = _task_of(results)
        door, where = _door_of(task, results), f"on answers to {escaped(task, 40)}"
    for field, _ in opts_of(MeasureSpec):
        if spec.given(field.name) and field.name not in {*door.options, "by"}:
            raise OptionError(f"{spec.flag(field.name)} has no effect {where}")
    spec.check_plot()
    outcome: Outcome = load(door.target)(source, spec)
    return outcome


def _task_of(results: str) -> tuple[str, str | Iterator[Verdict]]:
    """Return the task of the first answer, and the answers: those of standard input as verdicts."""
    from pnyx.judging.verdicts import read_verdicts

    verdicts = read_verdicts(results)
    first = next(verdicts)
    return first.task, chain((first,), verdicts) if results == "-" else results


def _door_of(task: str, results: str) -> MeasureDoor:
    """Return how answers to a task are measured; InputError if they cannot be."""
    doors = named("MEASURED")
    if task not in doors:
        excerpt = escaped(task, 40) or "no task"
        problem = f"found answers to {excerpt}, expected those to one of: {', '.join(doors)}"
        raise InputError(problem, path=results)
    door: MeasureDoor = doors[task]
    return door
