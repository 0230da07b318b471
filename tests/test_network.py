"""The limit on network connections: each door by itself, and the sockets behind all of them."""

from __future__ import annotations

import ast
import socket
import threading
from pathlib import Path

import anyio
import pytest

from chat_server import ChatServer
from listener import Listener
from pnyx.core.errors import PluginError, PnyxError
from pnyx.core.network import NetworkError, check_network, network_limited_to
from pnyx.formats import read_evidence
from pnyx.judging.workers import open_workers
from pnyx.models.http.transport import HttpResponse, HttpTransport
from pnyx.search.open_engine import open_index
from test_plugins import install

ROOT = Path(__file__).parents[1]
SOURCES = (ROOT / "src", *(ROOT / "packages").glob("*/src"))


def ask(url: str, *, own_process: bool = False) -> object:
    """Ask for the models of a server."""

    async def models() -> object:
        wire = HttpTransport(url, None, 10.0, own_process=own_process)
        try:
            return await wire.ask("/v1/models")
        finally:
            await wire.close()

    return anyio.run(models)


@pytest.mark.parametrize("allowed", [(), ("elsewhere.example",)], ids=["sockets", "doors"])
def test_no_door_opens_a_connection(allowed):
    with Listener() as listener, network_limited_to(allowed):
        place = f"127.0.0.1:{listener.port}"
        for opens in (
            lambda: ask(f"http://{place}/v1"),
            lambda: open_index(f"opensearch://{place}/x"),
            lambda: open_index(f"opensearch+https://elsewhere.example,{place}/x"),
            lambda: list(read_evidence("ir_datasets:vaswani")),
        ):
            with pytest.raises(NetworkError, match="connection refused"):
                opens()
        assert listener.connections == 0


@pytest.mark.parametrize(
    ("group", "address"), [("engines", "spy:x"), ("workers", "spy:x"), ("workers", "spy://host:1")]
)
def test_no_plugin_that_connects_is_loaded(group, address, monkeypatch, tmp_path):
    entries = {f"pnyx.{group}": {"spy": "spy_engine.it:make"}}
    monkeypatch.syspath_prepend(str(install(tmp_path, "spy-engine", entries, it="1 / 0")))

    def connect():
        return open_index(address) if group == "engines" else open_workers(address).__enter__()

    with network_limited_to(["elsewhere.example"]), pytest.raises(NetworkError):
        connect()
    with network_limited_to([address]), pytest.raises(PluginError, match="ZeroDivisionError"):
        connect()


def test_what_is_allowed_is_connected_to():
    with ChatServer() as server, network_limited_to([server.spec]):
        assert isinstance(ask(server.url), HttpResponse)
        with pytest.raises(NetworkError):
            ask("http://127.0.0.2:1/v1")
    with ChatServer() as server, network_limited_to(["elsewhere.example"]):
        assert isinstance(ask(server.url, own_process=True), HttpResponse)
    with ChatServer() as server:
        assert isinstance(ask(server.url), HttpResponse)


@pytest.mark.parametrize(
    ("address", "names"),
    [
        ("http://HOST:8000/v1#Model", ["host"]),
        ("https://[::1]:8000/v1#m", ["::1"]),
        ("openai:gpt-4o", ["api.openai.com"]),
        ("opensearch://a:1,B:2/x", ["a", "b"]),
        ("ir_datasets:argsme/1.0", ["ir_datasets:argsme/1.0"]),
        ("Owner/Model", ["owner/model"]),
        ("http://[", []),
    ],
)
def test_the_names_of_an_address(address, names):
    with network_limited_to([address]):
        check_network(*names)
        for other in ("other", "http", "api.openai.com.example"):
            with pytest.raises(NetworkError):
                check_network(other)


def test_the_limit_holds_in_every_thread_and_ends():
    caught: list[BaseException] = []

    def connect() -> None:
        try:
            check_network("h")
        except NetworkError as error:
            caught.append(error)

    with network_limited_to(["x"]):
        with network_limited_to([]):
            thread = threading.Thread(target=connect)
            thread.start()
            thread.join()
            with pytest.raises(NetworkError):
                check_network("x")
        check_network("x")
    check_network("h", "x")
    assert len(caught) == 1


def test_sockets_of_other_libraries_are_closed_and_those_of_this_machine_are_not():
    with Listener() as listener:
        place = ("127.0.0.1", listener.port)
        stream, datagrams = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
        with stream, datagrams, network_limited_to([]):
            for opens in (
                lambda: socket.create_connection(place),
                lambda: stream.connect(place),
                lambda: datagrams.sendto(b"x", place),
                lambda: socket.getaddrinfo("example.org", 80),
                lambda: socket.gethostbyname("example.org"),
            ):
                with pytest.raises(NetworkError):
                    opens()
            first, second = socket.socketpair()
            first.sendall(b"x")
            assert second.recv(1) == b"x"
            first.close()
            second.close()
            anyio.run(anyio.sleep, 0)
        assert listener.connections == 0
        socket.create_connection(place).close()


def test_the_message_names_no_password():
    with network_limited_to([]), pytest.raises(PnyxError) as refused:
        check_network("http://user:secret@host/x")
    assert "secret" not in str(refused.value)


CONNECTS = {"ir_datasets", "opensearchpy", "ray", "requests", "urllib3", "huggingface_hub"}
"""Libraries that connect to another machine."""
CALLS = {"AsyncHTTPTransport", "AsyncClient", "Client", "create_connection", "urlopen"}
"""What connects, of other libraries."""


def opens_connections(path: Path) -> bool:
    """Return whether a module imports, or calls, what connects to another machine."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        imported = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        imported += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if CONNECTS & {name.partition(".")[0] for name in imported}:
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            loads = node.func.attr == "from_pretrained"
            local = any(keyword.arg == "local_files_only" for keyword in node.keywords)
            if node.func.attr in CALLS or (loads and not local):
                return True
    return False


@pytest.mark.all
def test_every_module_that_opens_connections_asks_first():
    found = {p for source in SOURCES for p in source.rglob("*.py") if opens_connections(p)}
    assert len(found) >= 6
    assert any("pnyx_crawl" in path.parts for path in found)
    careless = [str(path) for path in found if "check_network(" not in path.read_text("utf-8")]
    assert not careless
