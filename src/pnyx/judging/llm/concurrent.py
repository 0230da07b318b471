"""Ask a language model about each of many items, as many at once as it can handle."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias, TypeVar

from pnyx.judging.store.completions import StoredModel
from pnyx.models.http.flow import run_all, run_blocking

S = TypeVar("S")
R = TypeVar("R")

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with the number of finished items, the total, and a note."""


def each(
    sources: Sequence[S],
    work: Callable[[S], Awaitable[R]],
    model: StoredModel | None,
    on_done: Progress | None = None,
    doing: str = "",
) -> list[R]:
    """Return the result of `work` for each source, in order."""
    results: dict[int, R] = {}

    async def keep(item: tuple[int, S]) -> None:
        results[item[0]] = await work(item[1])
        if on_done is not None:
            on_done(len(results), len(sources), doing)

    async def run() -> None:
        async with contextlib.AsyncExitStack() as stack:
            if model is not None:
                await stack.enter_async_context(model.running())
            workers = 1 if model is None else model.concurrency
            await run_all(enumerate(sources), keep, workers=workers)

    run_blocking(run)
    return [results[position] for position in range(len(sources))]
