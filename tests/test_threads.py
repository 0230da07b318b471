"""Threads carry the context of who starts them, and only one module starts any."""

from __future__ import annotations

import ast
import asyncio
import os
import sys
import threading
from contextvars import ContextVar
from pathlib import Path

import anyio
import pytest

from chat_server import ChatServer
from pnyx.core.threads import WorkerThreads, start_thread, yield_cpu
from pnyx.judging.answers import Judged, Provenance
from pnyx.judging.base import ask
from pnyx.judging.questions import Support
from pnyx.models.chat.endpoint import ChatEndpoint
from pnyx.models.chat.pool import EndpointPool
from pnyx.models.chat.types import ChatRequest, Message
from pnyx.models.http import flow
from pnyx.models.http.flow import LeftError, in_threads, run_all, run_blocking, wanted, while_wanted
from pnyx.models.http.responses import RetryPolicy

ROOT = Path(__file__).resolve().parent.parent
SOURCES = (ROOT / "src", *sorted((ROOT / "packages").glob("*/src")))
STARTS = frozenset(
    "Thread Timer ThreadPool ThreadPoolExecutor run_in_executor start_new_thread "
    "start_blocking_portal".split()
)
ALLOWED = {
    "pnyx/core/threads.py": STARTS,
    # The portal runs what it is given in the caller's context (tested below).
    "pnyx/models/http/flow.py": {"start_blocking_portal"},
    # A program of its own, which no client waits for.
    "pnyx/models/local/worker.py": {"Thread"},
}


