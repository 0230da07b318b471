"""What commands that ask a judge share: the plan, the results folder, the line on what was done."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from pnyx.app.open_judge import Opened, deciding_settings, manifest_facts, open_judge
from pnyx.app.open_models import prices_of
from pnyx.cli import EXIT_INTERRUPTED, EXIT_UNSCORED
from pnyx.cli.options import say
from pnyx.cli.progress import watched
from pnyx.errors import OptionError, shorten
from pnyx.judge.tasks import TASKS

if TYPE_CHECKING:
    from pnyx.app.judge_specs import JudgeSpec, SpendingSpec
    from pnyx.judge.answers import Answer
    from pnyx.judge.base import Judge
    from pnyx.judge.questions import JudgeQuestion
    from pnyx.runs.pairs import PairSource

__all__ = ["answer_into", "counts_line", "needs_out", "plan_items"]


def needs_out(out: str | None, spec: JudgeSpec) -> None:
    """Refuse to judge without a place for the answers, and choices that do not go together.

    Raises:
        OptionError: --out lacks, or choices exclude each other.
    """
    if out is None and not spec.plan:
        raise OptionError("Missing option '--out'.")
    spec.check()


def answer_into(
    out: str | None,
    task: str,
    source: str,
    items: PairSource | Sequence[JudgeQuestion],
    spec: JudgeSpec,
    *,
    as_json: bool,
    as_perspectives: bool = False,
    settings: Mapping[str, Any] | None = None,
    adapt: Callable[[Judge], Judge] | None = None,
    also: Callable[[Sequence[Answer]], None] | None = None,
) -> int:
    """Ask the judge that a spec names, and write answers.jsonl and manifest.json.

    Args:
        out: the results folder; not needed to plan.
        task: name of the task that `items` are of.
        source: where they come from, for the manifest.
        items: what is asked.
        spec: who answers.
        as_json: print the manifest.
        as_perspectives: see `open_judge`.
        settings: what else decides the answers, for the manifest.
        adapt: makes another judge of the one that is opened.
        also: called with one answer for each item, in order, when the folder is written; not for
            ratings.

    Returns:
        The exit status.

    Raises:
        InputError: the folder holds something else, or a file or option cannot be used.
        ModelError: a model cannot be asked any more; what was answered is kept.
    """
    from pnyx.judge.answers import answer_of_row
    from pnyx.runs.results import judge_into

    with open_judge(TASKS[task], spec, say, as_perspectives=as_perspectives) as opened:
        if adapt is not None:
            opened = replace(opened, judge=adapt(opened.judge))
        if spec.plan:
            return plan_items(opened, items, spec, as_json)
        opened = replace(opened, settings={**opened.settings, **(settings or {})})
        left: int | None = None

        def started(count: int, kept: int) -> None:
            nonlocal left
            left = count - kept
            if kept:
                say(f"{kept} items are answered already, going on")

        try:
            with watched(opened.judge, opened.models, lambda: left) as judge:
                manifest = judge_into(
                    str(out),
                    task,
                    judge,
                    items,
                    lambda count: manifest_facts(opened, source, count),
                    settings={**deciding_settings(opened, spec), **(settings or {})},
                    from_rows=not opened.models,
                    on_start=started,
                    also=also and (lambda rows: also([answer_of_row(row) for (row,) in rows])),
                )
        except KeyboardInterrupt:
            say("interrupted; the same command resumes where it stopped")
            return EXIT_INTERRUPTED
    _report(manifest, str(out), as_json)
    return EXIT_UNSCORED if manifest["counts"]["unscored"] else 0


def plan_items(
    opened: Opened, items: Iterable[JudgeQuestion], spec: SpendingSpec, as_json: bool
) -> int:
    """Print what asking would cost, and return the exit status."""
    from pnyx.cli.planning import print_plan

    prices = prices_of(spec)
    by_model = {model.name: prices(model.name) for model in opened.models}
    return print_plan(opened, list(items), by_model, as_json)


def _report(manifest: dict[str, Any], out: str, as_json: bool) -> None:
    judge = f"{shorten(manifest['judge'])}: {shorten(manifest['card'], 400)}"
    click.echo(f"judge {judge}", err=True)
    if as_json:
        click.echo(json.dumps(manifest, ensure_ascii=False))
        return
    line = counts_line(manifest["counts"], "scored", manifest["judge"])
    click.echo(f"{line}; see {shorten(out, 200)}")


def counts_line(counts: Mapping[str, Any], done: str, judge: str) -> str:
    """Return how many are done of all, by whom, and why the others are not."""
    line = f"{counts['scored']} of {counts['asked']} {done} by {shorten(judge)}"
    if counts["unscored"]:
        reasons = ", ".join(f"{n} {shorten(reason, 40)}" for reason, n in counts["reasons"].items())
        line += f"; {counts['unscored']} unscored: {reasons}"
    return line
