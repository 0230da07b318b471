"""Progress of long work: a bar on a terminal or in a notebook, a line now and then in a log."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

LOG_SECONDS = 30.0
"""A log gets a line of progress this often; work that takes less leaves none."""

SETTLED_SECONDS = 1.0
"""What comes in the first moments makes no pace: much of it was there before."""

PACE_SECONDS = 2.0
"""Work goes on this long before its pace is told."""


_REDRAWN = 0.2
"""Seconds between two looks of a bar in a notebook."""

WAIT_SECONDS = 0.7
"""A call in Python shows no bar before it has taken this long."""

VARIABLE = "PNYX_PROGRESS"
"""Set to 0, calls in Python show no bars."""


_showing = threading.Lock()
"""Held while a bar is up: those of calls within are not shown."""


class Show(Protocol):
    """Shows how much is done."""

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


def _logged(doing: str) -> Show:
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
        sys.stderr.write(", ".join(filter(None, (line, pace.left))) + "\n")

    return show


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@contextlib.contextmanager
def reporting(doing: str = "") -> Iterator[Show]:
    """Yield what shows how much is done, of how much, and a word on it."""
    if not sys.stderr.isatty():
        yield _logged(doing)
        return
    first = _showing.acquire(blocking=False)
    try:
        with _on_terminal(doing) as show:
            yield show
    finally:
        if first:
            _showing.release()


@contextlib.contextmanager
def _on_terminal(doing: str) -> Iterator[Show]:
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
def counted(doing: str, of: int | None = None) -> Iterator[Callable[[int], None]]:
    """Yield what shows a count, of so many if that is known."""
    with reporting(doing) as show:
        yield lambda count: show(count, of, "")


# Calls in Python ----------------------------------------------------------------------------------


@contextlib.contextmanager
def showing(doing: str) -> Iterator[Show]:
    """Yield what shows how far a call in Python is, as `reporting`, but only where somebody looks.

    That is a call of the main thread that takes a while, on a terminal or in a notebook; of calls
    within each other, the outermost.
    """
    notebook = _notebook()
    seen = (notebook or sys.stderr.isatty()) and os.environ.get(VARIABLE) != "0"
    main = threading.current_thread() is threading.main_thread()
    if not (seen and main and _showing.acquire(blocking=False)):
        yield _nothing
        return
    began, bar, shown = time.monotonic(), contextlib.ExitStack(), list[Show]()

    def show(done: int, of: int | None, word: str, *, free: bool = False) -> None:
        if not shown and time.monotonic() - began >= WAIT_SECONDS:
            opened = _in_notebook(doing, notebook) if notebook else _on_terminal(doing)
            shown.append(bar.enter_context(opened))
        for one in shown:
            one(done, of, word, free=free)

    try:
        with bar:
            yield show
    finally:
        _showing.release()


def _nothing(*_: object, **__: object) -> None:
    """Show nothing."""


@contextlib.contextmanager
def counting(
    told: Callable[[int], None] | None, doing: str, of: int | None = None
) -> Iterator[Callable[[int], None]]:
    """Yield what is told a count: `told`, or without it what shows the count, see `showing`."""
    if told is not None:
        yield told
        return
    with showing(doing) as show:
        yield lambda count: show(count, of, "")


def _notebook() -> Any:
    """Return the `display` of a notebook that runs this; None for none."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if type(shell).__name__ != "ZMQInteractiveShell":
        return None
    return getattr(sys.modules.get("IPython.display"), "display", None)


@contextlib.contextmanager
def _in_notebook(doing: str, display: Any) -> Iterator[Show]:
    """Yield what shows a bar in a notebook, which is gone when all is done."""
    pace, last = _Pace(), 0.0
    handle = display({"text/html": ""}, raw=True, display_id=True)

    def show(done: int, of: int | None, word: str, *, free: bool = False) -> None:
        nonlocal last
        now = time.monotonic()
        pace.take(now, done, of, free=free)
        if now - last < _REDRAWN:
            return
        last = now
        line = "  ".join(filter(None, (pace.counted, _rate(pace.rate), word, pace.left)))
        most = f' max="{abs(of)}" value="{done}"' if of else ""
        html = f"<progress{most}></progress> {doing} {line}"
        handle.update({"text/html": html, "text/plain": f"{doing} {line}"}, raw=True)

    yield show
    handle.update({"text/html": "", "text/plain": ""}, raw=True)
