"""Sentences of a report that say again what an earlier one says: a stated rule on their words."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache
from typing import Final

from pnyx.corpora.text.folded import STOP_WORDS, FoldedWords
from pnyx.corpora.text.lookalikes import undisguised

SHARED_WORDS: Final = 0.85
"""Least share of the words of the shorter of two sentences that the other has, too. Chosen on
reports of RAGTIME 2026, NeuCLIR 2024 and iKAT 2024 (docs/decisions/campaign-rules.md)."""

MIN_WORDS: Final = 4
"""Sentences with fewer different words repeat each other only if all their words are the same."""

_LONGEST: Final = 10_000
"""Characters of a sentence that are read; a longer one is compared by its beginning."""

REPETITION_RULE: Final = (
    f"a sentence repeats an earlier one if {100 * SHARED_WORDS:.0f} % of the words of the shorter "
    "of the two are in the longer one; common words, case, accents and punctuation do not count"
)
"""The rule in words."""

_COMMON: Final = STOP_WORDS - {"no", "not"}
"""Words that do not count. A negation counts, as it changes what a sentence says."""


def repeated_sentences(texts: Sequence[str]) -> list[int | None]:
    """Return for each sentence the position of the first one that it repeats, None where it is new.

    A sentence without words repeats nothing. A sentence that is itself a repetition is compared
    with no later one, so that small changes do not add up.
    """
    every = [_words(text) for text in texts]
    frequency = Counter(word for words in every for word in words)
    with_word: dict[str, list[int]] = defaultdict(list)
    with_rare: dict[str, list[int]] = defaultdict(list)
    first_of: list[int | None] = []
    for position, words in enumerate(every):
        # Two sentences with enough words in common share one of the rarest of the shorter one.
        rare = sorted(words, key=lambda word: (frequency[word], word))[: _most_missing(words) + 1]
        candidates = {n for word in rare for n in with_word[word]}
        candidates |= {n for word in words for n in with_rare[word]}
        first = next((n for n in sorted(candidates) if _is_repetition(every[n], words)), None)
        first_of.append(first)
        if first is None:
            for word in words:
                with_word[word].append(position)
            for word in rare:
                with_rare[word].append(position)
    return first_of


def _is_repetition(one: frozenset[str], other: frozenset[str]) -> bool:
    shorter = min(one, other, key=len)
    if len(shorter) < MIN_WORDS:
        return one == other
    return len(shorter - one) + len(shorter - other) <= _most_missing(shorter)


def _most_missing(words: frozenset[str]) -> int:
    """Return how many words of a sentence may be missing in one that it repeats."""
    return len(words) - math.ceil(SHARED_WORDS * len(words) - 1e-9)


@cache
def _folding() -> FoldedWords:
    return FoldedWords("none")


def _words(text: str) -> frozenset[str]:
    words = frozenset(_folding().words(undisguised(text[:_LONGEST])))
    return (words - _COMMON) or words
