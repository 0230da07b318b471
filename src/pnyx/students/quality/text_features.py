"""What the quality model sees of a text: its surface, and its words and word pairs, hashed.

Hashing keeps the labelled sets' text out of the packaged weights. A change here needs a newly
trained model (`tools/train_quality.py`) and another `VERSION`.
"""

from __future__ import annotations

import math
import re
import zlib
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

VERSION = 1
HASH_BITS = 16

_MAX_CHARACTERS = 20_000
"""About 3,500 words. What follows does not count, which bounds the work on a hostile text."""

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")
_DIGITS = re.compile(r"\d+")
_LINK = re.compile(r"https?:|www\.")
_REFERENCE = re.compile(r"\[\d+\]|\(\d{4}\)|%")
_LOWER_START = re.compile(r"(?:^|[.!?]\s)\s*[a-z]")
_LOWER_I = re.compile(r"\bi\b")
_REPEATED_MARK = re.compile(r"\.\.|--|!!|\?\?")
_MISPLACED_MARK = re.compile(r" [,.;]|,[^\s\d]|\.[A-Za-z]{2}")

_MARKERS = {
    "reason": "because since therefore thus hence consequently so reason reasons due implies "
    "follows means causes leads results",
    "contrast": "however although though but while whereas despite nevertheless yet unless "
    "otherwise instead",
    "example": "example instance such specifically namely",
    "evidence": "study studies research evidence according data statistics survey report percent "
    "scientists researchers source sources university",
    "modal": "should must would could may might can will shall cannot",
    "hedge": "perhaps maybe possibly probably seems likely often sometimes generally usually tend "
    "tends",
    "first_person": "i i'm my me i've i'd i'll myself mine im",
    "second_person": "you your yours you're u ur yourself opponent con pro opponent's",
    "negation": "not no never nothing don't doesn't isn't can't won't cannot dont",
    "debate": "debate round vote voters forfeit resolution argument arguments rebuttal contention "
    "opponent accept thanks thank luck opponents extend argue",
    "slang": "lol haha hey wow stupid idiot dumb crap omg yeah gonna wanna thx pls ok okay hell "
    "sucks",
    "absolute": "all every always everyone everybody never none nobody completely totally "
    "absolutely",
}
_GROUPS: dict[str, tuple[int, ...]] = {}
for _number, _words in enumerate(_MARKERS.values()):
    for _word in _words.split():
        _GROUPS[_word] = (*_GROUPS.get(_word, ()), _number)

_LENGTH_KNOTS = (10, 20, 40, 80, 160)

SURFACE = (
    "log_distinct_words",
    *(f"log_distinct_words_above_{knot}" for knot in _LENGTH_KNOTS),
    "log_words_per_sentence",
    "type_token",
    "type_token_50",
    "letters_per_word",
    "words_over_6",
    "words_over_9",
    "commas",
    "semicolons",
    "questions",
    "exclamations",
    "quotes",
    "brackets",
    "numbers",
    "has_link",
    "links",
    "has_reference",
    "shouting",
    "starts_upper",
    "ends_closed",
    "lower_starts",
    "lower_i",
    "repeated_marks",
    "not_ascii",
    "misplaced_marks",
    *(f"rate_{name}" for name in _MARKERS),
    *(f"has_{name}" for name in _MARKERS),
)
"""The surface features in order; counts are per word or per sentence, `has_` is 0 or 1."""


class Features(NamedTuple):
    """A text's number of words, surface (len(SURFACE),), distinct hash slots and their counts."""

    words: int
    surface: NDArray[np.float64]
    slots: NDArray[np.int64]
    counts: NDArray[np.int64]


def extract(text: str) -> Features | None:
    """Return the features of a text, or None where it holds no word (a run of letters)."""
    text = text[:_MAX_CHARACTERS]
    words = _WORD.findall(text)
    if not words:
        return None
    lower = [word.lower().replace("’", "'") for word in words]
    surface = np.array([*_shape(text, words, lower), *_markers(lower)])
    slots, counts = np.unique(_slots(lower), return_counts=True)
    return Features(len(words), surface, slots, counts)


def _slots(lower: list[str]) -> NDArray[np.int64]:
    terms = lower + [f"{first} {second}" for first, second in pairwise(lower)]
    hashes = [zlib.crc32(term.encode("utf-8", "replace")) >> (32 - HASH_BITS) for term in terms]
    return np.array(hashes, dtype=np.int64)


def _markers(lower: list[str]) -> list[float]:
    counts = [0] * len(_MARKERS)
    for word in lower:
        for group in _GROUPS.get(word, ()):
            counts[group] += 1
    return [count / len(lower) for count in counts] + [float(count > 0) for count in counts]


def _shape(text: str, words: list[str], lower: list[str]) -> list[float]:
    count = len(words)
    sentences = max(1, len(_SENTENCE_END.findall(text)))
    distinct = len(set(lower))
    length = math.log1p(distinct)  # of distinct words, so that saying it all twice gains little
    links = len(_LINK.findall(text))
    return [
        length,
        *(max(0.0, length - math.log(knot)) for knot in _LENGTH_KNOTS),
        math.log1p(count / sentences),
        distinct / count,
        len(set(lower[:50])) / min(count, 50),
        sum(map(len, lower)) / count,
        sum(len(word) > 6 for word in lower) / count,
        sum(len(word) > 9 for word in lower) / count,
        text.count(",") / count,
        (text.count(";") + text.count(":")) / count,
        text.count("?") / sentences,
        text.count("!") / sentences,
        (text.count('"') + text.count("“")) / count,
        (text.count("(") + text.count("[")) / count,
        len(_DIGITS.findall(text)) / count,
        float(links > 0),
        links / count,
        float(_REFERENCE.search(text) is not None),
        sum(len(word) > 1 and word.isupper() for word in words) / count,
        float(text[:1].isupper()),
        float(text.rstrip()[-1:] in '.!?"'),
        len(_LOWER_START.findall(text)) / sentences,
        len(_LOWER_I.findall(text)) / count,
        len(_REPEATED_MARK.findall(text)) / sentences,
        sum(not character.isascii() for character in text) / len(text),
        len(_MISPLACED_MARK.findall(text)) / count,
    ]
