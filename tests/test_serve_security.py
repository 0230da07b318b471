"""What every request to the web application passes, over real HTTP."""

from __future__ import annotations

import contextlib
import queue
import re
import select
import socket
import threading
from urllib.parse import urlsplit

import httpx2
import pytest

from page_fixture import served
from pnyx.core.errors import InputError, OptionError
from pnyx.web import Links, build_app, run_app
from pnyx.web.ask.options import ServerSpec
from pnyx.web.rendering import STATIC, Site, render, slug
from pnyx.web.security import MAX_BODY
from pnyx.web.server import _listening

pytest.importorskip("starlette", reason="starlette is not installed")

from starlette.routing import Route

from asking_fixture import service_of
from label_fixture import item_rows, labelling
from pnyx.web.ask.application import build_asking
from pnyx.web.label.application import build_labelling
from pnyx.web.results.application import view_app
from pnyx.web.results.open_catalogue import CurrentCatalogue


def make_app(token: str = ""):
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route

    async def echo(request):
        return PlainTextResponse(await request.body())

    async def broken(request):
        raise ValueError("a secret of the server")

    async def bad(request):
        raise InputError("found 'x', expected 'y'")

    routes = [
        Route("/echo", echo, methods=["GET", "POST"]),
        Route("/broken", broken),
        Route("/bad", bad),
        Route("/v1/bad", bad),
    ]
    return build_app(routes, Site("a <name>"), token=token)


@pytest.fixture(scope="module")
def plain():
    with served(make_app()) as address, httpx2.Client(base_url=address) as client:
        yield client


@pytest.fixture(scope="module")
def guarded():
    with served(make_app("s3cret")) as address:
        yield address


def test_every_answer_forbids_what_a_page_does_not_need(plain):
    for path in ("/echo", "/static/pnyx.css", "/nothing", "/bad", "/healthz"):
        headers = plain.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"], path
        assert "unsafe" not in headers["content-security-policy"], path
        assert headers["x-content-type-options"] == "nosniff", path
        assert "date" not in path or headers["server"] is None


@pytest.mark.parametrize("name", STATIC)
def test_files_of_pages_are_served_and_nothing_else(plain, name):
    found = plain.get(f"/static/{name}")
    assert found.status_code == 200
    assert found.headers["content-type"].startswith(STATIC[name][2])
    for path in ("/static/../security.py", "/static/%2e%2e%2fsecurity.py", "/static/security.py"):
        assert plain.get(path).status_code == 404


def test_only_names_of_this_machine_are_answered(plain):
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", ""):
        assert plain.get("/echo", headers={"host": host}).status_code == 421, host
    for host in ("localhost:9", "127.0.0.1", "[::1]:80"):
        assert plain.get("/echo", headers={"host": host}).status_code == 200, host


@pytest.mark.parametrize(
    ("headers", "passes"),
    [
        ({}, True),
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "none"}, True),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "same-site"}, False),
        ({"origin": "https://evil.example"}, False),
        ({"origin": "null"}, False),
        ({"origin": "OWN"}, True),
    ],
)
def test_other_sites_change_nothing(plain, headers, passes):
    own = str(plain.base_url).rstrip("/")
    sent = {k: own if v == "OWN" else v for k, v in headers.items()}
    assert plain.post("/echo", content=b"x", headers=sent).status_code == (200 if passes else 403)


