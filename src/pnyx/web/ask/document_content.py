"""The content of a document's page, with its passages: sanitised text, not yet escaped."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pnyx.core.records import Argument
from pnyx.display.text import Segment, clean, one_line, web_address
from pnyx.judging.documents import passages_of_document
from pnyx.search.features.vectors import VECTORS
from pnyx.search.hits import has_all
from pnyx.search.split_documents import shown_title
from pnyx.web.ask.address import SearchQuery, document_link

if TYPE_CHECKING:
    from pnyx.core.records import Evidence
    from pnyx.search.engine import DocumentIndex
    from pnyx.web.ask.highlights import Marker
    from pnyx.web.rendering import Links


MOST_CHARACTERS: Final = 200_000
"""Characters of a document that a page shows."""
_TITLE: Final = 300
_NEAR: Final = 6
_FIELDS: Final = 30
_FIELD: Final = 2000


@dataclass(frozen=True, slots=True)
class PartView:
    """A passage of a document; heading and speaker only when they change."""

    number: int
    segments: tuple[Segment, ...]
    heading: str
    speaker: str
    is_found: bool


@dataclass(frozen=True, slots=True)
class PartsView:
    """The displayed passages; `cut` says which, if not all."""

    parts: tuple[PartView, ...] = ()
    cut: str = ""


def parts_view(index: DocumentIndex, document: Evidence, marker: Marker) -> PartsView:
    """Return all passages of a passage's document; none for a whole document."""
    passage = document.passage
    passages = passages_of_document(index, passage.document if passage else document.id)
    if not passages:
        return PartsView()
    hit = -1 if passage is None else passage.number - 1
    texts = [
        (passage.body or "") if isinstance(passage, Argument) else passage.text
        for passage in passages
    ]
    window = _window(list(map(len, texts)), max(0, hit))
    parts: list[PartView] = []
    before = ("", "")
    for position in window:
        of = passages[position].passage
        names = ("", "") if of is None else (of.heading, of.speaker)
        heading, speaker = (
            one_line(name)[:_TITLE] if name != last else ""
            for name, last in zip(names, before, strict=True)
        )
        segments = marker.marked(texts[position][:MOST_CHARACTERS])
        parts.append(PartView(position + 1, segments, heading, speaker, position == hit))
        before = names
    cut = ""
    if len(window) < len(passages):
        first, last = window.start + 1, window.stop
        cut = f"Passages {first:,} to {last:,} of {len(passages):,} are shown."
    return PartsView(tuple(parts), cut)


def _window(sizes: Sequence[int], hit: int) -> range:
    """Return the positions around the retrieved passage that fit on a page."""
    start = stop = hit
    left = MOST_CHARACTERS - sizes[hit]
    half = left // 2
    while start > 0 and sizes[start - 1] <= half:
        start -= 1
        half -= sizes[start]
        left -= sizes[start]
    while stop + 1 < len(sizes) and sizes[stop + 1] <= left:
        stop += 1
        left -= sizes[stop]
    return range(start, stop + 1)


def document_view(
    index: DocumentIndex, document: Evidence, marker: Marker, question: str, links: Links
) -> dict[str, Any]:
    """Return the content of a document's page.

    `question` is the one it was retrieved for, or empty.
    """
    title = one_line(shown_title(document))[:_TITLE] or "(no id)"
    split = parts_view(index, document, marker)
    body = "" if split.parts else _body(document)
    long = len(body) > MOST_CHARACTERS
    return {
        "title": title,
        "heading": one_line(document.title)[: 4 * _TITLE] or title,
        "premises": list(_premises(document, marker)),
        "body": marker.marked(body[:MOST_CHARACTERS]),
        "parts": split.parts,
        "cut": f"The first {MOST_CHARACTERS:,} of {len(body):,} characters are shown."
        if long
        else split.cut,
        "facts": [(label, value) for label, value in _facts(index, document) if value],
        "url": web_address(document.url),
        "near": _near(index, document, question, links),
        "extra": list(_extra(document)),
        "question": question,
        "back": SearchQuery(question).link(links) if question else "",
    }


def _premises(document: Evidence, marker: Marker) -> Iterator[tuple[tuple[Segment, ...], str]]:
    """Yield each premise, and its side if it has one of its own."""
    left = MOST_CHARACTERS
    for premise in document.premises if isinstance(document, Argument) else ():
        if left <= 0 or not premise.text.strip():
            continue
        yield marker.marked(premise.text[:left]), premise.stance or ""
        left -= len(premise.text)


def _body(document: Evidence) -> str:
    """Return the text; for an argument, its body if that adds anything."""
    if not isinstance(document, Argument):
        return document.text
    if document.body is None:
        return ""
    parts = (document.conclusion, *(premise.text for premise in document.premises))
    premises = "".join("".join(parts).split())
    left = "".join(document.body.split())
    return "" if document.premises and left == premises else document.body


def _facts(index: DocumentIndex, document: Evidence) -> Iterator[tuple[str, str]]:
    if isinstance(document, Argument):
        yield "Stance", document.stance or ""
        yield "On", one_line(document.topic)[:_TITLE]
    if document.passage is not None:
        yield "Passage", document.passage.place.removeprefix("passage ")
        yield "Under", one_line(document.passage.heading)[:_TITLE]
        yield "Speaker", one_line(document.passage.speaker)[:_TITLE]
    is_indexed = document.id in index
    if is_indexed and has_all(index, "quality"):
        share = float(index.quality_shares([document.id])[0])
        unit = "documents" if document.passage is None else "passages"
        if not np.isnan(share):
            yield "Quality", f"predicted better than {share:.0%} of all {unit}"
    if is_indexed and has_all(index, "clusters"):
        (topic,) = index.topics([document.id])
        if topic is not None:
            yield "Topic", one_line(topic.label)[:_TITLE]
            yield "Words in it", one_line(", ".join(topic.terms))[:_TITLE]
    yield "Source", one_line(document.source)[:_TITLE]
    yield "Id", one_line(document.id)[:_TITLE]
    yield "Length", f"{len(document.text.split()):,} words"
    if document.url and not web_address(document.url):
        yield "Address", f"not shown as a link: {one_line(document.url)[:_TITLE]}"


def _near(
    index: DocumentIndex, document: Evidence, question: str, links: Links
) -> list[tuple[str, str, str]]:
    """Return address, title and cosine of the most similar documents; none without vectors.

    Passages of the same document are excluded: the page shows them all.
    """
    if document.id not in index or not has_all(index, VECTORS):
        return []
    parts = 1 if document.passage is None else document.passage.count
    hits = index.nearest(index.vectors([document.id])[0], _NEAR + parts)
    records = index.fetch([hit.doc_id for hit in hits])
    neighbours = [
        (record, hit.score)
        for record, hit in zip(records, hits, strict=True)
        if _source(record) != _source(document)
    ][:_NEAR]
    return [
        (
            document_link(links, document.id, question, document.passage),
            one_line(shown_title(document))[:_TITLE] or "(no id)",
            ", ".join(
                filter(None, (_place(document), getattr(document, "stance", None), f"{cosine:.2f}"))
            ),
        )
        for document, cosine in neighbours
    ]


def _source(document: Evidence) -> str:
    return document.id if document.passage is None else document.passage.document


def _place(document: Evidence) -> str:
    return "" if document.passage is None else document.passage.place


def _extra(document: Evidence) -> Iterator[tuple[str, str]]:
    for name, value in list(document.extra.items())[:_FIELDS]:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if text:
            yield one_line(str(name))[:60], clean(text)[:_FIELD]
