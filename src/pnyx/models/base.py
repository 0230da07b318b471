"""What a chat model is to the rest of Pnyx: an endpoint, a pool of them, a local model."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pnyx.models.replies import CallFailed, ChatRequest, Reply

if TYPE_CHECKING:
    from pnyx.models.ledger import Ledger

__all__ = ["ChatModel"]


@runtime_checkable
class ChatModel(Protocol):
    """Something that completes chats.

    Attributes:
        model: its name; part of the address of each reply in the judgement store, so two models
            that answer differently must differ in it.
        on_retry: called with one line before each further attempt, so that a wait can be shown.
        on_wait: called with one line when nothing at all has come back for long.
        ledger: keeps the books and the budget, if it is set.
    """

    model: str
    on_retry: Callable[[str], None] | None
    on_wait: Callable[[str], None] | None
    ledger: Ledger | None

    @property
    def concurrency(self) -> int:
        """The most requests ever under way at once."""
        ...

    @property
    def address(self) -> str:
        """Where it is, for people: a URL or a file."""
        ...

    @property
    def response_format(self) -> str:
        """How the shape of answers is asked for by now: one of `negotiate.FORMATS`."""
        ...

    @property
    def retries(self) -> int:
        """Attempts beyond the first of each request, so far."""
        ...

    def connected(self) -> AbstractAsyncContextManager[Any]:
        """Hold what is needed for asking open; nested and parallel uses share it."""
        ...

    async def complete(
        self, request: ChatRequest, keep: Callable[[Reply], None] | None = None
    ) -> Reply | CallFailed:
        """Ask once, however many attempts that takes.

        Args:
            request: what is asked.
            keep: called with the reply that is returned as soon as it is read, so that it can be
                stored before anything else happens.

        Raises:
            ModelError: nothing more can be asked: the model is not there, the key is refused.
        """
        ...
