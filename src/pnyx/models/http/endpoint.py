"""An address of a model, whatever is requested from it."""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

from pnyx.core.errors import ModelError
from pnyx.models.http.addresses import Secrets, check_address
from pnyx.models.http.flow import PerLoop
from pnyx.models.http.limiter import AdaptiveLimiter, Slot
from pnyx.models.http.responses import ResponseClassifier, Retryable, RetryPolicy
from pnyx.models.http.transport import MAX_REPLY_BYTES, HttpTransport

T = TypeVar("T")

_LOADING_LEAST, _LOADING_SHARE, _LOADING_MOST = 0.5, 0.2, 10.0
"""Pause between two checks whether a model is loaded: minimum in seconds, share of the time waited
so far, maximum in seconds."""
_LOADING_SIGN = 60.0
"""Seconds between two messages that a model is still loading."""


class Endpoint:
    """A model behind an address: its connections, its pace, and visible waits.

    What the server refuses, and how many requests it can handle, is remembered for the life of this
    object, which any event loop may use. The key goes only to the server: no log, store, repr or
    error message contains it.
    """

    path = ""
    longest = MAX_REPLY_BYTES
    usual_concurrency = 32
    own_process = False  # whether this process started the server

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None = None,
        *,
        retry: RetryPolicy | None = None,
        concurrency: int | None = None,
    ) -> None:
        self.base_url = check_address(base_url)
        self.model = model
        self.retry = retry or RetryPolicy()
        self.limiter = AdaptiveLimiter(
            self.usual_concurrency if concurrency is None else concurrency
        )
        self._lock = threading.Lock()
        self.on_retry: Callable[[str], None] | None = None
        self.on_wait: Callable[[str], None] | None = None
        self.retries = 0
        self._loading_since: float | None = None
        self._loading_said = 0.0
        self._key = api_key
        self._sorter = ResponseClassifier(self.base_url, model, Secrets(api_key))
        self._wires = PerLoop(HttpTransport.close)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r}, {self.model!r})"

    @property
    def address(self) -> str:
        """The base URL."""
        return self.base_url

    @property
    def concurrency(self) -> int:
        """The maximum number of concurrent requests."""
        return self.limiter.ceiling

    def connected(self) -> AbstractAsyncContextManager[HttpTransport]:
        """Keep the connections of this event loop open; nested and parallel uses share them."""
        return self._wires.use(self._wire)

    def attempts(self, outcome: Retryable) -> int:
        """Return the number of attempts for a request that failed this way."""
        unreachable = outcome.kind == "unreachable"
        return self.retry.connect_attempts if unreachable else self.retry.attempts

    def announce(self, outcome: Retryable, attempt: int, limit: int) -> None:
        """Count a further attempt and report it."""
        self.retries += 1
        if self.on_retry is not None:
            self.on_retry(f"{outcome.failed.reason} (attempt {attempt} of {limit})")

    def wait_for_model(self, outcome: Retryable) -> float:
        """Return the seconds to wait for a server that loads its model; report a long wait.

        Raises:
            ModelError: the limit `retry.loading` is reached.
        """
        now, longest = time.monotonic(), self.retry.loading
        if self._loading_since is None:
            self._loading_since = self._loading_said = now
            self._say_loading(f"waiting up to {longest:g} s (--set wait)", outcome)
        waited = now - self._loading_since
        if waited >= longest:
            raise ModelError(
                f"{self.base_url} still loads its model after {longest:g} s: "
                f"{outcome.failed.reason}; wait longer with --set wait=SECONDS"
            )
        if now - self._loading_said >= _LOADING_SIGN:
            self._loading_said = now
            self._say_loading(f"waited {waited:.0f} of {longest:g} s (--set wait)", outcome)
        wanted = outcome.retry_after or max(_LOADING_LEAST, waited * _LOADING_SHARE)
        return min(wanted, _LOADING_MOST, longest - waited)

    def _say_loading(self, words: str, outcome: Retryable) -> None:
        if self.on_wait is not None:
            self.on_wait(f"{self.base_url} loads its model ({outcome.failed.reason}); {words}")

    def heed(self, outcome: Retryable) -> bool:
        """Start nothing for as long as the endpoint asks; report a long pause."""
        if outcome.retry_after is None:
            return False
        seconds = self.retry.wait(1, outcome.retry_after)
        news = self.limiter.cooling < seconds / 2
        self.limiter.cool(seconds)
        if news and seconds >= self.retry.silence and self.on_wait is not None:
            wanted = f"{self.base_url} asks for no requests for {outcome.retry_after:,.0f} s"
            self.on_wait(f"{wanted}; the next request follows after {seconds:.0f} s")
        return True

    async def _patiently(
        self,
        ask: Callable[[], Awaitable[T]],
        check: Callable[[Retryable], None] = lambda _: None,
    ) -> tuple[T, int]:
        """Ask until the outcome is not `Retryable`, or the last attempt; return the attempts."""
        import anyio

        attempt = 0
        while True:
            outcome = await ask()
            if isinstance(outcome, Retryable) and outcome.kind == "loading":
                await anyio.sleep(self.wait_for_model(outcome))
                continue
            attempt += 1
            if not isinstance(outcome, Retryable) or attempt >= (limit := self.attempts(outcome)):
                return outcome, attempt
            check(outcome)
            self.announce(outcome, attempt, limit)
            if not self.heed(outcome):
                await anyio.sleep(self.retry.wait(attempt, None))

    def _learn(self, slot: Slot, outcome: object) -> None:
        if not isinstance(outcome, Retryable) or outcome.kind == "http":
            self._loading_since = None
        if not isinstance(outcome, Retryable):
            slot.served()
        elif outcome.overloaded:
            slot.overloaded()

    def _wire(self) -> HttpTransport:
        return HttpTransport(
            self.base_url,
            self._key,
            self.retry.timeout,
            path=self.path,
            longest=self.longest,
            on_silence=self._silence,
            silence=self.retry.silence,
            own_process=self.own_process,
        )

    def _silence(self, seconds: float, under_way: int) -> None:
        if self.on_wait is not None:
            plural = "" if under_way == 1 else "s"
            self.on_wait(
                f"{self.base_url} has sent nothing for {seconds:.0f} s ({under_way} request{plural}"
                f" open; timeout of each: {self.retry.timeout:g} s)"
            )
