"""`pnyx argue`: a cited pro and con argument on a question."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from pnyx._version import __version__
from pnyx.cli import EXIT_UNSCORED
from pnyx.cli.options import default_judge, json_option, model_options, open_model
from pnyx.cli.progress import watched
from pnyx.cli.searching import open_searcher, searching_options
from pnyx.cli.values import NumberRange
from pnyx.errors import shorten
from pnyx.records import CITATION_STYLES, SIDES

if TYPE_CHECKING:
    from pnyx.judge.completions import StoredModel
    from pnyx.records import CitationStyle
    from pnyx.write.argue import Plan
    from pnyx.write.case import Case
    from pnyx.write.draft import Writer

__all__ = ["case_json", "command", "question_id"]


def _output_options(function: Any) -> Any:
    for option in (
        click.option(
            "--style",
            type=click.Choice(CITATION_STYLES),
            default="ids",
            show_default=True,
            help="How --out writes citations; scores are the probabilities of support.",
        ),
        click.option("--md", type=click.Path(), help="Write the report as Markdown."),
        click.option("--html", type=click.Path(), help="Write the report as one HTML file."),
        click.option("--out", type=click.Path(), help="Write TREC RAG JSONL, one line a side."),
    ):
        function = option(function)
    return function


def _search_options(function: Any) -> Any:
    for option in (
        click.option(
            "--per-side",
            type=click.IntRange(1),
            default=8,
            show_default=True,
            help="Documents handed to the writer for each side.",
        ),
        click.option(
            "-k",
            "--retrieve",
            type=click.IntRange(1),
            default=30,
            show_default=True,
            help="Documents to retrieve and place on a side.",
        ),
        click.option(
            "--certainty",
            type=NumberRange(0.5, 1.0),
            default=0.6,
            show_default=True,
            help="Least probability with which a judge puts a document on a side.",
        ),
        searching_options,
    ):
        function = option(function)
    return function


def _writing_options(function: Any) -> Any:
    for option in (
        click.option(
            "--context",
            type=click.IntRange(100),
            default=6000,
            show_default=True,
            help="Tokens of documents shown to the language model for each side.",
        ),
        click.option(
            "--examples",
            type=click.Path(),
            default=None,
            help="JSONL of worked examples shown to the language model (few-shot).",
        ),
        click.option(
            "--points",
            type=click.IntRange(1),
            default=4,
            show_default=True,
            help="Conclusions to write for each side.",
        ),
        click.option(
            "--writer",
            type=click.Choice(["extractive", "llm"]),
            default=None,
            help="Who writes  [default: llm with --llm, else extractive].",
        ),
    ):
        function = option(function)
    return function


@click.command(name="argue")
@click.argument("index", type=click.Path())
@click.argument("question")
@click.option(
    "--stance",
    type=click.Choice([*SIDES, "both"]),
    default="both",
    show_default=True,
    help="Which side to argue.",
)
@click.option("--definition", default="", help="What makes a passage relevant, in words.")
@click.option("--id", "topic_id", default=None, help="Topic id  [default: from the question].")
@_output_options
@_search_options
@_writing_options
@model_options
@json_option
@click.pass_context
def command(ctx: click.Context, /, index: str, question: str, as_json: bool, **options: Any) -> int:
    """Argue a question from an index: each sentence cited, each citation judged.

    Without --llm the packaged judge decides and sentences are quoted, so no key and no network
    are needed. Without --out, --html and --md the report is printed as Markdown.

    \b
    Example:
      pnyx argue my.index "Should voting be compulsory?" --out answer.jsonl --html report.html
    """
    from pnyx.errors import InputError
    from pnyx.records import Question
    from pnyx.search.index import Index
    from pnyx.write.argue import argue

    if not question.strip():
        raise InputError("QUESTION is empty, expected a question")
    if re.search(r"[\ud800-\udfff]", question):  # bytes of the command line that are not UTF-8
        raise InputError("QUESTION is not UTF-8")
    opened = Index.open(index)
    topic = Question(
        options["topic_id"] or question_id(question), question, definition=options["definition"]
    )
    with (
        open_model(
            options["llm"], options["store"], options["concurrency"], options["timeout"]
        ) as model,
        watched(default_judge(model)) as judge,
    ):
        writer = _writer(model, options)
        searcher = open_searcher(ctx, opened, _of_search(options), model, judge)
        case = argue(searcher, topic, judge=judge, writer=writer, plan=_plan(options))
    case = with_settings(case, index=f"{index} ({len(opened):,} documents)")
    _write(case, options, as_json)
    _say(case)
    return 0 if case.complete else EXIT_UNSCORED


def _of_search(options: dict[str, Any]) -> dict[str, Any]:
    """Leave out what the search would understand in another way: here it is of the argument."""
    return {name: value for name, value in options.items() if name not in ("stance", "certainty")}


def _plan(options: dict[str, Any]) -> Plan:
    from pnyx.write.argue import Plan

    return Plan(
        sides=SIDES if options["stance"] == "both" else (options["stance"],),
        retrieve=options["retrieve"],
        certainty=options["certainty"],
        per_side=options["per_side"],
    )


def _writer(model: StoredModel | None, options: dict[str, Any]) -> Writer:
    kind = options["writer"] or ("extractive" if model is None else "llm")
    if options["examples"] and kind != "llm":
        raise click.UsageError("--examples are for a language model: they need --llm")
    if kind == "extractive":
        from pnyx.write.extractive import ExtractiveWriter

        return ExtractiveWriter(points=options["points"])
    if model is None:
        raise click.UsageError("--writer llm needs --llm")
    from pnyx.write.generate import LlmWriter, read_examples

    examples = read_examples(options["examples"]) if options["examples"] else ()
    return LlmWriter(model, points=options["points"], context=options["context"], examples=examples)


def question_id(question: str) -> str:
    """Make a topic id of a question: its words, joined by hyphens, at most 60 characters."""
    words = re.findall(r"\w+", question.casefold())
    return "-".join(words)[:60].strip("-") or "question"


def with_settings(case: Case, **more: str) -> Case:
    """Add what only the caller knows (which index), and the version."""
    return replace(case, settings={**more, **case.settings, "version": f"pnyx {__version__}"})


def case_json(case: Case) -> dict[str, Any]:
    """Return what `--json` prints: responses, verdicts, measures, judges and settings."""
    from pnyx.corpora import response_row
    from pnyx.write.case import verdict_rows

    verdicts = list(verdict_rows(case))
    return {
        "question": {"id": case.question.id, "text": case.question.text},
        "sides": [
            {
                "stance": side.side,
                "response": response_row(side.response),
                "verdicts": [row for row in verdicts if row["side"] == side.side],
                "measures": {name: m.row() for name, m in side.measures.items()},
                "considered": side.considered,
                "problems": list(side.problems),
            }
            for side in case.sides
        ],
        "judges": dict(case.judges),
        "settings": dict(case.settings),
        "undecided": case.undecided,
        "unscored": case.unscored + case.search_unscored,
        "search_problems": list(case.search_problems),
    }


def _write(case: Case, options: dict[str, Any], as_json: bool) -> None:
    from pnyx.files import atomic_text

    if options["out"]:
        write_responses_file(options["out"], [case], options["style"])
    if options["html"]:
        from pnyx.view.report import render_html

        with atomic_text(options["html"]) as stream:
            stream.write(render_html(case))
    if options["md"] or not (options["out"] or options["html"] or as_json):
        from pnyx.view.markdown import render_markdown

        with atomic_text(options["md"] or "-") as stream:
            stream.write(render_markdown(case))
    if as_json:
        click.echo(json.dumps(case_json(case), ensure_ascii=False, indent=2))


def write_responses_file(path: str, cases: list[Case], style: CitationStyle) -> None:
    """Write the responses of cases as TREC RAG JSONL; a side without evidence is an empty answer.

    Campaigns want a line for each topic, and an absent line cannot be told from a lost one.
    """
    from pnyx.corpora import write_responses
    from pnyx.files import atomic_text
    from pnyx.write.case import scored_response

    sides = [side for case in cases for side in case.sides]
    responses = [scored_response(s) if style == "scores" else s.response for s in sides]
    with atomic_text(path) as stream:
        write_responses(stream, responses, style)


def _say(case: Case) -> None:
    """Sum up on stderr, so that stdout stays a pipe."""
    for side in case.sides:
        measured = side.measures["sentence_precision"]
        count = len(side.response.sentences)
        if not side.considered:
            found = (
                "passage was put on this side"
                if case.unscored
                else "evidence for this side was found"
            )
            click.echo(f"{side.side}: no {found}", err=True)
            continue
        share = "nothing scored" if measured.value is None else f"{measured.value:.2f}"
        click.echo(
            f"{side.side}: {count} sentences from {len(side.response.references)} documents; "
            f"sentence precision {share} ({measured.scored} of {measured.asked} scored)",
            err=True,
        )
        for problem in side.problems:
            click.echo(f"  {problem}", err=True)
    for problem in case.search_problems:
        click.echo(f"search: {problem}", err=True)
    if case.unscored:
        reason = shorten(case.unscored_reason, 200)
        click.echo(f"a verdict is missing on {case.unscored} passages: {reason}", err=True)
    for name, card in case.judges.items():
        click.echo(f"judge {name}: {card}" if card else f"judge {name}", err=True)
