"""Run async work: many tasks, a bounded number at once, and queues across event loops."""

from __future__ import annotations

import math
import os
import threading
from collections import Counter, OrderedDict
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any, Final, Generic, TypeVar

from pnyx.core.errors import PnyxError
from pnyx.core.threads import WorkerThreads

R = TypeVar("R")
T = TypeVar("T")

_LEFT: ContextVar[Callable[[], bool]] = ContextVar("pnyx-left", default=lambda: False)


class LeftError(PnyxError):
    """Nobody waits for the work any longer."""


@contextmanager
def while_wanted(left: Callable[[], bool]) -> Iterator[None]:
    """End the work inside, also in loops and threads of anyio, once `left` returns True."""
    token = _LEFT.set(left)
    try:
        yield
    finally:
        _LEFT.reset(token)


def wanted() -> Callable[[], None]:
    """Return a function that raises LeftError once nobody waits; call it before costly work."""
    left = _LEFT.get()

    def check() -> None:
        if left():
            raise LeftError("nobody waits for this any longer")

    return check


async def run_all(
    items: Iterable[T], work: Callable[[T], Awaitable[None]], *, workers: int
) -> None:
    """Do `work` for each item, at most `workers` at once; the first exception is raised.

    An exception cancels the work on other items, except LeftError: then no further item is started,
    and running work continues to its end, because requested replies are paid for.
    """
    import anyio
    import anyio.lowlevel

    waiting, check = iter(items), wanted()
    failures: list[Exception] = []

    async def worker() -> None:
        try:
            for item in waiting:
                # Work that never waits (all of it in the store) must let Ctrl-C through.
                await anyio.lowlevel.checkpoint()
                check()
                await work(item)
        except Exception as error:  # raised below, outside the exception group
            failures.append(error)
            if not isinstance(error, LeftError):
                group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for _ in range(workers):
            group.start_soon(worker)
    if failures:
        raise failures[0]


BLOCKED: Final = Counter[int]()
"""Threads that wait for work in another loop, while their own loop is blocked."""


def run_blocking(work: Callable[[], Awaitable[T]] | Coroutine[Any, Any, T]) -> T:
    """Return the result of async work in its own loop and thread; Ctrl-C cancels the work first."""
    from anyio.from_thread import start_blocking_portal

    async def main() -> T:
        return await (work() if callable(work) else work)

    thread = threading.get_ident()
    BLOCKED[thread] += 1
    try:
        with start_blocking_portal() as portal:
            return portal.call(main)
    finally:
        BLOCKED[thread] -= 1


_USED: list[int] = []


def use_cores(count: int) -> None:
    """Use at most this many cores from now on."""
    _USED[:] = [count]


def cores() -> int:
    """Return the number of cores that this process may use."""
    if _USED:
        return _USED[0]
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_threads(
    work: Callable[[R], T], items: Sequence[R], *, threads: int | None = None
) -> list[T]:
    """Return the result of `work` for each item, in order.

    It uses one thread per core, or at most `threads`. Before each item it raises LeftError if
    nobody waits any longer.
    """
    check = wanted()

    def step(item: R) -> T:
        check()
        return work(item)

    count = min(threads or cores(), cores(), len(items))
    if count < 2:
        return [step(item) for item in items]
    with WorkerThreads(count, thread_name_prefix="pnyx") as pool:
        return list(pool.map(step, items))


class PerLoop(Generic[T]):
    """One object per event loop, created at its first use there and closed after the last."""

    def __init__(self, close: Callable[[T], Awaitable[None]]) -> None:
        from anyio.lowlevel import RunVar

        self._close = close
        self._held: RunVar[list[Any] | None] = RunVar("pnyx-per-loop", None)

    @asynccontextmanager
    async def use(self, make: Callable[[], T]) -> AsyncIterator[T]:
        """Keep it open, created if needed; nested and parallel uses share it."""
        entry = self._held.get()
        if entry is None:
            entry = [make(), 0]
            self._held.set(entry)
        entry[1] += 1
        try:
            yield entry[0]
        finally:
            entry[1] -= 1
            if not entry[1]:
                self._held.set(None)
                await self._close(entry[0])


