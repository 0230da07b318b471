"""Work off the event loop: few threads, a line of limited length, and results that are shared."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pnyx.core.errors import PnyxError
from pnyx.core.threads import WorkerThreads
from pnyx.models.http.flow import LeftError, while_wanted

if TYPE_CHECKING:
    from starlette.requests import Request

T = TypeVar("T")

_AGAIN_AFTER: Final = 2


class Busy(PnyxError):  # noqa: N818 - reads as what it tells the user
    """Too many requests wait already; `after` is in how many seconds to ask again."""

    after = _AGAIN_AFTER


class Pool:
    """Threads (`workers`) for blocking work, of which so much may be `waiting` beside."""

    def __init__(self, name: str, workers: int, waiting: int) -> None:
        self._threads = WorkerThreads(workers, thread_name_prefix=f"pnyx-{name}")
        self._most = workers + waiting
        self._open = 0

    async def run(self, work: Callable[[], T], left: threading.Event | None = None) -> T:
        """Do work in a thread until nobody waits (`left`, cancelled); Busy: too much waits."""
        if self._open >= self._most:
            raise Busy("the server is busy: too many requests wait already")
        self._open += 1
        loop = asyncio.get_running_loop()
        gone = left or threading.Event()

        def wanted_work() -> T:
            with while_wanted(gone.is_set):
                return work()

        future = self._threads.submit(wanted_work)
        future.add_done_callback(lambda _: self._tell(loop))
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            gone.set()
            raise

    def _tell(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            loop.call_soon_threadsafe(self._done)
        except RuntimeError:  # the loop has ended, and with it the count
            self._done()

    def _done(self) -> None:
        self._open -= 1

    def close(self) -> None:
        """Drop what waits, and do not wait for what is under way."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class SharedResults:
    """The `most` latest results by key; who asks for what is under way waits for that."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._under_way: dict[Hashable, asyncio.Task[Any]] = {}
        self._waiters: dict[Hashable, int] = {}

    def get(self, key: Hashable) -> Any:
        """Return what is kept; None where nothing is."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def put(self, key: Hashable, value: Any) -> None:
        """Keep a result in place of the one that was asked for longest ago."""
        self._kept[key] = value
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    async def ask(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the kept result, or wait for what `make` gives; no failure is kept."""
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
    """Wait for work, and cancel it where the client goes away; LeftError then."""

    async def gone() -> None:
        await request.body()
        while (await request.receive())["type"] != "http.disconnect":
            pass

    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(gone())
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise LeftError("the client went away")
    finally:
        for task in (working, leaving):
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await asyncio.gather(working, leaving, return_exceptions=True)
