"""`pnyx search`: ranked evidence for a question, or a TREC run for a file of topics."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli.options import given, json_option, scoring_options, warn
from pnyx.errors import InputError, shorten

if TYPE_CHECKING:
    from pnyx.records import Evidence
    from pnyx.search.index import Hit, Index

__all__ = ["command"]

_EXCERPT_CHARS = 160
_ONE_QUESTION_DEPTH = 10
_RUN_DEPTH = 1000
_SHOWN_TOPICS = 5


@click.command(name="search")
@click.argument("index", type=click.Path())
@click.argument("question", required=False)
@scoring_options
@click.option(
    "-k",
    "depth",
    type=click.IntRange(1),
    help="Documents a question  [default: 10; 1000 with --topics].",
)
@click.option("--topics", type=click.Path(), help="File of topics, instead of one question.")
@click.option("--out", type=click.Path(), help="TREC run to write, with --topics; - is stdout.")
@click.option("--tag", help="Run tag, with --topics  [default: the model's name].")
@json_option
def command(
    index: str,
    question: str | None,
    model: str,
    mu: float | None,
    k1: float | None,
    b: float | None,
    depth: int | None,
    topics: str | None,
    out: str | None,
    tag: str | None,
    as_json: bool,
) -> None:
    """Rank the documents of INDEX for QUESTION, which is plain text: there is no query language.

    \b
    Example:
      pnyx search my.index "Should voting be compulsory?" --model bm25 -k 5
      pnyx search my.index --topics topics.jsonl --out run.trec
    """
    from pnyx.search.index import Index

    _check_usage(question, topics, out, tag, as_json)
    parameters = given(mu=mu, k1=k1, b=b)
    opened = Index.open(index)
    if topics is not None:
        _write_run(opened, topics, str(out), tag or model, model, depth or _RUN_DEPTH, parameters)
        return
    hits = opened.search(str(question), model, depth or _ONE_QUESTION_DEPTH, **parameters)
    if not hits:
        warn("no word of the question is in the index")
    found = [(hit, opened.document_at(hit.number)) for hit in hits]
    if as_json:
        click.echo(json.dumps([_row(*pair) for pair in found], indent=1))
        return
    for pair in found:
        click.echo(_lines(*pair))


def _check_usage(
    question: str | None, topics: str | None, out: str | None, tag: str | None, as_json: bool
) -> None:
    if (question is None) == (topics is None):
        raise click.UsageError("give either a QUESTION or --topics FILE")
    if (topics is None) != (out is None):
        raise click.UsageError("--topics and --out go together")
    if topics is None and tag is not None:
        raise click.UsageError("--tag names a run: it goes with --topics")
    if topics is not None and as_json:
        raise click.UsageError("--json goes with a QUESTION; --topics writes a TREC run")
    if tag is not None and (not tag or tag.split() != [tag]):
        raise InputError(f"--tag is {shorten(tag, 40)!r}, expected one word without spaces")


def _row(hit: Hit, document: Evidence) -> dict[str, Any]:
    return {
        "rank": hit.rank,
        "score": hit.score,
        "id": hit.doc_id,
        "title": document.title,
        "stance": getattr(document, "stance", None),
        "text": document.text,
    }


def _lines(hit: Hit, document: Evidence) -> str:
    """Show a hit on three lines: place, title, excerpt. Documents are hostile: all is escaped."""
    stance = getattr(document, "stance", None)
    place = f"{hit.rank:>4}  {hit.score:8.4f}  {shorten(hit.doc_id, 100)}"
    title = " ".join(document.title.split())
    text = " ".join(document.text[: 20 * _EXCERPT_CHARS].split()).removeprefix(title)
    parts = [f"{place}  [{stance}]" if stance else place]
    parts += [
        f"      {shorten(part, _EXCERPT_CHARS)}" for part in (title, text.lstrip(" .")) if part
    ]
    return "\n".join(parts)


def _write_run(
    index: Index,
    topics: str,
    out: str,
    tag: str,
    model: str,
    depth: int,
    parameters: Mapping[str, float],
) -> None:
    from pnyx.corpora import read_questions, write_run
    from pnyx.files import atomic_text
    from pnyx.records import RunEntry

    empty: list[str] = []
    questions = list(read_questions(topics))
    if not questions:
        raise InputError("found no topics, expected at least one", path=topics)
    with atomic_text(out) as stream:
        for question in questions:
            hits = index.search(question.text, model, depth, **parameters)
            if not hits:
                empty.append(question.id)
            rows = (RunEntry(question.id, h.doc_id, h.rank, h.score, tag) for h in hits)
            write_run(stream, rows)
    if empty:
        shown = ", ".join(shorten(topic, 40) for topic in empty[:_SHOWN_TOPICS])
        more = ", ..." if len(empty) > _SHOWN_TOPICS else ""
        counted = f"{len(empty)} of {len(questions)} topics share no word with the index"
        warn(f"{counted}: {shown}{more}")
