"""Sentences of a report that repeat another one, by a documented rule on their words."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache
from typing import Final

from pnyx.formats.text.folded_words import STOP_WORDS, FoldedWords
from pnyx.formats.text.lookalikes import undisguised

SHARED_WORDS: Final = 0.85
"""Minimum share of a sentence's words that the repeated sentence contains. Chosen on reports of
RAGTIME 2026, NeuCLIR 2024 and iKAT 2024 (docs/explain/decisions/campaign-rules.md)."""

_LONGEST: Final = 10_000
"""Maximum characters of a sentence to read; the rest of a longer one is ignored."""

REPETITION_RULE: Final = (
    f"a sentence repeats another one, as long or longer, if {100 * SHARED_WORDS:.0f} % of its "
    "words are in that one; common words, case, accents and punctuation do not count"
)
"""The rule in words."""

_COMMON: Final = STOP_WORDS - {"no", "not"}
"""Words that do not count. A negation counts, as it changes what a sentence says."""


def repeated_sentences(texts: Sequence[str]) -> list[int | None]:
    """Return for each sentence the position of the one that it repeats, or None.

    Longer sentences, and the first of equally long ones, are the ones that are repeated. A sentence
    without words repeats nothing. A repetition is not itself repeated, so that small changes do not
    add up.
    """
    every = [_words(text) for text in texts]
    frequency = Counter(word for words in every for word in words)
    with_word: dict[str, list[int]] = defaultdict(list)
    repeats: list[int | None] = [None] * len(texts)
    for position in sorted(range(len(texts)), key=lambda n: (-len(every[n]), n)):
        words = every[position]
        missing = len(words) - math.ceil(SHARED_WORDS * len(words) - 1e-9)
        # A sentence that shares enough words contains one of the rarest of them.
        rare = sorted(words, key=lambda word: (frequency[word], word))[: missing + 1]
        longer = sorted({n for word in rare for n in with_word[word]})
        repeats[position] = next((n for n in longer if len(words - every[n]) <= missing), None)
        if repeats[position] is None:
            for word in words:
                with_word[word].append(position)
    return repeats


@cache
def _folding() -> FoldedWords:
    return FoldedWords("none")


def _words(text: str) -> frozenset[str]:
    words = frozenset(_folding().words(undisguised(text[:_LONGEST])))
    return (words - _COMMON) or words
