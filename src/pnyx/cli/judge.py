"""`pnyx judge`: a judge's answers to a task's questions over an items file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli.answering import answer_into, check_options
from pnyx.cli.judging import asking_options, combining_options
from pnyx.cli.options import json_option, model_options, spending_options
from pnyx.judge.tasks import TASKS

if TYPE_CHECKING:
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
    **options: Any,
) -> int:
    """Judge an items file; see `_HELP`."""
    check_options(context, out, options)
    source, questions = _questions(task, items, run, index, topics, depth)
    return answer_into(out, task, source, questions, options)


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
