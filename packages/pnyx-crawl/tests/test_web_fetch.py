"""Pages that are fetched from servers that misbehave, over real sockets."""

from __future__ import annotations

import gzip
import itertools
import shutil
import ssl
import subprocess
import time
import zlib

import anyio
import pytest

from pnyx.core.errors import InputError
from pnyx_crawl import addresses as targets
from pnyx_crawl.addresses import FetchPolicy, network
from pnyx_crawl.fetch import Fetcher, FetchLimits, Rules, agent_of
from pnyx_crawl.fetch_result import FETCHED, Fetched
from web_server import Site, SiteHandler, article, redirect

HERE = FetchPolicy((network("127.0.0.1"),))
QUICK = FetchLimits(seconds=60.0, bytes=200_000, delay=0.0)


class Kept(dict):
    """A cache of robots.txt files."""

    def robots(self, origin):
        return self.get(origin)

    def keep_robots(self, origin, state, text):
        self[origin] = (state, text)


def fetch(
    *urls: str,
    limits: FetchLimits = QUICK,
    reach: FetchPolicy = HERE,
    cache=None,
    backend="asyncio",
):
    """Fetch one address after the other; of one, return the page itself."""

    async def main() -> list[Fetched]:
        fetcher = Fetcher("me@example.org", Kept() if cache is None else cache, reach, limits)
        return [await fetcher.fetch(url) for url in urls]

    pages = anyio.run(main, backend=backend)
    return pages[0] if len(urls) == 1 else pages


def end(page: Fetched) -> tuple[str, str]:
    return page.outcome, page.detail


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_page_is_fetched_as_it_is(backend):
    with Site({"/tea?a=1": article("Tea")}) as site:
        page = fetch(f"{site.url}/tea?a=1#top", backend=backend)
    assert (page.outcome, page.status, page.body) == (FETCHED, 200, article("Tea"))
    assert page.url == f"{site.url}/tea?a=1#top"
    assert page.final_url == f"{site.url}/tea?a=1"
    assert page.retrieved_at.endswith("+00:00")
    assert site.paths == ["/robots.txt", "/tea?a=1"]
    for _, headers in site.asked:
        assert headers["user-agent"].startswith("pnyx/")
        assert headers["user-agent"].endswith("(+me@example.org)")
        assert headers["host"] == f"127.0.0.1:{site.port}"
        assert not {"cookie", "referer", "authorization"} & set(headers)


@pytest.mark.parametrize("contact", ["me@example.org", "https://example.org/bot?x=1"])
def test_a_contact_is_in_the_agent(contact):
    assert agent_of(contact).endswith(f"(+{contact})")


@pytest.mark.parametrize(
    "contact", ["", "me", "a b@c.d", "me@example.org)\r\nX: y", "ftp://x", "a@b"]
)
def test_a_contact_must_be_one(contact):
    with pytest.raises(InputError, match="expected an e-mail address or a web page"):
        agent_of(contact)


# --- robots.txt

ROBOTS = """User-agent: *
Disallow: /

User-agent: somebody
User-agent: PNYX
Disallow: /*.php$
Disallow: /private
Allow: /private/tea
"""


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/", True),
        ("/private", False),
        ("/private/x", False),
        ("/private/tea", True),  # the longest rule counts (RFC 9309, 2.2.2)
        ("/x.php", False),
        ("/x.php?y", True),
        ("/%70rivate", False),  # the same octets
    ],
)
def test_robots_rules(path, allowed):
    assert Rules(ROBOTS).allow(f"http://example.org{path}") is allowed


def test_robots_rules_of_others_do_not_count():
    assert not Rules("User-agent: *\nDisallow: /").allow("http://x/")
    assert Rules("User-agent: pnyxbot\nDisallow: /").allow("http://x/")
    assert Rules("User-agent: example\nDisallow: /").allow("http://x/")
    assert not Rules("User-agent: pnyx/2.0\nDisallow: /").allow("http://x/")
    assert Rules(None).allow("http://x/")
    assert Rules("\ufeff<html>").allow("http://x/")
    assert Rules("User-agent: pnyx\nCrawl-delay: 7\nDisallow: /x").delay == 7


