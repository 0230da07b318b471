"""The only place that starts threads: each runs in a copy of its starter's context.

Among other things, the context says whether anybody still waits for the work
(`pnyx.models.http.flow.while_wanted`). A thread without it would continue working for a client that
has left. `asyncio.to_thread` and `anyio.to_thread.run_sync` copy the context themselves.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_NICE: Final = 10
"""Such a thread gets about a tenth of a core for which another competes."""


class WorkerThreads(ThreadPoolExecutor):
    """A thread pool; each task runs in a copy of the context in which it was submitted."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function in a thread; `map` also calls this."""
        context = copy_context()
        return super().submit(lambda: context.run(fn, *args, **kwargs))


def yield_cpu() -> None:
    """Let other threads go first where cores are few, from now on (an `initializer`).

    Only on Linux, where each thread has its own priority, and those that it starts inherit it.
    """
    if sys.platform == "linux":
        os.nice(_NICE)


def start_thread(work: Callable[[], object], name: str) -> threading.Thread:
    """Start a daemon thread."""
    run = copy_context().run
    thread = threading.Thread(target=run, args=(work,), daemon=True, name=name)
    thread.start()
    return thread
