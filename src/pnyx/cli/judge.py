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
    from pnyx.runs.pairs import PairSource

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
  pnyx judge support --run bm25.run --run dense.run --index my.index \\
    --perspectives views.jsonl --depth 5 --out covered
  pnyx judge support pairs.jsonl --as-perspectives --out detected
"""


@click.command(name="judge", help=_HELP, epilog=_EXAMPLE)
@click.argument("task", type=click.Choice(list(TASKS)))
@click.argument("items", required=False)
@click.option("--out", metavar="RESULTS", help="Results folder to write; needed without --plan.")
@click.option(
    "--run",
    "runs",
    multiple=True,
    metavar="RUN",
    help="relevance, support: judge the documents of this TREC run. support takes several; each "
    "pair is asked about once.",
)
@click.option("--index", metavar="INDEX", help="Index that holds the documents of --run.")
@click.option("--topics", metavar="FILE", help="relevance: the questions of --run.")
@click.option(
    "--perspectives",
    metavar="FILE",
    help="support: the perspectives on the questions of --run (JSONL; also BERDS's).",
)
@click.option(
    "--as-perspectives",
    is_flag=True,
    help="support: ITEMS asks whether a text speaks for a perspective, as --perspectives does, not "
    "whether a statement follows from it.",
)
@click.option(
    "--depth",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Documents of each topic of --run.",
)
@click.option(
    "--words",
    type=click.IntRange(0),
    help="support: longest passage that is judged by itself; 0 leaves documents whole  "
    "[default: 100, as in BERDS].",
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
    **options: Any,
) -> int:
    """Judge an items file; see `_HELP`."""
    names = ("runs", "index", "topics", "perspectives", "depth", "words")
    pool = {name: options.pop(name) for name in names}
    check_options(context, out, options)
    source, questions = _questions(task, items, pool)
    if options["as_perspectives"] and task != "support":
        raise click.UsageError(f"--as-perspectives goes with support, not {task}")
    options["as_perspectives"] |= pool["perspectives"] is not None
    return answer_into(out, task, source, questions, options)


def _questions(
    task: str, items: str | None, pool: dict[str, Any]
) -> tuple[str, PairSource | Sequence[JudgeQuestion]]:
    """Return where the questions come from, and the questions."""
    runs, index, topics = pool["runs"], pool["index"], pool["topics"]
    perspectives, words = pool["perspectives"], pool["words"]
    if words is not None and perspectives is None:
        raise click.UsageError("--words goes with --perspectives")
    if items is not None and not runs and index is topics is perspectives is None:
        return items, TASKS[task].read(items)
    relevance = task == "relevance" and topics is not None and len(runs) == 1
    support = task == "support" and perspectives is not None and topics is None
    if (
        items is not None
        or not runs
        or index is None
        or not ((relevance and perspectives is None) or support)
    ):
        raise click.UsageError(
            "expected ITEMS, or, for relevance, --run with --index and --topics, or, for support, "
            "--run with --index and --perspectives"
        )
    from pnyx.judge.perspectives import PASSAGE_WORDS
    from pnyx.runs.pairs import pairs_of_perspectives, pairs_of_run

    if relevance:
        return runs[0], pairs_of_run(runs[0], index, topics, pool["depth"], by_document=False)
    words = PASSAGE_WORDS if words is None else words
    return ", ".join(runs), pairs_of_perspectives(runs, index, perspectives, pool["depth"], words)
