"""The route table: every page of results, for the server and for the export."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from pnyx.core.rooms import load, offered
from pnyx.web.rendering import Links, Site, render
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.documents import document_pages
from pnyx.web.results.pages import Address, Content, PageRoute
from pnyx.web.results.records import NotFoundError
from pnyx.web.results.shared_pages import Once

_RELOAD_SECONDS: Final = 10
_NAV: Final = "Results Leaderboard Topics Runs Judgements Compare Figures Tables".split()


@cache
def page_routes() -> tuple[PageRoute, ...]:
    """Return the pages of all rooms in their order, then those of JSON documents."""
    doors = sorted(offered("PAGES"), key=lambda door: door.order)
    routes = [route for door in doors for route in load(door.target)]
    return (*routes, *(page.route for page in document_pages()))


@cache
def _routes_by_name() -> dict[str, PageRoute]:
    return {route.name: route for route in page_routes()}


def address_of(path: str, sort: str = "") -> Address:
    """Parse a path as made by `Links`; NotFoundError if no page has it."""
    name, *parts = path.strip("/").split("/")
    routes = _routes_by_name()
    if name not in routes:
        raise NotFoundError("there is no such page")
    return routes[name].address(tuple(parts), sort)


def show(catalogue: Catalogue, address: Address) -> Content:
    """Return a page; NotFoundError: there is none."""
    return _routes_by_name()[address.page].show(catalogue, address)


def addresses(catalogue: Catalogue) -> Iterator[Address]:
    """Yield the address of every page that an export writes."""
    for page in page_routes():
        for parts, pages in page.addresses(catalogue):
            for number in range(1, pages + 1):
                yield Address(page.name, parts, number, is_file=True)


def rendered(
    content: Content, address: Address, site: Site, links: Links, once: Once | None = None
) -> str:
    """Return a page as HTML; with `once`, as part of a file that shares texts."""
    values = {"here": address.here, **content.values}
    if once is not None:
        values |= {"once": once, "layout": "view/part.html.j2"}
    return render(f"view/{content.template}.html.j2", site, links, **values)


def site_of(paths: Sequence[str], *, served: bool = False, watch: bool = False) -> Site:
    """Return the values shown on all pages of these results.

    Only a server can search. With `watch` pages reload: those of a server when it has read new
    results, files regularly.
    """
    first = Path(paths[0]).resolve().name
    name = first if len(paths) == 1 else f"{first} and {len(paths) - 1} more"
    pages: Iterable[PageRoute] = sorted(
        (p for p in page_routes() if p.nav), key=lambda p: _NAV.index(p.nav)
    )
    nav = [(page.nav, (page.name,) if page.name else ()) for page in pages]
    scripts = ["watch.js"] if watch and served else []
    search = [("Search", ("search",))] if served else []
    return Site(name, [*nav, *search], scripts, reload=_RELOAD_SECONDS if watch else 0)
