"""What all models that complete chats have in common."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, runtime_checkable

from pnyx.models.chat.ledger import Ledger
from pnyx.models.chat.types import CallFailed, ChatRequest, Reply


@runtime_checkable
class ChatModel(Protocol):
    """Something that completes chats: an endpoint, a pool of them, a local model.

    `model` is part of the address of each reply in the judgement store, so two models that answer
    differently must differ in it. `on_retry` and `on_wait` are called with a line before each
    further attempt and after a long silence; `ledger` keeps the books and the budget, if it is set.
    """

    model: str
    on_retry: Callable[[str], None] | None
    on_wait: Callable[[str], None] | None
    ledger: Ledger | None

    @property
    def concurrency(self) -> int:
        """The most requests ever under way at once."""

    @property
    def address(self) -> str:
        """Where it is, for people: a URL or a file."""

    @property
    def response_format(self) -> str:
        """How the shape of answers is asked for by now: one of `outcomes.FORMATS`."""

    @property
    def retries(self) -> int:
        """Attempts beyond the first of each request, so far."""

    def connected(self) -> AbstractAsyncContextManager[Any]:
        """Hold what is needed for asking open; nested and parallel uses share it."""

    async def complete(
        self, request: ChatRequest, keep: Callable[[Reply], None] | None = None
    ) -> Reply | CallFailed:
        """Ask until there is a reply, which `keep` gets at once; ModelError where none can be."""
