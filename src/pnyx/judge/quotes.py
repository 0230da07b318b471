"""Locating a quotation in a text, in linear time whatever is quoted."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

__all__ = ["find_words"]

_WORD = re.compile(r"\S+")


def find_words(
    text: str, words: Sequence[str], *, ignore_case: bool = False
) -> tuple[int, int] | None:
    """Return (start, end) of where words stand in a row in a text, or None."""
    if not words:
        return None
    starts, places, pieces, length = [], [], [], 0
    for found in _WORD.finditer(text):
        starts.append(found.start())
        places.append(length)
        pieces.append(found.group())
        length += len(pieces[-1]) + 1
    said, wanted = " ".join(pieces), " ".join(words)
    if ignore_case:
        said, wanted = _lowered(said), _lowered(wanted)
    place = said.find(wanted)
    if place < 0:
        return None

    def back(position: int) -> int:
        word = bisect_right(places, position) - 1
        return starts[word] + position - places[word]

    return back(place), back(place + len(wanted) - 1) + 1


def _lowered(text: str) -> str:
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
