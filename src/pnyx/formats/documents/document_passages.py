"""Documents in the form in which they are indexed: whole, or split into passages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from pnyx.core.records import Argument, Document, Evidence, Passage, Unit
from pnyx.formats.text.blocks import Page
from pnyx.formats.text.passages import TextPassage, passages_of
from pnyx.formats.text.plain_text import blocks_of_text

T = TypeVar("T", bound=Evidence)

_MOST_TITLE = 300
_MOST_URL = 2_000
_MOST_ID = 1_000
_MOST_FIELD = 200
"""Characters of a document repeated in each passage, limited to keep an index small."""


def documents_of_page(
    name: str, page: Page, extra: Mapping[str, Any] | None = None, unit: Unit = "passage"
) -> Iterator[Document]:
    """Yield the records to index for a file or a row of a table: one document, or its passages."""
    if unit == "document":
        if (text := page.text).strip():
            yield Document(name, text, page.title, page.url, "", dict(extra or {}))
        return
    document = Document(name, "", page.title, page.url, "", dict(extra or {}))
    yield from _parts(document, passages_of(page.blocks, page.title))


def passages_of_record(record: Evidence) -> Iterator[Evidence]:
    """Yield the passages of a document or argument of a collection; a short one is not split.

    Passages of an argument keep its conclusion, topic and stance.
    """
    conclusion = record.conclusion if isinstance(record, Argument) else ""
    text = record.text
    if conclusion and text.startswith(conclusion):
        text = text.removeprefix(conclusion).lstrip(" .!?\n") or text
    parts = passages_of(blocks_of_text(text), record.title)
    repeated = len(record.id) > _MOST_ID or len(conclusion) > _MOST_ID
    if len(parts) < 2 or record.passage is not None or repeated:
        yield record
    else:
        yield from _parts(record, parts)


def _parts(record: T, parts: list[TextPassage]) -> Iterator[T]:
    """Yield a record with the text of each passage, called `ID#1`, `ID#2` and so on."""
    several = len(parts) > 1
    shared: dict[str, Any] = {}
    if several:
        shared["url"] = record.url if len(record.url) <= _MOST_URL else ""
        if isinstance(record, Document):
            shared["title"] = record.title[:_MOST_TITLE]
    for number, part in enumerate(parts, start=1):
        changes = dict(shared)
        passage = Passage(record.id, number, len(parts), part.heading, part.speaker)
        changes["id"] = f"{record.id}#{number}" if several else record.id
        changes["passage"] = passage if several or part.heading or part.speaker else None
        if number > 1:
            changes["extra"] = _short_fields(record.extra)
        is_argument = isinstance(record, Argument)
        changes |= {"body": part.text, "premises": ()} if is_argument else {"text": part.text}
        yield replace(record, **changes)


def _short_fields(extra: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in extra.items() if len(str(value)) <= _MOST_FIELD}
