"""One model at several addresses: each request goes to the address with the most room.

A request that fails at one address is tried at another; an address that always fails is paused
(docs/explain/decisions/pace-and-budget.md).
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pnyx.core.errors import InputError, ModelError, shorten
from pnyx.models.chat.endpoint import ChatEndpoint
from pnyx.models.chat.types import CallFailed, ChatRequest, Reply
from pnyx.models.http.limiter import Elsewhere
from pnyx.models.http.responses import Retryable

_FAILURES = 3
"""After this many failures in a row an address rests; a single one may be the request's fault."""
_ELSEWHERE = ("rejected", "too_long")
"""Failures that cost nothing and may be the fault of the address: its server may differ."""


class _Health:
    """The state of an address: whether it rests, and until when."""

    def __init__(self, endpoint: ChatEndpoint) -> None:
        self.endpoint = endpoint
        self.failures = 0
        self._rests = 0
        self._until = 0.0

    @property
    def wait(self) -> float:
        return max(self._until - time.monotonic(), self.endpoint.limiter.cooling, 0.0)

    @property
    def on_trial(self) -> bool:
        return self._rests > 0

    def ready(self) -> bool:
        """Whether it may be used now; on trial, it gets one request at a time."""
        trial_under_way = self.on_trial and self.endpoint.limiter.under_way > 0
        return self.wait == 0 and not trial_under_way

    def rest(self, seconds: float) -> None:
        """Send it nothing for some seconds, without a failure: it loads its model."""
        self._until = max(self._until, time.monotonic() + seconds)
        self.endpoint.limiter.stir()

    def served(self) -> None:
        self.failures = self._rests = 0
        self._until = 0.0

    def failed(self) -> bool:
        """Record a failure; True if it starts to rest now."""
        self.failures += 1
        if self._until > time.monotonic() or (self.failures < _FAILURES and not self._rests):
            return False
        self._rests += 1
        self._until = time.monotonic() + self.endpoint.retry.wait(self._rests, None)
        self.endpoint.limiter.stir()
        return self._rests == 1


@dataclass(slots=True)
class _Tried:
    """The attempts of one request so far, by address."""

    before: dict[_Health, int]  # replies that it had sent when the request arrived
    times: dict[_Health, int] = field(default_factory=dict)  # attempts
    last: dict[_Health, Retryable] = field(default_factory=dict)  # the last temporary failure
    refused: dict[_Health, CallFailed] = field(default_factory=dict)  # permanent failures

    @property
    def attempts(self) -> int:
        return sum(self.times.values())


def _of_all(name: str, doc: str) -> property:
    def read(pool: EndpointPool) -> Any:
        return getattr(pool.endpoints[0], name)

    def write(pool: EndpointPool, value: Any) -> None:
        for endpoint in pool.endpoints:
            setattr(endpoint, name, value)

    return property(read, write, doc=doc)


