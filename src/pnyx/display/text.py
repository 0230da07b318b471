"""Prepare documents' text for a page: sanitise it, and cut it around evidence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from pnyx.judging.passages import find_words

Span: TypeAlias = tuple[int, int]  # Start and end (exclusive) in characters of the uncleaned text

MAX_SHOWN = 4000
"""A passage up to this many characters is shown whole; a longer one only around its marks."""

_LONGEST_WORD = 40

CONTEXT = 900
"""Characters kept at the start, and on either side of a mark, of a passage that is cut."""


def _table() -> dict[int, str | None]:
    replaced: dict[int, str | None] = dict.fromkeys((*range(32), *range(0x7F, 0xA0)), "\ufffd")
    replaced |= dict.fromkeys((*range(0xD800, 0xE000), 0xFFFE, 0xFFFF), "\ufffd")
    replaced |= dict.fromkeys((0x0A, 0x0B, 0x0C, 0x0D, 0x85, 0x2028, 0x2029), "\n")
    # Embeddings, overrides and isolates let a document reorder its displayed text.
    replaced |= dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF), None)
    replaced[0x09] = " "
    return replaced


_HARMLESS = _table()


def clean(text: str) -> str:
    """Return `text` without control characters (U+FFFD) and bidirectional overrides."""
    # All replaced characters are unprintable.
    return text if text.isprintable() else text.replace("\r\n", "\n").translate(_HARMLESS)


def one_line(text: str) -> str:
    """Return `text` sanitised on one line, for titles, sentences and labels."""
    return " ".join(clean(text).split())


_MARKUP = re.compile(r"([\\`*_\[\]<|~&$])")
_BLOCK_START = re.compile(r"^(\d+(?=[.)])|(?=[-+=>#]))")


def listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence: `a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def escape_cell(text: str) -> str:
    """Return `text` sanitised on one line, for the inside of a line of Markdown."""
    return _MARKUP.sub(r"\\\1", one_line(text))


def escape_markdown(text: str) -> str:
    """Return `text` sanitised on one line, so that Markdown shows it literally."""
    return _BLOCK_START.sub(lambda m: f"{m[0]}\\" if m[0] else "\\", escape_cell(text))


def locate(text: str, *candidates: str) -> Span | None:
    """Find the first of `candidates` in `text`, verbatim if possible, else ignoring case."""
    for candidate in candidates:
        exact = candidate.strip()
        start = text.find(exact) if exact else -1
        if start >= 0:
            return start, start + len(exact)
        spans = find_words(text, exact.rstrip(".!?…").split(), ignore_case=True)
        if spans:
            return spans
    return None


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment of a passage: text, evidence of the citations `keys`, or the length of a gap."""

    kind: Literal["text", "mark", "gap"]
    text: str
    keys: tuple[str, ...] = ()
    opens: tuple[str, ...] = ()


def cut(
    text: str, spans: Mapping[str, Span], *, most: int = MAX_SHOWN, context: int = CONTEXT
) -> tuple[Segment, ...]:
    """Cut a passage at the ends of its evidence spans, which may overlap; see `MAX_SHOWN`."""
    windows = _shown(text, spans.values(), most, context)
    edges = {0, len(text)}
    edges.update(edge for span in (*spans.values(), *windows) for edge in span)
    ordered = sorted(edges)
    segments: list[Segment] = []
    for start, end in pairwise(ordered):
        if not any(low <= start and end <= high for low, high in windows):
            segments.append(Segment("gap", f"{end - start:,}"))
            continue
        keys = tuple(k for k, (low, high) in spans.items() if low <= start and end <= high)
        opens = tuple(k for k in keys if spans[k][0] == start)
        segments.append(Segment("mark" if keys else "text", clean(text[start:end]), keys, opens))
    return tuple(segments)


def _shown(text: str, spans: Iterable[Span], most: int, context: int) -> Sequence[Span]:
    """Return the disjoint, ordered parts of a passage to show."""
    if len(text) <= most:
        return [(0, len(text))]
    wanted = [(0, _word_end(text, context))]
    wanted += [(_word_start(text, a - context), _word_end(text, b + context)) for a, b in spans]
    merged: list[Span] = []
    for start, end in sorted(wanted):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _word_end(text: str, position: int) -> int:
    """Return the next white space, so that no word is cut, except for very long ones."""
    match = re.compile(r"\s").search(text, position, position + _LONGEST_WORD)
    return match.start() if match else min(position, len(text))


def _word_start(text: str, position: int) -> int:
    """Return the start of the next word; very long words are cut."""
    if position <= 0:
        return 0
    match = re.compile(r"\s\S").search(text, position - 1, position + _LONGEST_WORD)
    return match.start() + 1 if match else position


def web_address(url: str) -> str:
    """Return a link target if it is a web page; empty for anything else."""
    url = one_line(url)
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return url if parts.scheme in ("http", "https") and parts.netloc and " " not in url else ""


def markdown_link(url: str) -> str:
    """Return a checked web address as a link, or as text if it could break the link."""
    return f"<{url}>" if url and not re.search(r"[<>\\\s]", url) else escape_markdown(url)
