"""Sources cited by a debate page: the list being built, and the marks that link to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pnyx.core.files import clean_text
from pnyx.core.records import Source

_NUMBER = re.compile(r"[\[(]?(\d{1,4})[\])]?")
_NUMBERS = re.compile(r"[\[(]?(\d{1,4}(?:\s?[,;]\s?\d{1,4}){0,20})[\])]?")
_LEADING = re.compile(r"(?:\[(\d{1,4})\]|(\d{1,4})[).:])\s*(?=\S)|(\d{1,4})\s+(?=\S)")
_TWICE = re.compile(r"\[(\[\d{1,4}\](?:[\s,;]{0,3}\[\d{1,4}\]){0,20})\]")
_BACK = re.compile(r"^[\^↑↩\s]{1,9}|[\^↑↩\s]{1,9}$")
_URL = re.compile(r"https?://[^\s<>\"']{4,2000}")
_ENDS = ".,;:)]”’\"'"

Mark = tuple[str, str, str]
"""A citation in a paragraph: `number`, `anchor` or `link`, its target, and the text of a link."""


@dataclass
class TextRun:
    """Text between two block boundaries, with its marks."""

    parts: list[str] = field(default_factory=list)
    bold: list[str] = field(default_factory=list)
    only_bold: bool = True
    marks: list[Mark] = field(default_factory=list)
    button: str = ""
    """Text that is only a link within the site."""

    @property
    def text(self) -> str:
        """The text, white space collapsed; notes are `[1]` however they were written."""
        return _TWICE.sub(r"\1", " ".join(clean_text("".join(self.parts)).split()))

    @property
    def lead(self) -> str:
        """The bold text at the beginning."""
        return " ".join(clean_text("".join(self.bold)).split())

    def add(self, text: str, *, bold: bool) -> None:
        """Add text, bold or not."""
        self.parts.append(text)
        if bold and self.only_bold:
            self.bold.append(text)
        elif text.strip():
            self.only_bold = False

    def note_from(self, start: int) -> bool:
        """Write a number that started at part `start` as `[1]`; return whether it was one."""
        match = _NUMBERS.fullmatch("".join(self.parts[start:]).strip())
        if match is not None:
            self.parts[start:] = [f"[{match[1]}]"]
        return match is not None

    def text_from(self, start: int) -> str:
        """Return the text from part `start` on."""
        return " ".join(clean_text("".join(self.parts[start:])).split())


@dataclass
class Item:
    """An entry of the list of sources; `order` is its number in an ordered list."""

    order: int | None = None
    names: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)


class Sources:
    """The sources of a page: listed ones, and others that are linked to.

    If at least half of the entries are numbered, the others are not sources but menus or notices.
    """

    def __init__(self, items: Sequence[Item]) -> None:
        self.found: list[Source] = []
        self._known: dict[tuple[str, str], str] = {}  # (kind, target) of a mark -> id
        numbered = [(item, *_numbered(item)) for item in items]
        counted = sum(bool(number) or item.order is not None for item, number, _ in numbered)
        for item, number, title in numbered:
            title = _BACK.sub("", title)
            bare = _URL.search(title)
            url = next(iter(item.links), bare[0].rstrip(_ENDS) if bare else "")
            listed = number or item.order is not None or 2 * counted < len(items)
            if listed and (title or url):
                order = "" if item.order is None else str(item.order)
                identifier = self._add(number or order, title, url)
                for name in item.names:
                    self._known.setdefault(("anchor", name), identifier)

    def cited(self, marks: Iterable[Mark]) -> tuple[str, ...]:
        """Return the ids that marks refer to, each once; an external link is a new source."""
        ids: dict[str, None] = {}
        for kind, target, text in marks:
            if kind == "link" and (kind, target) not in self._known:
                self._add("", text, target)
            if (kind, target) in self._known:
                ids[self._known[kind, target]] = None
        return tuple(ids)

    def _add(self, identifier: str, title: str, url: str) -> str:
        """Add a source; one without an id, or with that of another, gets the next number."""
        number = len(self.found)
        while not identifier or ("number", identifier) in self._known:
            number += 1
            identifier = str(number)
        self.found.append(Source(identifier, title, url))
        self._known["number", identifier] = identifier
        if url:
            self._known.setdefault(("link", url), identifier)
        return identifier


def _numbered(item: Item) -> tuple[str, str]:
    """Return the number at the beginning of an entry, and its text without it."""
    texts = list(filter(None, item.texts))
    first = _NUMBER.fullmatch(texts[0].rstrip(".:")) if texts else None
    if first is not None:
        return first[1], " ".join(texts[1:])
    whole = " ".join(texts)
    match = _LEADING.match(_BACK.sub("", whole))
    if match is None or (item.order is not None and match[3]):
        return "", whole
    return match[1] or match[2] or match[3], _BACK.sub("", whole)[match.end() :]
