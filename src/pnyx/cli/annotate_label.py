"""`pnyx annotate label`: the teacher's verdict on each pair of question and document."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pnyx.cli import EXIT_UNSCORED
from pnyx.cli.answering import answer_into, check_options
from pnyx.cli.judging import asked_models, asking_options, combining_options
from pnyx.cli.options import (
    json_option,
    model_options,
    spending_options,
    warn,
    warn_undefined,
)
from pnyx.errors import InputError

if TYPE_CHECKING:
    from pnyx.judge.answers import Answer
    from pnyx.judge.base import Judge
    from pnyx.judge.questions import Support

__all__ = ["RANKING", "label"]

RANKING = "ranking.trec"
"""Name of the run in a results folder of `--form listwise`."""

_FORM = "form"
_POINTWISE_ONLY = (
    *("reason", "probability", "examples", "prompt", "batch", "labels", "lookup"),
    *("calibration", "cascade", "cheap"),
)


@click.command()
@click.argument("items", type=click.Path())
@click.option("--out", metavar="RESULTS", help="Results folder to write; needed without --plan.")
@click.option(
    "--form",
    type=click.Choice(["guess", "probability", "listwise"]),
    default="guess",
    show_default=True,
    help="Asked for: the guess and how sure it is; the guess and the probability of relevance; or "
    "an order of each question's documents, as ranking.trec in place of labels.",
)
@click.option(
    "--reason/--no-reason",
    default=True,
    show_default=True,
    help="Let the model give a reason before its guess, or guess at once.",
)
@click.option(
    "--definition/--no-definition",
    default=True,
    show_default=True,
    help="Tell the model what is relevant to the question, or leave it to the question's words.",
)
@click.option("--examples", metavar="FILE", help="Labelled pairs to show the model some of.")
@click.option(
    "--shots",
    type=click.IntRange(2),
    default=4,
    show_default=True,
    help="Examples shown with each item: half of them relevant, never the item itself.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the choice of --examples.")
@click.option(
    "--window",
    type=click.IntRange(2),
    default=20,
    show_default=True,
    help="listwise: documents that the model orders at once.",
)
@click.option(
    "--step",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="listwise: by how many documents the window moves, from the back to the front.",
)
@combining_options
@asking_options
@model_options
@spending_options
@json_option
@click.pass_context
def label(context: click.Context, /, items: str, out: str | None, **options: Any) -> int:
    """Let a teacher judge each pair of ITEMS (relevance items, as sample writes them).

    RESULTS gets labelled.jsonl, each line of ITEMS with the verdict, beside the answers.jsonl and
    manifest.json of pnyx judge. The teacher is a language model, what people said (--labels), or
    a former run (--lookup). The same command again, even after a crash, asks only what is missing.
    Exit status 3: some pairs are unscored; the others can be used.

    \b
    Example:
      pnyx annotate label pairs.jsonl --llm openai:gpt-4o-mini --out labels
      pnyx annotate label pairs.jsonl --labels people.jsonl --out labels
      pnyx annotate label pairs.jsonl --llm openai:gpt-4o-mini --form listwise --out ranked
    """
    check_options(context, out, options)
    _check_form(context, options)
    if options[_FORM] == "listwise":
        return _rank(items, out, options)
    return _label(items, out, options)


def _check_form(context: click.Context, options: dict[str, Any]) -> None:
    """Refuse options that would change nothing: whoever gives one means it."""
    given = {
        name
        for name in options
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    listwise = options[_FORM] == "listwise"
    answered = options["labels"] is not None or options["lookup"] is not None
    needs = (
        (("window", "step"), listwise, "is for --form listwise"),
        (_POINTWISE_ONLY, not listwise, "does not go with --form listwise"),
        (("shots", "seed"), options["examples"] is not None, "is for --examples"),
        (
            ("form", "reason", "examples"),
            options["prompt"] is None,
            "and --prompt exclude each other",
        ),
        (("examples",), options["form"] != "probability", "does not go with --form probability"),
        (("definition",), not answered, "does not go with --labels or --lookup"),
        (
            ("form", "reason", "examples"),
            bool(asked_models(options)),
            "is for a language model: it needs --llm",
        ),
    )
    for names, allowed, problem in needs:
        for name in names:
            if name in given and not allowed:
                raise click.UsageError(f"{_flag(name, options[name])} {problem}")


def _flag(name: str, value: Any) -> str:
    negated = name in ("reason", "definition") and value is False
    return f"--{'no-' if negated else ''}{name.replace('_', '-')}"


def _own(options: dict[str, Any]) -> dict[str, Any]:
    """Take the options that are this command's own out of the judge's."""
    names = (_FORM, "reason", "definition", "examples", "shots", "seed", "window", "step")
    return {name: options.pop(name) for name in names}


def _read(items: str, own: Mapping[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    """Return the items with their lines, and say which questions have no definition."""
    from pnyx.annotate.labelled import group_of
    from pnyx.corpora import read_items
    from pnyx.judge.tasks import TASKS

    rows = list(read_items(items, TASKS["relevance"].items))
    asked = {group_of(row) for _, row in rows}
    defined = {group_of(row) for _, row in rows if (row.get("definition") or "").strip()}
    if own["definition"]:
        warn_undefined(len(asked) - len(defined), len(asked))
    return rows


def _label(items: str, out: str | None, options: dict[str, Any]) -> int:
    """Judge each pair by itself."""
    from pnyx.annotate.labelled import LABELLED, labelled_row
    from pnyx.files import atomic_text, json_line

    own = _own(options)
    asks_model = bool(asked_models(options))
    if asks_model and options["prompt"] is None:
        options["prompt"] = _prompt(own)
    if own[_FORM] == "probability" and options["probability"] == "auto":
        options["probability"] = "ask"  # the prompt asks for it in words
    rows = _labellable(items, own)
    questions = _questions(rows, own)

    def write(answers: Sequence[Answer]) -> None:
        with atomic_text(Path(str(out)) / LABELLED) as stream:
            for row, answer in zip(rows, answers, strict=True):
                stream.write(json_line(labelled_row(row, answer)) + "\n")

    names = [_FORM, "reason", "definition"] if asks_model else []
    names += ["examples", "shots", "seed"] if own["examples"] is not None else []
    settings = {name: own[name] for name in names}
    return answer_into(out, "relevance", items, questions, options, settings=settings, also=write)


def _labellable(items: str, own: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the items, whose labels are sure to be readable again: a bad weight costs nothing."""
    from pnyx.annotate.labelled import FORMAT, labelled_row
    from pnyx.corpora.items import ITEM_FORMATS
    from pnyx.judge.answers import Provenance, Unscored

    rows = _read(items, own)
    for line, row in rows:
        try:
            ITEM_FORMATS[FORMAT].parse(labelled_row(row, Unscored("not asked", Provenance(""))))
        except InputError as error:
            raise InputError(error.problem, path=items, line=line) from error
    return [row for _, row in rows]


