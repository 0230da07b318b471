"""The number of concurrent requests to an endpoint, learnt from its responses.

The algorithm is that of congestion control: slow start and multiplicative decrease (Jacobson,
SIGCOMM 1988), then CUBIC (Ha, Rhee and Xu, 2008). See docs/explain/decisions/pace-and-budget.md.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from pnyx.models.http.flow import Ticket, WaitQueue

_FIRST = 32
_DECREASE, _AFTER_A_TRY = 0.75, 0.9
_LEAST_HOLD, _FIRST_HOLD, _MOST_HOLD = 1, 8, 64


class Elsewhere(Exception):  # noqa: N818 - the name says what happened
    """A request left the queue because another address can start it at once."""


class Limit:
    """The number of requests that may be open (`value`, 1 to `ceiling`): the algorithm alone."""

    def __init__(self, ceiling: int, first: int = _FIRST) -> None:
        if ceiling < 1:
            raise ValueError(f"the ceiling is {ceiling}, expected at least 1")
        self.ceiling = ceiling
        self.value = max(1, min(first, ceiling))
        self.epoch = 0
        self._borne = math.inf  # the highest load considered sustainable; infinite in slow start
        self._hold = _FIRST_HOLD  # rounds at this limit before a higher one is tried
        self._step = 1
        self._served = 0
        self._trying = False

    def served(self, epoch: int, *, full: bool) -> None:
        """Record a served request; only a `full` load tests the limit."""
        if epoch != self.epoch or not full or self.value >= self.ceiling:
            return
        if self.value < self._borne:  # one more for each: doubles in a round
            self.value += 1
            return
        self._served += 1
        if self._served < self._hold * self.value:
            return
        if self._trying:  # the last increase succeeded: the endpoint can handle more than before
            self._hold = max(_LEAST_HOLD, self._hold // 2)
            self._step *= 2
        self._borne = self.value = min(self.value + self._step, self.ceiling)
        self._trying = True
        self._served = 0

    def overloaded(self, epoch: int, load: int) -> bool:
        """Record a request that was too much at this `load`; return whether the limit fell."""
        if epoch != self.epoch:
            return False
        self.epoch += 1
        # A request may be overtaken on its way and refused at a higher load than it started at: at
        # least half of the allowed load is considered sustainable.
        refused = max(min(load, self.value), self.value // 2 + 1)
        self._borne = max(1, refused - 1)
        # One step beyond a load sustained for long is only slightly too much: decrease slightly.
        little = self._trying and self._step == 1 and load >= self.value
        self.value = max(1, int(refused * (_AFTER_A_TRY if little else _DECREASE)))
        self._hold = min(_MOST_HOLD, self._hold * 2) if self._trying else _FIRST_HOLD
        self._step = 1
        self._served = 0
        self._trying = False
        return True


@dataclass(slots=True)
class Slot:
    """The place of an open request."""

    elsewhere: Callable[[], bool] | None = None
    epoch: int = 0  # when it started
    load: int = 0  # when it started
    verdict: bool | None = None  # True served, False overloaded

    def served(self) -> None:
        """The endpoint handled the request."""
        self.verdict = True

    def overloaded(self) -> None:
        """The endpoint rejected the request as too much, or failed under the load."""
        self.verdict = False


class AdaptiveLimiter(WaitQueue):
    """Limits the requests to one endpoint to what it can handle, in all event loops and threads.

    Nothing polls: a request sleeps until a slot is free or `Retry-After` has passed. Within `async
    with pace.slot() as slot`, call `slot.served()` or `slot.overloaded()`.
    """

    def __init__(
        self,
        ceiling: int = 32,
        *,
        first: int = _FIRST,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._law = Limit(ceiling, first)
        self._clock = clock
        self.under_way = 0
        self._cool_until = 0.0

    @property
    def ceiling(self) -> int:
        """The maximum number of concurrent requests."""
        return self._law.ceiling

    @property
    def limit(self) -> int:
        """The number of requests that may be open now, as learnt so far."""
        return self._law.value

    @property
    def free(self) -> int:
        """The number of requests that could start now; negative if some are waiting already."""
        return -self.waiting + (0 if self.cooling else self._law.value - self.under_way)

    @property
    def cooling(self) -> float:
        """Seconds for which nothing new starts because the endpoint asked for it; else 0."""
        return max(0.0, self._cool_until - self._clock()) if self._cool_until else 0.0

    @asynccontextmanager
    async def slot(self, elsewhere: Callable[[], bool] | None = None) -> AsyncIterator[Slot]:
        """Hold a place for a request; raises `Elsewhere` if `elsewhere` can start it."""
        slot = Slot(elsewhere)
        await self._enter(slot)
        try:
            yield slot
        finally:
            with self._lock:
                if slot.verdict is True:
                    self._law.served(slot.epoch, full=self.under_way >= self._law.value)
                elif slot.verdict is False:
                    self._law.overloaded(slot.epoch, slot.load)
                self._leave(slot)

    def cool(self, seconds: float) -> None:
        """Start nothing for the given seconds; overlapping pauses extend, but do not add up."""
        with self._lock:
            self._cool_until = max(self._cool_until, self._clock() + seconds)
        self.stir()

    def stir(self) -> None:
        """Let all waiters check whether they should still wait."""
        with self._lock:
            for turn in self._turns:
                turn.call()

    def _take(self, slot: Slot) -> bool:
        if self.under_way >= self._law.value or self.cooling:
            return False
        self._cool_until = 0.0
        self.under_way += 1
        slot.epoch, slot.load = self._law.epoch, self.under_way
        return True

    def _free(self, slot: Slot) -> None:  # noqa: ARG002 - one is like another
        self.under_way -= 1

    def _look(self, turn: Ticket) -> float:
        slot: Slot = turn.wanted
        if slot.elsewhere is not None and slot.elsewhere():
            raise Elsewhere
        # The head of the queue watches the clock for all others.
        return (self.cooling or math.inf) if self._head() is turn else math.inf