def test_robots_rules_take_no_more_room_than_they_have():
    agents = "".join(f"User-agent: a{i}\n" for i in range(17_000))
    rules = Rules(agents + "Disallow: /x\n" * 20_000 + "User-agent: pnyx\nDisallow: /a\n")
    assert rules.allow("http://x/x")
    assert not rules.allow("http://x/a")
    hostile = Rules("User-agent: *\nDisallow: /" + "*a" * 2000 + "$\n")
    assert hostile.allow("http://x/" + "a" * 3000 + "b")


def test_what_robots_txt_forbids_is_not_asked_for():
    site = Site({"/robots.txt": (200, {}, ROBOTS.encode()), "/private": article("Secret")})
    with site:
        forbidden, allowed = fetch(f"{site.url}/private", f"{site.url}/open")
    assert forbidden.outcome == "robots"
    assert allowed.outcome == "http_error"
    assert site.paths == ["/robots.txt", "/open"]  # asked for once


@pytest.mark.parametrize(
    ("robots", "outcome"),
    [
        ((404, {}, b""), FETCHED),
        ((401, {}, b""), FETCHED),
        ((500, {}, b""), "robots_unknown"),
        ((429, {}, b""), "robots_unknown"),
        (redirect("/r2"), "robots"),
        (redirect("/robots.txt"), FETCHED),
        (redirect("http://10.0.0.1/"), "robots_unknown"),
        ((200, {"Content-Encoding": "br"}, b"x"), "robots_unknown"),
        ((200, {}, b"\xef\xbb\xbfUser-agent: *\nDisallow: /page"), "robots"),
        ((200, {}, b"#" * 600_000 + b"\nUser-agent: *\nDisallow: /page"), FETCHED),
        ((200, {}, b"User-agent: *\nDisallow: /page\n" + b"#" * 600_000), "robots"),
        ((200, {}, b"User-agent: *\nCrawl-delay: 3600"), "robots"),
        (SiteHandler.flood, FETCHED),
    ],
)
def test_what_a_robots_txt_means_that_is_not_there(robots, outcome):
    pages = {
        "/robots.txt": robots,
        "/r2": (200, {}, b"User-agent: *\nDisallow: /page"),
        "/page": article("Tea"),
    }
    with Site(pages) as site:
        page = fetch(f"{site.url}/page")
    assert page.outcome == outcome
    assert ("/page" in site.paths) == (outcome == FETCHED)


def test_a_site_that_wants_more_than_a_minute_between_requests_is_left_out():
    robots = (200, {}, b"User-agent: *\nCrawl-delay: 60.5")
    with Site({"/robots.txt": robots, "/a": article("Tea")}) as site:
        page = fetch(f"{site.url}/a")
    assert (page.outcome, page.detail) == ("robots", "wants 60.5 s between two requests")
    assert site.paths == ["/robots.txt"]


def test_a_robots_txt_that_does_not_come_forbids_everything():
    with Site({"/robots.txt": SiteHandler.trickle, "/page": article("Tea")}) as site:
        page = fetch(f"{site.url}/page", limits=FetchLimits(seconds=0.3))
    assert page.outcome == "robots_unknown"
    assert page.passing
    assert site.paths == ["/robots.txt"]


def test_a_robots_txt_is_kept():
    cache = Kept()
    with Site({"/page": article("Tea")}) as site:
        fetch(f"{site.url}/page", cache=cache)
        fetch(f"{site.url}/page", cache=cache)
    assert site.paths == ["/robots.txt", "/page", "/page"]
    assert cache == {site.url: ("none", None)}


# --- redirects


