"""What every request to the web application passes, over real HTTP."""

from __future__ import annotations

import re
import socket

import httpx2
import pytest

from page_fixture import served
from pnyx.app.serve_specs import ServerSpec
from pnyx.errors import InputError, OptionError
from pnyx.serve import Links, build_app, run_app
from pnyx.serve.rendering import STATIC, Site, render, slug
from pnyx.serve.security import MAX_BODY

starlette = pytest.importorskip("starlette", reason="starlette is not installed")


def make_app(token: str = "", people: dict[str, str] | None = None):
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
    return build_app(routes, Site("a <name>"), token=token, people=people)


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
        ({"origin": "http://["}, False),
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


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/doc/%C4%B0?token=s3cret", "/doc/%C4%B0"),
        ("/%5cexample.org/x?token=s3cret", "/example.org/x"),
        ("/%5c/%5cexample.org/x?token=s3cret&q=%C4%B0", "/example.org/x?q=%C4%B0"),
        ("//example.org/?token=s3cret", "/example.org/"),
        ("/a%0d%0ax?token=s3cret", "/a%0D%0Ax"),
    ],
)
def test_the_address_without_the_token_is_of_this_host(guarded, path, place):
    answer = httpx2.get(guarded + path, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, place)


def test_a_token_is_kept_for_https_alone_where_it_came_by_https(guarded):
    for proto, secure in (("https", True), ("HTTPS, http", True), ("http", False), ("", False)):
        sent = {"x-forwarded-proto": proto} if proto else {}
        answer = httpx2.get(f"{guarded}/echo?token=s3cret", headers=sent, follow_redirects=False)
        assert ("Secure" in answer.headers["set-cookie"]) == secure, proto


def test_nobody_becomes_another_by_a_link_without_a_question():
    people = {"t-boss": "organiser", "t-ann": "<ann>", "t-ben": "ben"}
    with served(make_app("t-boss", people)) as address, httpx2.Client(base_url=address) as ben:
        for link in ("/echo?token=t-ben", "/echo?token=t-ben&sure=made-up"):
            asked = ben.get(link)
            assert (asked.status_code, "Go on as ben?" in asked.text) == (200, True)
            assert ben.get("/echo").status_code == 401
        yes = re.search(r'id="sure" href="([^"]+)"', asked.text)[1].replace("&amp;", "&")
        assert ben.get(yes).headers["location"] == "/echo"
        assert ben.get("/echo").status_code == 200
        assert ben.get("/echo?token=t-ben").status_code == 303  # it is signed in so
        assert "Go on as &lt;ann&gt;?" in ben.get("/echo?token=t-ann").text
        assert "t-ben" in ben.cookies["pnyx_token"]


def test_who_sends_too_long_a_body_reads_why_it_is_refused(plain):
    """As a client does that reads when all is sent."""
    host, port = plain.base_url.host, plain.base_url.port
    length = 8 * MAX_BODY
    for head in (f"Content-Length: {length}", "Transfer-Encoding: chunked"):
        with socket.create_connection((host, port), timeout=30) as client:
            client.sendall(f"POST /echo HTTP/1.1\r\nHost: localhost\r\n{head}\r\n\r\n".encode())
            if "chunked" in head:
                chunk = b"x" * MAX_BODY
                for _ in range(8):
                    client.sendall(b"%x\r\n%s\r\n" % (len(chunk), chunk))
                client.sendall(b"0\r\n\r\n")
            else:
                client.sendall(b"x" * length)
            assert client.recv(100).startswith(b"HTTP/1.1 413")


def test_a_method_that_is_not_taken_says_which_are(plain):
    answer = plain.put("/echo")
    assert answer.status_code == 405
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}


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
