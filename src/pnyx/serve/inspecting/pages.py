"""Pages of results: what a page is, and all of them. A server and the static export show the same.

A page is a pure function of the catalogue and its address. An address is the page's name, its
parts, and the number of a page of a list where that is not 1; it has no query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from pnyx.serve.inspecting.asking import NotThereError

if TYPE_CHECKING:
    from pnyx.serve.inspecting.catalogue import Catalogue
    from pnyx.serve.inspecting.records import Source
    from pnyx.serve.rendering import Links

Address: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """A template under `serve/templates/`, its values, and the files that stand beside it.

    A file's address is that of its page and its own name, e.g. `profile.svg` (`Links.file`).
    """

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, Kept] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Kept:
    """A file that belongs to a page: a picture, a table. It is made when it is asked for."""

    kind: str
    parts: Callable[[], Iterable[str]]


Show: TypeAlias = "Callable[[Catalogue, Links, Address, int], Shown]"
"""(catalogue, links, parts, page number from 1) -> page; NotThereError: there is none."""


def _nothing(_catalogue: Catalogue, _source: Source) -> Iterable[tuple[str, Address]]:
    return ()


def _once(_: Catalogue) -> Iterable[tuple[Address, int]]:
    yield (), 1


@dataclass(frozen=True, slots=True)
class Page:
    """A page.

    Attributes:
        name: the first part of its address; empty for the first page.
        show: makes it.
        least: how many parts must follow the name.
        most: how many may; a further one is the number of a page.
        addresses: yields (parts, how many pages) of everything that can be shown, for the export.
        of_source: yields (words, address) of the pages that show something of a source.
        nav: what the head of every page calls it; empty where it is not there.
        exported: whether it is part of an export.
    """

    name: str
    show: Show
    least: int = 0
    most: int = 0
    addresses: Callable[[Catalogue], Iterable[tuple[Address, int]]] = _once
    of_source: Callable[[Catalogue, Source], Iterable[tuple[str, Address]]] = _nothing
    nav: str = ""
    exported: bool = True


def all_pages() -> tuple[Page, ...]:
    """Return every page; a name stands once."""
    from pnyx.serve.inspecting import (
        comparing,
        figure_pages,
        judgement,
        leaderboard,
        lists,
        overview,
        report,
        topics,
    )

    modules = (overview, leaderboard, topics, lists, report, judgement, comparing, figure_pages)
    return tuple(page for module in modules for page in module.PAGES)


def resolve(pages: Iterable[Page], path: str) -> tuple[Page, Address, int]:
    """Return the page of an address's path, its parts and page number; NotThereError: none."""
    first, *parts = path.strip("/").split("/")
    page = next((one for one in pages if one.name == first), None)
    if page is None or not page.least <= len(parts) <= page.most + 1 or "" in parts:
        raise NotThereError("there is no such page")
    number = 1
    if len(parts) > page.most:
        *parts, last = parts
        if not (last.isascii() and last.isdecimal() and len(last) < 8 and last[0] != "0"):
            raise NotThereError("there is no such page")
        number = int(last)
    return page, tuple(parts), number


def addresses(pages: Iterable[Page], catalogue: Catalogue) -> Iterator[tuple[Page, Address, int]]:
    """Yield every page that an export writes, as `resolve` returns them."""
    for page in pages:
        if page.exported:
            for parts, count in page.addresses(catalogue):
                for number in range(1, count + 1):
                    yield page, parts, number


def pages_of_source(catalogue: Catalogue, source: Source) -> list[tuple[str, Address]]:
    """Return (words, address) of every page that shows something of a source."""
    return [one for page in all_pages() for one in page.of_source(catalogue, source)]
