"""Limits of a server's requests and answers, each at its boundary."""

from __future__ import annotations

import asyncio
import errno
import socket
from types import SimpleNamespace

import pytest

pytest.importorskip("starlette", reason="starlette is not installed")

from asgi_client import ask
from asking_fixture import service_of
from pnyx.core.errors import InputError, ModelError, PnyxError
from pnyx.core.records import Document
from pnyx.core.spec import Opt
from pnyx.models.http.flow import LeftError
from pnyx.search import build_index
from pnyx.web import security, server
from pnyx.web.api.openapi import _range, described
from pnyx.web.api.routes import UnreadableError, status_of
from pnyx.web.application import build_app, event
from pnyx.web.ask.options import ServerSpec
from pnyx.web.ask.pool import Busy
from pnyx.web.rendering import Links, Site, slug
from pnyx.web.security import Guard, is_loopback, is_secure
from pnyx.web.server import _base, _listening


def echo_app(**settings):
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route

    async def echo(request):
        return PlainTextResponse(f"{len(await request.body())}")

    async def broken(_):
        raise ValueError("a secret")

    routes = [Route("/", echo, methods=["POST"]), Route("/broken", broken)]
    return build_app(routes, Site("s"), **settings)


def test_a_body_has_a_megabyte_at_most():
    app = echo_app()
    assert ask(app, b"x" * 1_048_576)[2] == "1048576"
    status, _, text = ask(app, b"x" * 1_048_577, accept="application/json")
    assert (status, "the body is longer than 1,048,576 bytes" in text) == (413, True)
    assert ask(app, b"x", content_length="1048576")[0] == 200
    status, _, text = ask(app, b"x", content_length="1048577")
    assert (status, text) == (413, "the body has 1,048,577 bytes, expected at most 1,048,576\n")
    assert ask(app, b"x", content_length="much")[0] == 200


@pytest.mark.parametrize(("megabytes", "rest"), [(65, 0), (66, 1)])
def test_64_megabytes_of_a_refused_body_are_read(megabytes, rest):
    """A client that still sends would not read the answer; beyond that, the connection ends."""
    parts = [
        {"type": "http.request", "body": b"x" * 1_048_576, "more_body": n < megabytes}
        for n in range(1, megabytes + 1)
    ]
    started: list[int] = []

    async def receive():
        return parts.pop(0)

    async def send(message):
        started.append(len(parts))

    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "scheme": "http",
             "headers": [(b"host", b"localhost"), (b"content-length", b"99999999")]}  # fmt: skip
    asyncio.run(Guard(echo_app())(scope, receive, send))
    assert started[0] == rest


def test_a_body_comes_within_a_minute(monkeypatch):
    limits = []

    def timeout_at(when):
        limits.append(when)
        return asyncio.timeout(10)

    fake = SimpleNamespace(
        timeout_at=timeout_at, timeout=asyncio.timeout,
        get_running_loop=lambda: SimpleNamespace(time=lambda: 1000.0),
    )  # fmt: skip
    monkeypatch.setattr(security, "asyncio", fake)
    assert ask(echo_app(), b"x")[0] == 200
    assert limits == [1060.0]


@pytest.mark.parametrize(
    ("path", "method", "status", "words"),
    [
        ("/nothing", "GET", 404, "There is no such page."),
        ("/", "PUT", 405, "This page takes no such request."),
        ("/broken", "GET", 500, "Internal error; see the output of the server."),
        ("/static/other.css", "GET", 404, "no such file"),
    ],
)
def test_errors_are_said_in_a_sentence(path, method, status, words):
    found, headers, text = ask(echo_app(), b"", method, path)
    assert (found, words in text) == (status, True)
    assert headers.get("allow") == ("POST" if status == 405 else None)


def test_errors_of_the_api_have_their_status():
    assert status_of(Busy("full")) == (503, {"retry-after": "2"})
    assert status_of(LeftError("gone")) == (499, {})
    assert status_of(InputError("bad")) == (422, {})
    assert status_of(UnreadableError("bad")) == (400, {})
    assert status_of(ModelError("away")) == (502, {})
    assert status_of(PnyxError("other")) == (500, {})


