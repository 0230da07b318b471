"""Work ends when its client leaves: over real HTTP, counted in steps of the judge.

Nothing here is timed. The judge is held until the server has noticed that its clients left; of
what they had asked, only the steps that were under way by then may be seen afterwards.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import httpx2
import pytest

from tries import quick_cases

pytest.importorskip("starlette", reason="starlette is not installed")

from asking_fixture import example_index
from chat_server import ChatServer
from page_fixture import served_by_command

Request = tuple[str, str, object]

PATIENCE = 120
PROGRAM = str(Path(__file__).with_name("held_networks.py"))


def until(happened: Callable[[], bool]) -> None:
    limit = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < limit
        time.sleep(0.01)


def send(address: str, method: str, path: str, row: object = None) -> socket.socket:
    """Send a request and return its connection; nothing is read from it."""
    parts = urlsplit(address)
    body = b"" if row is None else json.dumps(row).encode()
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    connection = socket.create_connection((parts.hostname, parts.port))
    connection.sendall(head.encode() + body)
    return connection


def leave(address: str, connections: list[socket.socket]) -> None:
    """Close connections, and return when the server's event loop has dealt with that.

    It hears of the end of a connection before it hears of a later one, and each answer takes it
    several turns.
    """
    for connection in connections:
        connection.close()
    for _ in range(20):
        assert httpx2.get(f"{address}/healthz", timeout=PATIENCE).status_code == 200


def answered(address: str, request: Request) -> httpx2.Response:
    method, path, row = request
    return httpx2.request(method, f"{address}{path}", json=row, timeout=PATIENCE)


class HeldServer:
    """`pnyx serve` on two cores, whose judge waits while it is `held`."""

    def __init__(self, address: str, folder: Path) -> None:
        self.address, self._folder = address, folder

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        (self._folder / "hold").touch()
        try:
            yield
        finally:
            (self._folder / "hold").unlink()

    @property
    def steps(self) -> int:
        """How many passages the judge's network was given so far."""
        return (self._folder / "steps").read_bytes().count(b"\n")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("held")
    env = {"PNYX_STORE": str(folder / "store.sqlite"), "PNYX_LLM": "", "OMP_NUM_THREADS": "1"}
    args = ["serve", str(example_index())]
    with served_by_command(args, program=(PROGRAM, str(folder)), **env) as (address, _):
        until(lambda: httpx2.get(f"{address}/healthz").json()["status"] == "ok")
        yield HeldServer(address, folder)


def judge(name: str, count: int) -> Request:
    items = [
        {"id": str(n), "text": f"Fare {n} fell for {name}.", "statement": "Buses are cheap."}
        for n in range(count)
    ]
    return "POST", "/v1/judge", {"task": "support", "items": items}


def ask(path: str, name: str, **options: object) -> Request:
    """Ask about what no document is labelled with, so that the judge is needed."""
    return "GET", path + "?" + urlencode({"q": f"Should {name} ban coal?", **options}), None


REQUESTS: dict[str, tuple[Callable[[str], Request], Request]] = {
    "judge": (lambda name: judge(name, 64), judge("who stays", 1)),
    "argue": (
        lambda name: ("POST", "/v1/argue", {"question": f"Should {name} ban coal?"}),
        judge("who stays", 1),
    ),
    "search": (
        lambda name: ask("/v1/search", name, stance="con", depth=30),
        ask("/v1/search", "who stays", stance="con", depth=1, k=1),
    ),
    "perspectives": (lambda name: ask("/v1/perspectives", name, k=30), judge("who stays", 1)),
}
"""Kind of work -> what two clients ask that leave, and what another asks afterwards: one step."""


@pytest.mark.all
@pytest.mark.slow
@pytest.mark.parametrize("kind", REQUESTS)
def test_the_packaged_judge_stops_when_its_clients_leave(server, kind):
    """Two clients leave, as many as there are threads for such work.

    The judge was reading two passages for one of them; the other was waiting for the judge.
    """
    leaving, staying = REQUESTS[kind]
    before = server.steps
    with server.held():
        clients = [send(server.address, *leaving(name)) for name in ("early", "late")]
        until(lambda: server.steps - before == 2)
        leave(server.address, clients)
    assert answered(server.address, staying).status_code == 200
    assert server.steps - before == 2 + 1


class HeldChatServer(ChatServer):
    """A slow language model: it answers as many requests as it is told to."""

    def __init__(self) -> None:
        self._may = threading.Semaphore(0)
        super().__init__(reply=self._verdict_later)

    def _verdict_later(self, prompt: str) -> str:
        assert self._may.acquire(timeout=PATIENCE)
        return ""  # the usual verdict

    def answer(self, count: int) -> None:
        self._may.release(count)


MODEL_REQUESTS: dict[str, tuple[Request, int]] = {
    "judge": (judge("who leaves", 100), 32),
    "argue": (("POST", "/v1/argue", {"question": "Should Rome ban coal?"}), 1),
    "search": (ask("/v1/search", "Rome", rerank="true", depth=30, window=5, step=5), 1),
}
"""Kind of work -> what a client asks that leaves, and how many requests the model gets at once: as
many as its endpoint takes, what the question means, one window of a ranking."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", quick_cases(MODEL_REQUESTS, {"search"}))
def test_a_model_is_asked_nothing_more_and_its_replies_are_kept(own_place, kind):
    request, at_once = MODEL_REQUESTS[kind]
    with (
        HeldChatServer() as chat,
        served_by_command(["serve", str(example_index()), "--llm", chat.spec]) as (address, _),
    ):
        client = send(address, *request)
        until(lambda: len(chat.asked()) == at_once)
        leave(address, [client])
        chat.answer(1)
        until(lambda: len(chat.answered()) == 1)
        leave(address, [])
        chat.answer(1000)
        until(lambda: len(chat.answered()) == at_once)
        assert answered(address, judge("who stays", 1)).status_code == 200
        assert len(chat.asked()) == at_once + 1
        assert answered(address, request).status_code == 200
        assert len(chat.asked()) > at_once + 1
        assert sorted(row["key"] for row in chat.asked()) == sorted(set(chat.answered()))
