"""Progress on standard error: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import click

if TYPE_CHECKING:
    from pnyx.judge.answers import Answer
    from pnyx.judge.base import Emit, Judge
    from pnyx.judge.completions import StoredModel
    from pnyx.judge.questions import JudgeQuestion

__all__ = ["reporting", "spent_so_far", "watched"]


LOG_SECONDS = 30.0
"""A log gets a line of progress this often; work that takes less leaves none."""

_Show: TypeAlias = Callable[[int, int | None, str], None]
"""Shows how much is done, of how much where that is known, and a word on it."""


class _Watched:
    """A judge whose answers are counted; otherwise it is the judge it wraps."""

    def __init__(
        self,
        judge: Judge,
        models: Sequence[StoredModel],
        show: _Show,
        expected: Callable[[], int | None],
    ) -> None:
        self._judge = judge
        self._models = models
        self._show = show
        self._expected = expected
        self._done = self._total = self._unscored = 0

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
        from pnyx.judge.answers import Unscored

        self._total += len(questions)

        def counted(position: int, answer: Answer) -> None:
            emit(position, answer)
            self._done += 1
            self._unscored += isinstance(answer, Unscored)
            self._show(self._done, self._expected() or self._total, self._spent())

        await self._judge.answer(questions, counted)

    def _spent(self) -> str:
        unscored = f"{self._unscored} unscored" if self._unscored else ""
        return "  ".join(filter(None, [unscored, spent_so_far(self._models)]))


def _logged(doing: str) -> _Show:
    """Return what writes a line to a log now and then, with the expected end."""
    began = said = time.monotonic()

    def show(done: int, of: int | None, word: str) -> None:
        nonlocal said
        now = time.monotonic()
        if now - said < LOG_SECONDS:
            return
        said = now
        line = f"pnyx: {' '.join(filter(None, (doing, word)))}: {done:,}"
        if of and done:
            line += f" of {of:,}, about {_duration((now - began) / done * (of - done))} left"
        click.echo(line, err=True)

    return show


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def spent_so_far(models: Sequence[StoredModel]) -> str:
    """Return tokens and, where the price is known, dollars in a few words; empty for none."""
    tokens = sum(model.counts.tokens.get("total_tokens", 0) for model in models)
    parts = [_rounded(tokens) + " tokens"] if tokens else []
    costs = [model.endpoint.ledger.cost for model in models if model.endpoint.ledger is not None]
    if costs and None not in costs:
        parts.append(f"${sum(cost or 0 for cost in costs):.4f}")
    return ", ".join(parts)


def _rounded(count: int) -> str:
    if count < 10_000:
        return str(count)
    return f"{count / 1000:.0f}k" if count < 10_000_000 else f"{count / 1e6:.1f}M"


@contextlib.contextmanager
def watched(
    judge: Judge,
    models: Sequence[StoredModel] = (),
    expected: Callable[[], int | None] = lambda: None,
) -> Iterator[Judge]:
    """Yield the judge with a progress bar on standard error; a log gets a line now and then.

    The bar shows answers done of all, answers a second, how many are unscored, and the tokens and
    dollars that `models` have spent. `expected` says how many answers there will be, where the
    judge is asked several times; otherwise all that it has been asked so far.
    """
    if not sys.stderr.isatty():
        yield _Watched(judge, models, _logged("judging"), expected)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:.1f}/s" if task.speed else "")

    columns = (
        TextColumn("judging"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TextColumn("{task.fields[spent]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("judging", total=expected(), spent="")

        def show(done: int, of: int | None, word: str) -> None:
            bar.update(task, completed=done, total=of, spent=word)

        yield _Watched(judge, models, show, expected)


@contextlib.contextmanager
def reporting() -> Iterator[Callable[[int, int, str], None]]:
    """Yield what reports steps done, of how many, and a word on them."""
    if not sys.stderr.isatty():
        yield _logged("")
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def report(done: int, of: int, word: str) -> None:
            bar.update(task, completed=done, total=of, description=word)

        yield report
