"""The only place that starts threads: each runs in a copy of its starter's context.

Among other things, the context says whether anybody still waits for the work
(`pnyx.models.http.flow.while_wanted`). A thread without it would continue working for a client that
has left. `asyncio.to_thread` and `anyio.to_thread.run_sync` copy the context themselves.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class WorkerThreads(ThreadPoolExecutor):
    """A thread pool; each task runs in a copy of the context in which it was submitted."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function in a thread; `map` also calls this."""
        context = copy_context()
        return super().submit(lambda: context.run(fn, *args, **kwargs))


def start_thread(work: Callable[[], object], name: str) -> threading.Thread:
    """Start a daemon thread."""
    run = copy_context().run
    thread = threading.Thread(target=run, args=(work,), daemon=True, name=name)
    thread.start()
    return thread
