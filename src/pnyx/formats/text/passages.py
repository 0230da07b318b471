"""Passages of a document: its blocks, split and joined at natural boundaries."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from pnyx.formats.text.blocks import Block
from pnyx.formats.text.segment import split_sentences

WHOLE_WORDS: Final = 180
"""Maximum words of a text that is not split: with its title, it fits the encoder (256 tokens)."""
MOST_WORDS: Final = 150
"""Maximum words of a passage of a longer text."""
LEAST_WORDS: Final = 40
"""A passage with fewer words is joined with a neighbour of the same voice and heading."""

_MOST_HEADING_WORDS = 40
"""A longer heading becomes a paragraph: headings are repeated for every passage under them."""
_MOST_HEADINGS = 4
_MOST_SPEAKER = 200
"""Maximum characters of a speaker's name."""
_BETWEEN_HEADINGS = " \u203a "
_CLOSED_UP = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_CLOSED_UP}]{{1,2}}|[^\s{_CLOSED_UP}]{{1,16}}")
"""A longer run of characters counts as several words, and so do scripts without blanks."""
_BACK = 20
"""Maximum words by which a cut within a sentence moves back to avoid cutting a long word."""


@dataclass(frozen=True, slots=True)
class TextPassage:
    """A passage of a text.

    Attributes:
        text: its blocks, separated by blank lines, without the headings above them and without the
            speaker's name.
        heading: the headings above it, from the outermost, or "".
        speaker: who says or wrote it, or "".
    """

    text: str
    heading: str = ""
    speaker: str = ""


@dataclass(slots=True)
class _Section:
    """Blocks of one voice under one heading."""

    headings: tuple[str, ...]
    speaker: str
    voice: int
    blocks: list[Block] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A block, or a part of one that is longer than a passage."""

    text: str
    words: int
    leads_in: bool = False


def count_words(text: str) -> int:
    """Count the words of a text for passages: a very long word counts as several."""
    return sum(1 for _ in _WORD.finditer(text))


def passages_of(blocks: Iterable[Block], title: str = "") -> list[TextPassage]:
    """Return the passages of a document, in order.

    A short document is one passage, unless several people speak or two of its sections have as many
    words as a passage should. A longer one is split at headings, speakers and posts, then into
    paragraphs and lists; short neighbours are joined, long blocks are cut at sentence ends. Every
    word is in exactly one passage; headings are above their passages (one equal to the `title`
    is left out), or a text of their own if nothing is under them.
    """
    sections = _sections(blocks, title)
    if _is_one_passage(sections):
        return [_whole(sections)]
    return [
        TextPassage(text, _BETWEEN_HEADINGS.join(section.headings), section.speaker)
        for section in sections
        for text in _texts(section)
    ]


# Sections ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Outline:
    """Sections of a document as its blocks are read."""

    title: str
    sections: list[_Section] = field(default_factory=list)
    above: list[Block] = field(default_factory=list)
    """Headings above the next block that have text under them."""
    waiting: list[Block] = field(default_factory=list)
    """Headings read since the last block, from the outermost."""
    voice: int = 0
    speaker: str = ""
    is_unnamed: bool = False

    def read(self, block: Block) -> None:
        """Add the next block."""
        if block.kind == "heading" and count_words(block.text) <= _MOST_HEADING_WORDS:
            heading = Block(block.text, "heading", max(1, block.level))
            self.close(heading.level)
            while self.above and self.above[-1].level >= heading.level:
                self.above.pop()
            self.waiting.append(heading)
        else:
            self.above += self.waiting
            self.waiting = []
            self._add(block)

    def close(self, level: int) -> None:
        """Turn headings from this level on into paragraphs if they have no text."""
        empty = [heading for heading in self.waiting if heading.level >= level]
        self.waiting = [heading for heading in self.waiting if heading.level < level]
        empty = [heading for heading in empty if not _is_same(heading, self.title)]
        if empty:
            self.above += self.waiting
            self.waiting = []
        for heading in empty:
            self._add(Block(heading.text))

    def _add(self, block: Block) -> None:
        name = block.speaker[:_MOST_SPEAKER]
        # Text after a quotation or an anonymous post may be by anybody.
        is_unnamed = block.kind == "turn" and not name
        if name != self.speaker or self.is_unnamed or is_unnamed:
            self.voice += 1
        self.speaker, self.is_unnamed = name, is_unnamed
        texts = [heading.text for heading in self.above if not _is_same(heading, self.title)]
        headings = tuple(texts[-_MOST_HEADINGS:])
        last = self.sections[-1] if self.sections else None
        if last is None or (last.headings, last.voice) != (headings, self.voice):
            last = _Section(headings, name, self.voice)
            self.sections.append(last)
        last.blocks.append(block)


def _sections(blocks: Iterable[Block], title: str) -> list[_Section]:
    """Return the blocks by heading and voice; a heading with nothing under it is a paragraph."""
    outline = _Outline(title)
    for block in blocks:
        if block.text.strip():
            outline.read(block)
    outline.close(0)
    return outline.sections


def _is_same(heading: Block, title: str) -> bool:
    return heading.text.split() == title.split()


def _is_one_passage(sections: Sequence[_Section]) -> bool:
    if len({section.voice for section in sections}) != 1:
        return False
    sizes = [sum(count_words(block.text) for block in section.blocks) for section in sections]
    several = sum(size >= LEAST_WORDS for size in sizes) > 1
    return not several and sum(sizes) <= WHOLE_WORDS


def _whole(sections: Sequence[_Section]) -> TextPassage:
    """Return a short document as one passage; headings within it are lines of its text."""
    shared = _shared([section.headings for section in sections])
    parts: list[str] = []
    before = shared
    for section in sections:
        repeated = len(_shared([before, section.headings]))
        parts += section.headings[repeated:]
        parts += [block.text for block in section.blocks]
        before = section.headings
    heading = _BETWEEN_HEADINGS.join(shared)
    return TextPassage("\n\n".join(parts), heading, sections[0].speaker)


def _shared(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the common prefix of all paths of headings."""
    shared = paths[0]
    for path in paths[1:]:
        same = [a == b for a, b in zip(shared, path, strict=False)]
        shared = shared[: [*same, False].index(False)]
    return shared


