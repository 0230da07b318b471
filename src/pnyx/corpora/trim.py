"""Cutting a text to a number of words, with long words counting as several."""

from __future__ import annotations

__all__ = ["trim", "word_weight"]

_LETTERS_PER_WORD = 8


def word_weight(text: str) -> int:
    """Return for how many words a text counts; a long word counts for several."""
    return sum(map(_one, text.split()))


def _one(word: str) -> int:
    return 1 + len(word) // _LETTERS_PER_WORD


def trim(text: str, words: int) -> str:
    """Return the first `words` words (see `word_weight`), with ` …` where anything is lost."""
    kept: list[str] = []
    left = words
    for word in text.split():
        left -= _one(word)
        if left < 0:
            if not kept:
                kept.append(word[: words * _LETTERS_PER_WORD])
            return " ".join(kept) + " …"
        kept.append(word)
    return " ".join(kept)