def test_long_bodies_are_refused(plain):
    # Connections of their own: one whose body was not read to its end is closed.
    echo = str(plain.base_url.join("/echo"))
    assert httpx2.post(echo, content=b"x" * MAX_BODY).status_code == 200
    assert httpx2.post(echo, content=b"x" * (MAX_BODY + 1)).status_code == 413

    def parts():
        for _ in range(3):
            yield b"x" * (MAX_BODY // 2)

    assert httpx2.post(echo, content=parts()).status_code == 413


def test_errors_tell_nothing_of_the_server(plain):
    page = httpx2.get(str(plain.base_url.join("/broken")))  # uvicorn closes this connection
    assert page.status_code == 500
    assert "secret" not in page.text
    assert "expected &#39;y&#39;" in plain.get("/bad").text
    assert plain.get("/v1/bad").json()["error"]["message"] == "found 'x', expected 'y'"
    assert "a &lt;name&gt;" in plain.get("/nothing").text


def test_a_token_opens_once_by_address_then_by_cookie(guarded):
    with httpx2.Client(base_url=guarded) as client:
        assert client.get("/healthz").status_code == 200
        assert client.get("/echo").status_code == 401
        assert client.get("/echo?token=wrong").status_code == 401
        assert client.get("/echo", headers={"authorization": "Bearer s3cret"}).status_code == 200
        first = client.get(f"{guarded}//evil.example/?token=s3cret&x=1")
        assert first.status_code == 303
        assert first.headers["location"] == "/evil.example/?x=1"
        cookie = first.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert client.get("/echo").status_code == 200
        # The cookie opens, but not for another site's page.
        foreign = {"sec-fetch-site": "cross-site"}
        assert client.post("/echo", headers=foreign).status_code == 403


ODD = (
    "/%5cevil.example/x", "/%5C%5Cevil.example", "//evil.example", "/%2f%2fevil.example/",
    "/%09/evil.example", "/%C4%B0", "/%00", "/%ff", "/%ED%A0%80", "/%0d%0aset-cookie:x=1",
)  # fmt: skip


@pytest.mark.parametrize("path", ODD)
def test_a_link_with_a_token_leads_to_this_server(guarded, path):
    found = httpx2.get(f"{guarded}{path}?token=s3cret&q=%C4%B0", follow_redirects=False)
    assert found.status_code == 303
    place = found.headers["location"]
    assert re.fullmatch(r"/(?![/\\])[!-~]*", place), place
    assert "\\" not in place


@pytest.mark.parametrize(
    "origin", ["http://[", "http://[::1", "//", "null", "http://a:b:c", "\xff"]
)
def test_an_origin_that_is_no_address_is_another_site(plain, origin):
    sent = [(b"origin", origin.encode("latin-1"))]
    assert plain.post("/echo", content=b"x", headers=sent).status_code == 403


def test_another_method_is_told_which_there_are(plain):
    found = plain.put("/echo")
    assert found.status_code == 405
    assert found.headers["allow"] == "GET, HEAD, POST"


@pytest.mark.parametrize(
    ("headers", "secure"),
    [
        ({}, False),
        ({"x-forwarded-proto": "http"}, False),
        ({"x-forwarded-proto": "https"}, True),
        ({"x-forwarded-proto": "https, http"}, True),
        ({"forwarded": 'for=1.2.3.4; proto="https"'}, True),
        ({"forwarded": "for=1.2.3.4;proto=http"}, False),
    ],
)
def test_the_cookie_is_for_https_alone_behind_https(guarded, headers, secure):
    found = httpx2.get(f"{guarded}/echo?token=s3cret", headers=headers)
    assert ("secure" in found.headers["set-cookie"].casefold()) == secure


def test_a_link_signs_nobody_else_in_unasked():
    app = build_app([], Site("pages"), token="organiser", others=["ann", "ben"])
    with served(app) as address, httpx2.Client(base_url=address) as client:
        assert client.get("/?token=ann").status_code == 303
        assert client.cookies["pnyx_token"] == "ann"
        assert client.get("/?token=ann").status_code == 303  # as before
        asked = client.get("/?token=ben")
        assert (asked.status_code, "set-cookie" in asked.headers) == (200, False)
        action = re.search(r'method="post" action="([^"]+)"', asked.text)[1]
        foreign = {"sec-fetch-site": "cross-site"}
        assert client.post(action, headers=foreign).status_code == 403
        assert client.get(action).status_code == 200  # asked again
        assert client.cookies["pnyx_token"] == "ann"
        agreed = client.post(action)
        assert (agreed.status_code, agreed.headers["location"]) == (303, "/")
        assert client.cookies["pnyx_token"] == "ben"
        # From another site a browser does not tell whether it is signed in.
        fresh = httpx2.get(f"{address}/?token=ann", headers=foreign)
        assert (fresh.status_code, "set-cookie" in fresh.headers) == (200, False)


def test_a_refusal_of_a_long_body_can_be_read(plain):
    """All of the body is sent before anything is read, as most clients do."""
    for length in (MAX_BODY + 1, 8 * MAX_BODY):
        for head in (f"Content-Length: {length}", "Transfer-Encoding: chunked"):
            with socket.create_connection((plain.base_url.host, plain.base_url.port), 30) as one:
                asked = f"POST /echo HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{head}"
                one.sendall(f"{asked}\r\n\r\n".encode())
                body = b"x" * length
                if "chunked" in head:
                    body = b"%x\r\n%b\r\n0\r\n\r\n" % (length, body)
                one.sendall(body)
                assert b" 413 " in one.recv(1000), (length, head)


def test_a_head_that_does_not_end_is_ended(monkeypatch):
    """Bytes that trickle in win no time; a request that is under way has all it needs."""
    monkeypatch.setattr("pnyx.web.server.HEAD_SECONDS", 0.2)
    ready = queue.Queue()
    spec, app = ServerSpec(port=0), make_app()

    def main():
        # Signals are the main thread's: this one's server is told by its lifespan's end.
        run_app(app, spec, "pages", lambda _: None, on_start=ready.put)

    threading.Thread(target=main, daemon=True).start()
    place = urlsplit(ready.get(timeout=60))
    with socket.create_connection((place.hostname, place.port), 60) as one:
        one.sendall(b"GET /echo HTTP/1.1\r\nX: a")
        with contextlib.suppress(ConnectionError):
            while not select.select([one], [], [], 0.02)[0]:
                one.sendall(b"a")
            assert one.recv(100) == b""
    assert httpx2.get(f"http://{place.netloc}/healthz").status_code == 200


def test_the_usual_port_gives_way_and_a_named_one_does_not(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setattr("pnyx.web.server._PORT", port)
        with _listening(ServerSpec()) as found:
            assert port < found.getsockname()[1] < port + 100
        with pytest.raises(InputError, match=f"--port {port}: cannot listen there"):
            _listening(ServerSpec(port=port))


BODIES = (
    b"", b"{", b"[]", b'{"x": 1e999}', b'{"x": NaN}', b'{"q": "\\ud800", "question": "\\ud800"}',
    b'{"task": "support", "items": [{"id": "\\ud800", "text": "\\udfff", "statement": "b"}]}',
    b'{"task": "support", "items": [{"id": "1", "text": "a", "statement": "b", "x": 1e999}]}',
    b'{"task": "\\ud800", "items": 1e400, "options": {"\\udc00": -1e999}}',
    b"q=%ED%A0%80&n=1e999&item=%00&f0=99999999999999999999&version=-1", b"\xff\xfe",
)  # fmt: skip
QUERIES = ("", "?q=%00", "?q=%ED%A0%80", "?q=tea&n=1e999&k=inf", "?to=%F0%9F&page=-1&show=%ff")
FILLED = ("1", "0", "999999999999999999999", "%00", "%ED%A0%80", "%C4%B0", "..%2f", "%5c")


@contextlib.contextmanager
def labelling_server(folder):
    with labelling(folder, "support", item_rows("support", 2)) as (desk, people, _):
        yield build_labelling(desk, people)


@contextlib.contextmanager
def asking_server(_):
    with service_of() as service:
        yield build_asking(service, warm=False)


@contextlib.contextmanager
def viewing_server(folder):
    (folder / "measured.json").write_text('{"measures": {"f1": {"value": 0.5}}}')
    yield view_app(CurrentCatalogue([str(folder / "measured.json")]))


SERVERS = [asking_server, viewing_server, pytest.param(labelling_server, marks=pytest.mark.all)]


@pytest.mark.parametrize("opened", SERVERS)
def test_no_route_fails_whatever_is_sent(tmp_path, opened):
    with opened(tmp_path) as app, served(app) as address:
        routes = [route for route in app.app.routes if isinstance(route, Route)]
        taken = {}
        for route in routes:
            taken[route.path] = taken.get(route.path, set()) | set(route.methods or ())
        json_kind = {"content-type": "application/json"}
        form_kind = {"content-type": "application/x-www-form-urlencoded"}
        with httpx2.Client(base_url=address, timeout=60) as client:
            client.cookies.set("pnyx_annotator", "zoe")
            for path, methods in taken.items():
                for filled in FILLED if "{" in path else ("",):
                    place = re.sub(r"{[^}]*}", filled, path)
                    for query in QUERIES:
                        if "GET" in methods and "wait" not in path:
                            assert client.get(place + query).status_code < 500, (place, query)
                place = re.sub(r"{[^}]*}", "1", path)
                if "POST" in methods:
                    for body in BODIES:
                        for kind in (json_kind, form_kind, {}):
                            found = client.post(place, content=body, headers=kind)
                            assert found.status_code < 500, (place, body, found.text)
                other = client.request("DELETE", place)
                assert other.status_code == 405, place
                assert set(other.headers["allow"].split(", ")) == methods


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.org"])
def test_others_need_a_token(host):
    with pytest.raises(OptionError, match="others can reach this address"):
        run_app(None, ServerSpec(host=host), "pages", print)


def test_slugs_are_names_of_their_own():
    assert slug("topic-1.a") == "topic-1.a"
    odd = ["a/b", "a?b", "..", ".", "", "a b", "ä", "x" * 200, "x" * 201, "\ud800", "../../etc"]
    made = [slug(one) for one in odd]
    assert len(set(made)) == len(odd)
    assert not [one for one in made if "/" in one or one.startswith(".")]


def test_pages_show_hostile_text_as_text():
    name = "<script>alert(1)</script>\u202egnp\x00"
    page = render("error.html.j2", Site(name), Links(), title=name, reason=name)
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "\x00" not in page
