"""`pnyx judge`: a judge's answers to a task's questions over an items file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pnyx.cli import EXIT_INTERRUPTED, EXIT_UNSCORED
from pnyx.cli.judging import (
    Opened,
    asking_options,
    combining_options,
    open_judge,
    prices_of,
)
from pnyx.cli.options import json_option, model_options, spending_options
from pnyx.cli.progress import watched
from pnyx.errors import ModelError, shorten
from pnyx.judge.tasks import TASKS

if TYPE_CHECKING:
    from pnyx.judge.answers import Answer
    from pnyx.judge.questions import JudgeQuestion

__all__ = ["command"]

_HELP = """Answer a task's question for each line of ITEMS (JSONL; - is standard input).

\b
support     does the text support the statement?       id, text, statement
relevance   does the document help with the question?  id, question, document
stance      does the text argue for this side?         id, text, question, stance
quality     how good is it, on 15 dimensions?          id, text
preference  which of two arguments is better?          id, a, b, question
ranking     in what order do they serve the query?     id, query, documents

RESULTS gets answers.jsonl, in the order of ITEMS, and manifest.json. Every reply of a language
model is kept in the judgement store: the same command again, even after a crash, asks only
what is missing. Exit status 3: finished, but some items are unscored.
"""

_EXAMPLE = """\b
Example:
  echo '{"id": "1", "text": "Fares fell.", "statement": "Buses got cheaper."}' > items.jsonl
  pnyx judge support items.jsonl --out results
  pnyx judge support items.jsonl --llm http://127.0.0.1:8000/v1#my-model --plan
  pnyx judge support items.jsonl --llm http://127.0.0.1:8000/v1#my-model --out results-llm
  pnyx judge relevance --run run.trec --index my.index --topics topics.tsv --out judged
"""


@click.command(name="judge", help=_HELP, epilog=_EXAMPLE)
@click.argument("task", type=click.Choice(list(TASKS)))
@click.argument("items", required=False)
@click.option("--out", metavar="RESULTS", help="Results folder to write; needed without --plan.")
@click.option("--run", metavar="RUN", help="relevance: judge the documents of this TREC run.")
@click.option("--index", metavar="INDEX", help="Index that holds the documents of --run.")
@click.option("--topics", metavar="FILE", help="Questions of --run.")
@click.option(
    "--depth",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Documents of each topic of --run.",
)
@combining_options
@asking_options
@model_options
@spending_options
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    task: str,
    items: str | None,
    out: str | None,
    run: str | None,
    index: str | None,
    topics: str | None,
    depth: int,
    plan: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Judge an items file; see `_HELP`."""
    _check(context, out, plan, options)
    source, questions = _questions(task, items, run, index, topics, depth)
    named = options.pop("llm")
    llm = () if options["labels"] or options["lookup"] else named
    options["offline"] = options["offline"] or plan
    with open_judge(TASKS[task], llm, **options) as opened:
        if plan:
            from pnyx.cli.planning import print_plan

            prices = prices_of(options)
            names = [model.name for model in opened.models]
            return print_plan(opened, questions, {n: prices(n) for n in names}, as_json)
        try:
            manifest = _run(task, source, questions, str(out), opened)
        except KeyboardInterrupt:
            click.echo("pnyx: interrupted; the same command resumes where it stopped", err=True)
            return EXIT_INTERRUPTED
    _report(manifest, str(out), as_json)
    return EXIT_UNSCORED if manifest["counts"]["unscored"] else 0


def _check(context: click.Context, out: str | None, plan: bool, options: dict[str, Any]) -> None:
    """Refuse options that exclude each other."""
    if out is None and not plan:
        raise click.UsageError("Missing option '--out'.")
    sources = [name for name in ("labels", "lookup") if options[name] is not None]
    if context.get_parameter_source("llm") is ParameterSource.COMMANDLINE:
        sources.insert(0, "llm")
    if len(sources) > 1:
        raise click.UsageError(f"--{sources[0]} and --{sources[1]} exclude each other")
    if options["cheap"] is not None and options["cascade"] is None:
        raise click.UsageError("--cheap is for --cascade")
    _check_used(context, sources, options)


_FOR_MODELS = (
    *("prompt", "probability", "batch", "temperature", "max_tokens", "samples", "combine"),
    *("budget", "budget_tokens", "prices", "offline", "cascade"),
)
"""Options that mean nothing unless a language model is asked."""


def _check_used(context: click.Context, sources: list[str], options: dict[str, Any]) -> None:
    """Refuse options that would change nothing: whoever gives one means it."""
    answered = [name for name in ("labels", "lookup") if name in sources]
    if options["llm"] and not answered:
        return
    for name in (*_FOR_MODELS, *(["calibration"] if answered else [])):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            flag = "--from-store" if name == "offline" else f"--{name.replace('_', '-')}"
            if answered:
                raise click.UsageError(f"{flag} and --{answered[0]} exclude each other")
            raise click.UsageError(f"{flag} is for a language model: it needs --llm")


def _questions(
    task: str,
    items: str | None,
    run: str | None,
    index: str | None,
    topics: str | None,
    depth: int,
) -> tuple[str, Sequence[JudgeQuestion]]:
    """Return where the questions come from, and the questions."""
    if items is not None and run is index is topics is None:
        return items, TASKS[task].read(items)
    if items is not None or run is None or index is None or topics is None or task != "relevance":
        raise click.UsageError("expected ITEMS, or, for relevance, --run with --index and --topics")
    from pnyx.cli.judge_run import items_of_run

    return run, items_of_run(run, index, topics, depth)


def _run(
    task: str, source: str, questions: Sequence[JudgeQuestion], out: str, opened: Opened
) -> dict[str, Any]:
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
        return results.finish(answers, _facts(source, questions, opened))


def _facts(source: str, questions: Sequence[JudgeQuestion], opened: Opened) -> dict[str, Any]:
    """Return what the manifest says of the judge and of what was sent."""
    facts: dict[str, Any] = {
        "items": {"path": source, "count": len(questions)},
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
            "path": str(opened.models[0].store.path),
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
