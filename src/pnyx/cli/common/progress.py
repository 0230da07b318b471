"""Progress on standard error: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import click

if TYPE_CHECKING:
    from pnyx.judge.base import Judge
    from pnyx.judge.store.completions import StoredModel
    from pnyx.records import Evidence, Question, Side
    from pnyx.write.case import Draft, Writer

__all__ = ["counted", "reporting", "spent_so_far", "told", "watched"]


LOG_SECONDS = 30.0
"""A log gets a line of progress this often; work that takes less leaves none."""

_Show: TypeAlias = Callable[[int, int | None, str], None]
"""Shows how much is done, of how much if that is known, and a word on it."""


def _logged(doing: str) -> _Show:
    """Return what writes a line to a log now and then, with the expected end.

    The pace is that since the first call: what was done before it may be of an earlier run.
    """
    said = time.monotonic()
    first: tuple[float, int] | None = None

    def show(done: int, of: int | None, word: str) -> None:
        nonlocal said, first
        now = time.monotonic()
        first = first or (now, done)
        if now - said < LOG_SECONDS:
            return
        said = now
        line = f"pnyx: {' '.join(filter(None, (doing, word)))}: {done:,}"
        if of:
            line += f" of {of:,}"
        if of and done > first[1]:
            pace = (now - first[0]) / (done - first[1])
            line += f", about {_duration(pace * (of - done))} left"
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
def reporting(doing: str = "") -> Iterator[_Show]:
    """Yield what shows how much is done, of how much, and a word on it."""
    if not sys.stderr.isatty():
        yield _logged(doing)
        return
    from rich import progress
    from rich.console import Console
    from rich.text import Text

    class Rate(progress.ProgressColumn):
        def render(self, task: progress.Task) -> Text:
            return Text(f"{task.speed:.1f}/s" if task.speed else "")

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        Rate(),
        progress.TextColumn("{task.fields[word]}"),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left"),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(doing, total=None, word="")
        yield lambda done, of, word: bar.update(task, completed=done, total=of, word=word)


@contextlib.contextmanager
def watched(
    judge: Judge,
    models: Sequence[StoredModel] = (),
    expected: Callable[[], int | None] = lambda: None,
) -> Iterator[Judge]:
    """Yield the judge with progress: answers, how many are unscored, and what models have spent.

    `expected` says how many answers there will be, where the judge is asked several times;
    otherwise all that it has been asked so far.
    """
    from pnyx.judge.watched import Watched

    with reporting("judging") as show:

        def tell(done: int, asked: int, unscored: int) -> None:
            lacking = f"{unscored} unscored" if unscored else ""
            word = "  ".join(filter(None, [lacking, spent_so_far(models)]))
            show(done, expected() or asked, word)

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