class EndpointPool:
    """Several endpoints of one model, used as one.

    An endpoint that proves unusable is no longer used. One that fails repeatedly rests, for longer
    each time, and may return.

    Raises:
        InputError: the endpoints have different models.
    """

    def __init__(self, endpoints: Sequence[ChatEndpoint]) -> None:
        names = list(dict.fromkeys(endpoint.model for endpoint in endpoints))
        if len(names) != 1:
            listing = ", ".join(shorten(name, 40) for name in names) or "none"
            raise InputError(f"several addresses must serve one model, found {listing}")
        self.model = names[0]
        self.endpoints = tuple(endpoints)
        self.left_out: dict[str, str] = {}
        self._health = [_Health(endpoint) for endpoint in endpoints]
        self._said: set[str] = set()

    def __repr__(self) -> str:
        return f"EndpointPool([{', '.join(map(repr, self.endpoints))}])"

    on_retry: Any = _of_all("on_retry", "Called with a line before each further attempt.")
    on_wait: Any = _of_all("on_wait", "Called with a line when an endpoint is silent for long.")
    ledger: Any = _of_all("ledger", "Counts the usage of all endpoints.")

    @property
    def fields(self) -> Mapping[str, Any]:
        """The fields added to each request."""
        return self.endpoints[0].fields

    @property
    def address(self) -> str:
        """The base URLs."""
        return ", ".join(endpoint.address for endpoint in self.endpoints)

    @property
    def concurrency(self) -> int:
        """The maximum number of concurrent requests, at all usable endpoints together."""
        return sum(endpoint.concurrency for endpoint in self.usable)

    @property
    def retries(self) -> int:
        """Attempts beyond the first of each request, so far."""
        return sum(endpoint.retries for endpoint in self.endpoints)

    @property
    def response_format(self) -> str:
        """How the shape of answers is currently requested, at the first usable endpoint."""
        return (self.usable or self.endpoints)[0].response_format

    @property
    def usable(self) -> tuple[ChatEndpoint, ...]:
        """The endpoints that are still used."""
        return tuple(e for e in self.endpoints if e.base_url not in self.left_out)

    @contextlib.asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """Keep the connections of this event loop open; nested and parallel uses share them."""
        async with contextlib.AsyncExitStack() as stack:
            for endpoint in self.endpoints:
                await stack.enter_async_context(endpoint.connected())
            yield

    async def count_tokens(self, texts: Sequence[str]) -> list[int] | None:
        """Return the number of tokens of each text; see `ChatEndpoint.count_tokens`."""
        return await (self.usable or self.endpoints)[0].count_tokens(texts)

    async def complete(
        self, request: ChatRequest, keep: Callable[[Reply], None] | None = None
    ) -> Reply | CallFailed:
        """Ask the endpoint with the most room, and others if it fails.

        A request gets as many attempts in total as one endpoint would give it, and at least one at
        each.

        Raises:
            ModelError: none of the endpoints can be used.
        """
        tried = _Tried(before={health: health.endpoint.replies for health in self._health})
        while True:
            health = await self._next(tried)
            if health is None:
                return await self._give_up(tried)
            try:
                outcome = await health.endpoint.attempt(
                    request, keep, functools.partial(self._is_better_off, health, tried)
                )
                if isinstance(outcome, Retryable) and outcome.kind == "loading":
                    health.rest(health.endpoint.wait_for_model(outcome))
                    continue
            except Elsewhere:
                continue
            except ModelError as error:
                self._leave_out(health.endpoint, error)
                continue
            tried.times[health] = tried.times.get(health, 0) + 1
            if isinstance(outcome, Retryable):
                self._failed(health, outcome, tried)
            elif isinstance(outcome, CallFailed) and outcome.reason.startswith(_ELSEWHERE):
                tried.refused[health] = outcome
            else:
                health.served()
                # An address that had refused the same request is itself at fault.
                for other in tried.refused:
                    other.failed()
                return outcome

    def _usable(self) -> list[_Health]:
        usable = [h for h in self._health if h.endpoint.base_url not in self.left_out]
        if usable:
            return usable
        last = list(self.left_out.values())[-1]
        raise ModelError(f"none of {len(self.endpoints)} endpoints can be used; the last: {last}")

    async def _next(self, tried: _Tried) -> _Health | None:
        """Return the next address for a request, once it is ready; None after enough attempts."""
        import anyio

        paused = False
        while True:
            open_ = [h for h in self._usable() if h not in tried.refused]
            fresh = [h for h in open_ if not tried.times.get(h)]
            if not open_ or (not fresh and tried.attempts >= self._attempts(tried)):
                return None
            ready = [h for h in open_ if h.ready()]
            if not ready and (idle := [h for h in open_ if h.wait == 0]):
                ready = idle  # on trial, but no other address is available
            if tried.attempts >= self._attempts(tried):
                ready = fresh  # its last chance, even if the address rests
            if not ready:
                await anyio.sleep(min(h.wait for h in open_))
                continue
            # The share of its requests that an endpoint could start now.
            rooms = {h: h.endpoint.limiter.free / h.endpoint.limiter.ceiling for h in ready}
            choice = min(ready, key=lambda h: (tried.times.get(h, 0), -rooms[h]))
            if not tried.times.get(choice) or paused:
                return choice
            # It was tried at all addresses, and once more here: wait before the next attempt.
            paused = True
            await anyio.sleep(choice.endpoint.retry.wait(tried.attempts, None))

    def _attempts(self, tried: _Tried) -> int:
        retry = self.endpoints[0].retry
        kinds = {last.kind for last in tried.last.values()}
        return retry.connect_attempts if kinds == {"unreachable"} else retry.attempts

    def _is_better_off(self, here: _Health, tried: _Tried) -> bool:
        """Whether a request waiting at a resting address can go to an available one."""
        if here.wait == 0 and here.endpoint.base_url not in self.left_out:
            return False
        if tried.attempts >= self._attempts(tried) and not tried.times.get(here):
            return False  # it was tried at all other addresses
        return any(
            other.ready()
            for other in self._health
            if other is not here
            and other not in tried.refused
            and other.endpoint.base_url not in self.left_out
        )

    def _failed(self, health: _Health, outcome: Retryable, tried: _Tried) -> None:
        """Record a failed attempt, and let the address rest if it asks for it or always fails."""
        tried.last[health] = outcome
        endpoint = health.endpoint
        endpoint.announce(outcome, tried.attempts, self._attempts(tried))
        endpoint.heed(outcome)
        if health.failed() and endpoint.base_url not in self._said and len(self.usable) > 1:
            self._said.add(endpoint.base_url)
            if endpoint.on_wait is not None:
                endpoint.on_wait(
                    f"{endpoint.base_url} has failed {health.failures} times in a row "
                    f"({outcome.failed.reason}); it is paused, and its requests go elsewhere"
                )

    async def _give_up(self, tried: _Tried) -> CallFailed:
        """Fail a request that no address has answered; ModelError if none can be used."""
        failures = [*tried.refused.values(), *(last.failed for last in tried.last.values())]
        failed = CallFailed(f"{failures[0].reason} ({tried.attempts} attempts)")
        if any(health.endpoint.replies > tried.before[health] for health in self._usable()):
            return failed  # others were answered meanwhile: it is not an outage
        unreachable = all(last.kind == "unreachable" for last in tried.last.values())
        for health, last in tried.last.items():
            if last.kind == "unreachable" and not unreachable:
                continue  # it rests, and may return
            try:
                await health.endpoint.give_up(last, tried.attempts)
            except ModelError as error:
                self._leave_out(health.endpoint, error)
        self._usable()
        return failed

    def _leave_out(self, endpoint: ChatEndpoint, error: ModelError) -> None:
        if endpoint.base_url in self.left_out:
            return
        self.left_out[endpoint.base_url] = str(error)
        endpoint.limiter.stir()
        if self.on_retry is not None and self.usable:
            self.on_retry(f"{error}; it is no longer used; {len(self.usable)} other(s) continue")
