"""The application of `pnyx serve`: pages, the HTTP API, and their resources."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from pnyx.web.api.routes import api_routes
from pnyx.web.application import build_app
from pnyx.web.ask.pages import routes
from pnyx.web.rendering import Site

if TYPE_CHECKING:
    from pnyx.web.ask.service import AskService
    from pnyx.web.security import Guard


def build_asking(service: AskService, token: str = "", *, warm: bool = True) -> Guard:
    """Return the ASGI application of a service; `warm` loads models in advance."""

    @contextlib.asynccontextmanager
    async def running(_: Any) -> AsyncIterator[None]:
        task = asyncio.ensure_future(service.warm_up()) if warm else None
        try:
            yield
        finally:
            if task is not None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    answered = [*api_routes(service), *routes(service)]
    site = Site(service.name, nav=(("Ask", ()),), scripts=("htmx.min.js", "asking.js"))
    state = (lambda: "ok" if service.ready else "warming") if warm else None
    return build_app(answered, site, token=token, lifespan=running, state=state)