# Blocks of one voice under one heading -----------------------------------------------------------


def _texts(section: _Section) -> Iterator[str]:
    groups: list[list[_Piece]] = []
    size = 0
    for piece in _pieces(section.blocks):
        fits = bool(groups) and size + piece.words <= MOST_WORDS
        full = size >= LEAST_WORDS
        if fits and (not full or (piece.words < LEAST_WORDS and not piece.leads_in)):
            groups[-1].append(piece)
            size += piece.words
        else:
            groups.append([piece])
            size = piece.words
    groups = _merged(groups)
    _even_out(groups)
    for group in groups:
        yield "\n\n".join(piece.text for piece in group)


def _merged(groups: Iterable[list[_Piece]]) -> list[list[_Piece]]:
    """Join a short passage with the previous one; a list with its lead-in is joined later."""
    merged: list[list[_Piece]] = []
    for group in groups:
        sizes = [_words(merged[-1]), _words(group)] if merged else []
        if sizes and min(sizes) < LEAST_WORDS and sum(sizes) <= MOST_WORDS:
            merged[-1] += group
        else:
            merged.append(group)
    return merged


def _even_out(groups: Sequence[list[_Piece]]) -> None:
    """Move pieces from the second-to-last passage to the last while that is short."""
    if len(groups) < 2:
        return
    before, last = groups[-2], groups[-1]
    while len(before) > 1 and _words(last) < LEAST_WORDS:
        moved = before[-1]
        if _words(last) + moved.words > MOST_WORDS or _words(before) - moved.words < LEAST_WORDS:
            return
        last.insert(0, before.pop())


def _words(pieces: Iterable[_Piece]) -> int:
    return sum(piece.words for piece in pieces)


def _pieces(blocks: Sequence[Block]) -> Iterator[_Piece]:
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        cut = cut_text(block.text)
        leads_in = (
            block.kind != "item"
            and following is not None
            and following.kind == "item"
            and (block.text.endswith(":") or count_words(block.text) < LEAST_WORDS)
        )
        for number, text in enumerate(cut):
            yield _Piece(text, count_words(text), leads_in and number == len(cut) - 1)


def cut_text(text: str) -> list[str]:
    """Return a text in parts of at most `MOST_WORDS`, about equally long, cut at sentence ends."""
    spans = [match.span() for match in _WORD.finditer(text)]
    if len(spans) <= MOST_WORDS:
        return [text]
    ends = _part_ends(_sentence_ends(text, spans), len(spans))
    return [
        text[spans[start][0] : spans[end - 1][1]]
        for start, end in zip([0, *ends[:-1]], ends, strict=True)
    ]


def _sentence_ends(text: str, spans: Sequence[tuple[int, int]]) -> list[int]:
    """Return the word count at each sentence end; a sentence longer than a passage is cut."""
    starts = [start for start, _ in spans]
    begins: list[int] = []
    position = 0
    for sentence in split_sentences(text):
        position = text.index(sentence, position)
        begins.append(bisect_left(starts, position))
        position += len(sentence)
    ends: list[int] = []
    start = 0
    for end in [*begins[1:], len(spans)]:
        while end - start > MOST_WORDS:
            parts = -(-(end - start) // MOST_WORDS)
            start = _between_words(text, starts, start + -(-(end - start) // parts))
            ends.append(start)
        if end > start:
            ends.append(end)
            start = end
    return ends


def _between_words(text: str, starts: Sequence[int], last: int) -> int:
    """Return the last nearby position up to `last` where a blank precedes the word."""
    near = range(last, last - _BACK, -1)
    return next((at for at in near if text[starts[at] - 1].isspace()), last)


def _part_ends(sentence_ends: Sequence[int], total: int) -> list[int]:
    """Return the word count at the end of each part: at ends of sentences, about equally long."""
    ends: list[int] = []
    start = last = 0
    goal = _goal(total)
    for end in sentence_ends:
        size = last - start
        nearer = size >= goal or goal - size <= end - start - goal
        if size and (end - start > MOST_WORDS or nearer):
            ends.append(last)
            start = last
            goal = _goal(total - start)
        last = end
    return [*ends, total]


def _goal(words: int) -> float:
    return words / -(-words // MOST_WORDS)
