"""Running many small pieces of async work, a bounded number of them at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

__all__ = ["run_all"]

T = TypeVar("T")


async def run_all(
    items: Iterable[T], work: Callable[[T], Awaitable[None]], *, workers: int
) -> None:
    """Do `work` for each item, at most `workers` at once, started in their order.

    Args:
        items: read lazily, as the work keeps up.
        work: an exception of it stops everything and is raised here, the first one as it is and
            not in a group.
        workers: at least 1.
    """
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
