"""The interface of all models that complete chats."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, runtime_checkable

from pnyx.models.chat.ledger import Ledger
from pnyx.models.chat.types import CallFailed, ChatRequest, Reply


@runtime_checkable
class ChatModel(Protocol):
    """A model that completes chats: an endpoint, a pool of them, or a local model.

    `model` is part of the key of each reply in the judgement store, so models that answer
    differently must have different names. `on_retry` and `on_wait` are called with a line before
    each further attempt and after a long silence; `ledger`, if set, counts the cost and enforces
    the budget.
    """

    model: str
    on_retry: Callable[[str], None] | None
    on_wait: Callable[[str], None] | None
    ledger: Ledger | None

    @property
    def concurrency(self) -> int:
        """The maximum number of concurrent requests."""

    @property
    def address(self) -> str:
        """Its location, for people: a URL or a file."""

    @property
    def response_format(self) -> str:
        """How the shape of answers is currently requested: one of `outcomes.FORMATS`."""

    @property
    def retries(self) -> int:
        """Attempts beyond the first of each request, so far."""

    def connected(self) -> AbstractAsyncContextManager[Any]:
        """Keep connections open; nested and parallel uses share them."""

    async def complete(
        self, request: ChatRequest, keep: Callable[[Reply], None] | None = None
    ) -> Reply | CallFailed:
        """Ask until there is a reply, which `keep` gets at once; ModelError if there is none."""
