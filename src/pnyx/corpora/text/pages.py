"""Web pages to text, without navigation and boilerplate (trafilatura), and PDF files (pypdf)."""

from __future__ import annotations

import codecs
import io
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pnyx.errors import InputError, MissingExtra, shorten
from pnyx.files import clean_text

_LONGEST_TITLE = 500
_CHARSETS = frozenset(
    "ascii utf-8 utf-16 utf-16-le utf-16-be iso8859-1 iso8859-2 iso8859-5 iso8859-7 iso8859-9 "
    "iso8859-15 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 koi8-r koi8-u "
    "gb2312 gbk gb18030 big5 euc_jp shift_jis iso2022_jp cp932 euc_kr cp949".split()
)
"""Encodings that a header may name. Some others that Python knows take quadratic time."""


@dataclass(frozen=True, slots=True)
class Page:
    """The text of a web page; `text` is empty where there is none."""

    text: str
    title: str = ""
    url: str = ""


def slug_of(url: str) -> str:
    """Name a page by the last part of its path, or its host; ValueError for a bad IPv6 address."""
    parts = urlsplit(url)
    path = [part for part in parts.path.split("/") if part]
    if parts.query:  # `view.answers.php?questionID=1308`: the query tells the pages apart
        return re.sub(r"[^\w.-]+", "-", "-".join([*path[-1:], parts.query]))
    return path[-1] if path else parts.netloc.removeprefix("www.").partition(".")[0]


def extractor_name() -> str:
    """Return the extractor's name and version; MissingExtra if it is not installed."""
    from importlib.metadata import version

    _trafilatura()
    return f"trafilatura {version('trafilatura')}"


def decode_page(content: bytes, charset: str | None) -> str | None:
    """Decode a page by the charset that its server named; None where that cannot be right."""
    try:
        name = codecs.lookup(charset).name if charset else ""
        if name in ("ascii", "iso8859-1"):
            name = "cp1252"  # as browsers take them (WHATWG Encoding)
        return content.decode(name) if name in _CHARSETS else None
    except (LookupError, ValueError):
        return None


def extract_page(content: bytes | str) -> Page:
    """Return a page's main text, title and own address. A hostile page may take any time."""
    extract = _trafilatura()
    try:
        page: Any = extract(content, with_metadata=True)
    except Exception as error:  # a hostile page may trip the extractor anywhere
        raise InputError(f"cannot be read as HTML: {shorten(str(error))}") from error
    if page is None:
        return Page("")
    title = " ".join(clean_text(page.title or "").split())
    text, url = clean_text(page.text or ""), clean_text(page.url or "")
    return Page(text, title[:_LONGEST_TITLE].rstrip(), url)


def extract_pdf(content: bytes) -> Page:
    """Return the text of a PDF file and its title. A hostile file may take any time."""
    try:
        import pypdf
    except ImportError as error:
        raise MissingExtra("reading PDF files", "ingest") from error
    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        pages = [page.extract_text().strip() for page in reader.pages]
        title = (reader.metadata.title if reader.metadata else None) or ""
    except Exception as error:  # a hostile file may trip the parser anywhere
        raise InputError(f"cannot be read as PDF: {shorten(str(error))}") from error
    text = "\n\n".join(page for page in pages if page)
    return Page(clean_text(text), clean_text(str(title)))


def _trafilatura() -> Any:
    try:
        import trafilatura
    except ImportError as error:
        raise MissingExtra("reading web pages", "ingest") from error
    return trafilatura.bare_extraction
