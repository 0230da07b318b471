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
    """Return where words stand one after the other in a text, whatever white space parts them.

    Args:
        text: what is searched.
        words: without white space; the first may end a word of the text, the last begin one.
        ignore_case: whether capitals may differ.

    Returns:
        (start, end) of the first place, or None.
    """
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
    """Return a text in lower case, each character in its place."""
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
