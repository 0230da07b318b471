"""Pages of an export that share a file, so that common texts are stored once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from pnyx.display.text import Segment, Span, clean, cut
from pnyx.web.rendering import Links
from pnyx.web.results.pages import Address

JUDGEMENTS_A_FILE: Final = 100
REPORTS_A_FILE: Final = 60
REPORTS_ALONE: Final = 1000
"""With more reports than this, those on a topic share files."""

_LONG: Final = 300
"""Texts of at least this many characters are replaced by a link if repeated."""

_CONTEXT: Final = 120
"""Characters shown on either side of the evidence in a text that is replaced by a link."""

_LABELLED: Final = re.compile(r' aria-labelledby="([^"]*)"')
_IDS: Final = re.compile(r' id="(?!text-)([^"]*)"')
_JUMPS: Final = re.compile(r' href="#(?!text-)')


class Place(NamedTuple):
    """The file of a page, and its anchor there; empty if the page has a file of its own."""

    path: str
    anchor: str = ""


def places_of(wanted: Sequence[Address]) -> dict[str, Place]:
    """Return the place of each page by the path it would have alone, in the given order."""
    links = Links("", files=True)
    counted: Counter[tuple[str, ...]] = Counter()
    places: dict[str, Place] = {}
    alone = sum(address.page == "report" for address in wanted) <= REPORTS_ALONE

    def shared(most: int, *parts: str) -> str:
        counted[parts] += 1
        return links.path(*parts, str((counted[parts] - 1) // most + 1))

    for address in wanted:
        path = links.path(*address.whole)
        places[path] = Place(path)
        if address.page == "sentence":
            *report, n = address.whole
            places[path] = Place(links.path(*report), f"s{n}")
        elif address.page == "judgement":
            name, n = address.parts
            places[path] = Place(shared(JUDGEMENTS_A_FILE, "judgement", name), f"j{n}")
        elif address.page == "report" and not alone:
            name, _, topic, *_ = address.parts
            file = shared(REPORTS_A_FILE, "reported", name, topic)
            places[path] = Place(file, f"r{counted['reported', name, topic]}")
    return places


def within(html: str, anchor: str) -> str:
    """Return a page as part of a file: its ids, and links to them, start with its anchor.

    Its sections lose their names: hundreds of regions would not help navigation; headings do.
    """
    names = {*_LABELLED.findall(html)}
    html = _LABELLED.sub("", html)
    html = _IDS.sub(lambda i: "" if i[1] in names else f' id="{anchor}-{i[1]}"', html)
    return _JUMPS.sub(f' href="#{anchor}-', html)


class Once:
    """The texts of one file, with the first occurrence of each line."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._lines: dict[str, tuple[str, Sequence[str], int]] = {}

    def __contains__(self, text: str) -> bool:
        return text in self._ids

    def first(self, text: str) -> tuple[str, bool]:
        """Return the id of a text's first occurrence, and whether this is it."""
        here = text not in self._ids
        return self._ids.setdefault(text, f"text-{len(self._ids) + 1}"), here

    def _keep(self, address: str, lines: Sequence[str]) -> None:
        for number, line in enumerate(lines):
            self._lines.setdefault(line, (address, lines, number))

    def passage(self, segments: Sequence[Segment]) -> tuple[str, Sequence[Segment]]:
        """Return the id of a long passage's first occurrence, and the segments to show here."""
        text = "".join(segment.text for segment in segments)
        if len(text) < _LONG or any(segment.kind == "gap" for segment in segments):
            return "", segments
        address, here = self.first(text)
        if here:
            self._keep(address, text.split("\n"))
            return address, segments
        return address, cut(text, _marks(segments), most=0, context=_CONTEXT)

    def message(self, text: str) -> tuple[str, list[tuple[str, str]]]:
        """Return the id of a message's first occurrence, and its parts: text, or length and id."""
        lines = clean(text).split("\n")
        address, _ = self.first(clean(text))
        parts: list[tuple[str, str]] = []
        new: list[str] = []
        at = 0
        while at < len(lines):
            there, count = self._known(lines, at)
            length = sum(map(len, lines[at : at + count])) + count - 1
            if length < _LONG:
                new.append(lines[at])
                at += 1
                continue
            parts += [("\n".join([*new, ""]), ""), (f"{length:,}", there)]
            at, new = at + count, [""]
        parts.append(("\n".join(new), ""))
        self._keep(address, lines)
        return address if any(t for t, there in parts if not there) else "", parts

    def _known(self, lines: Sequence[str], at: int) -> tuple[str, int]:
        """Return the earlier occurrence of the lines from here, and its number of lines."""
        address, earlier, start = self._lines.get(lines[at], ("", (), 0))
        count = 0
        for new, old in zip(islice(lines, at, None), islice(earlier, start, None), strict=False):
            if new != old:
                break
            count += 1
        return address, count


def _marks(segments: Sequence[Segment]) -> Mapping[str, Span]:
    marks: dict[str, Span] = {}
    start = 0
    for segment in segments:
        if segment.kind == "mark":
            marks[str(start)] = start, start + len(segment.text)
        start += len(segment.text)
    return marks