def test_the_description_of_the_api_has_the_ranges_of_numbers():
    parameters = described()["paths"]["/v1/search"]["get"]["parameters"]
    schemas = {parameter["name"]: parameter["schema"] for parameter in parameters}
    ranges = {
        name: (schema.get("minimum"), schema.get("maximum")) for name, schema in schemas.items()
    }
    assert {name: ranges[name] for name in ("k", "window", "step", "feedback", "count")} == {
        "k": (1, 100), "window": (2, 200), "step": (1, None), "feedback": (0, 100),
        "count": (1, 50),
    }  # fmt: skip
    assert (schemas["q"]["minLength"], schemas["q"]["maxLength"]) == (1, 2000)
    for name, option, limits in (
        ("x", Opt(within="(0, 1)"), {"exclusiveMinimum": 0, "exclusiveMaximum": 1}),
        ("x", Opt(within="[0, 1]"), {"minimum": 0, "maximum": 1}),
        ("x", Opt(within="(0.5, inf)"), {"exclusiveMinimum": 0.5}),
        ("window", Opt(within="[0, 500)"), {"minimum": 0, "maximum": 200}),
        ("window", Opt(within="[0, 100)"), {"minimum": 0, "exclusiveMaximum": 100}),
        ("x", Opt(), {}),
    ):
        assert _range(name, option) == limits


def test_an_event_is_a_line_of_json():
    assert event("step", {"said": "a\nb"}) == 'event: step\ndata: {"said": "a\\nb"}\n\n'
    with pytest.raises(ValueError, match="Out of range"):
        event("step", float("nan"))


def test_the_usual_ports_are_8321_to_8420(monkeypatch):
    tried = []

    def taken(host: str, port: int) -> socket.socket:
        tried.append(port)
        raise OSError(errno.EADDRINUSE, "Address already in use")

    monkeypatch.setattr(server, "_bound", taken)
    words = "--host 127.0.0.1 --port 8321 to 8420: cannot listen there: Address already in use"
    with pytest.raises(InputError, match=words):
        _listening(ServerSpec())
    assert tried == list(range(8321, 8421))
    tried.clear()
    with pytest.raises(InputError, match="--port 99: cannot listen"):
        _listening(ServerSpec(port=99))
    assert tried == [99]

    def forbidden(host: str, port: int) -> socket.socket:
        tried.append(port)
        raise OSError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(server, "_bound", forbidden)
    tried.clear()
    with pytest.raises(InputError, match="Permission denied"):
        _listening(ServerSpec())
    assert tried == [8321]  # another port would not help


def test_a_head_of_a_request_comes_within_ten_seconds():
    timers: list[tuple[float, object]] = []
    protocol = object.__new__(server._timed())
    closing = SimpleNamespace(is_closing=lambda: False, close=None)
    loop = SimpleNamespace(call_later=lambda seconds, call: timers.append((seconds, call)) or 1)
    protocol.cycle, protocol.transport, protocol.loop = None, closing, loop
    protocol._look()
    protocol._look()  # the timer is running
    assert timers == [(10.0, None)]


def test_an_address_of_ipv6_is_in_brackets():
    listener = SimpleNamespace(getsockname=lambda: ("", 99))
    assert _base(listener, ServerSpec(host="::1")) == "http://[::1]:99/"
    assert _base(listener, ServerSpec()) == "http://127.0.0.1:99/"


@pytest.mark.parametrize(
    ("host", "is_here"),
    [("localhost", True), ("LOCALHOST.", True), ("127.0.0.1", True), ("127.9.9.9", True),
     ("[::1]", True), ("128.0.0.1", False), ("", False), ("localhost.evil.org", False)],
)  # fmt: skip
def test_this_machine_is_loopback(host, is_here):
    assert is_loopback(host) is is_here


@pytest.mark.parametrize(
    ("scheme", "headers", "secure"),
    [
        ("https", {}, True), ("http", {}, False),
        ("http", {"x-forwarded-proto": "HTTPS, http"}, True),
        ("http", {"x-forwarded-proto": "http, https"}, False),
        ("http", {"forwarded": 'for=1; proto="https", proto=http'}, True),
        ("http", {"forwarded": "proto=http, proto=https"}, False),
    ],
)  # fmt: skip
def test_https_is_what_the_first_proxy_says(scheme, headers, secure):
    assert is_secure(scheme, headers) is secure


