"""The address of a page of results: the question, the number of results, and filters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pnyx.core.records import SIDES, Passage
from pnyx.display.text import one_line
from pnyx.judging.statements import sides_of
from pnyx.web.ask.choices import MOST_HITS, question_text, whole
from pnyx.web.rendering import Links, slug

PAGE: Final = 20
"""Documents on a page, and how many are added each time."""

STANDINGS: Final[Mapping[str, str]] = {
    "pro": "For",
    "con": "Against",
    "undecided": "Undecided",
    "off": "Another matter",
}
"""The sides of a question that a document can be on, in display order."""


def standings(question: str) -> Mapping[str, str]:
    """Return `STANDINGS`, with the two alternatives of a question in place of for and against."""
    names = sides_of(question).names
    if names == ("yes", "no"):
        return STANDINGS
    return {**STANDINGS, **{side: f"For {name}" for side, name in zip(SIDES, names, strict=True)}}


BANDS: Final[Mapping[str, str]] = {
    "best": "Best third",
    "middle": "Middle third",
    "low": "Lowest third",
}
"""Predicted quality among all documents of the index."""


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A question, the number of documents to show, and the chosen filters."""

    question: str
    count: int = PAGE
    side: str = ""  # of `STANDINGS`
    topic: str = ""  # the number of a topic cluster, as text
    quality: str = ""  # of `BANDS`

    def with_(self, **changes: Any) -> SearchQuery:
        """Return a copy with other choices."""
        return replace(self, **changes)

    def fields(self) -> dict[str, str]:
        """Return the query parameters, without those at their defaults."""
        count = "" if self.count == PAGE else str(self.count)
        values = {"q": self.question, "n": count, "side": self.side, "topic": self.topic}
        return {k: v for k, v in (values | {"quality": self.quality}).items() if v}

    def link(self, links: Links, anchor: str = "") -> str:
        """Return the address of these results."""
        return links.to(anchor=anchor, **self.fields())


def read_search_query(parameters: Mapping[str, Any]) -> SearchQuery:
    """Read the query of an address, or a form.

    Invalid filters are dropped; InputError for the rest.
    """
    question = one_line(question_text(parameters.get("q", "")))
    count = whole("n", parameters.get("n") or str(PAGE), 1, MOST_HITS)
    side, quality = str(parameters.get("side", "")), str(parameters.get("quality", ""))
    topic = str(parameters.get("topic", ""))
    return SearchQuery(
        question,
        count,
        side if side in STANDINGS else "",
        topic if topic.isascii() and topic.isdecimal() and len(topic) < 10 else "",
        quality if quality in BANDS else "",
    )


FOUND_PART: Final = "found"
"""Anchor of the retrieved passage on the page of its document."""


def document_link(
    links: Links, doc_id: str, question: str = "", passage: Passage | None = None
) -> str:
    """Return a document's address.

    An id that cannot be part of a path becomes a parameter. The address of a passage opens its
    document at the passage.
    """
    anchor = FOUND_PART if passage is not None and passage.is_part else ""
    if slug(doc_id) == doc_id:
        return links.to("doc", doc_id, anchor=anchor, q=question)
    return links.to("doc", anchor=anchor, id=doc_id, q=question)
