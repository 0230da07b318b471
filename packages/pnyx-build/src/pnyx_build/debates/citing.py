"""What a debate page cites: its list of sources in the making, and the marks that lead there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pnyx.files import clean_text
from pnyx.records import Source

_NUMBER = re.compile(r"[\[(]?(\d{1,4})[\])]?")
_NUMBERS = re.compile(r"[\[(]?(\d{1,4}(?:\s?[,;]\s?\d{1,4}){0,20})[\])]?")
_LEADING = re.compile(r"(?:\[(\d{1,4})\]|(\d{1,4})[).:])\s*(?=\S)|(\d{1,4})\s+(?=\S)")
_TWICE = re.compile(r"\[(\[\d{1,4}\](?:[\s,;]{0,3}\[\d{1,4}\]){0,20})\]")
_BACK = re.compile(r"^[\^↑↩\s]{1,9}|[\^↑↩\s]{1,9}$")
_URL = re.compile(r"https?://[^\s<>\"']{4,2000}")
_ENDS = ".,;:)]”’\"'"

Mark = tuple[str, str, str]
"""How a paragraph cites: `number`, `anchor` or `link`, what it says, and the text of a link."""


@dataclass
class TextRun:
    """Text between two boundaries of blocks, with what is marked in it."""

    parts: list[str] = field(default_factory=list)
    bold: list[str] = field(default_factory=list)
    only_bold: bool = True
    marks: list[Mark] = field(default_factory=list)
    button: str = ""
    """Text that is nothing but a link within the site."""

    @property
    def text(self) -> str:
        """The text, white space collapsed; notes are `[1]` however they were written."""
        return _TWICE.sub(r"\1", " ".join(clean_text("".join(self.parts)).split()))

    @property
    def lead(self) -> str:
        """What stands in bold at the beginning."""
        return " ".join(clean_text("".join(self.bold)).split())

    def add(self, text: str, *, bold: bool) -> None:
        """Take text, bold or not."""
        self.parts.append(text)
        if bold and self.only_bold:
            self.bold.append(text)
        elif text.strip():
            self.only_bold = False

    def note_from(self, start: int) -> bool:
        """Write a number that began at part `start` as `[1]`; tell whether it was one."""
        found = _NUMBERS.fullmatch("".join(self.parts[start:]).strip())
        if found is not None:
            self.parts[start:] = [f"[{found[1]}]"]
        return found is not None

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

    Where at least half of the entries are numbered, the others are no sources: menus, notices.
    """

    def __init__(self, items: Sequence[Item]) -> None:
        self.found: list[Source] = []
        self._by_id: dict[str, str] = {}
        self._by_anchor: dict[str, str] = {}
        self._by_url: dict[str, str] = {}
        numbered = [(item, *_numbered(item)) for item in items]
        counted = sum(bool(number) or item.order is not None for item, number, _ in numbered)
        for item, number, title in numbered:
            if number or item.order is not None or 2 * counted < len(items):
                self._take(item, number, title)

    def _take(self, item: Item, number: str, title: str) -> None:
        """Add an entry of the list, unless it says nothing."""
        title = _BACK.sub("", title)
        bare = _URL.search(title)
        url = next(iter(item.links), bare[0].rstrip(_ENDS) if bare else "")
        if not title and not url:
            return
        identifier = number or (str(item.order) if item.order is not None else "")
        if not identifier or identifier in self._by_id:
            identifier = self._next()
        self._add(Source(identifier, title, url))
        for name in item.names:
            self._by_anchor.setdefault(name, identifier)

    def cited(self, marks: Iterable[Mark]) -> tuple[str, ...]:
        """Return the ids that marks lead to, each once; a link to elsewhere is a new source."""
        ids: list[str] = []
        for kind, said, text in marks:
            known = {"number": self._by_id, "anchor": self._by_anchor, "link": self._by_url}[kind]
            if said in known:
                ids.append(known[said])
            elif kind == "link":
                source = Source(self._next(), text, said)
                self._add(source)
                ids.append(source.id)
        return tuple(dict.fromkeys(ids))

    def _add(self, source: Source) -> None:
        self.found.append(source)
        self._by_id[source.id] = source.id
        if source.url:
            self._by_url.setdefault(source.url, source.id)

    def _next(self) -> str:
        number = len(self.found) + 1
        while str(number) in self._by_id:
            number += 1
        return str(number)


def _numbered(item: Item) -> tuple[str, str]:
    """Return the number at the beginning of an entry, and its text without it."""
    texts = [one for one in item.texts if one]
    first = _NUMBER.fullmatch(texts[0].rstrip(".:")) if texts else None
    if first is not None:
        return first[1], " ".join(texts[1:])
    whole = " ".join(texts)
    found = _LEADING.match(_BACK.sub("", whole))
    if found is None or (item.order is not None and found[3]):
        return "", whole
    return found[1] or found[2] or found[3], _BACK.sub("", whole)[found.end() :]