def test_a_token_is_asked_for_and_signs_in():
    app = echo_app(token="t", others=("u",))
    status, headers, _ = ask(app, b"x")
    assert (status, headers["www-authenticate"]) == (401, "Bearer")
    for authorization, expected in (("Bearer t", 200), ("bearer u", 200), ("Basic t", 401)):
        assert ask(app, b"x", authorization=authorization)[0] == expected
    assert ask(app, b"x", cookie="pnyx_token=t")[0] == 200
    assert ask(app, b"", "GET", "/healthz")[0] == 200
    status, headers, _ = ask(app, b"", "GET", "//a", "token=u&x=1")
    assert (status, headers["location"]) == (303, "/a?x=1")
    assert headers["set-cookie"].startswith("pnyx_token=u; ")
    status, _, text = ask(app, b"", "GET", "/", "token=u", cookie="pnyx_token=t")
    assert (status, "Sign in with this link?" in text) == (200, True)
    assert ask(app, b"", "GET", "/", "token=t", cookie="pnyx_token=t")[0] == 303
    assert ask(app, b"", "GET", "/", "token=u", sec_fetch_site="cross-site")[0] == 200
    assert ask(app, b"", "GET", "/", "token=u", sec_fetch_site="none")[0] == 303
    assert ask(app, b"", "POST", "/sign-in", "token=u", cookie="pnyx_token=t")[0] == 303
    assert ask(app, b"x", "POST", "/", "token=t")[0] == 401  # in an address only to sign in


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"sec_fetch_site": "same-origin"}, 200), ({"sec_fetch_site": "same-site"}, 403),
     ({"sec_fetch_site": "none"}, 200), ({"origin": "http://localhost"}, 200),
     ({"origin": "http://localhost:9"}, 403), ({"origin": "null"}, 403), ({}, 200)],
)  # fmt: skip
def test_a_page_of_another_site_changes_nothing(headers, status):
    assert ask(echo_app(), b"x", **headers)[0] == status
    assert ask(echo_app(), b"", "GET", "/healthz", **headers)[0] == 200


def test_only_this_machine_is_served_without_a_token():
    assert ask(echo_app(), b"x", host="evil.example")[0] == 421
    assert ask(echo_app(token="t"), b"x", host="evil.example", authorization="Bearer t")[0] == 200


# Addresses ----------------------------------------------------------------------------------------


def test_a_part_of_an_address_has_80_characters():
    assert slug("a" * 80) == "a" * 80
    assert slug("a" * 81).startswith("a" * 40 + "-")
    assert len(slug("a" * 81)) == 51  # 40, a hyphen and a hash of 10
    assert len(slug("?")) == 10
    assert slug("a b/c").startswith("a-b-c-")
    assert slug(".a") != ".a"


def test_files_of_pages_have_names_for_every_disk():
    links = Links("../", files=True)
    assert links.to("topic", "t1") == "../topic/t1.html"
    assert links.to(anchor="a b", q="x") == "../index.html#a%20b"
    assert links.path("Topic") != "Topic.html"
    assert links.path("Topic").startswith("Topic-")
    names = ("con", "lpt1", "index", "static", "conny")
    assert [links.path(name).count("-") for name in names] == [1, 1, 1, 1, 0]
    assert not links.path("a.").startswith("a..")
    assert links.file("t", "a", ending="svg") == "../t/a.svg"
    assert links.static("view.css") == "../static/view.css"
    served = Links()
    assert served.to("a", q="", n=None, k=0) == "/a?k=0"
    assert served.has() is False
    assert served.static("view.css").startswith("/static/view.css?")


def test_an_answer_of_mcp_has_20_documents_and_texts_of_2000_characters(tmp_path):
    mcp = pytest.importorskip("mcp", reason="mcp is not installed")
    assert mcp
    from pnyx.web.api.mcp import _cut, build_mcp

    long = "a" * 2001
    texts = {"text": "a" * 2000, "more": [long, 1], "odd": "\ud800"}
    assert _cut(texts) == {"text": "a" * 2000, "more": ["a" * 2000 + " [...]", 1], "odd": "?"}
    build_index([Document("one", "A text.")], tmp_path / "one.index")
    with service_of(tmp_path / "one.index") as service:
        tools = {tool.name: tool for tool in asyncio.run(build_mcp(service).list_tools())}
    search, perspectives, argue, judge = (
        tools[name].input_schema["properties"]
        for name in ("search", "perspectives", "argue", "judge")
    )
    assert (search["k"]["minimum"], search["k"]["maximum"], search["k"]["default"]) == (1, 20, 5)
    assert (perspectives["k"]["maximum"], perspectives["k"]["default"]) == (20, 10)
    assert (argue["points"]["maximum"], argue["points"]["default"]) == (10, 3)
    assert argue["stance"]["default"] == "both"
    assert argue["definition"]["maxLength"] == search["question"]["maxLength"] == 2000
    assert (judge["items"]["minItems"], judge["items"]["maxItems"]) == (1, 256)


def test_answers_forbid_what_pages_do_not_need_and_files_may_be_kept():
    _, headers, _ = ask(echo_app(), b"x")
    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    assert (headers["cache-control"], headers["referrer-policy"]) == ("no-store", "no-referrer")
    status, headers, _ = ask(echo_app(), b"", "GET", "/static/tokens.css")
    assert (status, headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert headers["cache-control"] == "private, max-age=31536000, immutable"
    assert headers["x-content-type-options"] == "nosniff"
