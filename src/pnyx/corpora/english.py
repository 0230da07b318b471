"""Terms of English text, exactly those of Lucene 8's EnglishAnalyzer.

Words of UAX #29, possessive 's removed, lower case, 33 stop words left out, Porter's stemmer
(docs/decisions/english-analyzer.md). `benchmarks/search/analysis.py` compares them with Lucene's.
"""

from __future__ import annotations

from typing import Any, Final

from pnyx.corpora.porter import stem
from pnyx.corpora.word_breaks import split_words

__all__ = ["STOP_WORDS", "EnglishWords"]

STOP_WORDS: Final = frozenset(
    """
    a an and are as at be but by for if in into is it no not of on or such that the their then
    there these they this to was will with
    """.split()
)
"""The 33 words that Lucene's EnglishAnalyzer leaves out."""

_APOSTROPHES: Final = "'\u2019\uff07"


class EnglishWords:
    """How English texts become terms."""

    def words(self, text: str) -> list[str]:
        """Return the words of `text` in lower case and in order."""
        if text.isascii():
            return split_words(text.lower())
        return list(map(_lower, split_words(text)))

    def term(self, word: str) -> str | None:
        """Return the term of a word, or None where it is left out."""
        word = _lower(word)
        if word[-1:] == "s" and word[-2:-1] in _APOSTROPHES and len(word) > 1:
            word = word[:-2]
        return None if word in STOP_WORDS else stem(word)

    def to_manifest(self) -> dict[str, Any]:
        """Return what names these terms in an index."""
        return {
            "name": "lucene-english",
            "version": 1,
            "language": "english",
            "stemmer": "porter",
            "stop_words": "lucene-english-33",
        }


def _lower(word: str) -> str:
    """Return a word with its letters lower-cased one by one, as by Java's Character.

    Python's `str.lower` writes a sigma by its place in the word, and the dotted capital I as two
    characters.
    """
    if word.isascii():
        return word.lower()
    return "".join(map(str.lower, word.replace("\u0130", "i")))
