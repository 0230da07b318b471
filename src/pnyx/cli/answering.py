"""What commands that ask a judge share: checks of options, the plan, the results folder."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pnyx.cli import EXIT_INTERRUPTED, EXIT_UNSCORED
from pnyx.cli.judging import (
    Opened,
    asked_models,
    names_student,
    open_judge,
    prices_of,
    student_decides,
)
from pnyx.cli.progress import watched
from pnyx.errors import shorten
from pnyx.judge.tasks import TASKS
from pnyx.models.replies import printable

if TYPE_CHECKING:
    from pnyx.judge.answers import Answer
    from pnyx.judge.base import Judge
    from pnyx.judge.questions import JudgeQuestion
    from pnyx.runs.pairs import PairSource

__all__ = ["answer_into", "check_options", "counts_line", "deciding_settings", "plan_items"]


def check_options(context: click.Context, out: str | None, options: dict[str, Any]) -> None:
    """Refuse options that exclude each other.

    Args:
        context: tells what was given on the command line.
        out: the results folder.
        options: those of `asking_options`, `combining_options`, `model_options` and
            `spending_options`.

    Raises:
        click.UsageError: options exclude each other, or one would change nothing.
    """
    if out is None and not options["plan"]:
        raise click.UsageError("Missing option '--out'.")
    answered = [name for name in ("labels", "lookup") if options[name] is not None]
    if options["student"] is not None:
        _check_student(options)
        answered += ["student"] if student_decides(options) else []
    sources = list(answered)
    if context.get_parameter_source("llm") is ParameterSource.COMMANDLINE:
        sources.insert(0, "llm")
    if len(sources) > 1:
        raise click.UsageError(f"--{sources[0]} and --{sources[1]} exclude each other")
    if options["cheap"] is not None and options["cascade"] is None:
        raise click.UsageError("--cheap is for --cascade")
    _check_used(context, answered, options)
    _check_first(answered, options)


def _check_student(options: dict[str, Any]) -> None:
    """Refuse what leaves the student without a question."""
    for name in ("labels", "lookup"):
        if options[name] is not None:
            raise click.UsageError(f"--{name} and --student exclude each other")
    if options["cascade"] is not None and options["cheap"] is None and not options["llm"]:
        raise click.UsageError(
            "--cascade with --student needs who is asked first (--cheap) or last (--llm)"
        )


def _check_first(answered: list[str], options: dict[str, Any]) -> None:
    """Refuse a language model as the cheap one before a judge that asks none."""
    models = options["llm"] and not answered
    if options["cheap"] is not None and not models and not names_student(options["cheap"]):
        found = shorten(options["cheap"], 60)
        raise click.UsageError(
            f"--cheap: found {found!r}, expected a student's folder; a language model is for --llm"
        )


_FOR_MODELS = (
    *("prompt", "probability", "batch", "temperature", "max_tokens", "samples", "combine"),
    *("budget", "budget_tokens", "prices", "offline"),
)
"""Options that mean nothing unless a language model is asked. So does --cascade where no --cheap
says who is asked first: from the packaged judge to itself."""


def _check_used(context: click.Context, answered: list[str], options: dict[str, Any]) -> None:
    """Refuse options that would change nothing: whoever gives one means it.

    Args:
        context: tells what was given on the command line.
        answered: the option, if any, that names who answers in place of a language model.
        options: all of them.
    """
    if options["llm"] and not answered:
        return
    looked_up = answered and answered[0] != "student"
    cascade = ["cascade"] if looked_up or options["cheap"] is None else []
    for name in (*_FOR_MODELS, *cascade, *(["calibration"] if looked_up else [])):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            flag = "--from-store" if name == "offline" else f"--{name.replace('_', '-')}"
            if answered:
                raise click.UsageError(f"{flag} and --{answered[0]} exclude each other")
            raise click.UsageError(f"{flag} is for a language model: it needs --llm")


def answer_into(
    out: str | None,
    task: str,
    source: str,
    items: PairSource | Sequence[JudgeQuestion],
    options: dict[str, Any],
    *,
    settings: Mapping[str, Any] | None = None,
    adapt: Callable[[Judge], Judge] | None = None,
    also: Callable[[Sequence[Answer]], None] | None = None,
) -> int:
    """Ask the judge that the options name, and write answers.jsonl and manifest.json.

    Args:
        out: the results folder; not needed with `--plan`.
        task: name of the task that `items` are of.
        source: where they come from, for the manifest.
        items: what is asked.
        options: as for `check_options`, with `plan` and `as_json`.
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

    llm = asked_models(options)
    plan, as_json, _ = (options.pop(name) for name in ("plan", "as_json", "llm"))
    options["offline"] = options["offline"] or plan
    with open_judge(TASKS[task], llm, **options) as opened:
        if adapt is not None:
            opened = replace(opened, judge=adapt(opened.judge))
        if plan:
            return plan_items(opened, items, options, as_json)
        opened = replace(opened, settings={**opened.settings, **(settings or {})})
        left: int | None = None

        def started(count: int, kept: int) -> None:
            nonlocal left
            left = count - kept
            if kept:
                click.echo(f"pnyx: {kept} items are answered already, going on", err=True)

        try:
            with watched(opened.judge, opened.models, lambda: left) as judge:
                manifest = judge_into(
                    str(out),
                    task,
                    judge,
                    items,
                    lambda count: _facts(source, count, opened),
                    settings={**deciding_settings(opened, options), **(settings or {})},
                    from_rows=not opened.models,
                    on_start=started,
                    also=also and (lambda rows: also([answer_of_row(row) for (row,) in rows])),
                )
        except KeyboardInterrupt:
            click.echo("pnyx: interrupted; the same command resumes where it stopped", err=True)
            return EXIT_INTERRUPTED
    _report(manifest, str(out), as_json)
    return EXIT_UNSCORED if manifest["counts"]["unscored"] else 0


