"""`pnyx search`: ranked evidence for a question, or a TREC run for a file of topics."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli import EXIT_UNSCORED
from pnyx.cli.options import default_judge, json_option, model_options, open_model, warn
from pnyx.cli.progress import watched
from pnyx.cli.searching import asks_model, open_searcher, searching_options
from pnyx.cli.values import Number
from pnyx.errors import InputError, shorten

if TYPE_CHECKING:
    from pnyx.judge.base import Judge
    from pnyx.judge.completions import StoredModel
    from pnyx.records import Evidence
    from pnyx.search.engine import Engine, Hit, Topic
    from pnyx.search.pipeline import Found, Searcher

__all__ = ["command"]

_EXCERPT_CHARS = 160
_RUN = 1000
_SHOWN_TOPICS = 5


@click.command(name="search")
@click.argument("index", type=click.Path())
@click.argument("question", required=False)
@click.option(
    "-k",
    type=click.IntRange(1),
    help="Documents a question  [default: 10; 1000 with --topics; all with --threshold].",
)
@click.option("--topics", type=click.Path(), help="File of topics, instead of one question.")
@click.option("--out", type=click.Path(), help="TREC run to write, with --topics; - is stdout.")
@click.option("--tag", help="Run tag, with --topics  [default: the model and what follows it].")
@searching_options
@click.option(
    "--stance",
    type=click.Choice(["pro", "con"]),
    help="Put the documents on this side of the question first.",
)
@click.option(
    "--certainty",
    type=Number(),
    help="With --stance: least probability with which a judge tells a side  [default: 0.6].",
)
@model_options
@json_option
@click.pass_context
def command(
    ctx: click.Context, /, index: str, question: str | None, as_json: bool, **options: Any
) -> int:
    """Rank the documents of INDEX for QUESTION, which is plain text: there is no query language.

    With --json a list of hits; `cluster` is there where the index has topic clusters, `side` with
    --stance, `probability` (of being relevant) where documents are judged one by one. Exit status
    3: a judge or a language model left something unanswered.

    \b
    Example:
      pnyx search my.index "Should voting be compulsory?" --model touche --diversify mmr -k 5
      pnyx search my.index --topics topics.jsonl --out run.trec
      pnyx search my.index "Should voting be compulsory?" --threshold 0.7
    """
    from pnyx.search.index import Index

    _check_usage(question, as_json, options)
    opened = Index.open(index)
    llm = options["llm"] if asks_model(options) else ()
    settings = (options["store"], options["concurrency"], options["timeout"])
    with open_model(llm, *settings) as model, _judge(model, options) as judge:
        searcher = open_searcher(ctx, opened, options, model, judge)
        if options["topics"] is not None:
            return _write_run(searcher, options)
        return _show(searcher, str(question), options["k"], as_json)


def _check_usage(question: str | None, as_json: bool, options: dict[str, Any]) -> None:
    topics, tag = options["topics"], options["tag"]
    if (question is None) == (topics is None):
        raise click.UsageError("give either a QUESTION or --topics FILE")
    if (topics is None) != (options["out"] is None):
        raise click.UsageError("--topics and --out go together")
    if topics is None and tag is not None:
        raise click.UsageError("--tag names a run: it goes with --topics")
    if topics is not None and as_json:
        raise click.UsageError("--json goes with a QUESTION; --topics writes a TREC run")
    if tag is not None and (not tag or tag.split() != [tag]):
        raise InputError(f"--tag is {shorten(tag, 40)!r}, expected one word without spaces")
    if options["certainty"] is not None and options["stance"] is None:
        raise click.UsageError("--certainty goes with --stance")


@contextlib.contextmanager
def _judge(model: StoredModel | None, options: dict[str, Any]) -> Iterator[Judge | None]:
    """Open the judge where one is asked: the packaged judge takes a while to load."""
    if not (asks_model(options) or options["diversify"] == "perspectives"):
        yield None
        return
    with watched(default_judge(model)) as judge:
        yield judge


# One question ------------------------------------------------------------------------------------


def _show(searcher: Searcher, text: str, k: int | None, as_json: bool) -> int:
    from pnyx.cli.argue import question_id
    from pnyx.records import Question

    text = re.sub(r"[\ud800-\udfff]", "\ufffd", text)  # bytes that are not UTF-8
    (found,) = searcher.search([Question(question_id(text), text)], k)
    for problem in found.problems:
        warn(problem)
    if not found.hits:
        warn(_nothing(found, searcher))
    ids = [hit.doc_id for hit in found.hits]
    topics = _topics(searcher.engine, ids)
    rows = [
        _row(found, *one, topics)
        for one in zip(found.hits, searcher.engine.fetch(ids), strict=True)
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=1))
    else:
        for hit, row in zip(found.hits, rows, strict=True):
            click.echo(_lines(hit, row))
        if topics is not None and found.hits:
            click.echo(_facets(searcher.engine, ids))
    return EXIT_UNSCORED if found.unscored else 0


def _nothing(found: Found, searcher: Searcher) -> str:
    """Say why a question has no documents."""
    if not found.candidates:
        return "no word of the question is in the index"
    judged = min(found.candidates, searcher.plan.depth)
    return f"none of the best {judged} reaches a probability of {searcher.plan.threshold:g}"


def _topics(engine: Engine, ids: Sequence[str]) -> dict[str, Topic | None] | None:
    """Return the topic of each document, if there are topics of all documents."""
    known = engine.feature_info("clusters")
    if known is None or known.documents != len(engine):
        return None
    return dict(zip(ids, engine.topics(ids), strict=True))


def _row(
    found: Found, hit: Hit, document: Evidence, topics: dict[str, Topic | None] | None
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "rank": hit.rank,
        "score": hit.score,
        "id": hit.doc_id,
        "title": document.title,
        "stance": getattr(document, "stance", None),
        "text": document.text,
    }
    if hit.doc_id in found.probabilities:
        row["probability"] = found.probabilities[hit.doc_id]
    if hit.doc_id in found.sides:
        sided = found.sides[hit.doc_id]
        row |= {"side": sided.side, "side_by": sided.by or None}
    if hit.doc_id in found.found_for:
        perspective = found.found_for[hit.doc_id]
        row["perspective"] = {"text": perspective.text, "stance": perspective.stance}
    if topics is not None:
        topic = topics[hit.doc_id]
        row["cluster"] = None if topic is None else {"number": topic.number, "label": topic.label}
    return row


def _lines(hit: Hit, row: dict[str, Any]) -> str:
    """Show a hit on a few lines: place, title, excerpt. Documents are hostile: all is escaped."""
    place = f"{hit.rank:>4}  {hit.score:8.4f}  {shorten(hit.doc_id, 100)}"
    if "probability" in row:
        place += f"  P {row['probability']:.3f}"
    if row["stance"]:
        place += f"  [{row['stance']}]"
    if row.get("side"):
        place += f"  argues {row['side']}, by {shorten(row['side_by'], 60)}"
    title = " ".join(row["title"].split())
    text = " ".join(row["text"][: 20 * _EXCERPT_CHARS].split()).removeprefix(title)
    parts = [shorten(part, _EXCERPT_CHARS) for part in (title, text.lstrip(" .")) if part]
    if "perspective" in row:
        parts.append(f"for: {shorten(row['perspective']['text'], _EXCERPT_CHARS)}")
    return "\n".join([place, *(f"      {part}" for part in parts)])


def _facets(engine: Engine, ids: Sequence[str]) -> str:
    """Show what the hits are about: the topic clusters, the most frequent first."""
    from pnyx.search.clusters import facets

    found = facets(engine, ids)
    shown = [
        f"{one.count:>4}  {shorten(one.label, 80)}  ({shorten(', '.join(one.terms), 80)})"
        for one in found
    ]
    return "\n".join(["topics:", *shown])


# A run -------------------------------------------------------------------------------------------


def _write_run(searcher: Searcher, options: dict[str, Any]) -> int:
    from pnyx.corpora import read_questions, write_run
    from pnyx.corpora.trec import as_ranked
    from pnyx.files import atomic_text
    from pnyx.records import RunEntry

    questions = list(read_questions(options["topics"]))
    if not questions:
        raise InputError("found no topics, expected at least one", path=options["topics"])
    tag = options["tag"] or _tag(searcher, options)
    empty: list[str] = []
    below: list[str] = []
    unscored = 0
    with atomic_text(options["out"]) as stream:
        limit = _RUN if options["threshold"] is None else None
        for found in searcher.search(questions, options["k"] or limit):
            topic = found.question.id
            for problem in found.problems:
                warn(f"{shorten(topic, 40)}: {problem}")
            if not found.hits:
                (below if found.candidates else empty).append(topic)
            unscored += found.unscored
            hits = (RunEntry(topic, h.doc_id, h.rank, h.score, tag) for h in found.hits)
            write_run(stream, as_ranked(hits))
    for topics, what in (
        (empty, "share no word with the index"),
        (below, "have no document that reaches the threshold"),
    ):
        if topics:
            shown = ", ".join(shorten(topic, 40) for topic in topics[:_SHOWN_TOPICS])
            more = ", ..." if len(topics) > _SHOWN_TOPICS else ""
            warn(f"{len(topics)} of {len(questions)} topics {what}: {shown}{more}")
    return EXIT_UNSCORED if unscored else 0


def _tag(searcher: Searcher, options: dict[str, Any]) -> str:
    threshold = options["threshold"]
    judged = "rerank" if options["rerank"] else None
    if threshold is not None:
        judged = f"p{threshold:g}"
    stages = [judged, options["diversify"], options["stance"]]
    return "-".join(filter(None, [searcher.plan.scoring.model, *stages]))
