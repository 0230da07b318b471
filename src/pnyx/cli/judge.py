"""`pnyx judge`: a judge's answers to a task's questions over an items file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pnyx.cli import EXIT_INTERRUPTED, EXIT_UNSCORED
from pnyx.cli.options import default_judge, json_option, model_options, open_model
from pnyx.cli.progress import watched
from pnyx.errors import ModelError, shorten
from pnyx.judge.tasks import TASKS

if TYPE_CHECKING:
    from pnyx.judge.answers import Answer
    from pnyx.judge.base import Judge
    from pnyx.judge.completions import StoredModel
    from pnyx.judge.questions import Support

__all__ = ["command"]

_HELP = """Answer a task's question for each line of ITEMS (JSONL; - is standard input).

\b
support    does the text support the statement?       id, text, statement
relevance  does the document help with the question?  id, question, document
stance     does the text argue for this side?         id, text, question, stance

RESULTS gets answers.jsonl, in the order of ITEMS, and manifest.json. Every reply of a language
model is kept in the judgement store: the same command again, even after a crash, asks only
what is missing. Exit status 3: finished, but some items are unscored.
"""

_EXAMPLE = """\b
Example:
  echo '{"id": "1", "text": "Fares fell.", "statement": "Buses got cheaper."}' > items.jsonl
  pnyx judge support items.jsonl --out results
  pnyx judge support items.jsonl --out results-llm --llm http://127.0.0.1:8000/v1#my-model
  pnyx judge relevance --run run.trec --index my.index --topics topics.tsv --out judged
"""


@click.command(name="judge", help=_HELP, epilog=_EXAMPLE)
@click.argument("task", type=click.Choice(list(TASKS)))
@click.argument("items", required=False)
@click.option("--out", required=True, metavar="RESULTS", help="Results folder to write.")
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
@click.option("--labels", metavar="FILE", help="Answer from people's labels in this JSONL file.")
@model_options
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    task: str,
    items: str | None,
    out: str,
    labels: str | None,
    llm: str | None,
    store: str | None,
    concurrency: int,
    timeout: float,
    as_json: bool,
    **ranking: Any,
) -> int:
    """Judge an items file; see `_HELP`."""
    named = context.get_parameter_source("llm") is ParameterSource.COMMANDLINE
    if labels is not None and named:
        raise click.UsageError("--llm and --labels exclude each other")
    source, questions = _questions(task, items, **ranking)
    with open_model(None if labels else llm, store, concurrency, timeout) as model:
        judge = default_judge(model) if labels is None else _label_judge(labels)
        try:
            manifest = _run(task, source, questions, out, judge, model)
        except KeyboardInterrupt:
            click.echo("pnyx: interrupted; the same command resumes where it stopped", err=True)
            return EXIT_INTERRUPTED
    _report(manifest, out, as_json)
    return EXIT_UNSCORED if manifest["counts"]["unscored"] else 0


def _questions(
    task: str,
    items: str | None,
    run: str | None,
    index: str | None,
    topics: str | None,
    depth: int,
) -> tuple[str, list[Support]]:
    """Return where the questions come from, and the questions."""
    if items is not None and run is index is topics is None:
        return items, TASKS[task].read(items)
    if items is not None or run is None or index is None or topics is None or task != "relevance":
        raise click.UsageError("expected ITEMS, or, for relevance, --run with --index and --topics")
    from pnyx.cli.judge_run import items_of_run

    return run, items_of_run(run, index, topics, depth)


def _label_judge(path: str) -> Judge:
    from pnyx.judge.labels import HumanLabels

    return HumanLabels(path)


def _run(
    task: str,
    source: str,
    questions: list[Support],
    out: str,
    judge: Judge,
    model: StoredModel | None,
) -> dict[str, Any]:
    from pnyx.judge.base import ask
    from pnyx.judge.results import Results

    results = Results(out, task=task, judge=judge.name, questions=questions)
    arrived = 0
    with results.writing(), watched(judge) as watched_judge:

        def receive(position: int, answer: Answer) -> None:
            nonlocal arrived
            results.add(position, answer)
            arrived += 1

        try:
            answers = ask(watched_judge, questions, receive)
        except ModelError as error:
            kept = f"; {arrived} of {len(questions)} were answered and are kept" if arrived else ""
            raise ModelError(f"{error}{kept}") from error
        return results.finish(answers, _facts(task, source, judge, questions, model))


def _facts(
    task: str, source: str, judge: Judge, questions: Sequence[Support], model: StoredModel | None
) -> dict[str, Any]:
    """Return what the manifest says of the judge and of what was sent."""
    facts: dict[str, Any] = {
        "items": {"path": source, "count": len(questions)},
        "card": judge.card,
    }
    if model is None:
        return facts
    from pnyx.judge.prompting import load_prompt

    prompt, counts = load_prompt(TASKS[task].prompt), model.counts
    return facts | {
        "model": {
            "name": model.endpoint.model,
            "endpoint": model.endpoint.address,
            "response_format": model.endpoint.response_format,
        },
        "prompts": [{"name": prompt.name, "version": prompt.version, "hash": prompt.hash}],
        "store": {
            "path": str(model.store.path),
            "from_store": counts.from_store,
            "asked": counts.asked,
            "shared": counts.shared,
            "failed": counts.failed,
            "retries": model.endpoint.retries,
        },
        "tokens": counts.tokens,
    }


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
