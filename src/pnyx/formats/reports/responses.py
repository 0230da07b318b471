"""Cited answers and reports: TREC RAG 2024, RAG 2025/26 and RAGTIME/NeuCLIR/DRAGUN."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import IO, Any, Literal, TypeAlias

from pnyx.core.errors import InputError, shorten
from pnyx.core.records import CITATION_STYLES, Citation, CitationStyle, Document, Response, Sentence
from pnyx.formats.base import Format, Writer, json_lines, row_writer, scanned, with_options
from pnyx.formats.documents.evidence import document
from pnyx.formats.fields import Fields, a_list, an_object, merged, number, string, unlike, within
from pnyx.formats.text.segment import count_length

Layout: TypeAlias = Literal["rag24", "rag25", "ragtime"]
"""Flat with `answer`; metadata, references, `answer`; or metadata, `responses`."""

LAYOUTS: tuple[Layout, ...] = ("rag24", "rag25", "ragtime")
_TOPIC_IDS: dict[Layout, tuple[str, ...]] = {
    "rag24": ("topic_id",),
    "rag25": ("narrative_id", "topic_id", "request_id"),
    "ragtime": ("topic_id", "narrative_id", "request_id"),
}
_TOPICS: dict[Layout, tuple[str, ...]] = {
    "rag24": ("topic",),
    "rag25": ("narrative", "topic", "title"),
    "ragtime": ("topic", "narrative", "title"),
}
"""Fields of the topic's id and text in a layout: the first name is written."""


_TOP = ("metadata", "references", "answer", "responses", "documents")
_FLAT = ("run_id", "topic_id", "topic", "team_id", "response_length")


def _count_words(sentences: tuple[Sentence, ...]) -> int:
    """Count the words of an answer as in TREC RAG 2024: split at white space after NFKC."""
    return count_length((sentence.text for sentence in sentences), "nfkc-words")


def _key(response: Response) -> tuple[str, ...]:
    """Return the key that may occur only once in a file: run, topic and, if any, side."""
    side = response.metadata.get("stance", response.extra.get("stance"))
    key = response.run_id, response.topic_id
    return (*key, side) if isinstance(side, str) else key


def _layout_of(row: Mapping[str, Any]) -> Layout:
    if "responses" in row and "answer" not in row:
        return "ragtime"
    if "answer" in row and "responses" not in row:
        return "rag25" if "metadata" in row else "rag24"
    names_found = ", ".join(shorten(name, 30) for name in list(row)[:8]) or "none"
    raise InputError(f'expected either "answer" or "responses" (fields found: {names_found})')


def parse_response(row: Mapping[str, Any], layout: Layout | None = None) -> Response:
    """Read one line, of any layout unless one is given."""
    detected = _layout_of(row)
    if layout not in (None, detected):
        raise InputError(f"found the {detected} layout, expected {layout}")
    fields = Fields(row)
    meta = fields if detected == "rag24" else Fields(an_object(fields.take("metadata"), "metadata"))
    topic_id = _mirrored_id(meta, _TOPIC_IDS[detected])
    references = fields.strings("references")  # tracks only warn about duplicates
    key = "responses" if detected == "ragtime" else "answer"
    values = a_list(fields.take(key), key, "a list of sentences")
    sentences = tuple(_sentence(v, f"{key}[{i}]", references) for i, v in enumerate(values))
    if detected != "ragtime":
        _check_cited(sentences, references, "references" in row)
    length = fields.take("response_length") if detected == "rag24" else None
    if length is not None and length != _count_words(sentences):
        length_found, words = shorten(length, 20), _count_words(sentences)
        raise InputError(f"response_length is {length_found}, the answer has {words} words")
    return Response(
        topic_id=topic_id,
        run_id=meta.required("run_id"),
        sentences=sentences,
        references=references,
        team_id=meta.text("team_id"),
        topic=meta.text(*_TOPICS[detected]),
        documents=_documents(fields.take("documents")),
        metadata={} if detected == "rag24" else meta.rest,
        extra=fields.rest,
    )


def _mirrored_id(fields: Fields, names: tuple[str, ...]) -> str:
    """Take an id that may occur under several names, which must then agree."""
    first = fields.identifier(*names)
    for name in names:
        again = fields.rest.pop(name, None)
        if again is not None and str(again) != first:
            first_id, other = shorten(first, 40), shorten(str(again), 40)
            raise InputError(f"{name} is {other!r}, but {names[0]} or its like is {first_id!r}")
    return first


def _sentence(value: Any, where: str, references: tuple[str, ...]) -> Sentence:
    fields = Fields(an_object(value, where))
    with within(where):
        text = string(fields.rest.pop("text", None), "text")
        return Sentence(text, _citations(fields.take("citations"), references), fields.rest)


def _citations(value: Any, references: tuple[str, ...]) -> tuple[Citation, ...]:
    """Read a list of ids, a list of indices into `references`, or a map from id to score."""
    if value is None:
        return ()
    if isinstance(value, dict):
        return tuple(Citation(k, number(v, f"citations[{k!r}]")) for k, v in value.items())
    if all(isinstance(v, str) for v in a_list(value, "citations", "a list or an object")):
        return tuple(Citation(v) for v in value)
    if not all(isinstance(v, int) and not isinstance(v, bool) for v in value):
        raise unlike(value, "citations", "only ids or only indices")
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
    reference_ids = set(references)
    for i, sentence in enumerate(sentences):
        for citation in sentence.citations:
            if citation.doc_id not in reference_ids:
                doc_id = shorten(citation.doc_id, 60)
                raise InputError(f"answer[{i}]: cites {doc_id!r}, which is not in references")