def names_in(tree: ast.AST) -> set[str]:
    """Return what a module calls or imports, and not the types in its annotations."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call | ast.ClassDef):
            parts = [node.func] if isinstance(node, ast.Call) else node.bases
            found |= {getattr(part, "attr", getattr(part, "id", "")) for part in parts}
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.name for alias in node.names}
    return found


@pytest.mark.parametrize(
    "text",
    [
        "threading.Thread(target=f)",
        "from concurrent.futures import ThreadPoolExecutor as Pool",
        "loop.run_in_executor(None, f)",
        "class Mine(threading.Thread): pass",
    ],
)
def test_each_way_to_start_a_thread_is_seen(text):
    assert names_in(ast.parse(text)) & STARTS


@pytest.mark.all
def test_only_one_module_starts_threads():
    """Elsewhere: `WorkerThreads` or `start_thread`; `to_thread` copies the context itself."""
    found = {}
    for source in SOURCES:
        for path in source.rglob("*.py"):
            name = path.relative_to(source).as_posix()
            text = path.read_text(encoding="utf-8")
            if others := names_in(ast.parse(text)) & STARTS - ALLOWED.get(name, frozenset()):
                found[name] = others
    assert found == {}


SAID: ContextVar[str] = ContextVar("said", default="nothing")


def in_a_thread() -> str:
    said: list[str] = []
    start_thread(lambda: said.append(SAID.get()), "test").join()
    return said[0]


def in_a_pool() -> str:
    with WorkerThreads(1) as pool:
        return pool.submit(SAID.get).result()


def mapped() -> str:
    with WorkerThreads(2) as pool:
        barrier = threading.Barrier(2)  # one context cannot be entered twice at a time

        def say(_: int) -> str:
            barrier.wait(60)
            return SAID.get()

        first, second = pool.map(say, range(2))
        assert first == second
        return first


async def said_in_a_loop() -> str:
    async def say() -> str:
        return SAID.get()

    said = {await say(), await anyio.to_thread.run_sync(SAID.get)}
    said |= {await asyncio.to_thread(SAID.get)}
    (one,) = said
    return one


@pytest.mark.parametrize(
    "door", [in_a_thread, in_a_pool, mapped, lambda: run_blocking(said_in_a_loop)]
)
def test_every_thread_knows_its_starters_context(door):
    held = SAID.set("something")
    try:
        assert door() == "something"
    finally:
        SAID.reset(held)
    assert door() == "nothing"


@pytest.mark.parametrize("cores", [1, 2])
def test_threads_take_no_further_item_once_nobody_waits(monkeypatch, cores):
    """Also where the work itself checks nothing, and where it asks within its thread."""
    monkeypatch.setattr(flow, "_USED", [cores])
    done, left = [], threading.Event()
    inside = []
    together = threading.Barrier(cores)

    def work(item: int) -> None:
        together.wait(60)
        done.append(item)
        left.set()
        try:
            wanted()()
        except LeftError:
            inside.append(item)

    with while_wanted(left.is_set), pytest.raises(LeftError):
        in_threads(work, range(100))
    assert len(done) == cores
    assert sorted(inside) == sorted(done)


@pytest.mark.parametrize("threads", [None, 1, 2, 3])
def test_as_many_threads_as_cores_or_fewer(monkeypatch, threads):
    monkeypatch.setattr(flow, "_USED", [2])
    names = in_threads(lambda _: threading.current_thread().name, range(50), threads=threads)
    here = threading.current_thread().name
    assert (set(names) == {here}) == (threads == 1)
    assert len(set(names)) <= 2
    assert in_threads(lambda item: item, [1]) == [1]
    assert in_threads(lambda item: item, []) == []


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_what_is_under_way_ends_by_itself_and_nothing_else_begins(backend):
    """Its reply is paid for; any other exception ends all at once."""
    left = threading.Event()

    async def main(error: Exception) -> tuple[list[int], list[int]]:
        begun, ended = [], []
        all_begun = anyio.Event()

        async def work(item: int) -> None:
            begun.append(item)
            if len(begun) == 3:
                all_begun.set()
            await all_begun.wait()
            if item == 0:
                left.set()
                raise error
            await anyio.sleep(0.01)
            ended.append(item)

        with while_wanted(left.is_set), pytest.raises(type(error)):
            await run_all(range(100), work, workers=3)
        return sorted(begun), sorted(ended)

    assert anyio.run(main, LeftError("left"), backend=backend) == ([0, 1, 2], [1, 2])
    left.clear()
    assert anyio.run(main, ValueError("wrong"), backend=backend) == ([0, 1, 2], [])


def test_no_answer_is_taken_from_a_judge_once_nobody_waits():
    class Steady:
        name, card, kinds = "steady", "", frozenset({Support})

        async def answer(self, questions, emit):
            for place in range(len(questions)):
                emit(place, Judged(True, Provenance("steady")))

    taken: list[int] = []
    questions = [Support(str(n), "Fares fell.", "Buses got cheaper.") for n in range(9)]
    with while_wanted(lambda: len(taken) == 3), pytest.raises(LeftError):
        ask(Steady(), questions, lambda place, _: taken.append(place))
    assert taken == [0, 1, 2]


@pytest.mark.parametrize("several", [False, True])
def test_a_failed_request_is_not_repeated_once_nobody_waits(several):
    left = threading.Event()
    retry = RetryPolicy(attempts=6, first_wait=0.001)
    with ChatServer(default="500") as chat:
        model = ChatEndpoint(chat.url, "test", retry=retry)
        if several:
            model = EndpointPool([model, ChatEndpoint(chat.url, "test", retry=retry)])
        model.on_retry = lambda _: left.set()
        with while_wanted(left.is_set), pytest.raises(LeftError):
            anyio.run(model.complete, ChatRequest((Message("user", "Yes?"),)))
        assert len(chat.asked()) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a priority for each thread")
def test_threads_that_yield_start_others_that_yield_and_leave_their_starter_alone():
    def priorities() -> tuple[int, int]:
        mine = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
        with WorkerThreads(1) as pool:
            started = pool.submit(lambda: os.getpriority(os.PRIO_PROCESS, 0)).result()
        return mine, started

    before = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    lower = min(before + 10, 19)
    with WorkerThreads(1, initializer=yield_cpu) as pool:
        assert pool.submit(priorities).result() == (lower, lower)
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == before
