"""Progress of long work: a bar on a terminal or in a notebook, occasional lines in a log."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

LOG_SECONDS = 30.0
"""Seconds between two lines of progress in a log; shorter work writes none."""

SETTLED_SECONDS = 1.0
"""Seconds before the rate is measured: much of the first work was done before."""

PACE_SECONDS = 2.0
"""Seconds of work before the rate is shown."""


_REDRAWN = 0.2
"""Seconds between two updates of a bar in a notebook."""

WAIT_SECONDS = 0.7
"""Seconds that a call in Python takes before it shows a bar."""

VARIABLE = "PNYX_PROGRESS"
"""Environment variable: at 0, calls in Python show no bars."""


_showing = threading.Lock()
"""Held while a bar is shown, so that nested calls show none."""


class Show(Protocol):
    """Shows how much is done."""

    def __call__(self, done: int, of: int | None, word: str, *, free: bool = False) -> None:
        """Show `done` of `of` (negative: end unknown) and a note; `free`: from the store."""


class _Pace:
    """The amount of work done, the total, and the rate."""

    def __init__(self) -> None:
        self.done, self._now = 0, 0.0
        self._of: int | None = None
        self._began: float | None = None
        self._base = (0.0, 0)

    def take(self, now: float, done: int, of: int | None, *, free: bool) -> None:
        """Record the work done so far; a smaller number starts a new kind of work."""
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
        """Items per second; None if it is too early to say."""
        seconds, count = self._now - self._base[0], self.done - self._base[1]
        return count / seconds if count > 0 and seconds >= PACE_SECONDS else None

    @property
    def left(self) -> str:
        """The expected remaining time; empty if it is unknown."""
        rate, of = self.rate, self._of or 0
        return f"about {_duration((of - self.done) / rate)} left" if rate and of > 0 else ""


def _logged(doing: str) -> Show:
    """Return a function that writes occasional lines to a log, with the expected end."""
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
    """Yield a function that shows the work done, the total, and a note."""
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
    """Yield a function that shows a count, with the total if it is known."""
    with reporting(doing) as show:
        yield lambda count: show(count, of, "")


# Calls in Python ----------------------------------------------------------------------------------


@contextlib.contextmanager
def showing(doing: str) -> Iterator[Show]:
    """Yield a function that shows the progress of a call in Python if somebody is watching.

    A bar is shown for a call of the main thread that takes a while, on a terminal or in a notebook.
    Of nested calls, only the outermost shows one.
    """
    notebook = _notebook()
    seen = (notebook or sys.stderr.isatty()) and os.environ.get(VARIABLE) != "0"
    main = threading.current_thread() is threading.main_thread()
    if not (seen and main and _showing.acquire(blocking=False)):
        yield _nothing
        return
    began, bar, bars = time.monotonic(), contextlib.ExitStack(), list[Show]()

    def show(done: int, of: int | None, word: str, *, free: bool = False) -> None:
        if not bars and time.monotonic() - began >= WAIT_SECONDS:
            opened = _in_notebook(doing, notebook) if notebook else _on_terminal(doing)
            bars.append(bar.enter_context(opened))
        for show_bar in bars:
            show_bar(done, of, word, free=free)

    try:
        with bar:
            yield show
    finally:
        _showing.release()


def _nothing(*_: object, **__: object) -> None:
    """Show nothing."""


@contextlib.contextmanager
def counting(
    report: Callable[[int], None] | None, doing: str, of: int | None = None
) -> Iterator[Callable[[int], None]]:
    """Yield the function that takes counts: `report`, or else one that shows them (`showing`)."""
    if report is not None:
        yield report
        return
    with showing(doing) as show:
        yield lambda count: show(count, of, "")


def _notebook() -> Any:
    """Return the `display` function of the notebook that runs this; None outside a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if type(shell).__name__ != "ZMQInteractiveShell":
        return None
    return getattr(sys.modules.get("IPython.display"), "display", None)


@contextlib.contextmanager
def _in_notebook(doing: str, display: Any) -> Iterator[Show]:
    """Yield a function that shows a bar in a notebook, which is removed when the work is done."""
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
