"""A judge's answers in a results folder: what `pnyx judge` and `pnyx annotate label` share."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
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
from pnyx.errors import ModelError, shorten
from pnyx.judge.tasks import TASKS
from pnyx.models.replies import printable

if TYPE_CHECKING:
    from pnyx.judge.answers import Answer
    from pnyx.judge.base import Judge
    from pnyx.judge.questions import JudgeQuestion

__all__ = ["answer_into", "check_options"]


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
    questions: Sequence[JudgeQuestion],
    options: dict[str, Any],
    *,
    settings: Mapping[str, Any] | None = None,
    adapt: Callable[[Judge], Judge] | None = None,
    also: Callable[[Sequence[Answer]], None] | None = None,
) -> int:
    """Ask the judge that the options name, and write answers.jsonl and manifest.json.

    Args:
        out: the results folder; not needed with `--plan`.
        task: name of the task that `questions` are of.
        source: where they come from, for the manifest.
        questions: what is asked.
        options: as for `check_options`, with `plan` and `as_json`.
        settings: what else decides the answers, for the manifest.
        adapt: makes another judge of the one that is opened.
        also: called with one answer for each question, in order, when the folder is written.

    Returns:
        The exit status.

    Raises:
        InputError: the folder holds something else, or a file or option cannot be used.
        ModelError: a model cannot be asked any more; what was answered is in the store.
    """
    llm = asked_models(options)
    plan, as_json, _ = (options.pop(name) for name in ("plan", "as_json", "llm"))
    options["offline"] = options["offline"] or plan
    with open_judge(TASKS[task], llm, **options) as opened:
        if adapt is not None:
            opened = replace(opened, judge=adapt(opened.judge))
        if plan:
            from pnyx.cli.planning import print_plan

            prices = prices_of(options)
            names = [model.name for model in opened.models]
            return print_plan(opened, questions, {n: prices(n) for n in names}, as_json)
        opened = replace(opened, settings={**opened.settings, **(settings or {})})
        try:
            manifest, answers = _run(task, source, questions, str(out), opened)
        except KeyboardInterrupt:
            click.echo("pnyx: interrupted; the same command resumes where it stopped", err=True)
            return EXIT_INTERRUPTED
    if also is not None:
        also(answers)
    _report(manifest, str(out), as_json)
    return EXIT_UNSCORED if manifest["counts"]["unscored"] else 0


def _run(
    task: str, source: str, questions: Sequence[JudgeQuestion], out: str, opened: Opened
) -> tuple[dict[str, Any], list[Answer]]:
    from pnyx.judge.base import ask
    from pnyx.judge.results import Results

    results = Results(out, task=task, judge=opened.judge.name, questions=questions)
    arrived = 0
    with results.writing(), watched(opened.judge, opened.models) as watched_judge:

        def receive(position: int, answer: Answer) -> None:
            nonlocal arrived
            results.add(position, answer)
            arrived += 1

        try:
            answers = ask(watched_judge, questions, receive)
        except ModelError as error:
            kept = f"; {arrived} of {len(questions)} were answered and are kept" if arrived else ""
            raise ModelError(f"{error}{kept}") from error
        return results.finish(answers, _facts(source, questions, opened)), answers


def _facts(source: str, questions: Sequence[JudgeQuestion], opened: Opened) -> dict[str, Any]:
    """Return what the manifest says of the judge and of what was sent."""
    facts: dict[str, Any] = {
        "items": {"path": printable(source), "count": len(questions)},
        "card": opened.judge.card,
    }
    if not opened.models:
        return facts
    counts = [model.counts for model in opened.models]
    names = ("from_store", "asked", "shared", "failed", "missing")
    tokens: dict[str, int] = {}
    for count in counts:
        for name, number in count.tokens.items():
            tokens[name] = tokens.get(name, 0) + number
    return facts | {
        "models": [
            {
                "name": model.name,
                "endpoint": model.endpoint.address,
                "response_format": model.endpoint.response_format,
                "retries": model.endpoint.retries,
                **_spent(model.endpoint.ledger),
            }
            for model in opened.models
        ],
        "prompts": list(opened.prompts),
        "settings": opened.settings,
        "store": {
            "path": printable(str(opened.models[0].store.path)),
            **{name: sum(getattr(count, name) for count in counts) for name in names},
        },
        "tokens": tokens,
    }


def _spent(ledger: Any) -> dict[str, Any]:
    return {} if ledger is None else {"spent": ledger.row()}


def _report(manifest: dict[str, Any], out: str, as_json: bool) -> None:
    judge = f"{shorten(manifest['judge'])}: {shorten(manifest['card'], 400)}"
    click.echo(f"judge {judge}", err=True)
    if as_json:
        click.echo(json.dumps(manifest, ensure_ascii=False))
        return
    counts = manifest["counts"]
    line = f"{counts['scored']} of {counts['asked']} scored by {shorten(manifest['judge'])}"
    if counts["unscored"]:
        reasons = ", ".join(f"{n} {shorten(reason, 40)}" for reason, n in counts["reasons"].items())
        line += f"; {counts['unscored']} unscored: {reasons}"
    click.echo(f"{line}; see {shorten(out, 200)}")
