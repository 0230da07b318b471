"""Asking a judge about very many items: streaming, each answer written as it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, TypeAlias

from pnyx.errors import ModelError
from pnyx.judge.answers import Answer
from pnyx.judge.base import Judge, answer_once, run_blocking
from pnyx.judge.questions import JudgeQuestion
from pnyx.runs.journal import Journal

__all__ = ["BLOCK", "RowOf", "answer_items"]

BLOCK = 1024
"""Items given to a judge together: enough to keep every core or request busy, few enough to hold.
The next ones follow when a quarter is left, so that nobody waits for the last answer."""

_CALLS = 4
"""Blocks under way at once, at most."""
_LEAST = 256
"""A block of long texts is cut short, but not below this many items ..."""
_CHARACTERS = 32 * 1024 * 1024
"""... unless its texts, each counted once, are longer than twice this."""

RowOf: TypeAlias = Callable[[Any, Answer], Any]
"""What is written of an item and its answer, ready for JSON."""

Item: TypeAlias = tuple[int, Any]
"""An item with its position."""


def answer_items(
    judge: Judge,
    items: Iterable[JudgeQuestion],
    journal: Journal,
    row_of: RowOf,
    *,
    block: int = BLOCK,
) -> int:
    """Ask a judge about the items that the journal does not know; return how many there are."""
    count = 0

    def unknown() -> Iterator[Item]:
        nonlocal count
        for position, item in enumerate(items):
            count += 1
            if not journal.has(position, item):
                yield position, item

    def receive(asked: Item, answer: Answer) -> None:
        journal.add(*asked, row_of(asked[1], answer))

    blocks = _blocks(unknown(), block)
    first = next(blocks, None)  # read here, where Ctrl-C gets through, past all that is known
    if first is not None:
        try:
            run_blocking(lambda: _slide(judge, chain([first], blocks), block, receive))
        except ModelError as error:
            note = f"; {len(journal)} answers are kept for the next run" if len(journal) else ""
            raise ModelError(f"{error}{note}") from error
    journal.check_count(count)
    return count


async def _slide(
    judge: Judge,
    blocks: Iterable[list[Item]],
    block: int,
    receive: Callable[[Item, Answer], None],
) -> None:
    """Give block after block to the judge; the next one when few items are left open."""
    import anyio

    open_items = calls = 0
    moved = anyio.Event()
    failures: list[Exception] = []

    async def call(some: list[Item]) -> None:
        nonlocal calls

        def emit(place: int, answer: Answer) -> None:
            nonlocal open_items
            receive(some[place], answer)
            open_items -= 1
            moved.set()

        try:
            await answer_once(judge, [item for _, item in some], emit)
        except Exception as error:  # raised below, out of the exception group
            failures.append(error)
            tasks.cancel_scope.cancel()
        calls -= 1
        moved.set()

    async with anyio.create_task_group() as tasks:
        try:
            for some in blocks:
                open_items += len(some)
                calls += 1
                tasks.start_soon(call, some)
                while open_items > block // 4 or calls >= _CALLS:
                    moved = anyio.Event()
                    await moved.wait()
        except Exception as error:
            failures.append(error)
            tasks.cancel_scope.cancel()
    if failures:
        raise failures[0]


def _blocks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield items in blocks, shorter ones where their texts are long."""
    some: list[Item] = []
    texts: set[int] = set()
    length = 0
    for position, item in items:
        some.append((position, item))
        text = getattr(item, "text", "")
        if id(text) not in texts:  # one text of many items is there once
            texts.add(id(text))
            length += len(text)
        long = length >= _CHARACTERS and (len(some) >= _LEAST or length >= 2 * _CHARACTERS)
        if len(some) >= size or long:
            yield some
            some, texts, length = [], set(), 0
    if some:
        yield some
