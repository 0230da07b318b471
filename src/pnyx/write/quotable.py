"""Which sentences of a document can be quoted, and stand alone."""

from __future__ import annotations

import re

_MIN_WORDS, _MAX_WORDS = 6, 60
MAX_SENTENCES = 60
"""Of one document; beyond that a page is sampled from its start."""

# Footnotes and references are not sentences of the argument: "[ii] Mason, Daniel, Europe, 2012."
_NOTE = re.compile(r"[\[(]\s*(?:\d{1,3}|[ivxlc]{1,6}|[a-z])\s*[\])]", re.IGNORECASE)
_NAME_LIKE = 0.5
# A sentence that opens with one of these depends on the one before it and reads badly alone.
_LEANING = re.compile(
    r"(this|these|that|those|it|its|they|them|their|he|she|his|her|such|so|but|and|or|nor|yet|also"
    r"|then|thus|hence|therefore|however|moreover|furthermore|besides|none|neither|both|another"
    r"|otherwise|instead|still|even|what|because|since|although|though|whereas|furthermore"
    r"|similarly|likewise|additionally|in addition|for example|for instance|of course|indeed"
    r"|first(?:ly)?|second(?:ly)?|third(?:ly)?|finally|well|surely|yes|no)\b",
    re.IGNORECASE,
)


def leans(sentence: str) -> bool:
    """Tell whether a sentence opens with a word that depends on the one before it."""
    return _LEANING.match(sentence) is not None


def is_quotable(sentence: str) -> bool:
    """Tell whether it is a sentence of running text: no note, no list of names, no address."""
    words = sentence.split()
    if not _MIN_WORDS <= len(words) <= _MAX_WORDS or _NOTE.match(sentence):
        return False
    name_like = sum(map(_is_name_like, words))
    return name_like <= _NAME_LIKE * len(words) and "://" not in sentence


def _is_name_like(word: str) -> bool:
    bare = word.strip("‘’“”'\"([])}.,;:!?")
    return bare[:1].isdigit() or (bare[:1].isupper() and not bare.isupper())
