"""The blocks of a PDF file: running heads removed, lines and hyphenated words joined."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from pnyx.core.errors import InputError, shorten
from pnyx.core.files import clean_text
from pnyx.formats.text.blocks import Page
from pnyx.formats.text.plain_text import (
    begins_item,
    blocks_of_text,
    composed,
    dehyphenated,
    in_one_line,
    turn_opening,
)
from pnyx.formats.text.quiet_libraries import quiet

_EDGE_LINES = 3
"""Lines at the top and at the bottom of a page among which running heads are sought."""
_REPEATED = 0.5
"""Minimum share of pages on which a running head occurs; it must be on three or more, or on both of
two pages."""
_GAP = 1.3
"""A distance between two lines above this multiple of the usual one separates paragraphs."""
_LARGER = 1.15
"""A line whose letters are larger than this multiple of the usual size is a heading."""
_PAGE_NUMBER = re.compile(
    r"[-\u2013\u2014 ]*(?:page|seite|p\.|s\.)? ?\d{1,4}"
    r"(?: ?(?:/|of|von|sur|de) ?\d{1,4})?[-\u2013\u2014 ]*",
    re.IGNORECASE,
)
_MOST_HEADING = 150
"""Maximum characters of a heading."""
_DIGITS = re.compile(r"\d+")
_MOST_PAGES = 5000
_END = (".", "!", "?", ":", ";", "\u201d", '"', ")")


@dataclass(slots=True)
class _Line:
    """A line of a page: its vertical position and the size of its letters, in points."""

    text: str
    y: float = 0.0
    size: float = 0.0


def extract_pdf(content: bytes) -> Page:
    """Return the blocks of a PDF file and its title. A hostile file may take arbitrarily long."""
    with quiet("pypdf"):
        pages, title = _read(content)
    title = in_one_line(clean_text(title))
    return Page(blocks_of_text(_joined(_without_running_heads(pages))), title)


def _read(content: bytes) -> tuple[list[list[_Line]], str]:
    import pypdf
    from pypdf.errors import PdfReadError

    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):
            raise InputError("needs a password")
        if len(reader.pages) > _MOST_PAGES:
            raise InputError(f"has more than {_MOST_PAGES:,} pages")
        pages = [_lines(page) for page in reader.pages]
        title = (reader.metadata.title if reader.metadata else None) or ""
    except InputError:
        raise
    except PdfReadError as error:
        if not content[:1024].lstrip().startswith(b"%PDF"):
            raise InputError("is not a PDF file") from error
        raise InputError(f"cannot be read as PDF: {shorten(str(error))}") from error
    except Exception as error:  # a hostile file may make the parser fail anywhere
        if not content[:1024].lstrip().startswith(b"%PDF"):
            raise InputError("is not a PDF file") from error
        raise InputError(f"cannot be read as PDF: {shorten(str(error))}") from error
    return pages, str(title)


def _lines(page: Any) -> list[_Line]:
    """Return the lines of a page from top to bottom, as pypdf orders them."""
    lines: list[_Line] = [_Line("")]

    def gather(text: str, _: Any, matrix: Any, __: Any, size: float | None) -> None:
        height = float(matrix[5])
        for number, part in enumerate(text.split("\n")):
            if number:
                lines.append(_Line(""))
            line = lines[-1]
            if part.strip() and not line.text.strip():
                line.y, line.size = height, abs(float(size or 0) * float(matrix[3] or 1))
            line.text += part

    page.extract_text(visitor_text=gather)
    return [line for line in lines if line.text.strip()]


def _without_running_heads(pages: Sequence[Sequence[_Line]]) -> list[list[_Line]]:
    """Remove page numbers, and lines that are repeated at the edge of most pages."""
    filled = [page for page in pages if page]
    counted: Counter[str] = Counter()
    for page in filled:
        counted.update({_head(line) for line in _edges(page)})
    needed = max(2, min(3, len(filled)), int(_REPEATED * len(filled)))
    heads = {head for head, count in counted.items() if head and count >= needed}
    result = []
    for page in filled:
        first, stop = 0, len(page)
        above: set[str] = set()  # keep a heading below a running head with the same words
        while first < min(_EDGE_LINES, stop) and _is_head(page[first], heads):
            if _head(page[first]) in above:
                break
            above.add(_head(page[first]))
            first += 1
        while stop > max(first, len(page) - _EDGE_LINES) and _is_head(page[stop - 1], heads):
            stop -= 1
        result.append(list(page[first:stop]))
    return result


def _is_head(line: _Line, heads: Container[str]) -> bool:
    return _head(line) in heads or bool(_PAGE_NUMBER.fullmatch(line.text.strip()))


def _edges(page: Sequence[_Line]) -> list[_Line]:
    return [*page[:_EDGE_LINES], *page[max(_EDGE_LINES, len(page) - _EDGE_LINES) :]]


def _head(line: _Line) -> str:
    """Return a line for comparison with other pages, ignoring numbers."""
    return _DIGITS.sub("0", " ".join(line.text.lower().split()))


def _joined(pages: Sequence[Sequence[_Line]]) -> str:
    """Return one text in which blank lines separate paragraphs."""
    sizes = [line.size for page in pages for line in page for _ in range(1 + len(line.text) // 20)]
    usual = median(sizes) if sizes else 0.0
    paragraphs: list[list[_Line]] = []
    before: _Line | None = None
    for page in pages:
        leading = _leading(page)
        width = max((len(line.text.strip()) for line in page), default=0)
        above: _Line | None = None
        for line in page:
            if before is None or _separated(before, above, line, leading, width, usual):
                paragraphs.append([])
            paragraphs[-1].append(line)
            before = above = line
    largest = max(sizes, default=0.0)
    return "\n\n".join(_paragraph(lines, usual, largest) for lines in paragraphs)


def _paragraph(lines: Sequence[_Line], usual: float, largest: float) -> str:
    """Return a paragraph in one line; large letters make it a heading, which is underlined."""
    text = dehyphenated([composed(line.text).strip() for line in lines])
    size = min(line.size for line in lines)
    if usual and size > _LARGER * usual and len(text) <= _MOST_HEADING:
        return f"{text}\n{'===' if size > largest / _LARGER else '---'}"
    return text


def _leading(page: Sequence[_Line]) -> float:
    """Return the usual distance between two lines of a page."""
    steps = [above.y - below.y for above, below in pairwise(page) if 0 < above.y - below.y < 100]
    if not steps:
        return 0.0
    steps.sort()
    return steps[len(steps) // 3]


def _separated(
    before: _Line, above: _Line | None, line: _Line, leading: float, width: int, usual: float
) -> bool:
    """Whether a paragraph ends before `line`; `above` is None for the first line of a page."""
    if usual and abs(before.size - line.size) > (_LARGER - 1) * usual:
        return True
    ended = before.text.rstrip().endswith(_END)
    if begins_item(line.text) or (ended and turn_opening(line.text)):
        return True
    if above is None:
        return ended or not line.text.lstrip()[:1].islower()
    step = above.y - line.y
    if leading and step:
        return not 0 <= step <= _GAP * leading
    return ended and len(before.text.strip()) < 0.8 * width
