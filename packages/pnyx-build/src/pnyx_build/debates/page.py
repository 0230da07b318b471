"""Saved debate pages (HTML) to debates: title, introduction, both sides, sources (ConQRet, 4.1).

Pages differ, so sides are recognised by several signs: columns and boxes named `pro` and `con`,
headings such as "Pro 1" or "Arguments against", tables with a column for each. Paragraphs cite by
footnotes (`[1]`, a raised 1, a link to #note-1) or by links to other sites.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pnyx.core.errors import InputError, MissingExtra, shorten
from pnyx.core.files import clean_text, guarded, open_binary
from pnyx.core.records import Debate
from pnyx.formats.text.pages import decode_page, slug_of
from pnyx_build.debates.signs import title_parts, web_link, without_sides
from pnyx_build.debates.walk import Walker

FOOTNOTES = ".footnotes.html"
"""Ending of the name of a page with another page's sources."""

_MOST_BYTES = 20_000_000
_SAVED_FROM = re.compile(rb"<!-- saved from url=\(\d+\)(https?://[^\s>]{1,2000})")


def read_debate_page(path: str | Path) -> Debate:
    """Read a saved web page; its id is the name of the file.

    Sources on a page of their own are read from `NAME.footnotes.html` next to `NAME.html`.

    Raises:
        InputError: the file cannot be read, or no argument of a side is found in it.
        MissingExtra: the library that reads web pages is not installed.
    """
    page = Path(path)
    beside = page.with_name(page.stem + FOOTNOTES)
    content = _content(page)
    footnotes = _content(beside) if beside.is_file() else b""
    try:
        return parse_debate_page(content, page.stem, footnotes=footnotes)
    except InputError as error:
        raise InputError(error.problem, path=path) from error


def _content(path: Path) -> bytes:
    with open_binary(path) as stream:
        content: bytes = guarded(lambda: stream.read(_MOST_BYTES + 1), str(path))
    if len(content) > _MOST_BYTES:
        raise InputError(f"is larger than {_MOST_BYTES // 1_000_000} MB", path=path)
    return content


def parse_debate_page(content: bytes, identifier: str = "", footnotes: bytes = b"") -> Debate:
    """Return the debate on a web page, which may state its own address; see `read_debate_page`."""
    root = _parsed(content)
    saved = _SAVED_FROM.search(content[:4096])
    links = [
        *root.xpath("//link[@rel='canonical']/@href"),
        *root.xpath("//meta[@property='og:url']/@content"),
        *([saved[1].decode("utf-8", "replace")] if saved else []),
    ]
    url = next((address for link in links if (address := web_link(clean_text(str(link)), ""))), "")
    walker = Walker((urlsplit(url).hostname or "").removeprefix("www."))
    walker.walk(root)
    own_titles = _titles(walker, root)
    if footnotes:
        walker.walk_sources(_parsed(footnotes))
    (pros, cons), sources = walker.result()
    if not pros and not cons:
        raise InputError("no pro and no con argument was found on the page")
    title = next((own_title for own_title in own_titles if own_title), "")
    if not title:
        raise InputError("the page has no title")
    question = next((t for t in [*own_titles, *walker.asked] if t.endswith("?")), "")
    name = identifier or (slug_of(url) if url else "") or title
    intro = tuple(walker.introduction)
    return Debate(name, title, question, intro, pros, cons, sources, url)


def _parsed(content: bytes) -> Any:
    try:
        from lxml import etree, html
    except ImportError as error:
        raise MissingExtra("reading web pages", "ingest") from error
    text = decode_page(content.removeprefix(b"\xef\xbb\xbf"), "utf-8")
    declared = None if text is None else "utf-8"
    parser = html.HTMLParser(encoding=declared, remove_comments=True, remove_pis=True)
    try:
        root = html.document_fromstring(content if text is None else clean_text(text), parser)
    except ValueError:  # text that declares an encoding is accepted only as bytes
        root = html.document_fromstring(content, parser)
    except etree.ParserError as error:
        raise InputError(f"cannot be read as HTML: {shorten(str(error))}") from error
    return root


def _titles(walker: Walker, root: Any) -> list[str]:
    """Return candidates for the title, the most likely first: headings, then titles in the head."""
    titles = root.xpath("//meta[@property='og:title']/@content")
    titles += ["".join(title.itertext()) for title in root.xpath("//head/title")]
    in_head = [" ".join(clean_text(str(title)).split()) for title in titles]
    parts = [title_parts(title) for title in in_head]
    sites = {part for of in parts for part in of[1:]}
    bare = [without_sides(title) for title in in_head]
    named = [line for line in walker.asked if any(title.startswith(line) for title in in_head)]
    if not named and bare != in_head:
        named = walker.asked
    headings = walker.titles or named[:1]
    page_headings = [heading for heading in headings if heading not in sites] or headings
    return [*page_headings, *filter(None, bare), *(part for of in parts for part in of)]