def plan_items(
    opened: Opened, items: Iterable[JudgeQuestion], options: dict[str, Any], as_json: bool
) -> int:
    """Print what asking would cost, and return the exit status."""
    from pnyx.cli.planning import print_plan

    prices = prices_of(options)
    by_model = {model.name: prices(model.name) for model in opened.models}
    return print_plan(opened, list(items), by_model, as_json)


_FILES = ("calibration", "cascade", "cheap", "labels", "lookup", "student")
"""Options that name a file, or a folder, which decides the answers."""


def deciding_settings(opened: Opened, options: dict[str, Any]) -> dict[str, Any]:
    """Return what decides the answers beside the judge's name; files by what they hold."""
    from pnyx.runs.pairs import file_hash

    settings = {k: v for k, v in opened.settings.items() if k not in _FILES}
    named = {name: options[name] for name in _FILES if options.get(name) is not None}
    if not names_student(options["cheap"]):
        named.pop("cheap", None)  # a model, which the judge's name holds
    return {
        "prompts": list(opened.prompts),
        "settings": settings if opened.models else {},
        "files": {name: file_hash(path) for name, path in named.items()},
        "from_store": bool(options["offline"]),
    }


def _facts(source: str, count: int, opened: Opened) -> dict[str, Any]:
    """Return what the manifest says of the judge and of what was sent."""
    facts: dict[str, Any] = {
        "items": {"path": printable(source), "count": count},
        "card": opened.judge.card,
    }
    if not opened.models:
        return facts
    counts = [model.counts for model in opened.models]
    names = ("from_store", "asked", "shared", "failed", "missing")
    tokens = Counter[str]()
    for one in counts:
        tokens.update(one.tokens)
    return facts | {
        "models": [
            {
                "name": model.name,
                "endpoint": model.endpoint.address,
                "response_format": model.endpoint.response_format,
                "retries": model.endpoint.retries,
                **({"spent": model.endpoint.ledger.row()} if model.endpoint.ledger else {}),
            }
            for model in opened.models
        ],
        "prompts": list(opened.prompts),
        "settings": opened.settings,
        "store": {
            "path": printable(str(opened.models[0].store.path)),
            **{name: sum(getattr(count, name) for count in counts) for name in names},
        },
        "tokens": dict(tokens),
    }


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
