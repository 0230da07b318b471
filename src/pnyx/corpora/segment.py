"""Sentences of running text, and passages of a number of words, verbatim."""

from __future__ import annotations

import re

__all__ = ["split_sentences", "split_words"]

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

_PIECE = 20_000
"""Longest stretch handed to the segmenter; a longer one is a hostile or broken text."""

_WORD = re.compile(r"\S{1,64}")
"""A longer run of characters counts as several words."""


def split_sentences(text: str, language: str = "en") -> list[str]:
    """Split text into its sentences (ISO 639-1 rules), verbatim and without outer space."""
    from sentencex import segment

    sentences: list[str] = []
    for paragraph in text.split("\n"):
        for start in range(0, len(paragraph), _PIECE):
            piece = paragraph[start : start + _PIECE]
            # The segmenter takes no lone surrogates; each is replaced by one character.
            whole, at = _LONE_SURROGATE.sub("\ufffd", piece), 0
            for sentence in segment(language, whole):
                at = whole.index(sentence, at) + len(sentence)
                sentences.append(piece[at - len(sentence) : at].strip())
    return [s for s in sentences if s]


def split_words(text: str, words: int) -> list[str]:
    """Cut text into disjoint verbatim passages of `words` words; the last may be shorter.

    A word is what stands between white space, of at most 64 characters.
    """
    if words < 1:
        raise ValueError(f"the number of words is {words}, expected at least 1")
    found = [match.span() for match in _WORD.finditer(text)]
    pieces = [found[start : start + words] for start in range(0, len(found), words)]
    return [text[piece[0][0] : piece[-1][1]] for piece in pieces]
