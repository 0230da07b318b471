"""Documented rules on words: which answers a sentence gives, and whether it repeats another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from pnyx.core.nuggets import NuggetAnswer
from pnyx.judging.passages import tokens

ANSWER_RULE = (
    "a sentence gives an answer if it holds the answer's words in a row and cites a document that "
    "the bank names for it (any, if it names none)"
)
"""The rule in words; case, punctuation and articles do not count."""

_ARTICLES = frozenset(("a", "an", "the"))


def plain_words(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case, without articles."""
    return tuple(word for word in tokens(text) if word not in _ARTICLES)


def gives(words: Sequence[str], cited: Collection[str], answer: NuggetAnswer) -> bool:
    """Return by `ANSWER_RULE` whether a sentence (its `plain_words`) gives an answer."""
    wanted = plain_words(answer.text)
    attesting = answer.doc_ids
    if not wanted or (attesting and not any(doc_id in cited for doc_id in attesting)):
        return False
    return f" {' '.join(wanted)} " in f" {' '.join(words)} "


def repeats(sentence: str, others: Sequence[str]) -> bool:
    """Return whether a sentence has the same words as another, in the same order."""
    words = plain_words(sentence)
    return bool(words) and any(plain_words(other) == words for other in others)


def contains(whole: str, text: str) -> bool:
    """Return whether a text is part of another, ignoring case, punctuation and white space."""
    return f" {' '.join(tokens(text))} " in f" {' '.join(tokens(whole))} "


def share_held(text: str, whole: str) -> float | None:
    """Return the share of a text's words that another has, too; None if it is part of it."""
    words, others = tokens(text), tokens(whole)
    if not words or contains(whole, text):
        return None
    return (Counter(words) & Counter(others)).total() / len(words)
