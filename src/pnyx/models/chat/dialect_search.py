"""Find a wording of requests that a server accepts when its refusal does not say what is wrong.

The plainest request is sent first: if the server refuses that too, it refuses everything, and its
own message is reported. Otherwise the fields that it may refuse are left out one by one, token
probabilities first.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from pnyx.core.errors import ModelError
from pnyx.models.chat.ledger import BudgetReached, Ledger
from pnyx.models.chat.types import CallFailed, ChatRequest, Message, Reply
from pnyx.models.http.dialect import LIMITS, Dialect
from pnyx.models.http.responses import RefusedRequest, Retryable
from pnyx.models.http.transport import HttpTransport

GREETING = ChatRequest((Message("user", "Reply with the word: ok"),), max_tokens=16)
_MOST_REFUSED = 20
"""The run ends after this many refused requests in a row without any reply."""
_locks: weakref.WeakKeyDictionary[HttpTransport, Any] = weakref.WeakKeyDictionary()


class Refusable(Protocol):
    """The part of an endpoint that the search uses and updates; see `ChatEndpoint`."""

    base_url: str
    ledger: Ledger | None
    dialect: Dialect
    replies: int
    accepted: set[frozenset[str]]
    searched: set[frozenset[str]]
    refused_in_a_row: int

    async def sent(
        self,
        wire: HttpTransport,
        request: ChatRequest,
        dialect: Dialect,
        keep: Callable[[Reply], None] | None,
    ) -> Reply | CallFailed | Retryable | RefusedRequest:
        """Send a request in a given dialect."""

    async def greeted(
        self, wire: HttpTransport, request: ChatRequest, dialect: Dialect
    ) -> Reply | CallFailed | Retryable | RefusedRequest:
        """Send the greeting in a given dialect."""

    def safe_words(self, refused: RefusedRequest) -> str:
        """Return the server's refusal message without secrets."""

    def rejected(self, refused: RefusedRequest) -> CallFailed:
        """Return the failure of a refused request."""

    def hopeless(self, refused: RefusedRequest) -> str:
        """Return why Pnyx gives up a server that refuses everything."""


class DialectSearch:
    """The search for one refused request; requests of one event loop share a single search."""

    def __init__(
        self,
        endpoint: Refusable,
        wire: HttpTransport,
        request: ChatRequest,
        keep: Callable[[Reply], None] | None,
    ) -> None:
        self.endpoint, self.wire, self.request, self.keep = endpoint, wire, request, keep

    async def run(
        self, dialect: Dialect, refused: RefusedRequest
    ) -> Reply | CallFailed | Retryable:
        """Return the outcome of a refused request; ModelError if the server refuses everything."""
        outcome = await self.variants(dialect, refused)
        if outcome is not None:
            return outcome
        self.endpoint.refused_in_a_row += 1
        if not self.endpoint.replies and self.endpoint.refused_in_a_row >= _MOST_REFUSED:
            words = self.endpoint.safe_words(refused)
            raise ModelError(
                f"{self.endpoint.base_url} has refused each of the first "
                f"{self.endpoint.refused_in_a_row} requests (HTTP {refused.status}): {words}"
            )
        return self.endpoint.rejected(refused)

    async def variants(
        self, dialect: Dialect, refused: RefusedRequest
    ) -> Reply | CallFailed | Retryable | None:
        """Send the request in other dialects; None if the wording is not the problem."""
        import anyio

        features = dialect.features(self.request)
        if features in self.endpoint.accepted:
            if refused.status in (403, 404, 405):
                await self._greet(dialect, refused)  # the model may have been removed
            return None
        lock = _locks.setdefault(self.wire, anyio.Lock())
        async with lock:
            if (learnt := self.endpoint.dialect).features(self.request) != features:
                outcome = await self._sent(learnt)  # another request has found it meanwhile
                if not isinstance(outcome, RefusedRequest):
                    return outcome
            if features in self.endpoint.searched:
                return None
            if refused.status >= 500:  # otherwise every request of an outage would start a search
                self.endpoint.searched.add(features)
            if not await self._greet(dialect, refused):
                return None
            self.endpoint.searched.add(features)
            for variant in [*dialect.variants(self.request), dialect.plainest(self.request)]:
                outcome = await self._sent(variant)
                refused_again = getattr(outcome, "status", 0) == refused.status
                if not (refused_again or isinstance(outcome, RefusedRequest)):
                    return outcome
        return None

    async def _sent(self, dialect: Dialect) -> Reply | CallFailed | Retryable | RefusedRequest:
        return await self.endpoint.sent(self.wire, self.request, dialect, self.keep)

    async def _greet(self, dialect: Dialect, refused: RefusedRequest) -> bool:
        """Whether the plainest request is answered; ModelError if it is refused too."""
        unlimited = len(LIMITS) - 1
        plain = Dialect(limit=dialect.limit, streams=dialect.streams, dropped=_ALL)
        for wording in (plain, Dialect(limit=unlimited, dropped=_ALL)):
            ledger = self.endpoint.ledger
            if ledger is not None and ledger.limited and wording.limit == unlimited:
                break
            try:
                if ledger is not None:
                    ledger.check(GREETING)
            except BudgetReached:
                return False
            greeting = replace(GREETING, fields=self.request.fields)
            outcome = await self.endpoint.greeted(self.wire, greeting, wording)
            if isinstance(outcome, Reply):
                if ledger is not None:
                    ledger.count(GREETING, outcome.usage)
                return True
            if not isinstance(outcome, RefusedRequest):
                # An empty reply or a server error is not a refusal.
                return isinstance(outcome, CallFailed)
        raise ModelError(self.endpoint.hopeless(refused))


_ALL = frozenset(("temperature", "seed", "logprobs", "top_logprobs"))
