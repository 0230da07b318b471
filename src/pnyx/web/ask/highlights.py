"""The question's words in a text: highlighting, and the excerpt with most of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from pnyx.display.text import Segment, Span, clean
from pnyx.formats.text.tokens import Tokenizer
from pnyx.search.polarity import FORM_WORDS

_WORD: Final = re.compile(r"\w+(?:['’]\w+)*")
_READ: Final = 20_000
"""Characters of a text in which to look for an excerpt."""
_MARKED: Final = 400_000
"""Characters of a text in which words are marked; the rest is shown unmarked."""


class Marker:
    """Marks the words of a question in whatever form, by the index's `tokenizer`."""

    def __init__(self, tokenizer: Tokenizer, question: str) -> None:
        words = [word for word in _WORD.findall(question) if word.casefold() not in FORM_WORDS]
        self._terms = frozenset(tokenizer.terms(" ".join(words) or question))
        self._term = lru_cache(4096)(tokenizer.term)

    def marked(self, text: str) -> tuple[Segment, ...]:
        """Return a whole text as sanitised segments of kind `text` or `mark`."""
        spans = [span for span, _ in self._found(text[:_MARKED])]
        return _cut(text, 0, len(text), spans)

    def excerpt(self, text: str, length: int = 320) -> tuple[Segment, ...]:
        """Return the first excerpt of about `length` characters with most words of the question."""
        read = text[:_READ]
        matches = self._found(read)
        start = _sentence_start(read, _best(matches, length), length)
        end = len(text) if len(text) <= start + length else _word_end(read, start + length)
        segments = _cut(text, start, end, [span for span, _ in matches])
        before = (Segment("text", "… "),) if start else ()
        after = (Segment("text", " …"),) if end < len(text.rstrip()) else ()
        return (*before, *segments, *after)

    def _found(self, text: str) -> list[tuple[Span, str]]:
        matches = []
        for match in _WORD.finditer(text) if self._terms else ():
            term = self._term(match[0].lower()) if len(match[0]) < 100 else None
            if term in self._terms:
                matches.append((match.span(), str(term)))
        return matches


def _best(matches: Sequence[tuple[Span, str]], length: int) -> int:
    """Return the start of the excerpt with the most distinct words."""
    best, most = 0, (0, 0)
    last = 0
    counts: dict[str, int] = {}
    for first, ((start, _), term) in enumerate(matches):
        while last < len(matches) and matches[last][0][1] <= start + length:
            counts[matches[last][1]] = counts.get(matches[last][1], 0) + 1
            last += 1
        worth = (sum(map(bool, counts.values())), last - first)
        if worth > most:
            best, most = start, worth
        counts[term] -= 1
    return best


def _sentence_start(text: str, position: int, length: int) -> int:
    """Return the start of the sentence at a position, or of a word shortly before it."""
    if position <= length // 3:
        return 0
    earliest = max(0, position - length // 3)
    ends = [m.end() for m in re.finditer(r"[.!?…][\"'”’)]*\s+", text[earliest:position])]
    if ends:
        return earliest + ends[-1]
    space = text.rfind(" ", max(0, position - 60), max(0, position - 20))
    return space + 1 if space >= 0 else position


def _word_end(text: str, position: int) -> int:
    match = re.compile(r"\s").search(text, position, position + 40)
    return match.start() if match else min(position, len(text))


def _cut(text: str, start: int, end: int, spans: Sequence[Span]) -> tuple[Segment, ...]:
    segments, at = [], start
    for first, last in spans:
        if first < at or last > end:
            continue
        if first > at:
            segments.append(Segment("text", clean(text[at:first])))
        segments.append(Segment("mark", clean(text[first:last])))
        at = last
    if at < end:
        segments.append(Segment("text", clean(text[at:end])))
    return tuple(segments)