def test_redirects_are_followed_and_each_step_is_asked_for_by_its_own_rules():
    pages = {"/a": redirect("/b", 301), "/b": redirect("c?d"), "/c?d": article("Tea")}
    robots = (200, {}, b"User-agent: *\nDisallow: /x")
    with Site({"/robots.txt": robots, "/tea": article("T")}) as there, Site(pages) as here:
        here.pages["/far"] = redirect(f"{there.url}/tea")
        here.pages["/forbidden"] = redirect(f"{there.url}/x")
        near, far, forbidden = fetch(*(f"{here.url}{p}" for p in ("/a", "/far", "/forbidden")))
    assert (near.outcome, near.final_url) == (FETCHED, f"{here.url}/c?d")
    assert (far.outcome, far.final_url) == (FETCHED, f"{there.url}/tea")
    assert (forbidden.outcome, forbidden.final_url) == ("robots", f"{there.url}/x")
    assert there.paths == ["/robots.txt", "/tea"]


@pytest.mark.parametrize(
    ("to", "outcome"),
    [
        ("/loop", ("redirects", "in a circle")),
        ("/chain0", ("redirects", "more than 5")),
        ("", ("redirects", "to nowhere")),
        ("file:///etc/passwd", ("bad_url", "file")),
        ("http://user:pw@127.0.0.1/", ("bad_url", "a user, a bad host or a bad port")),
        ("http://10.0.0.1/admin", ("private", "10.0.0.1")),
        ("http://169.254.169.254/latest/meta-data/", ("private", "169.254.169.254")),
        ("http://[::ffff:10.0.0.1]/", ("private", "::ffff:10.0.0.1")),
        ("http://127.0.0.2/", ("private", "127.0.0.2")),
        ("http://0/", ("private", "0.0.0.0")),
        ("http://8.8.8.8:22/", ("port", "22")),
        ("//[::1]/", ("private", "::1")),
    ],
)  # fmt: skip
def test_bad_redirects(to, outcome):
    pages = {f"/chain{i}": redirect(f"/chain{i + 1}") for i in range(9)}
    with Site({**pages, "/loop": redirect("/loop2"), "/loop2": redirect("/loop")}) as site:
        site.pages["/a"] = redirect(to) if to else (302, {}, b"")
        assert end(fetch(f"{site.url}/a")) == outcome


def test_a_private_server_is_never_asked_even_for_its_robots_txt():
    with Site({"/admin": article("Secret")}, "127.0.0.2") as inside:
        with Site({"/a": redirect(f"{inside.url}/admin")}) as outside:
            page = fetch(f"{outside.url}/a")
        direct = fetch(f"{inside.url}/admin")
    assert end(page) == end(direct) == ("private", "127.0.0.2")
    assert inside.asked == []


# --- names


def test_what_was_checked_is_what_is_connected_to(monkeypatch):
    """A name that changes its address between two looks (DNS rebinding)."""
    looks: list[str] = []
    answers = {"steady.test": ["127.0.0.1"] * 9, "rebound.test": ["127.0.0.1"] * 2 + ["127.0.0.2"]}

    async def resolve(host, port):
        looks.append(host)
        return [answers[host].pop(0)]

    monkeypatch.setattr(targets, "resolve", resolve)
    with Site({"/a": article("Tea")}) as site:
        steady = fetch(f"http://steady.test:{site.port}/a")
        rebound = fetch(*[f"http://rebound.test:{site.port}/a"] * 2)
    assert steady.outcome == FETCHED
    assert looks == ["steady.test"] * 2 + ["rebound.test"] * 3  # once for each request
    assert [page.outcome for page in rebound] == [FETCHED, "private"]
    hosts = {headers["host"].partition(":")[0] for _, headers in site.asked}
    assert hosts == {"steady.test", "rebound.test"}


def test_the_next_address_of_a_name_is_tried(monkeypatch):
    async def resolve(host, port):
        return ["127.0.0.3", "127.0.0.1"]  # nothing listens at the first

    monkeypatch.setattr(targets, "resolve", resolve)
    with Site({"/a": article("Tea")}) as site:
        page = fetch(f"http://two.test:{site.port}/a", reach=FetchPolicy((network("127.0.0.0/8"),)))
    assert page.outcome == FETCHED


