"""Folded terms (NFKC, case) of any language that Snowball can stem, or of none.

Scripts written without spaces (Chinese, Japanese, Korean, Thai ...) become overlapping pairs of
characters. Lexical students read English by these terms; search by those of `corpora.tokens`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any, Final

from pnyx.core.errors import InputError, shorten
from pnyx.formats.text.words import Automaton

STOP_WORDS: Final = frozenset(
    """
    a an and are as at be but by for if in into is it no not of on or such that the their then
    there these they this to was will with
    """.split()
)

MAX_TOKEN_CHARS = 255
"""Longer words (encoded binary, mostly) are cut to this."""

_NAME = "unicode-words"
_VERSION = 1
_ASCII_WORD = re.compile(r"\w+(?:'\w+)*", re.ASCII)
_ASCII_GAPS = "".join(chr(c) if chr(c).isalnum() or chr(c) in "_'" else " " for c in range(128))
"""For `str.translate`: everything in ASCII that separates words becomes a space."""

_IGNORABLE = re.compile("[\u00ad\u200c\u200d\u2060\ufe00-\ufe0f\ufeff]+")
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
    "\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\ua960-\ua97f\uac00-\ud7ff"  # kana, Hangul
    "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
_HAS_UNSPACED = re.compile(f"[{_UNSPACED}]")


@dataclass(frozen=True, slots=True)
class _Patterns:
    word: re.Pattern[str]
    run: re.Pattern[str]
    unit: re.Pattern[str]


@cache
def _patterns() -> _Patterns:
    """Compile the patterns for text beyond ASCII; Python's word class lacks combining marks."""
    marks = _ranges(lambda c: unicodedata.category(c)[0] == "M")
    part = rf"[\w{marks}]"
    return _Patterns(
        word=re.compile(rf"\w{part}*(?:['’]{part}+)*"),
        run=re.compile(rf"[{_UNSPACED}][{_UNSPACED}{marks}]*|[^{_UNSPACED}]+"),
        unit=re.compile(rf".[{marks}]*", re.DOTALL),
    )


def _ranges(wanted: Callable[[str], bool]) -> str:
    """Return the inside of a character class with all characters that are `wanted`."""
    out: list[str] = []
    start = -1
    for point in [*range(0x300, 0x20000), *range(0xE0100, 0xE01F1)]:
        if wanted(chr(point)):
            start = point if start < 0 else start
        elif start >= 0:
            out.append(f"{chr(start)}-{chr(point - 1)}")
            start = -1
    return "".join(out)


def _ascii_spaced(text: str) -> str:
    """Return the matches of `_ASCII_WORD`; faster if apostrophes occur inside words."""
    gapped = f" {text.translate(_ASCII_GAPS)} "
    if " '" in gapped or "' " in gapped or "''" in gapped:
        return " ".join(_ASCII_WORD.findall(text))
    return gapped


@cache
def languages() -> tuple[str, ...]:
    """Return the possible values of `language`: `none` and the languages that Snowball can stem."""
    import Stemmer

    variants = {"porter", "dutch_porter"}
    return ("none", *sorted(set(Stemmer.algorithms()) - variants))


@cache
def spaces() -> Automaton:
    """Return the automaton that splits words at spaces."""
    classes = bytearray(b"\1" * 0x110000)
    classes[ord(" ")] = 0
    return Automaton(bytes(classes), [[0, 0], [0, 2], [0, 2]], [0, 0, 1], window=1 << 62)


@dataclass(frozen=True, slots=True)
class FoldedWords:
    """How texts of a language become terms; with `none` they are not stemmed."""

    language: str
    _stem: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.language not in languages():
            choices = ", ".join(languages())
            raise InputError(
                f"unknown language {shorten(self.language, 40)!r}, expected one of: {choices}"
            )
        stem = None
        if self.stemmer:
            import Stemmer

            # No cache of its own: callers cache the term of each word.
            stem = Stemmer.Stemmer(self.stemmer, 0).stemWord
        object.__setattr__(self, "_stem", stem)

    @property
    def stemmer(self) -> str | None:
        """The Snowball algorithm; for English the original Porter stemmer."""
        return {"none": None, "english": "porter"}.get(self.language, self.language)

    def words(self, text: str) -> list[str]:
        """Return the folded words of `text` in order, before stopping and stemming."""
        if text.isascii():
            return _ascii_spaced(text.lower()).split()
        return _words_beyond_ascii(text)

    def spaced(self, text: str) -> str:
        """Return the words of `text` separated by spaces."""
        return _ascii_spaced(text.lower()) if text.isascii() else " ".join(self.words(text))

    def term(self, word: str) -> str | None:
        """Return the index term of one folded word, or None if it is left out."""
        word = word.replace("’", "'").removesuffix("'s") if not word.isalnum() else word
        word = word[:MAX_TOKEN_CHARS]
        if not word.strip("_"):
            return None
        if self.language == "english" and word in STOP_WORDS:
            return None
        return word if self._stem is None else (self._stem(word) or None)

    def to_manifest(self) -> dict[str, Any]:
        """Return the identifier of these terms in an index."""
        return {
            "name": _NAME,
            "version": _VERSION,
            "language": self.language,
            "stemmer": self.stemmer,
            "stop_words": "lucene-english-33" if self.language == "english" else None,
        }


def _words_beyond_ascii(text: str) -> list[str]:
    """Fold (NFKC, case), drop invisible joiners, find words, pair unspaced characters."""
    text = unicodedata.normalize("NFKC", text).casefold()
    text = unicodedata.normalize("NFKC", _IGNORABLE.sub("", text))
    words: list[str] = _patterns().word.findall(text)
    if not _HAS_UNSPACED.search(text):
        return words
    return [part for word in words for part in _pairs(word)]


def _pairs(word: str) -> list[str]:
    """Split a word at script borders and write unspaced runs as overlapping character pairs."""
    if not _HAS_UNSPACED.search(word):
        return [word]
    out: list[str] = []
    for run in _patterns().run.findall(word):
        if not _HAS_UNSPACED.match(run):
            out.append(run.strip("'’"))
            continue
        units = _patterns().unit.findall(run)
        out += [a + b for a, b in pairwise(units)] or units
    return out
