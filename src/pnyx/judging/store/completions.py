"""A chat model with its store: no request is sent twice."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pnyx.core.errors import ModelError, escaped, shorten
from pnyx.judging.store.rows import request_key
from pnyx.judging.store.store import CLAIM_SECONDS, UNREADABLE, Store, claimant
from pnyx.models.chat.model import ChatModel
from pnyx.models.chat.types import CallFailed, ChatRequest, CountsTokens, Reply
from pnyx.models.http.flow import BLOCKED, wanted

if TYPE_CHECKING:
    import anyio
    import anyio.lowlevel

STOPS_ALL = ("budget", "not_in_store")
"""Failures that concern the run and not a single request: nothing was sent."""

_NO_ROOM = ("too_long", "rejected", "not_in_store")
"""Failures of a second attempt after which the first reply counts."""

_ASKED_ANEW, _UNREADABLE_AGAIN = "asked_anew", f"{UNREADABLE} again"

_USELESS, _FRESH = 64, 8
"""Pnyx stops asking after this many replies without an answer from the start: a model that answers
1 of 20 passes in 96 of 100 runs. At least this many of them must be from this run: stored replies
may be from before a server was repaired."""


def _waits() -> Iterator[float]:
    """Yield the waits between checks whether another process has the answer."""
    seconds = 0.02
    while True:
        yield seconds
        seconds = min(0.5, seconds * 1.5)


@dataclass(slots=True)
class Counts:
    """The numbers of requests by outcome, and the tokens (by the server's count) of those sent."""

    asked: int = 0
    from_store: int = 0
    shared: int = 0
    failed: int = 0
    missing: int = 0
    asked_again: int = 0  # because the reply was empty, or a stored one was unreadable
    tokens: dict[str, int] = field(default_factory=dict)

    def add(self, outcome: Reply | CallFailed) -> None:
        """Count an outcome of the endpoint."""
        if isinstance(outcome, CallFailed):
            self.failed += 1
            return
        self.asked += 1
        for name, count in outcome.usage.items():
            self.tokens[name] = self.tokens.get(name, 0) + count


def _is_empty(outcome: Reply | CallFailed) -> bool:
    return isinstance(outcome, CallFailed) and outcome.reason.startswith("empty")


class _Flight:
    def __init__(self) -> None:
        import anyio

        self.landed = anyio.Event()
        self.outcome: Reply | CallFailed | None = None


_THREADS: dict[str, int] = {}
"""Owner of claims in this process -> the thread of its loop."""


class _Running:
    """State shared by the uses of a model within one event loop."""

    def __init__(self) -> None:
        self.uses = 0
        self.owner = claimant()
        _THREADS[self.owner] = threading.get_ident()
        self.flights: dict[str, _Flight] = {}
        self.useless = ""


class StoredModel:
    """A chat endpoint whose replies are stored; safe to use from several event loops and threads.

    Args:
        endpoint: the model.
        store: where its replies are stored.
        concurrency: number of questions that a judge works on at once, at least 1; by default the
            endpoint's maximum (its own limit adapts: `pnyx.models.http.limiter`).
        offline: send nothing; a request that is not in the store fails as it failed before, or with
            `not_in_store`, and is listed in `missing`: to plan a run, or to read stored replies
            again after a parser changed.
    """

    def __init__(
        self,
        endpoint: ChatModel,
        store: Store,
        concurrency: int | None = None,
        *,
        offline: bool = False,
    ) -> None:
        from anyio.lowlevel import RunVar

        if concurrency is None:
            concurrency = endpoint.concurrency
        if concurrency < 1:
            raise ValueError(f"concurrency is {concurrency}, expected at least 1")
        self.endpoint = endpoint
        self.store = store
        self.concurrency = concurrency
        self.offline = offline
        self.counts = Counts()
        self.missing: dict[str, ChatRequest] = {}
        self._useless: int | None = 0
        self._replied: set[str] = set()  # keys of replies of this run
        self._loops: anyio.lowlevel.RunVar[Any] = RunVar("pnyx-stored-model")

    @property
    def name(self) -> str:
        """The model's name."""
        return self.endpoint.model

    def key(self, request: ChatRequest) -> str:
        """Return the store key of a request."""
        return request_key(self.endpoint.model, self._with_fields(request))

    def _with_fields(self, request: ChatRequest) -> ChatRequest:
        """Return a request with the additional fields of the model, which affect replies."""
        fields = getattr(self.endpoint, "fields", None)
        return replace(request, fields=fields) if fields else request

    def sent(
        self, first: ChatRequest, last: ChatRequest, outcome: Reply | CallFailed
    ) -> tuple[str, ...]:
        """Return the keys of the requests sent by a `whole(first)` that returned the others."""
        stopped = isinstance(outcome, CallFailed) and outcome.reason.startswith(STOPS_ALL)
        requests = [first, *([] if last == first else [last])]
        return tuple(map(self.key, requests[:-1] if stopped else requests))

    async def complete(self, request: ChatRequest) -> Reply | CallFailed:
        """Return the stored reply, or ask, commit the reply to the store, and return it.

        Of a failure only the reason is stored: the request is sent again next time. If another
        process is sending the same request, its reply is awaited.

        Raises:
            ModelError: the endpoint cannot be used at all, or none of its replies (`heed`).
        """
        request = self._with_fields(request)
        key = self.key(request)
        if self.offline:
            return self._from_store(key, request)
        import anyio

        check = wanted()
        async with self._running() as running:
            for wait in _waits():
                stored = self.store.get(key)
                if stored is not None:
                    self.counts.from_store += 1
                    return stored.reply
                flight = running.flights.get(key)
                if flight is not None:
                    await flight.landed.wait()
                    if flight.outcome is not None:
                        self.counts.shared += 1
                        return flight.outcome
                    continue
                check()
                if running.useless:
                    for under_way in list(running.flights.values()):  # they are paid for
                        await under_way.landed.wait()
                    raise ModelError(running.useless)
                if self.store.claim(key, running.owner) or self._waits_for_us(key):
                    return await self._ask(running, key, request)
                await anyio.sleep(wait)
        raise AssertionError  # the waits never end

    def _waits_for_us(self, key: str) -> bool:
        """Whether the claim's owner is a loop that a handler blocks by asking without `await`."""
        return BLOCKED[_THREADS.get(self.store.holder(key), 0)] > 0

    def heed(self, text: str, problem: str | None) -> None:
        """Record whether a reply was usable: stop asking if none of the first replies was.

        `problem` says why `text` has no answer; None: it has one.
        """
        if problem is None or self._useless is None:
            self._useless = None
            return
        self._useless += 1
        running: _Running | None = self._loops.get(None) if not self.offline else None
        fresh = self.counts.asked + self.counts.failed
        if running is not None and self._useless >= _USELESS and fresh >= _FRESH:
            running.useless = running.useless or (
                f"no answer was in any of the first {self._useless} replies of "
                f"{escaped(self.name, 60)}; the last: {shorten(text, 60)!r} ({shorten(problem)})"
            )
            self._useless = 0

    async def ask_again(self, request: ChatRequest) -> Reply | None:
        """Ask again if a reply of an earlier run is unreadable; None if that was done already.

        The new reply replaces the old one.
        """
        request = self._with_fields(request)
        key = self.key(request)
        noted = self.store.failure(key) or ""
        if self.offline or key in self._replied or self.store.get(key) is None:
            return None
        if noted.startswith((_ASKED_ANEW, _UNREADABLE_AGAIN)):
            return None

        def keep(reply: Reply) -> None:
            self.store.replace(key, self.endpoint.model, request, reply)
            self.store.put_failure(key, self.endpoint.model, f"{_ASKED_ANEW}: it was unreadable")

        async with self._running() as running:
            if running.useless:
                return None
            try:
                outcome = await self.endpoint.complete(request, keep)
            except ModelError:  # the server is not available: only the stored reply remains
                return None
        self.counts.add(outcome)
        self.counts.asked_again += 1
        return outcome if isinstance(outcome, Reply) else None

    def note_unreadable(self, request: ChatRequest, problem: str) -> None:
        """Record that the stored reply to a request is unreadable: `pnyx store --unreadable`."""
        key = self.key(request)
        if self.offline or self.store.get(key) is None:
            return
        again = (self.store.failure(key) or "").startswith((_ASKED_ANEW, _UNREADABLE_AGAIN))
        word = _UNREADABLE_AGAIN if again else UNREADABLE
        self.store.put_failure(key, self.endpoint.model, f"{word}: {problem}")

    async def count_tokens(self, texts: Sequence[str]) -> list[int] | None:
        """Return the number of tokens of each text by the model's own tokenizer; None: unknown."""
        if self.offline or not isinstance(self.endpoint, CountsTokens):
            return None
        return await self.endpoint.count_tokens(texts)

    async def whole(
        self, request: ChatRequest, most: int | None = None
    ) -> tuple[ChatRequest, Reply | CallFailed]:
        """Like `complete`, but ask once more with a higher limit after a truncated reply.

        By default `most` is twice the request's tokens. Returns the last request and its outcome;
        if the second attempt is refused for its length, or is not allowed (`offline`), the first
        counts.
        """
        outcome = await self.complete(request)
        room = 2 * request.max_tokens if most is None else min(2 * request.max_tokens, most)
        if not isinstance(outcome, Reply) or outcome.finish_reason != "length":
            return request, outcome
        if room <= request.max_tokens:
            return request, outcome
        again = replace(request, max_tokens=room)
        second = await self.complete(again)
        if isinstance(second, CallFailed) and second.reason.startswith(_NO_ROOM):
            return request, outcome
        return again, second

    def _from_store(self, key: str, request: ChatRequest) -> Reply | CallFailed:
        stored = self.store.get(key)
        if stored is not None:
            self.counts.from_store += 1
            return stored.reply
        self.counts.missing += 1
        self.missing[key] = request
        if key in self.store.damaged:
            return CallFailed(f"not_in_store: the stored reply {self.store.damaged[key]}")
        return CallFailed(self.store.failure(key) or "not_in_store: this was never asked")

    async def _ask(self, running: _Running, key: str, request: ChatRequest) -> Reply | CallFailed:
        flight = running.flights[key] = _Flight()

        def keep(reply: Reply) -> None:
            self.store.put(key, self.endpoint.model, request, reply)
            self._replied.add(key)

        try:
            stored = self.store.get(key)  # another process may just have stored the reply
            if stored is not None:
                self.counts.from_store += 1
                flight.outcome = stored.reply
                return stored.reply
            # Intentionally in the loop's own thread: a commit takes a fraction of a millisecond,
            # and nothing can interrupt between the reply's last byte and its being stored.
            async with self._claimed(running, key):
                outcome = await self.endpoint.complete(request, keep)
                if _is_empty(outcome):
                    self.heed("", "empty")
                    if not running.useless:
                        self.counts.asked_again += 1
                        outcome = await self.endpoint.complete(request, keep)
                        if _is_empty(outcome):
                            self.heed("", "empty")
                if isinstance(outcome, CallFailed) and outcome.reason.startswith("only_thinking"):
                    self.heed("", outcome.reason)
            if isinstance(outcome, CallFailed) and not outcome.reason.startswith("budget"):
                self.store.put_failure(key, self.endpoint.model, outcome.reason)
            self.counts.add(outcome)
            flight.outcome = outcome
            return outcome
        finally:
            del running.flights[key]
            flight.landed.set()
            self.store.release(key, running.owner)

    @contextlib.asynccontextmanager
    async def _claimed(self, running: _Running, key: str) -> AsyncIterator[None]:
        """Renew a claim repeatedly; an exception of the work done meanwhile is raised alone."""
        import anyio

        async def renew() -> None:
            while True:
                await anyio.sleep(CLAIM_SECONDS / 3)
                self.store.claim(key, running.owner)

        failure: Exception | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(renew)
            try:
                yield
            except Exception as error:
                failure = error
            tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep connections open during many requests."""
        if self.offline:
            yield
            return
        async with self._running():
            yield

    @contextlib.asynccontextmanager
    async def _running(self) -> AsyncIterator[_Running]:
        """Share connections, limit and flights among all uses within this event loop."""
        current: _Running | None = self._loops.get(None)
        running = current or _Running()
        self._loops.set(running)
        running.uses += 1
        try:
            async with self.endpoint.connected():
                yield running
        finally:
            running.uses -= 1
            if running.uses == 0 and self._loops.get(None) is running:
                self._loops.set(None)
                _THREADS.pop(running.owner, None)
