"""Web pages to blocks of text, without navigation, banners and footers (lxml, trafilatura)."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from pnyx.core.errors import InputError, shorten
from pnyx.core.files import clean_text
from pnyx.formats.text.blocks import Block, Page
from pnyx.formats.text.encodings import decoded_bytes
from pnyx.formats.text.plain_text import in_one_line, with_turns
from pnyx.formats.text.quiet_libraries import quiet
from pnyx.formats.text.web_blocks import WebBlock, parsed_page, web_blocks

_LONGEST_TITLE = 500
_CHARSET = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*+=\s*+["']?+\s*+([\w:.-]{1,40})"""
    rb"""|<\?xml[^>]{0,200}?encoding\s*+=\s*+["']([\w:.-]{1,40})""",
    re.IGNORECASE,
)
_CHARSET_WITHIN = 4096
_MOST_LINKED = 0.5
"""A block with more than this share of characters in links is treated as navigation, unless
trafilatura keeps it."""
_LOST = 0.5
"""If trafilatura keeps less than this share of a page's text, its selection is ignored."""
_MOST_SOUGHT = 3000
"""Up to this many blocks are also sought within the lines trafilatura keeps; more only as lines."""
_FEW_WORDS = 6
"""A block outside the main text with fewer words is left out."""
_CHARSETS = frozenset(
    "ascii utf-8 utf-16 utf-16-le utf-16-be iso8859-1 iso8859-2 iso8859-5 iso8859-7 iso8859-9 "
    "iso8859-15 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 koi8-r koi8-u "
    "gb2312 gbk gb18030 big5 euc_jp shift_jis iso2022_jp cp932 euc_kr cp949".split()
)
"""Encodings that a header may name. Some others in Python take quadratic time."""


def slug_of(url: str) -> str:
    """Name a page by the last part of its path, or its host; ValueError for a bad IPv6 address."""
    parts = urlsplit(url)
    path = [part for part in parts.path.split("/") if part]
    if parts.query:  # `view.answers.php?questionID=1308`: the query distinguishes the pages
        return re.sub(r"[^\w.-]+", "-", "-".join([*path[-1:], parts.query]))
    return path[-1] if path else parts.netloc.removeprefix("www.").partition(".")[0]


def extractor_name() -> str:
    """Return the extractor's name and version."""
    from importlib.metadata import version

    return f"trafilatura {version('trafilatura')}"


def decode_page(content: bytes, charset: str | None) -> str | None:
    """Decode a page by the charset that its server named; None if that cannot be right."""
    try:
        name = codecs.lookup(charset).name if charset else ""
        if name in ("ascii", "iso8859-1"):
            name = "cp1252"  # as interpreted by browsers (WHATWG Encoding)
        return content.decode(name) if name in _CHARSETS else None
    except (LookupError, ValueError):
        return None


def decoded_page(content: bytes) -> tuple[str, str]:
    """Return the text of a page's file, and the encoding that was assumed, if any."""
    stated = _CHARSET.search(content[:_CHARSET_WITHIN])
    if stated and not content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        name = (stated[1] or stated[2]).decode("ascii")
        text = decode_page(content, name)
        if text is not None:
            return text.removeprefix("\ufeff"), ""
    return decoded_bytes(content)


def extract_page(content: bytes | str) -> Page:
    """Return a page's blocks, title and own address. A hostile page may take arbitrarily long."""
    text = content if isinstance(content, str) else decoded_page(content)[0]
    if not text.strip():
        return Page()
    root = parsed_page(text)
    if root is None:
        return Page()
    candidates = web_blocks(root)
    extracted = _extracted(text)
    title = in_one_line(clean_text(extracted.title or "")) if extracted else _title(root)
    url = clean_text(extracted.url or "") if extracted else ""
    blocks = _main_text(candidates, extracted.text or "" if extracted else "")
    return Page(with_turns(blocks), title[:_LONGEST_TITLE].rstrip(), url)


def blocks_of_markup(content: bytes) -> tuple[Block, ...]:
    """Return all blocks of a page that is part of a book."""
    root = parsed_page(decoded_page(content)[0])
    return () if root is None else tuple(block.block for block in web_blocks(root))


def _extracted(text: str) -> Any:
    import trafilatura

    try:
        with quiet("trafilatura", "htmldate", "courlan", "justext"):
            return trafilatura.bare_extraction(text, with_metadata=True)
    except Exception as error:  # a hostile page may make the extractor fail anywhere
        raise InputError(f"cannot be read as HTML: {shorten(str(error))}") from error


def _title(root: Any) -> str:
    element = root.find(".//title")
    return "" if element is None else in_one_line(element.text_content())


def _main_text(blocks: Sequence[WebBlock], extracted: str) -> list[Block]:
    """Return the blocks of the main text, which trafilatura locates.

    It drops list items, headings and posts, so its text only decides about the blocks around them
    and about blocks that are mostly links.
    """
    lines = {_squeezed(line) for line in extracted.split("\n")}
    squeezed = _squeezed(extracted) if len(blocks) <= _MOST_SOUGHT else ""
    keys = [_squeezed(block.block.text) for block in blocks]
    located = [len(key) > 1 and (key in lines or key in squeezed) for key in keys]
    total = sum(map(len, keys))
    located_chars = sum(len(key) for key, there in zip(keys, located, strict=True) if there)
    inside = range(len(blocks))
    if any(located) and located_chars >= _LOST * total:
        inside = range(located.index(True), len(located) - located[::-1].index(True))
    main = [
        block.block
        for number, block in enumerate(blocks)
        if located[number]
        or block.posted
        or (block.linked <= _MOST_LINKED and (number in inside or _says_something(block.block)))
    ]
    while main and main[-1].kind == "heading":
        main.pop()
    return main


def _says_something(block: Block) -> bool:
    return block.kind in ("heading", "item") or len(block.text.split()) >= _FEW_WORDS


def _squeezed(text: str) -> str:
    """Return the letters and digits of a text, to find a block within another extract of it."""
    return "".join(re.findall(r"\w+", in_one_line(text)))
