"""The blocks of subtitles and of transcripts of calls: WebVTT (.vtt) and SubRip (.srt)."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from pnyx.formats.text.blocks import Block
from pnyx.formats.text.plain_text import in_one_line, lines_of, turn_opening, with_turns

_TIMES = re.compile(r"\s*[\d:.,]{5,20}[ \t]+-->[ \t]+\d")
_VOICE = re.compile(r"<v[^\s<>]{0,80}[ \t]([^<>]{1,80})>")
_TAG = re.compile(r"</?[a-z0-9][^<>]{0,200}>|\{\\[^{}]{0,80}\}", re.IGNORECASE)
_MARK = re.compile(r"\A\s*(?:-|>{2,3})\s+")
"""A new speaker who is not named."""
_SOUND = re.compile(r"\s*(?:\[[^\[\]]{0,60}\]|\([^()]{0,60}\)|[♪♫].*)\s*")
"""A line that says what is heard, or is sung."""


def blocks_of_subtitles(text: str) -> tuple[Block, ...]:
    """Return the turns of named speakers; what is said is one paragraph if none is named.

    A line that repeats the one before, as automatic captions do, is left out.
    """
    paragraphs: list[list[str]] = []
    for line in _spoken(lines_of(text)):
        if not paragraphs or turn_opening(line):
            paragraphs.append([])
        paragraphs[-1].append(line)
    return with_turns([Block(in_one_line(" ".join(lines))) for lines in paragraphs])


def _spoken(lines: list[str]) -> Iterator[str]:
    """Yield what is said, line by line, with the speaker as `Name: ...`."""
    before, in_cue = "", False
    for line in lines:
        if _TIMES.match(line):
            in_cue = True
        elif not line.strip():
            in_cue = False
        elif in_cue and not _SOUND.fullmatch(line):
            voiced = _MARK.sub("", _VOICE.sub(r"\1: ", line))
            words = html.unescape(_TAG.sub("", voiced)).strip()
            if words and words != before:
                yield words
            before = words
