"""A bar on standard error while a judge works; nothing where that is no terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from pnyx.judge.answers import Answer
    from pnyx.judge.base import Emit, Judge
    from pnyx.judge.completions import StoredModel
    from pnyx.judge.questions import JudgeQuestion

__all__ = ["reporting", "spent_so_far", "watched"]


class _Watched:
    """A judge that moves a bar with each answer; otherwise it is the judge it wraps."""

    def __init__(
        self,
        judge: Judge,
        models: Sequence[StoredModel],
        bar: Progress,
        task: TaskID,
        expected: Callable[[], int | None],
    ) -> None:
        self._judge = judge
        self._models = models
        self._bar = bar
        self._task = task
        self._expected = expected
        self._total = 0
        self._unscored = 0

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
        self._bar.update(self._task, total=self._expected() or self._total)

        def counted(position: int, answer: Answer) -> None:
            emit(position, answer)
            self._unscored += isinstance(answer, Unscored)
            self._bar.update(self._task, advance=1, spent=self._spent())

        await self._judge.answer(questions, counted)

    def _spent(self) -> str:
        unscored = f"{self._unscored} unscored" if self._unscored else ""
        return "  ".join(filter(None, [unscored, spent_so_far(self._models)]))


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
    """Yield the judge with a progress bar on standard error, or as it is without a terminal.

    The bar shows answers done of all, answers a second, how many are unscored, and the tokens and
    dollars that `models` have spent. `expected` says how many answers there will be, where the
    judge is asked several times; otherwise all that it has been asked so far.
    """
    if not sys.stderr.isatty():
        yield judge
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
        yield _Watched(judge, models, bar, task, expected)


@contextlib.contextmanager
def reporting() -> Iterator[Callable[[int, int, str], None]]:
    """Yield what reports steps done, of how many, and a word on them; a bar on a terminal."""
    if not sys.stderr.isatty():
        yield lambda _done, _of, _word: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def report(done: int, of: int, word: str) -> None:
            bar.update(task, completed=done, total=of, description=word)

        yield report
