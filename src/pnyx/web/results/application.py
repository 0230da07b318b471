"""`pnyx view`'s application: the pages of the route table over HTTP, and searches."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final, NamedTuple

from pnyx.core.errors import PnyxError
from pnyx.core.threads import start_thread
from pnyx.web.application import build_app, html, not_found, see
from pnyx.web.rendering import Links
from pnyx.web.results import kinds
from pnyx.web.results.builder import SEARCHED, SENTENCES_A_REPORT
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.compare import prepare
from pnyx.web.results.open_catalogue import CurrentCatalogue
from pnyx.web.results.records import (
    ROWS_A_PAGE,
    JudgementRow,
    NotFoundError,
    ReportRow,
    RowPage,
    offset_of,
    page_of,
)
from pnyx.web.results.routes import address_of, rendered, show, site_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from pnyx.web.security import Guard

_WORD: Final = re.compile(r"\w+")
_MOST_WORDS: Final = 12


class WordHit(NamedTuple):
    """A search hit: a judgement, or a sentence (`n` from 1) of a report, and its text."""

    text: str
    judgement: JudgementRow | None = None
    report: ReportRow | None = None
    n: int = 0


def search(catalogue: Catalogue, words: str, number: int = 1) -> RowPage[WordHit]:
    """Return the hits with all the words, the last one as a prefix.

    Judgements first. Ids of topics, runs and items are not searched: topics and runs have lists.
    """
    wanted = _WORD.findall(words)[:_MOST_WORDS]
    if not wanted:
        return RowPage((), 0)
    quoted = " ".join(f'"{word}"' for word in wanted) + "*"
    match = "FROM words WHERE words MATCH ?"
    total = catalogue.all(f"SELECT count(*) {match}", quoted)[0][0]
    tail = f"ORDER BY rowid DESC LIMIT {ROWS_A_PAGE} OFFSET {offset_of(number, total)}"
    rows = catalogue.all(f"SELECT rowid {match} {tail}", quoted)
    return page_of([_hit(catalogue, row) for (row,) in rows], total, number)


def _hit(catalogue: Catalogue, number: int) -> WordHit:
    if number > 0:
        judgement = catalogue.row(kinds.JUDGEMENTS, "WHERE j.id = ?", number)
        line = catalogue.line(judgement)
        texts = (line.get(name) for name in SEARCHED)
        return WordHit(next((t for t in texts if isinstance(t, str) and t), ""), judgement)
    report, position = divmod(-number, SENTENCES_A_REPORT)
    row = catalogue.row(kinds.REPORTS, "WHERE p.id = ?", report)
    texts_of = catalogue.texts(row)
    return WordHit(
        texts_of[position] if position < len(texts_of) else "", report=row, n=position + 1
    )


def view_app(current: CurrentCatalogue, *, token: str = "", watch: bool = False) -> Guard:
    """Return the application that shows results; MissingExtra: Starlette is not installed.

    With `watch`, open pages reload when the results change.
    """
    from starlette.routing import Route

    def shown(request: Request) -> Response:
        from starlette.responses import HTMLResponse

        path, sort = request.url.path, request.query_params.get("sort", "")
        try:
            address = address_of(path, sort)
            content = show(current.get(), address)
        except NotFoundError as error:
            return _file_of(current.get(), path, sort, error)
        return HTMLResponse(rendered(content, address, request.app.state.site, Links()))

    def searched(request: Request) -> Response:
        words, page = request.query_params.get("q", "")[:500], request.query_params.get("page", "1")
        number = int(page) if page.isascii() and page.isdecimal() and len(page) < 6 else 1
        try:
            hits = search(current.get(), words, max(1, number))
        except NotFoundError as error:
            raise not_found(str(error)) from error
        return html(request, "view/search.html.j2", here=("search",), q=words, page=hits)

    def version(_: Request) -> Response:
        from starlette.responses import PlainTextResponse

        current.get()
        return PlainTextResponse(str(current.version))

    @contextlib.asynccontextmanager
    async def running(_: object) -> AsyncIterator[None]:
        start_thread(lambda: _prepare(current), "pnyx-view")
        yield

    routes = [
        Route("/search", searched),
        Route("/compare/pair", _chosen_pair),
        Route("/version", version),
        Route("/{path:path}", shown),
    ]
    site = site_of(current.paths, served=True, watch=watch)
    return build_app(routes, site, token=token, lifespan=running)


def _file_of(catalogue: Catalogue, path: str, sort: str, error: NotFoundError) -> Response:
    """Return a file next to a page."""
    from starlette.responses import StreamingResponse

    above, _, name = path.rpartition("/")
    try:
        file = show(catalogue, address_of(above, sort)).files[name]
    except (NotFoundError, KeyError):
        raise not_found(str(error)) from error
    text = (part.encode() for part in file.parts())
    headers = {"content-disposition": "attachment"}
    return StreamingResponse(text, media_type=file.media_type, headers=headers)


async def _chosen_pair(request: Request) -> Response:
    """Redirect to the page of the pair chosen in a form."""
    what, first, second = (request.query_params.get(n, "") for n in ("what", "first", "second"))
    if what not in ("runs", "judges") or not first or not second:
        raise not_found("a comparison needs two: choose both")
    return see(Links().to("compare", what, first, second))


def _prepare(current: CurrentCatalogue) -> None:
    """Compute in advance what the first page view would wait for."""
    with contextlib.suppress(PnyxError, sqlite3.Error):  # a page that needs it reports the error
        prepare(current.get())
