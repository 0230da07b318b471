"""Work off the event loop: few threads, a bounded queue, and shared results."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pnyx.core.errors import PnyxError
from pnyx.core.threads import WorkerThreads, yield_cpu
from pnyx.models.http.flow import LeftError, while_wanted

if TYPE_CHECKING:
    from starlette.requests import Request

T = TypeVar("T")

_AGAIN_AFTER: Final = 2


class Busy(PnyxError):  # noqa: N818 - reads as what it tells the user
    """Too many requests are waiting; retry `after` this many seconds."""

    after = _AGAIN_AFTER


class Pool:
    """Threads (`workers`) for blocking work, with a queue of at most `waiting` items.

    With `yielding` they let others go first (`yield_cpu`).
    """

    def __init__(self, name: str, workers: int, waiting: int, *, yielding: bool = False) -> None:
        first = yield_cpu if yielding else None
        self._threads = WorkerThreads(workers, f"pnyx-{name}", initializer=first)
        self._most = workers + waiting
        self._open = 0
        self._counting = threading.Lock()

    async def run(self, work: Callable[[], T], left: threading.Event | None = None) -> T:
        """Do work in a thread until nobody waits (`left`, cancelled); Busy if the queue is full."""
        with self._counting:
            if self._open >= self._most:
                raise Busy("the server is busy: too many requests are waiting")
            self._open += 1
        gone = left or threading.Event()

        def wanted_work() -> T:
            with while_wanted(gone.is_set):
                return work()

        future = self._threads.submit(wanted_work)
        future.add_done_callback(self._done)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            gone.set()
            raise

    def _done(self, _: object) -> None:
        with self._counting:
            self._open -= 1

    def close(self) -> None:
        """Drop queued work, and do not wait for running work."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class SharedResults:
    """The `most` latest results by key; requests for a running computation wait for it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._under_way: dict[Hashable, asyncio.Task[Any]] = {}
        self._waiters: dict[Hashable, int] = {}

    def get(self, key: Hashable) -> Any:
        """Return the stored result; None if there is none."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def put(self, key: Hashable, value: Any) -> None:
        """Store a result in place of the least recently used one."""
        self._kept[key] = value
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    async def ask(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the stored result, or wait for `make`; failures are not stored."""
        if (stored := self.get(key)) is not None:
            return stored
        task = self._under_way.get(key)
        if task is None:
            task = self._under_way[key] = asyncio.ensure_future(self._make(key, make))
        self._waiters[key] = self._waiters.get(key, 0) + 1
        try:
            return await asyncio.shield(task)
        finally:
            self._waiters[key] -= 1
            if not self._waiters[key]:
                del self._waiters[key]
                if not task.done():
                    self._under_way.pop(key, None)
                    task.cancel()

    async def _make(self, key: Hashable, make: Callable[[], Any]) -> Any:
        try:
            value = await make()
            self.put(key, value)
            return value
        finally:
            if self._under_way.get(key) is asyncio.current_task():
                del self._under_way[key]


async def while_there(request: Request, work: Awaitable[T]) -> T:
    """Wait for work; cancel it and raise LeftError if the client disconnects."""

    async def gone() -> None:
        await request.body()
        while (await request.receive())["type"] != "http.disconnect":
            pass

    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(gone())
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise LeftError("the client disconnected")
    finally:
        for task in (working, leaving):
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await asyncio.gather(working, leaving, return_exceptions=True)