def _prompt(own: Mapping[str, Any]) -> str:
    """Return the packaged prompt that asks in this way."""
    kind = "-examples" if own["examples"] is not None else ""
    kind = "-probability" if own[_FORM] == "probability" else kind
    return f"relevance{kind}{'' if own['reason'] else '-direct'}"


def _questions(rows: Sequence[Mapping[str, Any]], own: Mapping[str, Any]) -> list[Support]:
    from pnyx.judge.tasks import question_of

    questions = [question_of(row) for row in rows]
    if not own["definition"]:
        questions = [replace(question, guideline="") for question in questions]
    if own["examples"] is None:
        return questions
    from pnyx.annotate.labelled import read_labelled
    from pnyx.annotate.shots import ShotPool

    pairs = list(read_labelled(own["examples"]))
    try:
        pool = ShotPool(pairs, own["shots"], own["seed"])
        shots = [pool.shots(row) for row in rows]
    except InputError as error:
        raise InputError(error.problem, path=own["examples"]) from error
    return [replace(q, shots=shown) for q, shown in zip(questions, shots, strict=True)]


def _rank(items: str, out: str | None, options: dict[str, Any]) -> int:
    """Put the documents of each question in order."""
    from pnyx.annotate.listwise import SlidingJudge, listed_by_question, write_ranking
    from pnyx.files import atomic_text
    from pnyx.judge.answers import Provenance, Unscored
    from pnyx.search.rerank import Listwise

    own = _own(options)
    how, plan = Listwise(own["window"], own["step"]), options["plan"]
    listed = listed_by_question(_read(items, own), items, definition=own["definition"])
    nothing = [Unscored("not asked", Provenance(""))] * len(listed)
    try:
        write_ranking(io.StringIO(), listed, nothing)  # ids that do not fit cost nothing yet
    except InputError as error:
        raise InputError(error.problem, path=items) from error
    sliding: list[SlidingJudge] = []

    def adapt(judge: Judge) -> Judge:
        sliding.append(SlidingJudge(judge, how))
        return sliding[0]

    def write(answers: Sequence[Answer]) -> None:
        with atomic_text(Path(str(out)) / RANKING) as stream:
            write_ranking(stream, listed, answers, answers[0].provenance.judge)
        _say(sliding[0].counts)

    settings = {name: own[name] for name in (_FORM, "definition", "window", "step")}
    asked = [one.ranking for one in listed]
    status = answer_into(
        out, "ranking", items, asked, options, settings=settings, adapt=adapt, also=write
    )
    return EXIT_UNSCORED if status == 0 and not plan and sliding[0].counts["kept"] else status


def _say(counts: Mapping[str, int]) -> None:
    """Say in one line what went wrong in the windows, if anything did."""
    said = {
        "kept": "got no answer and kept their order",
        "missing": "times a document was left out; it stays behind the rest",
        "repeated": "times one was named twice; the first counts",
        "invented": "times one was named that was not there",
        "trimmed": "documents were trimmed to 300 words",
    }
    parts = [f"{counts[name]} {what}" for name, what in said.items() if counts[name]]
    if parts:
        warn(f"of {counts['windows']} windows {'; '.join(parts)}")
