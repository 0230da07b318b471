"""Writing cited answers and reports, in any layout with any style of citations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import IO, Any

from pnyx.corpora.base import Writer, encode
from pnyx.corpora.fields import merged
from pnyx.corpora.responses import LAYOUTS, TOPIC_IDS, TOPICS, Layout, count_words
from pnyx.errors import InputError, shorten
from pnyx.records import (
    CITATION_STYLES,
    Citation,
    CitationStyle,
    Document,
    Response,
    Sentence,
)

__all__ = ["response_row", "response_writer", "write_responses"]

_TOP = ("metadata", "references", "answer", "responses", "documents")
_FLAT = ("run_id", "topic_id", "topic", "team_id", "response_length")


def write_responses(
    stream: IO[str],
    responses: Iterable[Response],
    style: CitationStyle = "ids",
    layout: Layout = "rag25",
) -> None:
    """Write one response a line.

    Documents that are cited but not listed are appended to the references, in the order of their
    first citation, so that a reader finds all of them there.

    Args:
        stream: a text stream.
        responses: what to write.
        style: how citations are written; see `CitationStyle`.
        layout: `rag24`, `rag25` or `ragtime`.

    Raises:
        InputError: the layout or the style cannot hold what a response has.
    """
    for response in responses:
        row = response_row(response, style, layout)
        stream.write(encode(row, f"{response.run_id} {response.topic_id}"))


def response_writer(layout: Layout, style: CitationStyle) -> Writer:
    """Return the writer of one layout with one style."""
    return lambda stream, records: write_responses(stream, records, style, layout)


def response_row(
    response: Response, style: CitationStyle = "ids", layout: Layout = "rag25"
) -> dict[str, Any]:
    """Return one line as an object; see `write_responses`."""
    if style not in CITATION_STYLES or layout not in LAYOUTS:
        raise ValueError(f"unknown style {style!r} or layout {layout!r}")
    try:
        return _row(response, style, layout)
    except InputError as error:
        shown = shorten(f"{response.run_id} {response.topic_id}")
        raise InputError(f"response {shown!r}: {error.problem}") from error


def _row(response: Response, style: CitationStyle, layout: Layout) -> dict[str, Any]:
    references = _all_references(response)
    index = {reference: i for i, reference in enumerate(references)}
    sentences = [_sentence(s, style, index) for s in response.sentences]
    row: dict[str, Any] = _head(response, layout)
    row["references"] = list(references)
    if layout == "rag24":
        row["response_length"] = count_words(response.sentences)
    row["responses" if layout == "ragtime" else "answer"] = sentences
    if response.documents:
        row["documents"] = {k: _document(k, d) for k, d in response.documents.items()}
    reserved = (*_TOP, *_FLAT) if layout == "rag24" else _TOP
    return dict(merged(row, response.extra, reserved))


def _head(response: Response, layout: Layout) -> dict[str, Any]:
    head: dict[str, Any] = {"team_id": response.team_id} if response.team_id else {}
    head["run_id"] = response.run_id
    head[TOPIC_IDS[layout][0]] = response.topic_id
    if response.topic:
        head[TOPICS[layout][0]] = response.topic
    if layout != "rag24":
        topics = () if response.topic else TOPICS[layout]
        reserved = ("team_id", *TOPIC_IDS[layout], *topics)
        return {"metadata": merged(head, response.metadata, reserved)}
    if response.metadata:
        name = shorten(next(iter(response.metadata)), 40)
        raise InputError(f"the rag24 layout cannot hold the metadata field {name!r}")
    return head


def _all_references(response: Response) -> tuple[str, ...]:
    if len(set(response.references)) < len(response.references):
        raise InputError("a reference is given twice")
    cited = (c.doc_id for s in response.sentences for c in s.citations)
    return tuple(dict.fromkeys((*response.references, *cited)))


def _sentence(sentence: Sentence, style: CitationStyle, index: Mapping[str, int]) -> dict[str, Any]:
    citations: Any
    if style == "scores":
        citations = _scores(sentence.citations)
    else:
        scored = next((c for c in sentence.citations if c.score is not None), None)
        if scored is not None:
            shown = shorten(scored.doc_id, 60)
            raise InputError(f"the style {style!r} cannot hold the score of {shown!r}")
        ids = [c.doc_id for c in sentence.citations]
        citations = ids if style == "ids" else [index[i] for i in ids]
    row = {"text": sentence.text, "citations": citations}
    return dict(merged(row, sentence.extra, ()))


def _scores(citations: tuple[Citation, ...]) -> dict[str, float]:
    scores: dict[str, float] = {}
    for citation in citations:
        shown = shorten(citation.doc_id, 60)
        if citation.score is None:
            raise InputError(f"the style 'scores' needs a score, and {shown!r} has none")
        if citation.doc_id in scores:
            raise InputError(f"the style 'scores' cannot cite {shown!r} twice in a sentence")
        scores[citation.doc_id] = citation.score
    return scores


def _document(key: str, document: Document) -> dict[str, Any]:
    if key != document.id:
        raise InputError(f"document {shorten(document.id)!r} is filed under {shorten(key)!r}")
    row = {"id": key, "text": document.text}
    row |= {k: v for k in ("title", "url", "source") if (v := getattr(document, k))}
    return dict(merged(row, document.extra, ("title", "url", "source")))
