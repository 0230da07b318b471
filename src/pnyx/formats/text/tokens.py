"""Index terms of a text: for English as in Lucene's EnglishAnalyzer, else folded words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final
from unicodedata import normalize

from pnyx.core.errors import shorten
from pnyx.formats.text.folded_words import STOP_WORDS, FoldedWords, languages, spaces
from pnyx.formats.text.words import Automaton, automaton, split_words

_APOSTROPHES: Final = "'\u2019\uff07"

_STEP_2: Final = {
    "a": (("ational", "ate"), ("tional", "tion")),
    "c": (("enci", "ence"), ("anci", "ance")),
    "e": (("izer", "ize"),),
    "l": (("bli", "ble"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous")),
    "o": (("ization", "ize"), ("ation", "ate"), ("ator", "ate")),
    "s": (("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous")),
    "t": (("aliti", "al"), ("iviti", "ive"), ("biliti", "ble")),
    "g": (("logi", "log"),),
}
"""By the last letter but one; the paper's steps 2 to 4."""
_STEP_3: Final = {
    "e": (("icate", "ic"), ("ative", ""), ("alize", "al")),
    "i": (("iciti", "ic"),),
    "l": (("ical", "ic"), ("ful", "")),
    "s": (("ness", ""),),
}
_STEP_4: Final = {
    "a": ("al",),
    "c": ("ance", "ence"),
    "e": ("er",),
    "i": ("ic",),
    "l": ("able", "ible"),
    "n": ("ant", "ement", "ment", "ent"),
    "o": ("sion", "tion", "ou"),
    "s": ("ism",),
    "t": ("ate", "iti"),
    "u": ("ous",),
    "v": ("ive",),
    "z": ("ize",),
}


class EnglishWords:
    """How English texts become terms: those of Lucene 8's EnglishAnalyzer on composed letters.

    Lucene does not compose letters (NFC, NFD), so that a question as typed would not match a text
    from macOS.
    """

    def words(self, text: str) -> list[str]:
        """Return the words of `text` in lower case and in order."""
        if text.isascii():
            return split_words(text.lower())
        return list(map(_lower, split_words(normalize("NFC", text))))

    def term(self, word: str) -> str | None:
        """Return the term of a word, or None if it is left out."""
        return _english(word)

    def to_manifest(self) -> dict[str, Any]:
        """Return the identifier of these terms in an index."""
        return {
            "name": "lucene-english",
            "version": 1,
            "language": "english",
            "stemmer": "porter",
            "stop_words": "lucene-english-33",
        }


@lru_cache(maxsize=16_384)
def _english(word: str) -> str | None:
    word = _lower(word)
    if word[-1:] == "s" and word[-2:-1] in _APOSTROPHES and len(word) > 1:
        word = word[:-2]
    return None if word in STOP_WORDS else stem(word)


def _lower(word: str) -> str:
    """Lower each letter by itself, as Java's Character does (sigma, dotted capital I)."""
    if word.isascii():
        return word.lower()
    return "".join(map(str.lower, word.replace("\u0130", "i")))


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """Turns text into terms: English, of another Snowball language, or `none`."""

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
        """Return the index term of one word, or None if it is left out."""
        return self._words.term(word)

    def terms(self, text: str) -> list[str]:
        """Return the index terms of `text` in order, repeats included."""
        return [term for term in map(self._words.term, self.words(text)) if term is not None]

    @property
    def automaton(self) -> Automaton:
        """The automaton that finds the words in a `prepared` text, ignoring case."""
        return automaton() if isinstance(self._words, EnglishWords) else spaces()

    def prepared(self, text: str) -> str:
        """Return the text that `automaton` reads."""
        if isinstance(self._words, EnglishWords):
            return text if text.isascii() else normalize("NFC", text)
        return self._words.spaced(text)

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


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """Return the stem of a word in lower case; Lucene counts its length in UTF-16."""
    if not word.isascii() and max(word) > "\uffff":
        coded = iter(word.encode("utf-16-le"))
        units = (chr(low | high << 8) for low, high in zip(coded, coded, strict=True))
        stemmed = _stem("".join(units))
        return stemmed.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    return _stem(word)


def _stem(word: str) -> str:
    if len(word) <= 2:
        return word
    word = _plurals(word)
    if len(word) > 1:
        word = _participles(word)
    if word[-1] == "y" and "v" in _shape(word)[:-1]:
        word = word[:-1] + "i"
    if len(word) > 1:
        word = _replace(word, _STEP_2.get(word[-2], ()))
    word = _replace(word, _STEP_3.get(word[-1], ()))
    if len(word) > 1:
        word = _strip(word)
    return _tidy(word)


def _shape(word: str) -> str:
    """Return v for each vowel and c for each consonant; anything but a, e, i, o, u, y is one."""
    letters = []
    before = "v"  # a first y is a consonant
    for letter in word:
        if letter in "aeiou":
            before = "v"
        elif letter == "y":
            before = "v" if before == "c" else "c"
        else:
            before = "c"
        letters.append(before)
    return "".join(letters)


def _measure(shape: str) -> int:
    """Return the paper's m: how often a vowel is followed by a consonant."""
    return shape.count("vc")


def _short(word: str, shape: str) -> bool:
    """Whether it ends consonant, vowel, consonant, the last not w, x or y: the paper's *o."""
    return shape[-3:] == "cvc" and word[-1] not in "wxy"


def _plurals(word: str) -> str:
    if word[-1] != "s":
        return word
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word if word[-2] == "s" else word[:-1]


def _participles(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(_shape(word[:-3])) > 0 else word
    if not word.endswith(("ed", "ing")):
        return word
    left = word[:-2] if word.endswith("ed") else word[:-3]
    shape = _shape(left)
    if "v" not in shape:
        return word
    if left.endswith(("at", "bl", "iz")):
        return left + "e"
    if len(left) > 1 and left[-1] == left[-2] and shape[-1] == "c":
        return left if left[-1] in "lsz" else left[:-1]
    return left + "e" if _measure(shape) == 1 and _short(left, shape) else left


def _replace(word: str, pairs: tuple[tuple[str, str], ...]) -> str:
    """Replace the word's first matching suffix, if the measure of the rest is above 0."""
    for suffix, new in pairs:
        if word.endswith(suffix):
            left = word[: len(word) - len(suffix)]
            return left + new if _measure(_shape(left)) > 0 else word
    return word


def _strip(word: str) -> str:
    """Strip the word's first matching suffix, if the measure of the rest is above 1."""
    for suffix in _STEP_4.get(word[-2], ()):
        if word.endswith(suffix):
            cut = 3 if suffix in ("sion", "tion") else len(suffix)
            return word[:-cut] if _measure(_shape(word[:-cut])) > 1 else word
    return word


def _tidy(word: str) -> str:
    if word[-1] not in "el":
        return word
    shape = _shape(word)
    measure = _measure(shape)
    if word[-1] == "e" and (measure > 1 or (measure == 1 and not _short(word[:-1], shape[:-1]))):
        word, shape = word[:-1], shape[:-1]
    if word.endswith("ll") and measure > 1:
        word = word[:-1]
    return word
