"""Running async work: many pieces, a bounded number at once; to its end, from anywhere."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any, Generic, TypeVar

__all__ = ["PerLoop", "run_all", "run_blocking"]

T = TypeVar("T")


async def run_all(
    items: Iterable[T], work: Callable[[T], Awaitable[None]], *, workers: int
) -> None:
    """Do `work` for each item, at most `workers` at once; the first exception is raised."""
    import anyio
    import anyio.lowlevel

    waiting = iter(items)
    failures: list[Exception] = []

    async def worker() -> None:
        try:
            for item in waiting:
                # Work that never waits (all of it in the store) must let Ctrl-C through.
                await anyio.lowlevel.checkpoint()
                await work(item)
        except Exception as error:  # raised below, out of the exception group
            failures.append(error)
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for _ in range(workers):
            group.start_soon(worker)
    if failures:
        raise failures[0]


def run_blocking(work: Callable[[], Awaitable[T]] | Coroutine[Any, Any, T]) -> T:
    """Run async work in an event loop in a thread of its own, and return its result."""
    from anyio.from_thread import start_blocking_portal

    async def main() -> T:
        return await (work() if callable(work) else work)

    with start_blocking_portal() as portal:
        return portal.call(main)


class PerLoop(Generic[T]):
    """One thing for each event loop, made at its first use there and closed after the last."""

    def __init__(self, close: Callable[[T], Awaitable[None]]) -> None:
        from anyio.lowlevel import RunVar

        self._close = close
        self._held: RunVar[list[Any] | None] = RunVar("pnyx-per-loop", None)

    @asynccontextmanager
    async def use(self, make: Callable[[], T]) -> AsyncIterator[T]:
        """Hold it open, made if need be; nested and parallel uses share it."""
        held = self._held.get()
        if held is None:
            held = [make(), 0]
            self._held.set(held)
        held[1] += 1
        try:
            yield held[0]
        finally:
            held[1] -= 1
            if not held[1]:
                self._held.set(None)
                await self._close(held[0])
