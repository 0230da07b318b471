"""`pnyx view`'s application: every page of `pages.all_pages` over HTTP."""

from __future__ import annotations

import contextlib
import importlib
import sqlite3
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pnyx.errors import PnyxError
from pnyx.serve.application import build_app, html, not_found
from pnyx.serve.inspecting.asking import NotThereError
from pnyx.serve.inspecting.comparing import chosen_pair, prepare
from pnyx.serve.inspecting.opening import Current
from pnyx.serve.inspecting.pages import Page, all_pages, resolve
from pnyx.serve.inspecting.searching import search
from pnyx.serve.rendering import Links, Site

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from pnyx.serve.security import Guard


def site_of(paths: Sequence[str], pages: Sequence[Page], *, served: bool = False) -> Site:
    """Return what all pages of these results show; only a server can search."""
    first = Path(paths[0]).resolve().name
    name = first if len(paths) == 1 else f"{first} and {len(paths) - 1} more"
    nav = [(page.nav, (page.name,) if page.name else ()) for page in pages if page.nav]
    nav += [("Search", ("search",))] if served else []
    return Site(name, nav)


def view_app(current: Current, *, token: str = "") -> Guard:
    """Return the application that shows results.

    Raises:
        MissingExtra: Starlette is not installed.
    """
    from starlette.routing import Route

    pages = all_pages()

    def shown(request: Request) -> Response:
        try:
            page, parts, number = resolve(pages, request.url.path)
            found = page.show(current.get(), Links(), parts, number)
        except NotThereError as error:
            return file_of(request.url.path, error)
        here = (page.name, *parts) if page.name else ()
        return html(request, found.template, **{"here": here, "number": number, **found.values})

    def searched(request: Request) -> Response:
        words, page = request.query_params.get("q", "")[:500], request.query_params.get("page", "1")
        try:
            number = int(page) if page.isascii() and page.isdecimal() and len(page) < 6 else 1
            found = search(current.get(), words, max(1, number))
        except NotThereError as error:
            raise not_found(str(error)) from error
        return html(request, "inspecting/search.html.j2", here=("search",), q=words, listed=found)

    def file_of(path: str, error: NotThereError) -> Response:
        """Return a file that stands beside a page."""
        above, _, name = path.rpartition("/")
        try:
            page, parts, number = resolve(pages, above)
            kept = page.show(current.get(), Links(), parts, number).files[name]
        except (NotThereError, KeyError):
            raise not_found(str(error)) from error
        from starlette.responses import StreamingResponse

        headers = {"content-disposition": "attachment"}
        text = (part.encode() for part in kept.parts())
        return StreamingResponse(text, media_type=kept.kind, headers=headers)

    routes = [
        Route("/search", searched),
        Route("/compare/pair", chosen_pair),
        Route("/{path:path}", shown),
    ]

    @contextlib.asynccontextmanager
    async def running(_: object) -> AsyncIterator[None]:
        threading.Thread(target=_prepare, args=(current,), daemon=True).start()
        yield

    site = site_of(current.paths, pages, served=True)
    return build_app(routes, site, token=token, lifespan=running)


def _prepare(current: Current) -> None:
    """Do what the first look at a page would wait for."""
    with contextlib.suppress(PnyxError, sqlite3.Error):  # a page that needs it says what is wrong
        importlib.import_module("pnyx.serve.inspecting.figure_pages")
        importlib.import_module("numpy")
        prepare(current.get())
