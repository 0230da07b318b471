"""Index terms of a text: for English those of Lucene's EnglishAnalyzer, else folded words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pnyx.corpora.folded import STOP_WORDS, FoldedWords, languages, spaces
from pnyx.corpora.porter import stem
from pnyx.corpora.word_breaks import Automaton, automaton, split_words
from pnyx.errors import shorten

__all__ = ["EnglishWords", "Tokenizer", "is_superseded", "languages"]

_APOSTROPHES: Final = "'\u2019\uff07"


class EnglishWords:
    """How English texts become terms: exactly those of Lucene 8's EnglishAnalyzer.

    See docs/decisions/english-analyzer.md; `benchmarks/search/analysis.py` compares them.
    """

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
    """Lower each letter by itself, as Java's Character does (sigma, dotted capital I)."""
    if word.isascii():
        return word.lower()
    return "".join(map(str.lower, word.replace("\u0130", "i")))


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """Turns text into terms; two tokenizers with the same manifest give the same terms.

    `language` is `english`, another Snowball language (stemmed, nothing left out), or `none`.
    """

    language: str = "english"
    _words: EnglishWords | FoldedWords = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        english = self.language == "english"
        words = EnglishWords() if english else FoldedWords(self.language)
        object.__setattr__(self, "_words", words)

    def words(self, text: str) -> list[str]:
        """Return the words of `text` in lower case and in order, before stopping and stemming."""
        return self._words.words(text)

    def term(self, word: str) -> str | None:
        """Return the index term of one word, or None where it is left out."""
        return self._words.term(word)

    def terms(self, text: str) -> list[str]:
        """Return the index terms of `text` in order, repeats included."""
        return [term for term in map(self.term, self.words(text)) if term is not None]

    @property
    def automaton(self) -> Automaton:
        """What finds the words in a `prepared` text, but for their case."""
        return automaton() if isinstance(self._words, EnglishWords) else spaces()

    def prepared(self, text: str) -> str:
        """Return the text that `automaton` reads."""
        return text if isinstance(self._words, EnglishWords) else self._words.spaced(text)

    def to_manifest(self) -> dict[str, Any]:
        """Return what an index records about its tokenizer."""
        return self._words.to_manifest()

    @classmethod
    def from_manifest(cls, entry: Mapping[str, Any]) -> Tokenizer:
        """Return the tokenizer that an index was built with; ValueError if unknown."""
        language = entry.get("language")
        if isinstance(language, str) and language in languages():
            tokenizer = cls(language)
            if tokenizer.to_manifest() == entry:
                return tokenizer
        raise ValueError(
            f"unknown tokenizer {shorten(entry.get('name'), 40)} version "
            f"{shorten(entry.get('version'), 10)} for language {shorten(language, 40)}"
        )


def is_superseded(entry: Any) -> bool:
    """Whether an index records the tokenizer that English had before Lucene's."""
    return bool(entry == FoldedWords("english").to_manifest())
