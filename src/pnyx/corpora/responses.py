"""Cited answers and reports: TREC RAG 2024, RAG 2025/26 and RAGTIME/NeuCLIR/DRAGUN, reading.

The three layouts differ in where the sentences are (`answer` or `responses`) and in what stands
beside them; in each, citations may be written in any of the three styles. Reading turns indices
into document ids.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

from pnyx.corpora.base import Row, Scan, parse_rows, scan_json_objects, unique, with_options
from pnyx.corpora.fields import Fields, number, string
from pnyx.errors import InputError, shorten
from pnyx.records import Citation, Document, Response, Sentence

__all__ = [
    "LAYOUTS",
    "Layout",
    "count_words",
    "layout_of",
    "parse_response",
    "response_key",
    "scan_responses",
]

Layout: TypeAlias = Literal["rag24", "rag25", "ragtime"]
"""`rag24`: flat with `answer`; `rag25`: metadata, references, `answer`; `ragtime`: metadata,
`responses`."""

LAYOUTS: tuple[Layout, ...] = ("rag24", "rag25", "ragtime")
TOPIC_IDS: dict[Layout, tuple[str, ...]] = {
    "rag24": ("topic_id",),
    "rag25": ("narrative_id", "topic_id", "request_id"),
    "ragtime": ("topic_id", "narrative_id", "request_id"),
}
TOPICS: dict[Layout, tuple[str, ...]] = {
    "rag24": ("topic",),
    "rag25": ("narrative", "topic", "title"),
    "ragtime": ("topic", "narrative", "title"),
}
"""Where a layout keeps the topic's id and text: the first name is the one that is written."""


def count_words(sentences: tuple[Sentence, ...]) -> int:
    """Count the words of an answer as TREC RAG does: split at white space after NFKC."""
    return sum(len(unicodedata.normalize("NFKC", s.text).split()) for s in sentences)


def response_key(response: Response) -> tuple[str, ...]:
    """Return what may occur once in a file: run and topic, and the side where one is argued."""
    side = response.metadata.get("stance", response.extra.get("stance"))
    key = response.run_id, response.topic_id
    return (*key, side) if isinstance(side, str) else key


def layout_of(row: Mapping[str, Any]) -> Layout:
    """Recognise the layout of one line.

    Raises:
        InputError: it is none of the three.
    """
    if "responses" in row and "answer" not in row:
        return "ragtime"
    if "answer" in row and "responses" not in row:
        return "rag25" if "metadata" in row else "rag24"
    found = ", ".join(shorten(name, 30) for name in list(row)[:8]) or "none"
    raise InputError(f'expected either "answer" or "responses" (fields found: {found})')


def parse_response(row: Mapping[str, Any], layout: Layout | None = None) -> Response:
    """Read one line.

    Args:
        row: the decoded line.
        layout: refuse any other; None takes the line as it comes.

    Raises:
        InputError: another layout, a missing field, a citation that leads nowhere, a reference
            that is given twice, or a length that is not that of the answer.
    """
    found = layout_of(row)
    if layout not in (None, found):
        raise InputError(f"found the {found} layout, expected {layout}")
    fields = Fields(row)
    meta = fields if found == "rag24" else Fields(_object(fields.take("metadata"), "metadata"))
    topic_id = _mirrored_id(meta, TOPIC_IDS[found])
    references = _references(fields)
    sentences = _sentences(fields, "responses" if found == "ragtime" else "answer", references)
    if found != "ragtime":
        _check_cited(sentences, references, "references" in row)
    length = fields.take("response_length") if found == "rag24" else None
    if length is not None and length != count_words(sentences):
        shown, words = shorten(length, 20), count_words(sentences)
        raise InputError(f"response_length is {shown}, the answer has {words} words")
    return Response(
        topic_id=topic_id,
        run_id=meta.required("run_id"),
        sentences=sentences,
        references=references,
        team_id=meta.text("team_id"),
        topic=meta.text(*TOPICS[found]),
        documents=_documents(fields.take("documents")),
        metadata={} if found == "rag24" else meta.rest,
        extra=fields.rest,
    )


