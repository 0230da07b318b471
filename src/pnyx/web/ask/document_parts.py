"""The passages of a document on its page, in order, with the retrieved one marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pnyx.core.records import Argument
from pnyx.display.text import Segment, one_line
from pnyx.judging.documents import passages_of_document

if TYPE_CHECKING:
    from pnyx.core.records import Evidence
    from pnyx.search.engine import DocumentIndex
    from pnyx.web.ask.highlights import Marker

MOST_CHARACTERS: Final = 200_000
"""Characters of a document that a page shows."""
_NAME: Final = 300


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
            one_line(name)[:_NAME] if name != last else ""
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
