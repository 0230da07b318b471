"""Ask a language model about many items: how many in a call, and how many calls at once."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias, TypeVar

from pnyx.judging.store.completions import StoredModel
from pnyx.models.http.flow import run_all, run_blocking

T = TypeVar("T")
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


def split_evenly(items: Sequence[T], most: int) -> list[list[T]]:
    """Return the items in as few lists of at most `most` as possible, of nearly equal lengths."""
    count = -(-len(items) // most)
    bounds = [-(-len(items) * n // max(1, count)) for n in range(count + 1)]
    return [list(items[low:high]) for low, high in itertools.pairwise(bounds)]
