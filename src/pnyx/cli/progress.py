"""A bar on standard error while a judge works; nothing where that is no terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from pnyx.judge.answers import Answer
    from pnyx.judge.base import Emit, Judge
    from pnyx.judge.questions import JudgeQuestion

__all__ = ["watched"]


class _Watched:
    """A judge that moves a bar with each answer; otherwise it is the judge it wraps."""

    def __init__(self, judge: Judge, bar: Progress, task: TaskID) -> None:
        self._judge = judge
        self._bar = bar
        self._task = task
        self._total = 0

    @property
    def name(self) -> str:
        return self._judge.name

    @property
    def kinds(self) -> frozenset[type]:
        return self._judge.kinds

    @property
    def card(self) -> str:
        return self._judge.card

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        self._total += len(questions)
        self._bar.update(self._task, total=self._total)

        def counted(position: int, answer: Answer) -> None:
            emit(position, answer)
            self._bar.advance(self._task)

        await self._judge.answer(questions, counted)


@contextlib.contextmanager
def watched(judge: Judge) -> Iterator[Judge]:
    """Yield the judge with a progress bar on standard error, or as it is without a terminal."""
    if not sys.stderr.isatty():
        yield judge
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("judging"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield _Watched(judge, bar, bar.add_task("judging", total=None))