def _documents(value: Any) -> dict[str, Document]:
    by_id = {} if value is None else an_object(value, "documents")
    return {key: _document(key, document) for key, document in by_id.items()}


def _document(key: str, value: Any) -> Document:
    where = f"documents[{shorten(key, 40)!r}]"
    fields = Fields(an_object(value, where))
    with within(where):
        identifier = fields.identifier("id") if "id" in fields.rest else key
        if identifier != key:
            raise InputError(f"its id is {shorten(identifier, 40)!r}")
        return document(fields, key, fields.text("text"))


# Writing -----------------------------------------------------------------------------------------


def write_responses(
    stream: IO[str],
    responses: Iterable[Response],
    style: CitationStyle = "ids",
    layout: Layout = "rag25",
) -> None:
    """Write one response per line; cited documents that are not listed are added to the references.

    Raises:
        InputError: the layout or the style cannot represent a response.
    """
    response_writer(layout, style)(stream, responses)


def response_writer(layout: Layout, style: CitationStyle) -> Writer:
    """Return the writer of one layout with one style."""
    return row_writer(partial(response_row, style=style, layout=layout), _named)


def response_row(
    response: Response, style: CitationStyle = "ids", layout: Layout = "rag25"
) -> dict[str, Any]:
    """Return one line as an object; see `write_responses`."""
    if style not in CITATION_STYLES or layout not in LAYOUTS:
        raise ValueError(f"unknown style {style!r} or layout {layout!r}")
    with within(f"response {shorten(_named(response))!r}"):
        return _row(response, style, layout)


def _named(response: Response) -> str:
    return f"{response.run_id} {response.topic_id}"


def _row(response: Response, style: CitationStyle, layout: Layout) -> dict[str, Any]:
    cited = dict.fromkeys(c.doc_id for s in response.sentences for c in s.citations)
    listed = set(response.references)
    references = (*response.references, *(doc_id for doc_id in cited if doc_id not in listed))
    index: dict[str, int] = {}
    for position, reference in enumerate(references):
        index.setdefault(reference, position)
    sentences = [_sentence_row(s, style, index) for s in response.sentences]
    row: dict[str, Any] = _head(response, layout)
    row["references"] = list(references)
    if layout == "rag24":
        row["response_length"] = _count_words(response.sentences)
    row["responses" if layout == "ragtime" else "answer"] = sentences
    if response.documents:
        row["documents"] = {k: _document_row(k, d) for k, d in response.documents.items()}
    reserved = (*_TOP, *_FLAT) if layout == "rag24" else _TOP
    return dict(merged(row, response.extra, reserved))


def _head(response: Response, layout: Layout) -> dict[str, Any]:
    head: dict[str, Any] = {"team_id": response.team_id} if response.team_id else {}
    head["run_id"] = response.run_id
    head[_TOPIC_IDS[layout][0]] = response.topic_id
    if response.topic:
        head[_TOPICS[layout][0]] = response.topic
    if layout != "rag24":
        topics = () if response.topic else _TOPICS[layout]
        reserved = ("team_id", *_TOPIC_IDS[layout], *topics)
        return {"metadata": merged(head, response.metadata, reserved)}
    if response.metadata:
        name = shorten(next(iter(response.metadata)), 40)
        raise InputError(f"the rag24 layout cannot hold the metadata field {name!r}")
    return head


def _sentence_row(
    sentence: Sentence, style: CitationStyle, index: Mapping[str, int]
) -> dict[str, Any]:
    citations: Any
    if style == "scores":
        citations = _scores(sentence.citations)
    else:
        scored = next((c for c in sentence.citations if c.score is not None), None)
        if scored is not None:
            doc_id = shorten(scored.doc_id, 60)
            raise InputError(f"the style {style!r} cannot hold the score of {doc_id!r}")
        ids = [c.doc_id for c in sentence.citations]
        citations = ids if style == "ids" else [index[i] for i in ids]
    row = {"text": sentence.text, "citations": citations}
    return dict(merged(row, sentence.extra, ()))


def _scores(citations: tuple[Citation, ...]) -> dict[str, float]:
    scores: dict[str, float] = {}
    for citation in citations:
        doc_id = shorten(citation.doc_id, 60)
        if citation.score is None:
            raise InputError(f"the style 'scores' needs a score, and {doc_id!r} has none")
        if citation.doc_id in scores:
            raise InputError(f"the style 'scores' cannot cite {doc_id!r} twice in a sentence")
        scores[citation.doc_id] = citation.score
    return scores


def _document_row(key: str, document: Document) -> dict[str, Any]:
    if key != document.id:
        raise InputError(f"document {shorten(document.id)!r} is filed under {shorten(key)!r}")
    row = {"id": key, "text": document.text}
    row |= {k: v for k in ("title", "url", "source") if (v := getattr(document, k))}
    return dict(merged(row, document.extra, ("title", "url", "source")))


def _format(layout: Layout, style: CitationStyle = "ids") -> Format:
    parse = partial(parse_response, layout=layout)
    return json_lines(layout, parse, response_writer(layout, style), key=_key, what=_WHAT)


_WHAT = "run and topic"
FORMATS = _format("rag24", "indices"), _format("rag25"), _format("ragtime")
ANY_RESPONSES = Format(
    "responses",
    "responses",
    "responses in any layout, also mixed",
    with_options(lambda source: scanned(source, parse_response, _key, what=_WHAT)),
    "",
)
"""All three layouts, line by line; used by `read_responses`."""
