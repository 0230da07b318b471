"""Citation marks in running text: `[2]`, `[1, 3]`; footnote marks of sources."""

from __future__ import annotations

import re
from collections.abc import Callable

from pnyx.formats.text.segment import split_sentences

_MARKS = r"\[\d{1,4}(?:\s*,\s*\d{1,4})*\]"
_MARK = re.compile(rf"(?<!\s)\s*{_MARKS}")
_BEHIND = re.compile(rf"([.!?…][\"'”’)]*)((?:\s*{_MARKS})+)")
"""Marks after the end of the sentence that they belong to."""

_NOTE = (
    r"\[(?:\d{1,3}(?:[ ]?[,–-][ ]?\d{1,3}){0,9}|[a-z]|[ivx]{1,5}|(?:note|n)[ ]\d{1,3}"
    r"|citation[ ]needed)\]"
)
_NOTES = re.compile(
    rf"""(?:(?<=\w)|(?<=[.!?,;:%"'”’)\]])[ ]?){_NOTE}(?!\w)
    |(?<=\w)(?<!\bin)(?<!\bby)(?<!\bof)(?<!\bsee)(?<!\bfrom)[ ]{_NOTE}(?=[.,;!?]|$)
    |(?<=[^\W\d_]{{4}})[¹²³⁰⁴⁵⁶⁷⁸⁹]{{1,3}}(?!\w)|(?<=[.!?,;:"'”’)])[¹²³⁰⁴⁵⁶⁷⁸⁹]{{1,3}}
    |(?<=[^\W\d_]{{4}}[.!?])\d{{1,3}}(?=$|\s)|(?<=[\w.!?,;])[†‡]+(?!\w)""",
    re.IGNORECASE | re.VERBOSE,
)
"""Marks directly after a word or the end of a clause: `[3]`, `[ii]`, `¹`, `end.12`, `†`."""


def without_notes(text: str) -> str:
    """Return a sentence of a source without the marks of the source's own footnotes."""
    return _NOTES.sub("", text).strip()


def without_marks(
    text: str, is_source: Callable[[int], bool] = lambda _: True
) -> tuple[str, list[int]]:
    """Remove citation marks whose numbers are all sources; return the text and their numbers."""
    marked: list[int] = []

    def take(match: re.Match[str]) -> str:
        numbers = [int(n) for n in re.findall(r"\d+", match.group())]
        if not all(map(is_source, numbers)):
            return match.group()
        marked.extend(numbers)
        return ""

    clean = _MARK.sub(take, text)
    return " ".join(clean.split()), marked


def cited_sentences(text: str) -> list[tuple[str, list[int]]]:
    """Return sentences that have words, with the numbers they cite, also after the full stop."""
    cited = []
    for sentence in split_sentences(_BEHIND.sub(r"\2\1", text)):
        clean, numbers = without_marks(sentence)
        if any(character.isalnum() for character in clean):
            cited.append((clean, list(dict.fromkeys(numbers))))
    return cited
