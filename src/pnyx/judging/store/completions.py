"""A chat model with its store, through which everything asks: nothing is asked twice."""

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
"""Failures that are about the run and not about one request: nothing was sent."""

_NO_ROOM = ("too_long", "rejected", "not_in_store")
"""Failures of a second try that leave the first reply standing."""

_ASKED_ANEW, _UNREADABLE_AGAIN = "asked_anew", f"{UNREADABLE} again"

_USELESS, _FRESH = 64, 8
"""Replies in which no answer was found, from the first on, after which no more are asked for: one
that answers 1 of 20 gets past them in 96 of 100 runs. So many of them are of this run at least: the
store's may be from before a server was mended."""


def _waits() -> Iterator[float]:
    """Yield how long to wait until it is looked again whether another process has the answer."""
    seconds = 0.02
    while True:
        yield seconds
        seconds = min(0.5, seconds * 1.5)


@dataclass(slots=True)
class Counts:
    """How requests were answered so far, and the tokens (by the server's count) of those asked."""

    asked: int = 0
    from_store: int = 0
    shared: int = 0
    failed: int = 0
    missing: int = 0
    asked_again: int = 0  # as the reply was empty, or a stored one could not be read
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
"""Who makes claims in this process -> the thread of its loop."""


class _Running:
    """What the uses of a model within one event loop share."""

    def __init__(self) -> None:
        self.uses = 0
        self.owner = claimant()
        _THREADS[self.owner] = threading.get_ident()
        self.flights: dict[str, _Flight] = {}
        self.useless = ""


class StoredModel:
    """A chat endpoint whose replies are kept; safe to use from several event loops and threads.

    Args:
        endpoint: the model.
        store: where its replies are kept.
        concurrency: how many questions a judge works on at once, at least 1; by default as many
            as the endpoint ever takes (its own limit adapts: `pnyx.models.http.limiter`).
        offline: ask nothing; what the store does not hold fails again as it failed before, or
            with `not_in_store`, and is listed in `missing`: to plan a run, or to judge stored
            replies anew after a parser changed.
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
        """Return where the store keeps the reply to a request."""
        return request_key(self.endpoint.model, self._with_fields(request))

    def _with_fields(self, request: ChatRequest) -> ChatRequest:
        """Return a request with the fields that the model's requests get, which decide replies."""
        fields = getattr(self.endpoint, "fields", None)
        return replace(request, fields=fields) if fields else request

    def sent(
        self, first: ChatRequest, last: ChatRequest, outcome: Reply | CallFailed
    ) -> tuple[str, ...]:
        """Return the keys of what was sent by a call of `whole(first)` that returned the others."""
        stopped = isinstance(outcome, CallFailed) and outcome.reason.startswith(STOPS_ALL)
        requests = [first, *([] if last == first else [last])]
        return tuple(map(self.key, requests[:-1] if stopped else requests))

    async def complete(self, request: ChatRequest) -> Reply | CallFailed:
        """Return the stored reply, or ask, commit the reply to the store, and return it.

        Of a failure only the reason is kept: the request is asked again next time. What another
        process is asking is waited for.

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
                    for under_way in list(running.flights.values()):  # it is paid for
                        await under_way.landed.wait()
                    raise ModelError(running.useless)
                if self.store.claim(key, running.owner) or self._waits_for_us(key):
                    return await self._ask(running, key, request)
                await anyio.sleep(wait)
        raise AssertionError  # the waits do not end

    def _waits_for_us(self, key: str) -> bool:
        """Whether the claim is of a loop that a handler holds up by asking without `await`."""
        return BLOCKED[_THREADS.get(self.store.holder(key), 0)] > 0

    def heed(self, text: str, problem: str | None) -> None:
        """Take note of what was made of a reply: where no answer was in any, no more is asked for.

        `problem` says why its `text` holds no answer; None: it does.
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

    async def asked_anew(self, request: ChatRequest) -> Reply | None:
        """Ask once more where a reply of an earlier run could not be read; None if that was done.

        The new reply takes the place of the old one.
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
            except ModelError:  # the server is away: what is stored is all there is
                return None
        self.counts.add(outcome)
        self.counts.asked_again += 1
        return outcome if isinstance(outcome, Reply) else None

    def note_unreadable(self, request: ChatRequest, problem: str) -> None:
        """Note that the stored reply to a request cannot be read: `pnyx store gc --unreadable`."""
        key = self.key(request)
        if self.offline or self.store.get(key) is None:
            return
        again = (self.store.failure(key) or "").startswith((_ASKED_ANEW, _UNREADABLE_AGAIN))
        word = _UNREADABLE_AGAIN if again else UNREADABLE
        self.store.put_failure(key, self.endpoint.model, f"{word}: {problem}")

    async def count_tokens(self, texts: Sequence[str]) -> list[int] | None:
        """Return how many tokens each text has by the model's own tokenizer; None: not known."""
        if self.offline or not isinstance(self.endpoint, CountsTokens):
            return None
        return await self.endpoint.count_tokens(texts)

    async def whole(
        self, request: ChatRequest, most: int | None = None
    ) -> tuple[ChatRequest, Reply | CallFailed]:
        """Do what `complete` does, and ask once more with more room after a cut-off reply.

        By default `most` is twice the request's tokens. Returns what was asked last, and its
        outcome; where the second try is refused for its length, or must not be made (`offline`),
        the first counts.
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
            stored = self.store.get(key)  # another process may just have answered it
            if stored is not None:
                self.counts.from_store += 1
                flight.outcome = stored.reply
                return stored.reply
            # In the loop's own thread on purpose: a commit takes a fraction of a millisecond, and
            # nothing can come between the reply's last byte and its being kept.
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
        """Make a claim again and again; an exception of what is done meanwhile is raised alone."""
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
        """Hold connections open while many requests come and go."""
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
