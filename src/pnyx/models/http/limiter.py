"""How many requests an endpoint is given at once, learnt from how it bears them.

The law is that of congestion control: slow start, multiplicative decrease (Jacobson, SIGCOMM 1988),
then as CUBIC (Ha, Rhee and Xu, 2008). See docs/decisions/pace-and-budget.md.
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


class Elsewhere(Exception):  # noqa: N818 - reads as what happened
    """A request left the line, for it can start at once somewhere else."""


class Limit:
    """How many requests may be under way (`value`, 1 to `ceiling`): the law, without clock."""

    def __init__(self, ceiling: int, first: int = _FIRST) -> None:
        if ceiling < 1:
            raise ValueError(f"the ceiling is {ceiling}, expected at least 1")
        self.ceiling = ceiling
        self.value = max(1, min(first, ceiling))
        self.epoch = 0
        self._borne = math.inf  # the highest load thought to be borne; infinite in slow start
        self._hold = _FIRST_HOLD  # rounds to stay there before more is tried
        self._step = 1
        self._served = 0
        self._trying = False

    def served(self, epoch: int, *, full: bool) -> None:
        """Heed a served request; only a `full` load puts the limit to the test."""
        if epoch != self.epoch or not full or self.value >= self.ceiling:
            return
        if self.value < self._borne:  # one more for each: doubles in a round
            self.value += 1
            return
        self._served += 1
        if self._served < self._hold * self.value:
            return
        if self._trying:  # what was tried last has held: the endpoint bears more than it did
            self._hold = max(_LEAST_HOLD, self._hold // 2)
            self._step *= 2
        self._borne = self.value = min(self.value + self._step, self.ceiling)
        self._trying = True
        self._served = 0

    def overloaded(self, epoch: int, load: int) -> bool:
        """Heed a request that was too much at this `load`; return whether the limit was lowered."""
        if epoch != self.epoch:
            return False
        self.epoch += 1
        # A request may be overtaken on its way, so that it is refused at a higher load than it
        # started at: at least half of what was allowed is taken to be borne.
        refused = max(min(load, self.value), self.value // 2 + 1)
        self._borne = max(1, refused - 1)
        # One step beyond what was borne for long is little too much, and little is taken back.
        little = self._trying and self._step == 1 and load >= self.value
        self.value = max(1, int(refused * (_AFTER_A_TRY if little else _DECREASE)))
        self._hold = min(_MOST_HOLD, self._hold * 2) if self._trying else _FIRST_HOLD
        self._step = 1
        self._served = 0
        self._trying = False
        return True


@dataclass(slots=True)
class Slot:
    """A request's place among those under way."""

    elsewhere: Callable[[], bool] | None = None
    epoch: int = 0  # as it started
    load: int = 0  # as it started
    verdict: bool | None = None  # True served, False overloaded

    def served(self) -> None:
        """The endpoint bore the request."""
        self.verdict = True

    def overloaded(self) -> None:
        """The endpoint turned the request away as too much, or broke under it."""
        self.verdict = False


class AdaptiveLimiter(WaitQueue):
    """Holds the requests to one endpoint to what it bears, for all event loops and threads.

    Nothing polls: a request sleeps until a slot is free or `Retry-After` is over. Within `async
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
        """The most requests ever under way at once."""
        return self._law.ceiling

    @property
    def limit(self) -> int:
        """Requests that may be under way now, by what was learnt."""
        return self._law.value

    @property
    def free(self) -> int:
        """Requests that could start now; negative where some wait already."""
        return -self.waiting + (0 if self.cooling else self._law.value - self.under_way)

    @property
    def cooling(self) -> float:
        """Seconds for which nothing new starts, because the endpoint asked for it; else 0."""
        return max(0.0, self._cool_until - self._clock()) if self._cool_until else 0.0

    @asynccontextmanager
    async def slot(self, elsewhere: Callable[[], bool] | None = None) -> AsyncIterator[Slot]:
        """Hold a request's place under way; raises `Elsewhere` where `elsewhere` can start it."""
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
        """Start nothing new for so many seconds; several wishes extend, they do not add up."""
        with self._lock:
            self._cool_until = max(self._cool_until, self._clock() + seconds)
        self.stir()

    def stir(self) -> None:
        """Have all who wait look whether they still should."""
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
        # The head of the line minds the clock for all behind it.
        return (self.cooling or math.inf) if self._head() is turn else math.inf
