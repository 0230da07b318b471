"""Citation marks in running text: `[2]`, `[1, 3]`."""

from __future__ import annotations

import re
from collections.abc import Callable

from pnyx.corpora.text.segment import split_sentences

__all__ = ["cited_sentences", "without_marks"]

_MARKS = r"\[\d{1,4}(?:\s*,\s*\d{1,4})*\]"
_MARK = re.compile(rf"(?<!\s)\s*{_MARKS}")
_BEHIND = re.compile(rf"([.!?…][\"'”’)]*)((?:\s*{_MARKS})+)")
"""Marks after the end of the sentence that they belong to."""


def without_marks(
    text: str, known: Callable[[int], bool] = lambda _: True
) -> tuple[str, list[int]]:
    """Return a text without its citation marks, and their numbers in order.

    Marks with a number that is not `known` stay: a year in brackets is none.
    """
    marked: list[int] = []

    def take(match: re.Match[str]) -> str:
        numbers = [int(n) for n in re.findall(r"\d+", match.group())]
        if not all(map(known, numbers)):
            return match.group()
        marked.extend(numbers)
        return ""

    clean = _MARK.sub(take, text)
    return " ".join(clean.split()), marked


def cited_sentences(text: str) -> list[tuple[str, list[int]]]:
    """Split text into its sentences that have words, each with the numbers that it cites.

    A mark behind the full stop belongs to the sentence before it.
    """
    found = []
    for sentence in split_sentences(_BEHIND.sub(r"\2\1", text)):
        clean, numbers = without_marks(sentence)
        if any(character.isalnum() for character in clean):
            found.append((clean, list(dict.fromkeys(numbers))))
    return found
