"""One engine wherever people run it: a notebook, a web server, a loop of asyncio or of Trio."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pytest

from chat_server import ChatServer
from pnyx.judging.answers import Judged
from pnyx.judging.base import ask, ask_async
from pnyx.judging.llm.judge import LlmJudge
from pnyx.judging.questions import Support
from pnyx.judging.store.completions import StoredModel
from pnyx.judging.store.store import Store
from pnyx.models.chat.endpoint import ChatEndpoint


def questions(count: int, text: str = "Text") -> list[Support]:
    return [Support(str(n), f"{text} {n}.", "Buses got cheaper.") for n in range(count)]


@pytest.fixture
def judge(tmp_path):
    with ChatServer(delay=0.01) as server, Store(tmp_path / "store.sqlite") as store:
        judge = LlmJudge(StoredModel(ChatEndpoint(server.url, "test"), store, 8))
        judge.server = server
        yield judge


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_one_question_has_one_answer_and_a_list_has_a_list(judge, backend):
    (question,) = questions(1)
    answer = anyio.run(ask_async, judge, question, backend=backend)
    assert isinstance(answer, Judged)
    assert list(anyio.run(ask_async, judge, [question], backend=backend)) == [answer]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_awaiting_a_judge_in_either_loop(judge, backend):
    found: dict[int, Any] = {}

    async def main() -> None:
        async with anyio.create_task_group() as group:  # several at once share their questions
            for _ in range(3):
                group.start_soon(judge.answer, questions(10), found.__setitem__)

    for _ in range(2):
        found.clear()
        anyio.run(main, backend=backend)
        assert sorted(found) == list(range(10))
        assert all(isinstance(answer, Judged) for answer in found.values())
    assert len(judge.server.asked()) == 10


def test_loops_in_several_threads_at_once(judge):
    with ThreadPoolExecutor(4) as threads:
        works = [threads.submit(ask, judge, questions(10, f"Thread {n}")) for n in range(4)]
        answers = [answer for work in works for answer in work.result()]
    assert len(answers) == len(judge.server.asked()) == 40
    assert all(isinstance(answer, Judged) for answer in answers)


# --- a notebook

SETUP = """
from pnyx.judging.base import ask, ask_async
from pnyx.judging.store.completions import StoredModel
from pnyx.judging.llm.judge import LlmJudge
from pnyx.judging.questions import Support
from pnyx.judging.store.store import Store
from pnyx.models.chat.endpoint import ChatEndpoint
import asyncio
asyncio.get_running_loop()  # a notebook's cell runs inside of a loop
store = Store({path!r})
judge = LlmJudge(StoredModel(ChatEndpoint({url!r}, "test"), store))
questions = [Support(str(n), f"Text {{n}}.", "S.") for n in range(5)]
"""
TWICE = """
first = ask(judge, questions)
second = ask(judge, questions)
assert [a.value for a in first] == [a.value for a in second]
print(len(first), all(type(a.value) is bool for a in first))
"""
AWAITED = """
found = {}
await judge.answer(questions, found.__setitem__)
assert [found[n].value for n in range(5)] == [a.value for a in first]
await asyncio.gather(*(judge.answer(questions, lambda *_: None) for _ in range(3)))
print(len(found))
"""


@pytest.mark.all
@pytest.mark.filterwarnings("ignore")  # of the notebook's own machinery
def test_cells_of_a_real_notebook(tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    with ChatServer() as server:
        setup = SETUP.format(path=str(tmp_path / "store.sqlite"), url=server.url)
        cells = [nbformat.v4.new_code_cell(text) for text in (setup, TWICE, TWICE, AWAITED)]
        notebook = nbformat.v4.new_notebook(cells=cells)
        nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
        assert len(server.asked()) == 5
    printed = ["".join(o.get("text", "") for o in cell.outputs) for cell in notebook.cells]
    assert printed == ["", "5 True\n", "5 True\n", "5\n"]


# --- a web server


class App:
    """A bare ASGI application: `/ask` waits in its handler, `/await` awaits."""

    def __init__(self, judge: LlmJudge) -> None:
        self.judge = judge
        self.loops: set[str] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        self.loops.add(type(asyncio.get_running_loop()).__module__.partition(".")[0])
        asked = questions(3, scope["query_string"].decode())
        found: dict[int, Any] = {}
        if scope["path"] == "/ask":
            found = dict(enumerate(ask(self.judge, asked)))
        else:
            await self.judge.answer(asked, found.__setitem__)
        body = json.dumps([found[n].value for n in range(3)]).encode()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})


@contextlib.contextmanager
def serving(app: App, loop: str):
    uvicorn = pytest.importorskip("uvicorn")
    config = uvicorn.Config(app, port=0, loop=loop, log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        deadline = time.monotonic() + 120
        while not server.started:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@pytest.mark.parametrize("loop", ["asyncio", pytest.param("uvloop", marks=pytest.mark.all)])
def test_handlers_of_a_web_server(judge, loop):
    if loop == "uvloop":
        pytest.importorskip("uvloop")
    app = App(judge)
    with serving(app, loop) as url, ThreadPoolExecutor(8) as clients:
        paths = [f"{url}/{path}?Page+{n}" for n in range(6) for path in ("ask", "await", "await")]

        def get(address: str) -> list[bool]:
            with urllib.request.urlopen(address) as response:
                value: list[bool] = json.load(response)
                return value

        values = list(clients.map(get, paths))
    assert app.loops == {loop}
    assert all(len(value) == 3 for value in values)
    for n in range(6):
        assert values[3 * n] == values[3 * n + 1] == values[3 * n + 2]
    assert len(set(judge.server.answered())) == 18
    assert len(judge.server.asked()) <= 2 * 18
