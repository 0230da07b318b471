"""`pnyx annotate`: relevance labels at scale, from definitions to pairs (DIRAS)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli import EXIT_UNSCORED
from pnyx.cli.annotate_apply import apply
from pnyx.cli.annotate_distil import distil
from pnyx.cli.annotate_label import label
from pnyx.cli.annotate_review import review
from pnyx.cli.options import (
    default_judge,
    json_option,
    model_options,
    open_model,
    warn,
    warn_undefined,
)
from pnyx.cli.searching import asks_model, open_searcher, searching_options
from pnyx.errors import InputError, shorten

if TYPE_CHECKING:
    from pnyx.annotate.sampling import SampledPair
    from pnyx.records import Question

__all__ = ["command"]


@click.group(name="annotate", no_args_is_help=True)
def command() -> None:
    """Annotate relevance at scale: from definitions and a teacher's labels to a small judge.

    \b
    Example:
      pnyx annotate define questions.jsonl --llm openai:gpt-4o-mini --out questions.md
      pnyx annotate sample my.index questions.md --out pairs.jsonl
      pnyx annotate label pairs.jsonl --llm openai:gpt-4o-mini --out labels
      pnyx annotate distil labels --out student
      pnyx annotate apply --all --index my.index --topics questions.md --student student \\
        --out annotations.jsonl
    """


@command.command()
@click.argument("questions", type=click.Path())
@click.option(
    "--out",
    required=True,
    type=click.Path(),
    help="Questions with definitions: Markdown for .md, else JSONL; - is stdout.",
)
@click.option(
    "--examples",
    type=click.Path(),
    help="Passages that people found relevant, as relevance items with question_id.",
)
@model_options
@json_option
def define(questions: str, out: str, examples: str | None, as_json: bool, **options: Any) -> int:
    """Draft what is relevant to each of QUESTIONS (any questions file) that has no definition.

    From the question alone, or (--examples) with passages that were found relevant. Edit the
    result: it decides what every later step counts as relevant. Exit status 3: the model gave no
    usable definition for some questions; they are written without one.

    \b
    Example:
      pnyx annotate define questions.jsonl --llm openai:gpt-4o-mini --out questions.md
    """
    from pnyx.annotate.definitions import draft_definitions
    from pnyx.corpora import read_questions

    if as_json and out == "-":
        raise click.UsageError("--json and --out - both write to standard output")
    asked = list(read_questions(questions))
    shown = _examples(examples, asked) if examples is not None else {}
    settings = (options["store"], options["concurrency"], options["timeout"])
    with open_model(options["llm"], *settings) as model:
        if model is None:
            raise click.UsageError("a language model drafts definitions: it needs --llm")
        drafted = draft_definitions(asked, model, shown)
    for one in drafted:
        for problem in one.problems:
            warn(f"{shorten(one.question.id, 40)}: {problem}")
    _write_questions(out, (one.question for one in drafted))
    failed = sum(one.failed for one in drafted)
    if as_json:
        had = sum(bool(question.definition.strip()) for question in asked)
        drafts = len(asked) - had - failed
        click.echo(json.dumps({"questions": len(asked), "drafted": drafts, "failed": failed}))
    return EXIT_UNSCORED if failed else 0


def _examples(path: str, asked: list[Question]) -> dict[str, list[str]]:
    """Read relevant passages by question."""
    from pnyx.files import read_jsonl

    known = {question.id for question in asked}
    found: dict[str, list[str]] = {}
    for number, row in read_jsonl(path):
        topic, text = row.get("question_id"), row.get("document")
        if not isinstance(text, str) or not text.strip():
            raise InputError("document: expected a text", path=path, line=number)
        if topic not in known:
            shown = shorten(str(topic), 40)
            raise InputError(f"question_id {shown!r} is no question's", path=path, line=number)
        found.setdefault(str(topic), []).append(text)
    return found


def _write_questions(out: str, questions: Iterable[Question]) -> None:
    from pnyx.corpora.guidelines import write_guidelines
    from pnyx.corpora.questions import write_questions
    from pnyx.files import atomic_text

    write = (
        write_guidelines if Path(out).suffix.lower() in (".md", ".markdown") else write_questions
    )
    with atomic_text(out) as stream:
        write(stream, questions)


@command.command()
@click.argument("index", type=click.Path())
@click.argument("questions", type=click.Path())
@click.option("--out", required=True, type=click.Path(), help="Relevance items; - is stdout.")
@click.option(
    "-k", type=click.IntRange(1), default=20, show_default=True, help="Documents that are the top."
)
@click.option(
    "--top",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="Drawn of the top, for each question.",
)
@click.option(
    "--rest",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="Drawn of all other documents.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the draw.")
@searching_options
@model_options
@json_option
@click.pass_context
def sample(
    ctx: click.Context, /, index: str, questions: str, out: str, as_json: bool, **options: Any
) -> int:
    """Draw pairs of QUESTIONS and documents of INDEX: some near the top, as many of the rest.

    Each line is a relevance item with its question's definition, its stratum, its rank, and the
    weight that undoes the draw. A question's draw does not depend on the other questions.

    \b
    Example:
      pnyx annotate sample my.index questions.md --model hybrid --out pairs.jsonl
    """
    from pnyx.annotate.sampling import PairSample, sample_pairs
    from pnyx.corpora import read_questions
    from pnyx.files import atomic_text, json_line
    from pnyx.search.index import Index

    if as_json and out == "-":
        raise click.UsageError("--json and --out - both write to standard output")
    plan = PairSample(options["k"], options["top"], options["rest"], options["seed"])
    asked = list(read_questions(questions))
    opened = Index.open(index)
    llm = options["llm"] if asks_model(options) else ()
    settings = (options["store"], options["concurrency"], options["timeout"])
    counts: Counter[str] = Counter()
    with open_model(llm, *settings) as model, atomic_text(out) as stream:
        judge = default_judge(model) if model is not None else None
        searcher = open_searcher(ctx, opened, options, model, judge)
        for pair in _counted(sample_pairs(searcher, asked, plan), counts):
            stream.write(json_line(pair.row()) + "\n")
    warn_undefined(sum(not question.definition for question in asked), len(asked))
    if as_json:
        click.echo(json.dumps({"questions": len(asked), **counts}))
    else:
        parts = f"{counts['top']} of the top {plan.k}, {counts['rest']} of the rest"
        click.echo(f"{sum(counts.values())} pairs of {len(asked)} questions: {parts}", err=True)
    return 0


def _counted(pairs: Iterable[SampledPair], counts: Counter[str]) -> Iterator[SampledPair]:
    for pair in pairs:
        counts[pair.stratum] += 1
        yield pair


for _command in (label, distil, apply, review):
    command.add_command(_command)
