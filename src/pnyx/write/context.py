"""Packing documents into a language model's context window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pnyx.corpora.trim import trim, word_weight
from pnyx.records import Document, Evidence

__all__ = ["WORDS_PER_TOKEN", "pack"]

WORDS_PER_TOKEN = 0.7
"""English words for each token, on the low side: an estimate, since tokenizers differ."""


def pack(documents: Sequence[Evidence], max_tokens: int) -> tuple[list[Document], int]:
    """Trim every document by the same proportion so that all of them fit.

    No document is dropped while each can keep at least one word, because dropping the last ones
    would silence whole sources (ConQRet, section 3.2.2).

    Args:
        documents: in the order in which they are shown.
        max_tokens: budget for all texts together, in tokens (estimated from words).

    Returns:
        The documents with their texts trimmed at a word boundary, and how many were trimmed.
    """
    budget = max(len(documents), int(max_tokens * WORDS_PER_TOKEN))
    plain = [_plain(d) for d in documents]
    # A "word" without spaces can be arbitrarily long, so words are weighed by their letters too.
    sizes = [word_weight(d.text) for d in plain]
    total = sum(sizes)
    if total <= budget:
        return plain, 0
    trimmed = [
        replace(d, text=trim(d.text, max(1, size * budget // total)))
        for d, size in zip(plain, sizes, strict=True)
    ]
    return trimmed, sum(a.text != b.text for a, b in zip(plain, trimmed, strict=True))


def _plain(document: Evidence) -> Document:
    if isinstance(document, Document):
        return document
    return Document(document.id, document.text, document.title, document.url, document.source)
