"""Sentences of running text, verbatim."""

from __future__ import annotations

import re

__all__ = ["split_sentences"]

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

_PIECE = 20_000
"""Longest stretch handed to the segmenter; a longer one is a hostile or broken text."""


def split_sentences(text: str, language: str = "en") -> list[str]:
    """Split text into its sentences, in order; each is a verbatim substring without outer space.

    Args:
        text: any text, of any length.
        language: ISO 639-1 code of the segmentation rules.

    Returns:
        The sentences; empty for text without visible characters.
    """
    from sentencex import segment

    sentences: list[str] = []
    for paragraph in text.split("\n"):
        for start in range(0, len(paragraph), _PIECE):
            piece = paragraph[start : start + _PIECE]
            # The segmenter takes no half characters; one stands for one, so places stay the same.
            whole, at = _LONE_SURROGATE.sub("\ufffd", piece), 0
            for sentence in segment(language, whole):
                at = whole.index(sentence, at) + len(sentence)
                sentences.append(piece[at - len(sentence) : at].strip())
    return [s for s in sentences if s]
