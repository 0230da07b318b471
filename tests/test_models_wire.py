"""Answers on the wire: how much of them is in memory at once, and how they are unpacked."""

from __future__ import annotations

import gzip
import json
import random
import time
import zlib
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat_server import ChatServer, Handler
from growth import grows_linearly
from pnyx.models.chat.endpoint import ChatEndpoint
from pnyx.models.chat.types import ChatRequest, Message, Reply
from pnyx.models.http import body, transport
from pnyx.models.http.body import DamagedError, Inflate
from pnyx.models.http.flow import MemoryBudget, run_all
from pnyx.models.http.responses import RetryPolicy
from tries import quick_cases, tries

BACKENDS = ["asyncio", "trio"]


# --- bytes in flight


def ask(server: ChatServer, count: int, workers: int, backend: str = "asyncio") -> list[object]:
    endpoint = ChatEndpoint(
        server.url, "test", retry=RetryPolicy(timeout=200, attempts=1), concurrency=workers
    )
    outcomes: list[object] = []

    async def one(number: int) -> None:
        asked = ChatRequest((Message("user", f"question {number}"),), max_tokens=20)
        outcomes.append(await endpoint.complete(asked))

    async def main() -> None:
        async with endpoint.connected():
            await run_all(range(count), one, workers=workers)

    anyio.run(main, backend=backend)
    return outcomes


class Large(Handler):
    """Pads a completion to 300 KB, sent in pieces."""

    def do_ok(self) -> None:
        whole = json.dumps(self.completion("fine")).encode()
        self.start(200, len(whole) + 300_000, {"Content-Type": "application/json"})
        for _ in range(30):
            self.wfile.write(b" " * 10_000)
            time.sleep(0.0005)
        self.rest()
        self.wfile.write(whole)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("size", [1, pytest.param(500_000, marks=pytest.mark.all)])
def test_large_replies_at_once_share_their_room_and_all_come(monkeypatch, size, backend):
    room = MemoryBudget(size)
    monkeypatch.setattr(transport, "ROOM", room)
    with ChatServer() as server:
        server.RequestHandlerClass = Large
        outcomes = ask(server, 24, 12, backend)
    assert all(isinstance(o, Reply) and o.text == "fine" for o in outcomes)
    # Without a limit twelve of them are 3.6 MB.
    assert room.most <= size + 301_000
    assert room.held == 0


def post(server: ChatServer) -> transport.HttpResponse | transport.NoResponse:
    """Send one request, and nothing more."""

    async def main() -> transport.HttpResponse | transport.NoResponse:
        one = transport.HttpTransport(server.url, None, 20)
        try:
            return await one.post(b'{"model": "test", "messages": [{"role": "", "content": ""}]}')
        finally:
            await one.close()

    return anyio.run(main)


@pytest.mark.parametrize("trouble", ["html", "500", "cut_body", "reset", "401", "429"])
def test_room_is_given_back_whatever_becomes_of_an_answer(monkeypatch, trouble):
    room = MemoryBudget(10)
    monkeypatch.setattr(transport, "ROOM", room)
    with ChatServer(default=trouble) as server:
        for _ in range(3):
            post(server)
    assert room.most > 0
    assert room.held == 0


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", quick_cases(range(4), {0}))
def test_nobody_waits_for_ever_and_the_room_is_kept(seed, backend):
    rng = random.Random(seed)
    room = MemoryBudget(100)
    largest = 60
    done = 0

    async def one(_: int) -> None:
        nonlocal done
        with anyio.move_on_after(rng.choice([0.001, 600, 600, 600])):
            async with room.share() as share:
                left = rng.randint(1, largest)
                while left:
                    part = rng.randint(1, left)
                    await share.take(part)
                    left -= part
                    await anyio.sleep(rng.random() * 0.001)
        done += 1

    async def main() -> None:
        with anyio.fail_after(120):
            await run_all(range(100), one, workers=20)

    anyio.run(main, backend=backend)
    assert done == 100
    assert room.held == 0
    assert room.most <= 100 + largest


@pytest.mark.parametrize(
    ("scheme", "proxy", "encrypted"),
    [
        ("https", None, True),
        ("https", "http://proxy", True),
        ("http", "https://proxy", True),
        ("http", None, False),
    ],
)
def test_certificates_are_loaded_for_an_encrypted_connection(scheme, proxy, encrypted):
    assert bool(transport._trust(scheme, proxy).get_ca_certs()) is encrypted


def test_a_length_that_is_too_much_is_not_waited_for():
    class Boasting(Handler):
        def do_ok(self) -> None:
            self.start(200, transport.MAX_REPLY_BYTES + 1, {})
            self.server.closing.wait(300)

    with ChatServer() as server:
        server.RequestHandlerClass = Boasting
        began = time.monotonic()
        failed = post(server)
        assert time.monotonic() - began < 120
    assert failed == transport.NoResponse("too_big", "malformed: the body is longer than 16 MB")


