"""Pages and their addresses. A server and the export show the same pages.

A page is a pure function of the catalogue and its address: the page's name, its parts, and the
number of a page of a list where that is not 1. A server also takes `?sort=FIELD` of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.records import NotFoundError, SourceRow

Parts: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Address:
    """Which page: its name, the parts that follow, the number of a page of a list."""

    page: str
    parts: Parts = ()
    number: int = 1
    sort: str = ""  # what a table is sorted by
    is_file: bool = False  # whether the page is one of an export

    @property
    def here(self) -> Parts:
        """The parts of the address without the number."""
        return (self.page, *self.parts) if self.page else ()

    @property
    def whole(self) -> Parts:
        """The parts of the address; the first page of a list has no number."""
        return (*self.here, str(self.number)) if self.number > 1 else self.here

    def part(self, position: int) -> str:
        """Return a part that may be missing; empty for none."""
        return self.parts[position] if position < len(self.parts) else ""


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file of a page: a picture or a table. It is made on request."""

    media_type: str
    parts: Callable[[], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Content:
    """A template under `serve/templates/view/`, its values, and the files next to it."""

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, PageFile] = field(default_factory=dict)


Show: TypeAlias = Callable[[Catalogue, Address], Content]
"""(catalogue, address) -> page; NotFoundError: there is none."""

Addresses: TypeAlias = Callable[[Catalogue], Iterable[tuple[Parts, int]]]
"""catalogue -> (parts, how many pages) of everything that can be shown, for the export."""


class FigureEntry(NamedTuple):
    """What the page "Figures" says for a page of figures."""

    heading: str
    shows: str  # a sentence
    made_of: str  # the results that it needs


@dataclass(frozen=True, slots=True)
class PageRoute:
    """A line of the route table."""

    name: str  # first part of its address; may be empty
    show: Show  # makes it
    addresses: Addresses = lambda _: (((), 1),)  # of an export
    least: int = 0  # how many parts must follow
    most: int = 0  # how many may
    paged: bool = False  # whether the number of a page may follow
    of_source: Callable[[Catalogue, SourceRow], Iterable[tuple[str, Parts]]] = lambda *_: ()
    nav: str = ""  # its name in the head of every page
    entry: FigureEntry | None = None  # for a page of figures

    def address(self, parts: Parts, sort: str = "") -> Address:
        """Return the address with these parts after the page's name."""
        number = 1
        if len(parts) > self.most:
            *first, last = parts
            digits = last.isascii() and last.isdecimal() and len(last) < 8 and last[0] != "0"
            if not (self.paged and digits and len(first) == self.most):
                raise NotFoundError("there is no such page")
            parts, number = tuple(first), int(last)
        if len(parts) < self.least or "" in parts:
            raise NotFoundError("there is no such page")
        return Address(self.name, parts, number, sort)


def is_number(text: str) -> bool:
    """Return whether a part of an address is a number from 1."""
    return text.isascii() and text.isdecimal() and len(text) < 10 and int(text) > 0
