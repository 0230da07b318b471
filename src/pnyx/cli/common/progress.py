"""Progress on standard error: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

import click

if TYPE_CHECKING:
    from pnyx.judge.base import Judge
    from pnyx.judge.store.completions import StoredModel
    from pnyx.records import Evidence, Question, Side
    from pnyx.write.case import Draft, Writer

LOG_SECONDS = 30.0
"""A log gets a line of progress this often; work that takes less leaves none."""

SETTLED_SECONDS = 1.0
"""What comes in the first moments makes no pace: much of it was there before."""

PACE_SECONDS = 2.0
"""Work goes on this long before its pace is told."""


class _Show(Protocol):
    def __call__(self, done: int, of: int | None, word: str, *, free: bool = False) -> None:
        """Show `done` of `of` (negative: no end foreseen) and a word; `free`: from the store."""


class _Pace:
    """How much is done of how much, and how fast that goes on."""

    def __init__(self) -> None:
        self.done, self._now = 0, 0.0
        self._of: int | None = None
        self._began: float | None = None
        self._base = (0.0, 0)

    def take(self, now: float, done: int, of: int | None, *, free: bool) -> None:
        """Take what is done now; less than before is work of another kind."""
        if self._began is None or free or done < self.done:
            self._began = now
        if now - self._began < SETTLED_SECONDS:
            self._base = (now, done)
        self._now, self.done, self._of = now, done, of

    @property
    def counted(self) -> str:
        return f"{self.done:,}" + (f" of {abs(self._of):,}" if self._of else "")

    @property
    def rate(self) -> float | None:
        """How much is done in a second; None: too early to say."""
        seconds, count = self._now - self._base[0], self.done - self._base[1]
        return count / seconds if count > 0 and seconds >= PACE_SECONDS else None

    @property
    def left(self) -> str:
        """In how long all is done; empty where that cannot be told."""
        rate, of = self.rate, self._of or 0
        return f"about {_duration((of - self.done) / rate)} left" if rate and of > 0 else ""


def _logged(doing: str) -> _Show:
    """Return what writes a line to a log now and then, with the expected end."""
    last = time.monotonic()
    pace = _Pace()

    def show(done: int, of: int | None, word: str, *, free: bool = False) -> None:
        nonlocal last
        now = time.monotonic()
        pace.take(now, done, of, free=free)
        if now - last < LOG_SECONDS:
            return
        last = now
        line = f"pnyx: {' '.join(filter(None, (doing, word)))}: {pace.counted}"
        click.echo(", ".join(filter(None, (line, pace.left))), err=True)

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
def reporting(doing: str = "") -> Iterator[_Show]:
    """Yield what shows how much is done, of how much, and a word on it."""
    if not sys.stderr.isatty():
        yield _logged(doing)
        return
    from rich import progress
    from rich.console import Console

    pace = _Pace()
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.TextColumn("{task.fields[word]}"),
        progress.TimeElapsedColumn(),
        progress.TextColumn("{task.fields[left]}"),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(doing, total=None, word="", left="")

        def show(done: int, of: int | None, word: str, *, free: bool = False) -> None:
            pace.take(time.monotonic(), done, of, free=free)
            line = "  ".join(filter(None, (pace.counted, _rate(pace.rate), word)))
            bar.update(task, completed=done, total=abs(of) if of else None, word=line,
                       left=pace.left)  # fmt: skip

        yield show


def _rate(rate: float | None) -> str:
    if rate is None:
        return ""
    return f"{rate:,.1f}/s" if rate >= 0.1 else f"{rate * 60:.1f}/min"


@contextlib.contextmanager
def watched(
    judge: Judge,
    models: Sequence[StoredModel] = (),
    expected: Callable[[], int | None] = lambda: None,
) -> Iterator[Judge]:
    """Yield the judge with progress: answers (of those `expected`), unscored ones, and spending."""
    from pnyx.judge.watched import Watched

    with reporting("judging") as show:

        def tell(done: int, asked: int, unscored: int) -> None:
            lacking = f"{unscored} unscored" if unscored else ""
            word = "  ".join(filter(None, [lacking, spent_so_far(models)]))
            free = bool(models) and replied() == before
            show(done, expected() or -asked, word, free=free)

        def replied() -> int:
            return sum(model.counts.asked + model.counts.failed for model in models)

        before = replied()

        yield Watched(judge, tell)


class _Told:
    """A writer that says when it begins: a language model may take minutes for a side."""

    def __init__(self, writer: Writer) -> None:
        self._writer, self.name = writer, writer.name

    async def write(self, question: Question, side: Side, documents: Sequence[Evidence]) -> Draft:
        click.echo(f"pnyx: writing {side} from {len(documents)} passages: {self.name}", err=True)
        return await self._writer.write(question, side, documents)


def told(writer: Writer) -> Writer:
    """Return a writer that says on a log when it begins, if a language model writes."""
    quick = type(writer).__name__ == "ExtractiveWriter"
    return writer if quick or sys.stderr.isatty() else _Told(writer)


@contextlib.contextmanager
def counted(doing: str, of: int | None = None) -> Iterator[Callable[[int], None]]:
    """Yield what shows a count, of so many if that is known."""
    with reporting(doing) as show:
        yield lambda count: show(count, of, "")
