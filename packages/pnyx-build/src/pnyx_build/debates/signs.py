"""Signs on a debate page of the side of each part, and of its sources."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from pnyx.core.records import Side

Part: TypeAlias = Literal["pro", "con", "sources", "other"]
"""A part of a page; `other` is anything else, such as quotes or questions to discuss."""

_LONGEST = 120
_NAMES = re.compile(r"[a-z0-9]+")
_PRO, _CON = frozenset({"pro", "pros"}), frozenset({"con", "cons"})
_SOURCES = frozenset(
    {"sources", "references", "footnotes", "endnotes", "bibliography", "reflist", "citations"}
)

_BOTH = re.compile(r"\bpros?\b.{0,20}\bcons?\b|\bfor\b.{0,12}\bagainst\b|\byes\b.{0,9}\bno\b", re.I)
_END = r"(?=$|[\s:.,(\[–—-])"
_ALONE = r"\s*[:.–—-]?$"
_TOP = r"(?:the |top )?(?:\d{1,3} )?"
_OF_SIDES: Mapping[Side, re.Pattern[str]] = {
    "pro": re.compile(
        rf"{_TOP}(?:pros?{_END}(?: (?:arguments?|points?|side|position){_END})?"
        rf"|(?:arguments?|points?|reasons?|case) (?:for|in favou?r(?: of)?|supporting){_END}"
        rf"|(?:supporting|affirmative) (?:arguments?|points?){_END}|in favou?r{_END}"
        rf"|proponents?(?: say| argue)?{_ALONE}|(?:yes|for|agree|support){_ALONE})",
        re.I,
    ),
    "con": re.compile(
        rf"{_TOP}(?:cons?{_END}(?: (?:arguments?|points?|side|position){_END})?"
        rf"|(?:arguments?|points?|reasons?|case) (?:against|opposing){_END}"
        rf"|(?:opposing|negative) (?:arguments?|points?){_END}"
        rf"|opponents?(?: say| argue)?{_ALONE}|(?:no|against|disagree|oppose){_ALONE})",
        re.I,
    ),
}
_TAIL = re.compile(rf"(?:^|(?<= ))[|–—-] [^|–—]{{0,60}}?(?:{_BOTH.pattern})", re.I)
_NUMBERED = re.compile(r" ?#?(?P<number>\d{1,3}+) ?[:.)–—-]{0,3}+ ?(?P<title>.*)", re.DOTALL)
_SOURCES_HEADING = re.compile(
    r"(?:sources?|references?|foot ?notes?|end ?notes?|notes|bibliography|works cited|citations?)"
    r"(?: (?:and|&) (?:sources?|references?|foot ?notes?|notes|further reading))?\s*:?$",
    re.I,
)
_MARKS = re.compile(r"\[(\d{1,4}(?:\s?[,;]\s?\d{1,4}){0,20})\]")


class Heading(NamedTuple):
    """What a heading opens; with `number` it opens one argument, with or without a title."""

    part: Part
    number: bool = False
    title: str = ""


def heading_of(text: str) -> Heading | None:
    """Return what a heading opens; None for any other heading."""
    if len(text) > _LONGEST:
        return None
    if _SOURCES_HEADING.fullmatch(text):
        return Heading("sources")
    for side, pattern in _OF_SIDES.items():
        match = pattern.match(text)
        if match is None:
            continue
        rest = text[match.end() :]
        numbered = _NUMBERED.fullmatch(rest)
        if numbered is not None:
            return Heading(side, True, numbered["title"].strip())
        if _BOTH.search(text):
            break
        return Heading(side)
    return Heading("other") if _BOTH.search(text) else None


def title_parts(title: str) -> list[str]:
    """Return the parts of a title between dashes and bars: the topic, the site's name."""
    return [part for piece in re.split(r"(?:^|(?<= ))[|–—-] ", title) if (part := piece.strip())]


def without_sides(title: str) -> str:
    """Return the part of a title before "- Top 2 Pros and Cons | Site"; may be empty."""
    match = None if title.endswith("?") else _TAIL.search(title)
    return title[: match.start()].strip() if match else title


def part_of_names(names: str) -> Part | None:
    """Return the content of an element by its class and id: `pro-column`, `sources`."""
    words = frozenset(_NAMES.findall(names[:500].lower()))
    pro, con = not words.isdisjoint(_PRO), not words.isdisjoint(_CON)
    if pro != con:
        return "pro" if pro else "con"
    return "sources" if not pro and not words.isdisjoint(_SOURCES) else None


def marks_in(text: str) -> list[str]:
    """Return the numbers of the sources cited as `[1]` and `[2, 3]` in a text."""
    return [n.strip() for numbers in _MARKS.findall(text) for n in re.split("[,;]", numbers)]


def web_link(href: str, own_host: str) -> str:
    """Return the address of a link to a site other than `own_host`; empty for others."""
    href = href.strip()
    try:
        parts = urlsplit(href)
        host = (parts.hostname or "").removeprefix("www.")
    except ValueError:
        return ""
    if parts.scheme.lower() not in ("http", "https") or not host:
        return ""
    return "" if own_host and host == own_host else href
