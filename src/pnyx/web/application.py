"""A guarded Starlette application of routes, with static files and error pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from pnyx._version import __version__
from pnyx.core.errors import InputError, PnyxError, shorten
from pnyx.web.rendering import STATIC, Links, Site, render, static_file
from pnyx.web.security import Guard

if TYPE_CHECKING:
    from starlette.datastructures import FormData
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

Lifespan = Callable[[Any], Any]

_WORDS: Mapping[int, str] = {
    404: "There is no such page.",
    405: "This page takes no such request.",
    500: "Internal error; see the output of the server.",
}


def build_app(
    routes: Sequence[BaseRoute],
    site: Site,
    *,
    token: str = "",
    others: Collection[str] = (),
    lifespan: Lifespan | None = None,
    state: Callable[[], str] | None = None,
) -> Guard:
    """Return an ASGI application of these routes, of `/healthz` and `/static/NAME`.

    Args:
        routes: of its pages.
        site: shown on its pages.
        token: that requests must carry; empty for none (see `Guard`).
        others: further accepted tokens.
        lifespan: what is open while it runs (Starlette's).
        state: what `/healthz` says in place of `ok`.
    """
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.routing import Route

    app = Starlette(
        routes=[Route("/healthz", _healthy), Route("/static/{name}", _static), *routes],
        exception_handlers={HTTPException: _failed, PnyxError: _refused, Exception: _failed},
        lifespan=lifespan,
    )
    app.state.site, app.state.health = site, state or (lambda: "ok")
    # Outside Starlette's own layers, to guard their responses too.
    return Guard(app, token, others)


async def sent_form(request: Request) -> FormData:
    """Return the submitted form; InputError if a field is repeated or is a file."""
    sent = await request.form()
    names: set[str] = set()
    for name, value in sent.multi_items():
        if name in names:
            raise InputError(f"the form has the field {shorten(name, 40)!r} twice, expected once")
        if not isinstance(value, str):
            await sent.close()
            raise InputError(f"the field {shorten(name, 40)!r} is a file, expected text")
        names.add(name)
    return sent


def html(request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
    """Return a page of the application that a request came to; `values` may be hostile."""
    from starlette.responses import HTMLResponse

    return HTMLResponse(render(template, request.app.state.site, Links(), **values), status)


def see(address: str) -> Response:
    """Return a redirect to another page."""
    from starlette.responses import RedirectResponse

    return RedirectResponse(address, 303)


def event(name: str, value: Any) -> str:
    """Return one event of a stream (text/event-stream), its value as JSON on one line."""
    return f"event: {name}\ndata: {json.dumps(value, allow_nan=False)}\n\n"


def not_found(what: str) -> Exception:
    """Return the error for an address that does not exist."""
    from starlette.exceptions import HTTPException

    return HTTPException(404, what)


async def _healthy(request: Request) -> Response:
    from starlette.responses import JSONResponse

    return JSONResponse({"status": request.app.state.health(), "version": __version__})


async def _static(request: Request) -> Response:
    from starlette.responses import Response

    name = request.path_params["name"]
    if name not in STATIC:
        raise not_found("no such file")
    # The address of a file changes with its content.
    headers = {"cache-control": "private, max-age=31536000, immutable"}
    return Response(static_file(name), media_type=STATIC[name][2], headers=headers)


async def _refused(request: Request, error: Exception) -> Response:
    return _answer(request, 400, str(error))


async def _failed(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 500)
    detail = getattr(error, "detail", "")
    standard = HTTPStatus(status).phrase
    words = detail if detail and detail != standard else _WORDS.get(status, "")
    answer = _answer(request, status, words)
    if status == 405:
        answer.headers["allow"] = ", ".join(sorted(_methods(request)))
    return answer


def _methods(request: Request) -> set[str]:
    """Return the methods of an address, over all of its routes."""
    from starlette.routing import Match, Route

    methods: set[str] = set()
    for route in request.app.routes:
        if isinstance(route, Route) and route.matches(request.scope)[0] is not Match.NONE:
            methods |= route.methods or set()
    return methods


def _answer(request: Request, status: int, reason: str) -> Response:
    """Return an error as a page to browsers; as JSON under `/v1/` or on request."""
    from starlette.responses import JSONResponse

    title = HTTPStatus(status).phrase
    if request.url.path.startswith("/v1/") or "json" in request.headers.get("accept", ""):
        return JSONResponse({"error": {"status": status, "message": reason or title}}, status)
    return html(request, "error.html.j2", status=status, title=title, reason=reason)