def _object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{name}: found {shorten(value, 40)}, expected an object")
    return value


def _mirrored_id(fields: Fields, names: tuple[str, ...]) -> str:
    """Take an id that may be there under several names, which must then agree."""
    first = fields.identifier(*names)
    for name in names:
        again = fields.rest.pop(name, None)
        if again is not None and str(again) != first:
            shown, other = shorten(first, 40), shorten(str(again), 40)
            raise InputError(f"{name} is {other!r}, but {names[0]} or its like is {shown!r}")
    return first


def _references(fields: Fields) -> tuple[str, ...]:
    references = fields.strings("references")
    seen: set[str] = set()
    for reference in references:
        if reference in seen:
            raise InputError(f"references: {shorten(reference, 60)!r} is given twice")
        seen.add(reference)
    return references


def _sentences(fields: Fields, name: str, references: tuple[str, ...]) -> tuple[Sentence, ...]:
    values = fields.take(name)
    if not isinstance(values, list):
        raise InputError(f"{name}: found {shorten(values, 40)}, expected a list of sentences")
    return tuple(_sentence(v, f"{name}[{i}]", references) for i, v in enumerate(values))


def _sentence(value: Any, where: str, references: tuple[str, ...]) -> Sentence:
    fields = Fields(_object(value, where))
    try:
        text = string(fields.rest.pop("text", None), "text")
        citations = _citations(fields.take("citations"), references)
    except InputError as error:
        raise InputError(f"{where}: {error.problem}") from error
    return Sentence(text, citations, fields.rest)


def _citations(value: Any, references: tuple[str, ...]) -> tuple[Citation, ...]:
    """Read a list of ids, a list of indices into `references`, or a map from id to score."""
    if value is None:
        return ()
    if isinstance(value, dict):
        return tuple(Citation(k, number(v, f"citations[{k!r}]")) for k, v in value.items())
    if not isinstance(value, list):
        found = shorten(value, 40)
        raise InputError(f"citations: found {found}, expected a list or an object")
    if all(isinstance(v, str) for v in value):
        return tuple(Citation(v) for v in value)
    if not all(isinstance(v, int) and not isinstance(v, bool) for v in value):
        found = shorten(value, 40)
        raise InputError(f"citations: found {found}, expected only ids or only indices")
    bad = next((v for v in value if not 0 <= v < len(references)), None)
    if bad is not None:
        count = len(references)
        raise InputError(f"citations: index {shorten(bad, 20)} with {count} references (from 0)")
    return tuple(Citation(references[v]) for v in value)


def _check_cited(
    sentences: tuple[Sentence, ...], references: tuple[str, ...], *present: bool
) -> None:
    if not all(present):
        raise InputError("no references")
    known = set(references)
    for i, sentence in enumerate(sentences):
        for citation in sentence.citations:
            if citation.doc_id not in known:
                shown = shorten(citation.doc_id, 60)
                raise InputError(f"answer[{i}]: cites {shown!r}, which is not in references")


def _documents(value: Any) -> dict[str, Document]:
    if value is None:
        return {}
    return {k: _document(k, v) for k, v in _object(value, "documents").items()}


def _document(key: str, value: Any) -> Document:
    where = f"documents[{shorten(key, 40)!r}]"
    fields = Fields(_object(value, where))
    try:
        identifier = fields.identifier("id") if "id" in fields.rest else key
        if identifier != key:
            raise InputError(f"its id is {shorten(identifier, 40)!r}")
        return Document(
            id=key,
            text=fields.text("text"),
            title=fields.text("title"),
            url=fields.text("url"),
            source=fields.text("source"),
            extra=fields.rest,
        )
    except InputError as error:
        raise InputError(f"{where}: {error.problem}") from error


def scan_responses(layout: Layout | None = None) -> Scan:
    """Return the scan of one layout, or of any where None."""

    def scan(source: str) -> Iterator[Row[Response]]:
        rows = parse_rows(
            scan_json_objects(source), lambda row: parse_response(row, layout), source
        )
        yield from unique(rows, response_key, source, "run and topic")

    return with_options(scan)