class Ticket:
    """A place in a queue. Its task waits on it; any thread may call it."""

    __slots__ = ("_event", "_native", "_thread", "called", "granted", "wanted")

    def __init__(self, wanted: Any = None) -> None:
        from anyio.lowlevel import current_token

        token: Any = current_token()
        self._native = getattr(token, "native_token", token)
        self._thread = threading.get_ident()
        self.wanted = wanted
        self.granted = False
        self.renew()

    def renew(self) -> None:
        """Make it possible to wait again."""
        import anyio

        self._event = anyio.Event()
        self.called = False

    async def wait(self, seconds: float = math.inf) -> None:
        """Wait to be called, at most for the given seconds."""
        import anyio

        if seconds == math.inf:
            await self._event.wait()
        else:
            with anyio.move_on_after(seconds):
                await self._event.wait()

    def call(self) -> bool:
        """Wake the waiting task; False if its event loop is closed."""
        if self.called:
            return True
        self.called = True
        try:
            if hasattr(self._native, "run_sync_soon"):  # trio
                self._native.run_sync_soon(self._event.set)
            elif self._native.is_closed():
                return False
            elif self._thread == threading.get_ident():
                self._event.set()
            else:
                self._native.call_soon_threadsafe(self._event.set)
        except RuntimeError:  # closed in between, or (trio) finished
            return False
        return True


class WaitQueue:
    """Admits waiters in order once their request can be met; hooks run with the lock held."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: OrderedDict[Ticket, None] = OrderedDict()

    def _take(self, wanted: Any) -> bool:
        """Take what is requested, if it is available now."""
        raise NotImplementedError

    def _free(self, wanted: Any) -> None:
        """Return what was taken."""
        raise NotImplementedError

    def _look(self, turn: Ticket) -> float:  # noqa: ARG002 - for kinds of gates
        """Return the seconds until a waiter checks again uncalled; raise to make it leave."""
        return math.inf

    def _is_hopeless(self, wanted: Any) -> bool:  # noqa: ARG002 - for kinds of gates
        """Whether a waiter should be called although its request cannot be met."""
        return False

    @property
    def waiting(self) -> int:
        """Number of waiters in the queue."""
        return len(self._turns)

    async def _enter(self, wanted: Any) -> None:
        with self._lock:
            if not self._turns and self._take(wanted):
                return
            turn = Ticket(wanted)
            self._turns[turn] = None
        try:
            while True:
                with self._lock:
                    self._grant()
                    if turn.granted:
                        return
                    seconds = self._look(turn)
                    turn.renew()
                await turn.wait(seconds)
        except BaseException:
            with self._lock:
                if turn.granted:
                    self._free(wanted)
                self._turns.pop(turn, None)
                self._grant()
                if (head := self._head()) is not None:  # it watches the clock from now on
                    head.call()
            raise

    def _leave(self, wanted: Any) -> None:
        self._free(wanted)
        self._grant()

    def _head(self) -> Ticket | None:
        return next(iter(self._turns), None)

    def _grant(self) -> None:
        while (head := self._head()) is not None:
            if self._take(head.wanted):
                del self._turns[head]
                head.granted = True
                if not head.call():  # its event loop is closed
                    self._free(head.wanted)
            elif self._is_hopeless(head.wanted) and not head.call():
                del self._turns[head]
            else:
                return


class MemoryBudget(WaitQueue):
    """Bytes shared by all open responses; beyond the limit, one response at a time may proceed."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.held = self.most = 0
        self._beyond: MemoryShare | None = None

    @asynccontextmanager
    async def share(self) -> AsyncIterator[MemoryShare]:
        """Hold a response's share for as long as it is in memory."""
        share = MemoryShare(self)
        try:
            yield share
        finally:
            with self._lock:
                self._leave((share, 0))

    async def _more(self, share: MemoryShare, count: int) -> None:
        with self._lock:
            # The response that may exceed the limit does not wait: the queue waits for it.
            if self._beyond is share and self._take((share, count)):
                return
        await self._enter((share, count))

    def _take(self, wanted: tuple[MemoryShare, int]) -> bool:
        share, count = wanted
        if self.held + count > self.size and self._beyond is not share:
            if self._beyond is not None:
                return False
            self._beyond = share
        self.held += count
        self.most = max(self.most, self.held)
        share.held += count
        return True

    def _free(self, wanted: tuple[MemoryShare, int]) -> None:
        share, _ = wanted
        self.held -= share.held
        share.held = 0
        if self._beyond is share:
            self._beyond = None


class MemoryShare:
    """The bytes of one response."""

    __slots__ = ("_room", "held")

    def __init__(self, room: MemoryBudget) -> None:
        self._room = room
        self.held = 0

    async def take(self, count: int) -> None:
        """Take more bytes as soon as there is room."""
        await self._room._more(self, count)
