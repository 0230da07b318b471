"""One model at several addresses: each request goes where there is most room."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence

from pnyx.errors import InputError, ModelError, shorten
from pnyx.models.chat_endpoint import ChatEndpoint
from pnyx.models.ledger import Ledger
from pnyx.models.replies import CallFailed, ChatRequest, Reply

__all__ = ["EndpointPool"]


class EndpointPool:
    """Several endpoints of one model, asked as one.

    An endpoint that proves unusable is left out from then on, and its requests go to the others.

    Args:
        endpoints: at least one, all of the same model.

    Raises:
        InputError: they are of different models.
    """

    def __init__(self, endpoints: Sequence[ChatEndpoint]) -> None:
        names = list(dict.fromkeys(endpoint.model for endpoint in endpoints))
        if len(names) != 1:
            shown = ", ".join(shorten(name, 40) for name in names) or "none"
            raise InputError(f"--llm: several addresses must serve one model, found {shown}")
        self.model = names[0]
        self.endpoints = tuple(endpoints)
        self.left_out: dict[str, str] = {}
        self._on_retry: Callable[[str], None] | None = None

    def __repr__(self) -> str:
        return f"EndpointPool([{', '.join(map(repr, self.endpoints))}])"

    @property
    def on_retry(self) -> Callable[[str], None] | None:
        """Called with one line before each further attempt, and when an endpoint is left out."""
        return self._on_retry

    @on_retry.setter
    def on_retry(self, call: Callable[[str], None] | None) -> None:
        self._on_retry = call
        for endpoint in self.endpoints:
            endpoint.on_retry = call

    @property
    def on_wait(self) -> Callable[[str], None] | None:
        """Called with one line when an endpoint has sent nothing for long."""
        return self.endpoints[0].on_wait

    @on_wait.setter
    def on_wait(self, call: Callable[[str], None] | None) -> None:
        for endpoint in self.endpoints:
            endpoint.on_wait = call

    @property
    def address(self) -> str:
        """The base URLs."""
        return ", ".join(endpoint.address for endpoint in self.endpoints)

    @property
    def concurrency(self) -> int:
        """The most requests ever under way at once, at all usable endpoints together."""
        return sum(endpoint.concurrency for endpoint in self.usable)

    @property
    def retries(self) -> int:
        """Attempts beyond the first of each request, so far."""
        return sum(endpoint.retries for endpoint in self.endpoints)

    @property
    def response_format(self) -> str:
        """How the shape of answers is asked for by now, at the first usable endpoint."""
        return (self.usable or self.endpoints)[0].response_format

    @property
    def ledger(self) -> Ledger | None:
        """What counts the use of all endpoints."""
        return self.endpoints[0].ledger

    @ledger.setter
    def ledger(self, ledger: Ledger | None) -> None:
        for endpoint in self.endpoints:
            endpoint.ledger = ledger

    @property
    def usable(self) -> tuple[ChatEndpoint, ...]:
        """The endpoints that were not left out."""
        return tuple(e for e in self.endpoints if e.base_url not in self.left_out)

    @contextlib.asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """Hold the connections of this event loop open; nested and parallel uses share them."""
        async with contextlib.AsyncExitStack() as stack:
            for endpoint in self.endpoints:
                await stack.enter_async_context(endpoint.connected())
            yield

    async def complete(
        self, request: ChatRequest, keep: Callable[[Reply], None] | None = None
    ) -> Reply | CallFailed:
        """Ask the endpoint with the most room, and another should it prove unusable.

        Raises:
            ModelError: none of the endpoints can be used.
        """
        while usable := self.usable:
            endpoint = max(usable, key=lambda e: e.pace.free / e.pace.ceiling)
            try:
                return await endpoint.complete(request, keep)
            except ModelError as error:
                self._leave_out(endpoint, error)
        last = list(self.left_out.values())[-1]
        raise ModelError(f"none of {len(self.endpoints)} endpoints can be used; the last: {last}")

    def _leave_out(self, endpoint: ChatEndpoint, error: ModelError) -> None:
        if endpoint.base_url in self.left_out:
            return
        self.left_out[endpoint.base_url] = str(error)
        if self._on_retry is not None and self.usable:
            self._on_retry(f"{error}; it is left out, {len(self.usable)} other(s) go on")
