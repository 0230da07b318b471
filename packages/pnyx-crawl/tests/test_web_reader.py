"""Taking the text out of pages, good, broken and hostile."""

from __future__ import annotations

import anyio
import pytest

from pnyx_crawl.fetch_result import FETCHED, Fetched
from pnyx_crawl.reader import Reader
from web_server import article


def read(*pages: tuple[str, bytes], seconds: float = 20.0):
    """Read pages of (content type, body) in one process."""

    async def main():
        async with Reader(seconds, 1) as reader:
            return [
                await reader.read(Fetched("u", FETCHED, content_type=kind, body=body))
                for kind, body in pages
            ]

    return anyio.run(main)


UMLAUT = article("Tea").decode().replace("Voting", "Wählen")


def test_text_comes_out_of_pages_good_and_bad():
    found = read(
        ("text/html; charset=utf-8", article("Tea")),
        ("text/html; charset=iso-8859-1", UMLAUT.encode("latin-1")),
        ('text/html; charset="UTF-8"', UMLAUT.encode()),
        ("text/html; charset=nonsense", UMLAUT.encode()),
        ("text/html; charset=utf-8", UMLAUT.encode("latin-1")),  # which is not what it is
        ("text/html; charset=punycode", UMLAUT.encode()),
        ("text/html", article("Tea").replace(b"</p>", b"").replace(b"</html>", b"<table><<b>")),
        ("text/html", b"<html><body><p>a\0b " + b"word " * 60 + b"&#xD800;</p></body></html>"),
        ("text/html", b""),
        ("text/html", b"<html><body></body></html>"),
        ("text/html", bytes(range(256)) * 20),
        ("text/plain; charset=utf-16-le", "Plain text.".encode("utf-16-le")),
        ("text/plain", b"\xef\xbb\xbfcaf\xe9 \0"),
    )
    assert [r.outcome for r in found[:8]] == ["text"] * 8
    assert found[0].title == "Tea"
    assert "Login" not in found[0].text
    assert "turnout is above ninety percent" in found[0].text
    assert all("Wählen" in r.text for r in found[1:6])
    assert "\0" not in found[7].text
    assert [r.outcome for r in found[8:10]] == ["no_text"] * 2
    assert found[11].text == "Plain text."
    assert found[12].text == "caf\ufffd \ufffd"


@pytest.mark.all
def test_a_page_that_the_parser_cannot_stop_reading_is_given_up_and_the_next_is_read():
    endless = b"<html><body><p " + b" ".join(b"a%d=1" % i for i in range(100_000)) + b">hello</p>"

    async def main():
        async with Reader(1.0, 1) as reader:
            first = await reader.read(Fetched("u", FETCHED, content_type="text/html", body=endless))
            reader.seconds = 120.0
            good = Fetched("u", FETCHED, content_type="text/html", body=article("Tea"))
            return first, await reader.read(good)

    given_up, well = anyio.run(main)
    assert (given_up.outcome, given_up.detail) == ("unreadable", "not read in 1 s")
    assert well.outcome == "text"


def test_a_parser_that_dies_takes_nobody_along(monkeypatch):
    async def main():
        async with Reader(120.0, 1) as reader:
            page = Fetched("u", FETCHED, content_type="text/html", body=article("Tea"))
            before = await reader.read(page)
            reader._idle[0][0].kill()
            return before, await reader.read(page), await reader.read(page)

    before, dead, after = anyio.run(main)
    assert [r.outcome for r in (before, dead, after)] == ["text", "unreadable", "text"]
    assert dead.detail == "the parser crashed"