# --- compression

PARTS = st.lists(st.binary(max_size=200), min_size=1, max_size=6)


def fed(encoding: str, packed: bytes, sizes: list[int], most: int = 1 << 20) -> bytes:
    """Unpack in pieces of such sizes, which repeat."""
    inflate, at, parts = Inflate(encoding), 0, []
    while at < len(packed):
        size = sizes[len(parts) % len(sizes)]
        parts.append(inflate.feed(packed[at : at + size], most))
        at += size
    inflate.check_end()
    return b"".join(parts)


SIZES = st.lists(st.integers(1, 50), min_size=1, max_size=5)


@given(
    PARTS, SIZES, st.sampled_from([b"", b"\0", b"\0" * 500, b"what browsers pass over", b"\x1f"])
)
def test_all_members_of_a_gzip_body_are_read_however_it_is_cut(parts, sizes, after):
    packed = b"".join(map(gzip.compress, parts)) + after
    assert fed("gzip", packed, sizes) == b"".join(parts)


@given(st.binary(max_size=300), SIZES, st.booleans())
def test_both_kinds_of_deflate_are_read_however_they_are_cut(content, sizes, raw):
    deflate = zlib.compressobj(wbits=-15 if raw else 15)
    packed = deflate.compress(content) + deflate.flush()
    assert fed("deflate", packed, sizes) == content


@given(PARTS, st.integers(0, 200))
def test_a_gzip_body_that_ends_in_the_middle_or_is_damaged_is_refused(parts, where):
    packed = b"".join(map(gzip.compress, parts))
    cut = packed[: -1 - where % 8]
    with pytest.raises(DamagedError):
        fed("gzip", cut, [7])
    first = len(gzip.compress(parts[0]))
    with pytest.raises(DamagedError):
        fed("gzip", packed[:first] + b"\x1f\x8b\x08 no member of gzip", [7])


@settings(max_examples=tries(20))
@given(st.integers(1, 5000), SIZES)
def test_no_more_is_unpacked_than_was_asked_for(most, sizes):
    bomb = gzip.compress(bytes(300_000)) * 3
    inflate = Inflate("gzip")
    assert len(inflate.feed(bomb, most)) == most


def test_thousands_of_empty_members_take_their_length_in_time():
    def feed(count: int) -> None:
        inflate = Inflate("gzip")
        assert inflate.feed(gzip.compress(b"") * count, 100) == b""
        inflate.check_end()

    assert grows_linearly(feed, 10_000)


def test_a_reply_in_several_members_is_whole():
    class Zipped(Handler):
        def do_ok(self) -> None:
            whole = json.dumps(self.completion("fine")).encode()
            packed = gzip.compress(whole[:50]) + gzip.compress(whole[50:])
            self.send(200, packed, {"Content-Encoding": "gzip"})

    with ChatServer() as server:
        server.RequestHandlerClass = Zipped
        (reply,) = ask(server, 1, 1)
    assert reply.text == "fine"


def read(content: bytes, limit: int, *, cut: bool = False, **headers: str) -> tuple[bytes, bool]:
    """Read a body of these bytes in pieces of 100, as `body.read_body` does."""

    async def pieces():
        for start in range(0, len(content), 100):
            yield content[start : start + 100]

    response: Any = SimpleNamespace(
        headers={name.replace("_", "-"): value for name, value in headers.items()},
        aiter_raw=pieces,
    )
    return anyio.run(lambda: body.read_body(response, limit, cut=cut))


@pytest.mark.parametrize(("size", "fits"), [(1000, True), (1001, False)])
def test_a_body_is_read_up_to_its_limit(size, fits):
    content = random.Random(1).randbytes(size)
    assert read(content, 1000) == ((content, False) if fits else (b"", True))
    assert read(content, 1000, cut=True) == (content[:1000], not fits)
    packed = gzip.compress(content, 0)  # some bytes longer than its content
    assert read(packed, 1000, content_encoding="gzip") == (b"", True)
    assert read(packed, len(packed), content_encoding="gzip") == (content, False)


@pytest.mark.parametrize(("size", "fits"), [(1000, True), (1001, False)])
def test_a_packed_body_is_limited_by_what_is_in_it(size, fits):
    sent = gzip.compress(b"a" * size)
    assert read(sent, 1000, content_encoding="gzip") == (b"a" * size * fits, not fits)
    assert read(sent, 1000, cut=True, content_encoding="gzip") == (b"a" * 1000, not fits)


@pytest.mark.parametrize(
    ("length", "fits"),
    [("1000", True), ("1001", False), ("9" * 19, False), ("9" * 20, True), ("²", True), ("", True)],
)
def test_a_stated_length_above_the_limit_is_refused_at_once(length, fits):
    assert read(b"a", 1000, content_length=length) == ((b"a", False) if fits else (b"", True))
    assert read(b"a", 1000, cut=True, content_length=length) == (b"a", False)
