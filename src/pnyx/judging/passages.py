"""Parts of a passage that judges compare or quote: sentences, windows, wording."""

from __future__ import annotations

import difflib
import itertools
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pnyx.formats.text.segment import split_sentences, split_words

MAX_SENTENCES = 200
"""Sentences read from a text; a longer text is a book or an attack, not a passage."""

MAX_WINDOW = 3
"""Longest window, in sentences: a claim and its reason are rarely further apart."""

_MAX_PIECE = 1200
"""Longest stretch without a sentence end, in characters; about 256 tokens."""

_MAX_WORDS = 400
"""Words of a statement that are compared: matching takes quadratic time."""

_PIECE_WORDS, _WHOLE_WORDS = 100, 128
"""Longer texts are cut into passages of 100 words, as in the detector's training data."""
_MOST_PIECES = 40
"""Some 4,000 words; the rest is not read."""

_COPY_FROM = 0.6
_FULL_LENGTH = 4
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")

NEGATORS = frozenset("not no never cannot without nor neither none nobody nothing hardly".split())


@dataclass(frozen=True, slots=True)
class TextWindows:
    """Sentences of a text, verbatim and in order, and the windows of one to three of them."""

    sentences: tuple[str, ...]
    windows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wording:
    """How closely a statement repeats a passage's own words."""

    copy: float  # from 0 (60 % in one window, in order) to 1 (all)
    conflict: float  # `copy` if one side contains a negation or a different number
    overlap: float  # share of the statement's words in one window, in any order, from 0 to 1


def pieces_of(text: str) -> list[str]:
    """Return the pieces in which a text is read: itself, or passages of 100 words."""
    pieces = split_words(text, _PIECE_WORDS)[:_MOST_PIECES]
    return pieces if len(text.split(maxsplit=_WHOLE_WORDS)) > _WHOLE_WORDS else [text]


def read_passage(text: str) -> TextWindows:
    """Cut a text into sentences and windows; both are empty for a text without words."""
    sentences = read_sentences(text)
    windows = dict.fromkeys(
        " ".join(sentences[start : start + size])
        for size in range(1, MAX_WINDOW + 1)
        for start in range(len(sentences) - size + 1)
    )
    return TextWindows(sentences, tuple(windows))


def read_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of `read_passage` alone."""
    sentences: list[str] = []
    # The segmenter does not accept lone surrogates: replace them without changing the length.
    seen = text.encode("utf-8", "replace").decode("utf-8")
    offset = 0
    for sentence in split_sentences(seen):
        for start in range(0, len(sentence), _MAX_PIECE):
            piece = sentence[start : start + _MAX_PIECE].strip()
            offset = seen.index(piece, offset)
            if _WORD.search(piece):
                sentences.append(text[offset : offset + len(piece)])
            offset += len(piece)
        if len(sentences) >= MAX_SENTENCES:
            del sentences[MAX_SENTENCES:]
            break
    return tuple(sentences)


def tokens(text: str) -> list[str]:
    """Return the words and numbers of a text in lower case."""
    return [word.lower().replace("’", "'") for word in _WORD.findall(text)]


def is_negator(word: str) -> bool:
    """Return whether a lower-case word negates its clause."""
    return word in NEGATORS or word.endswith("n't")


def wording(statement: str, passage: TextWindows) -> Wording:
    """Compare a statement word by word with the window that shares most words with it."""
    wanted = tokens(statement)[:_MAX_WORDS]
    if not wanted:
        return Wording(0.0, 0.0, 0.0)
    window, overlap = _closest(Counter(wanted), passage)
    if overlap <= _COPY_FROM:
        return Wording(0.0, 0.0, overlap)
    matcher = difflib.SequenceMatcher(None, wanted, window, autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    share = sum(block.size for block in blocks) / len(wanted)
    copy = max(0.0, (share - _COPY_FROM) / (1 - _COPY_FROM))
    copy *= min(1.0, len(wanted) / _FULL_LENGTH)
    if not copy:
        return Wording(0.0, 0.0, overlap)
    matched = {i for block in blocks for i in range(block.a, block.a + block.size)}
    added = [word for i, word in enumerate(wanted) if i not in matched]
    dropped: list[str] = []
    for earlier, later in itertools.pairwise(blocks):
        dropped.extend(window[earlier.b + earlier.size : later.b])
    present = set(window)
    opposed = any(is_negator(w) for w in (*added, *dropped)) or any(
        w[0].isdigit() and w not in present for w in added
    )
    return Wording(copy, copy if opposed else 0.0, overlap)


def _closest(wanted: Counter[str], passage: TextWindows) -> tuple[list[str], float]:
    """Return the words of the shortest window that shares most words, and the share."""
    best: list[str] = []
    best_share = 0.0
    total = wanted.total()
    for window in passage.windows:
        words = tokens(window)
        share = (wanted & Counter(words)).total() / total
        if share > best_share:
            best, best_share = words, share
    return best, best_share


_SPACED = re.compile(r"\S+")
_MAX_EVIDENCE = 4000


def find_evidence(quote: str, text: str) -> str:
    """Return the span of `text` that equals a quote except for white space, or ""."""
    quote = quote.strip(" \t\r\n\"'“”‘’….")
    words = quote.split()
    if not words or len(quote) > _MAX_EVIDENCE:
        return ""
    if quote in text:
        return quote
    span = find_words(text, words)
    return text[slice(*span)] if span else ""


def find_words(
    text: str, words: Sequence[str], *, ignore_case: bool = False
) -> tuple[int, int] | None:
    """Return (start, end) of consecutive words in a text, or None; white space is one space."""
    if not words:
        return None
    starts, places, pieces, length = [], [], [], 0
    for match in _SPACED.finditer(text):
        starts.append(match.start())
        places.append(length)
        pieces.append(match.group())
        length += len(pieces[-1]) + 1
    joined, wanted = " ".join(pieces), " ".join(words)
    if ignore_case:
        joined, wanted = _lowered(joined), _lowered(wanted)
    start = joined.find(wanted)
    if start < 0:
        return None

    def back(position: int) -> int:
        word = bisect_right(places, position) - 1
        return starts[word] + position - places[word]

    return back(start), back(start + len(wanted) - 1) + 1


def _lowered(text: str) -> str:
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