def test_names_without_an_address_and_servers_that_are_not_there(monkeypatch):
    with Site({}) as site:
        url = site.url
    assert fetch(f"{url}/a").outcome == "unreachable"
    assert fetch("http://no-such-name.invalid/").outcome == "dns"
    assert fetch("http://no-such-name.invalid/").passing
    assert fetch("gopher://x/").outcome == "bad_url"
    assert not fetch("gopher://x/").passing


def test_https_is_not_spoken_to_who_cannot_prove_its_name():
    with Site({"/a": article("Tea")}) as site:
        page = fetch(f"https://127.0.0.1:{site.port}/a")
    assert page.outcome == "unreachable"
    assert site.asked == []


def test_https_is_spoken_to_the_name_and_not_to_the_address(monkeypatch, tmp_path):
    """The connection goes to a checked address; the certificate must be for the name."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not there to make a certificate")
    make = (
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -keyout key.pem"
    )
    name = ["-out", "cert.pem", "-subj", "/CN=tea.test", "-addext", "subjectAltName=DNS:tea.test"]
    subprocess.run([openssl, *make.split(), *name], cwd=tmp_path, check=True, capture_output=True)

    async def resolve(host, port):
        return ["127.0.0.1"]

    trust = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
    monkeypatch.setattr("httpx2.create_ssl_context", lambda *_, **__: trust)
    monkeypatch.setattr(targets, "resolve", resolve)
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    own.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    asked: list[str | None] = []
    own.sni_callback = lambda _socket, name, _context: asked.append(name)
    site = Site({"/a": article("Tea")})
    site.socket = own.wrap_socket(site.socket, server_side=True, do_handshake_on_connect=False)
    with site:
        tea = fetch(f"https://tea.test:{site.port}/a")
        other = fetch(f"https://other.test:{site.port}/a")
    assert tea.outcome == FETCHED
    assert other.outcome == "unreachable"
    assert "ertificate" in other.detail
    assert asked == ["tea.test", "tea.test", "other.test"]
    assert {headers["host"] for _, headers in site.asked} == {f"tea.test:{site.port}"}


# --- sizes, times, types

BOMB = gzip.compress(b"\0" * 50_000_000)
RAW = zlib.compressobj(wbits=-15)
DEFLATED = RAW.compress(article("Tea")) + RAW.flush()
GZIP = {"Content-Type": "text/html", "Content-Encoding": "gzip"}


@pytest.mark.parametrize(
    ("page", "outcome"),
    [
        ((200, {"Content-Type": "text/html"}, b"a" * 300_000), "too_large"),
        (SiteHandler.flood, "too_large"),
        ((200, GZIP, BOMB), "too_large"),
        ((200, GZIP, gzip.compress(BOMB)), FETCHED),  # one layer is undone, and no more
        ((200, GZIP, gzip.compress(b"a")[:-3]), "encoding"),
        ((200, GZIP, b"no gzip"), "encoding"),
        ((200, {"Content-Type": "text/html", "Content-Encoding": "br"}, b"x"), "encoding"),
        ((200, {"Content-Type": "text/html", "Content-Encoding": "gzip, gzip"}, b"x"), "encoding"),
        ((200, {"Content-Type": "application/pdf"}, b"%PDF-1.7"), "pdf"),
        ((200, {"Content-Type": "image/png"}, b"x"), "content_type"),
        ((200, {"Content-Type": "application/json; charset=utf-8"}, b"{}"), "content_type"),
        ((200, {"Content-Type": "TEXT/HTML;charset=x"}, b"x"), FETCHED),
        ((200, {}, b"<p>no type"), FETCHED),
        ((404, {}, b""), "http_error"),
        ((503, {}, b""), "http_error"),
        ((304, {}, b""), "http_error"),
        (lambda h: h.wfile.write(b"garbage\r\n\r\n"), "connection"),
        (lambda h: None, "connection"),
        (lambda h: (h.head(Content_Length="999"), h.wfile.write(b"half")), "connection"),
        (lambda h: h.wfile.write(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 99_999), "connection"),
    ],
)
def test_what_becomes_of_bad_answers(page, outcome):
    with Site({"/a": page}) as site:
        found = fetch(f"{site.url}/a", limits=FetchLimits(seconds=60.0, bytes=200_000, delay=0.0))
    assert found.outcome == outcome
    assert bool(found.body) == (outcome == FETCHED)


def test_which_outcomes_may_pass():
    outcomes = ("robots_unknown", "dns", "unreachable", "connection", "timeout", "redirects", "pdf")
    passing = [Fetched("http://a.test/", outcome).passing for outcome in outcomes]
    assert passing == [True] * 5 + [False] * 2
    statuses = [
        s for s in range(200, 600) if Fetched("http://a.test/", "http_error", status=s).passing
    ]
    assert statuses == [408, 425, 429, 500, 502, 503, 504]


@pytest.mark.parametrize("packed", [zlib.compress(article("Tea")), DEFLATED])
def test_both_kinds_of_deflate_are_understood(packed):
    headers = {"Content-Type": "text/html", "Content-Encoding": "deflate"}
    with Site({"/a": (200, headers, packed)}) as site:
        assert fetch(f"{site.url}/a").body == article("Tea")


def test_a_page_in_several_members_of_gzip_is_whole():
    tea = article("Tea")
    packed = gzip.compress(tea[:100]) + gzip.compress(b"") + gzip.compress(tea[100:])
    with Site({"/a": (200, GZIP, packed), "/b": (200, GZIP, packed + b"\0" * 20)}) as site:
        assert fetch(f"{site.url}/a").body == tea
        assert fetch(f"{site.url}/b").body == tea
        small = FetchLimits(seconds=60.0, bytes=len(tea) - 1, delay=0.0)
        assert fetch(f"{site.url}/a", limits=small).outcome == "too_large"


@pytest.mark.parametrize(
    "play",
    [
        lambda h: (h.head(), h.trickle()),
        lambda h: h.trickle(b"HTTP/1.1 200 OK\r\nX: "),
        lambda h: h.server.closing.wait(300),
    ],
)
def test_slow_answers_are_given_up(play):
    with Site({"/a": play}) as site:
        began = time.monotonic()
        page = fetch(f"{site.url}/a", limits=FetchLimits(seconds=0.4, delay=0.0))
        took = time.monotonic() - began
    assert page.outcome == "timeout"
    assert page.passing
    assert took < 60  # and not for as long as the server likes


def test_a_page_and_its_redirects_share_their_time():
    def late(handler: SiteHandler) -> None:
        time.sleep(0.25)
        handler.send(*redirect(f"/{len(handler.server.asked)}"))

    with Site({"/a": late} | {f"/{i}": late for i in range(9)}) as site:
        page = fetch(f"{site.url}/a", limits=FetchLimits(seconds=0.6, delay=0.0))
    assert page.outcome == "timeout"
    assert len(site.asked) <= 5


def test_a_host_gets_one_request_at_a_time_and_a_rest():
    busy = most = 0
    times: list[float] = []

    def count(handler: SiteHandler) -> None:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        times.append(time.monotonic())
        time.sleep(0.02)
        busy -= 1
        handler.send(200, {"Content-Type": "text/html"}, b"<p>x")

    robots = (200, {}, b"User-agent: *\nCrawl-delay: 0.1")
    with Site({"/robots.txt": robots} | {f"/{i}": count for i in range(4)}) as site:

        async def main() -> None:
            fetcher = Fetcher("me@example.org", Kept(), HERE, QUICK)
            async with anyio.create_task_group() as group:
                for i in range(4):
                    group.start_soon(fetcher.fetch, f"{site.url}/{i}")

        anyio.run(main)
    assert most == 1
    assert all(b - a > 0.1 for a, b in itertools.pairwise(times))
    assert site.paths.count("/robots.txt") == 1
