"""Pages of an export that share a file, so that what several of them show stands there once."""

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
"""Of more reports than these, those on a topic share files."""

_LONG: Final = 300
"""Characters of a text that is worth a link to where it stands already."""

_CONTEXT: Final = 120
"""Characters on either side of the evidence, of a text that stands elsewhere."""

_LABELLED: Final = re.compile(r' aria-labelledby="([^"]*)"')
_IDS: Final = re.compile(r' id="(?!text-)([^"]*)"')
_JUMPS: Final = re.compile(r' href="#(?!text-)')


class Place(NamedTuple):
    """The file of a page, and where in it the page begins; empty where it has the file alone."""

    path: str
    anchor: str = ""


def places_of(wanted: Sequence[Address]) -> dict[str, Place]:
    """Return the path that a page would have of its own -> its place, in the given order."""
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
    """Return a page as a part of a file: its ids and the jumps to them begin with its anchor.

    Its sections lose their names: in hundreds of regions nobody finds a way; headings lead.
    """
    names = {*_LABELLED.findall(html)}
    html = _LABELLED.sub("", html)
    html = _IDS.sub(lambda i: "" if i[1] in names else f' id="{anchor}-{i[1]}"', html)
    return _JUMPS.sub(f' href="#{anchor}-', html)


class Once:
    """The texts of one file: where each line stands first, to stand there alone."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._lines: dict[str, tuple[str, Sequence[str], int]] = {}

    def __contains__(self, text: str) -> bool:
        return text in self._ids

    def first(self, text: str) -> tuple[str, bool]:
        """Return the id of a text's place, and whether it is to stand there now."""
        here = text not in self._ids
        return self._ids.setdefault(text, f"text-{len(self._ids) + 1}"), here

    def _keep(self, address: str, lines: Sequence[str]) -> None:
        for number, line in enumerate(lines):
            self._lines.setdefault(line, (address, lines, number))

    def passage(self, segments: Sequence[Segment]) -> tuple[str, Sequence[Segment]]:
        """Return the id of a long passage's place, and what is to be shown of it here."""
        text = "".join(segment.text for segment in segments)
        if len(text) < _LONG or any(segment.kind == "gap" for segment in segments):
            return "", segments
        address, here = self.first(text)
        if here:
            self._keep(address, text.split("\n"))
            return address, segments
        return address, cut(text, _marks(segments), most=0, context=_CONTEXT)

    def message(self, text: str) -> tuple[str, list[tuple[str, str]]]:
        """Return the id of a message's place, and its parts: text, or how long it is, and where."""
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
        """Return where the lines from here stand already, and how many of them in a row."""
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
