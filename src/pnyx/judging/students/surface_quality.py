"""Argument quality from the surface and the words of a text: the Q(d) of the Touché paper, Eq. 1.

Words and word pairs are hashed, which keeps the text of the labelled data out of the packaged
weights. The model is described in docs/explain/model-cards/quality.md: it prefers longer arguments.
If the features change, train a new model (`lab/training/train_quality.py`) and increase `VERSION`.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import math
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pnyx.core.errors import PnyxError
from pnyx.core.native import garbage_kept

VERSION = 1
HASH_BITS = 16

_MAX_CHARACTERS = 20_000
"""About 3,500 words. The rest is ignored, which bounds the work on a hostile text."""

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
    """Return the features of a text, or None if it has no word (a run of letters)."""
    text = text[:_MAX_CHARACTERS]
    words = _WORD.findall(text)
    if not words:
        return None
    lower = [word.lower().replace("’", "'") for word in words]
    surface = np.array([*_shape(text, words, lower), *_markers(lower)])
    terms = lower + [f"{first} {second}" for first, second in pairwise(lower)]
    hashes = [zlib.crc32(term.encode("utf-8", "replace")) >> (32 - HASH_BITS) for term in terms]
    slots, counts = np.unique(np.array(hashes, dtype=np.int64), return_counts=True)
    return Features(len(words), surface, slots, counts)


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
    length = math.log1p(distinct)  # of distinct words, so that repetition gains little
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


MAX_DEVIATION = 6.0
_WHAT = "quality model"

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Head:
    """A linear function: weights of the surface features and of the 2**HASH_BITS hash slots."""

    intercept: float
    surface: Floats
    words: Floats


class TextQuality(Protocol):
    """A model of text quality: `QualityModel`, or one that you trained."""

    @property
    def name(self) -> str:
        """Name and version; with another name, all documents are scored again."""

    @property
    def neutral(self) -> float:
        """The quality of a text without a score."""

    def score(self, text: str) -> float | None:
        """Return a text's quality in [0, 1], None if it is unknown."""


@dataclass(frozen=True, slots=True)
class QualityModel:
    """Predicts from the text alone how good people find an argument.

    q = (1 - g) long(x) + g (base + spread short(x)), clipped to [0, 1]. `long` is trained on
    arguments of debate portals, with non-arguments at 0; `short` on single-sentence arguments, in
    standard deviations of their labels. g, the weight of the short head, is 1 between the gate's
    two middle word counts and falls to 0 at the outer ones, linear in log(1 + words).

    Attributes:
        name: name and version, e.g. `surface-words@2`.
        neutral: the value for a text without words: the mean over the training arguments.
        mean, deviation: of the surface features, (len(SURFACE),).
        idf: weight of each hash slot, (2**HASH_BITS,).
        long, short, base, spread: see above.
        gate: the four word counts at which g changes.
    """

    name: str
    neutral: float
    mean: Floats
    deviation: Floats
    idf: Floats
    long: Head
    short: Head
    base: float
    spread: float
    gate: tuple[float, float, float, float]

    @classmethod
    def load(cls) -> QualityModel:
        """Return the packaged model; PnyxError if its files are missing or damaged."""
        return _packaged()

    def predict(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the quality of texts, float32 (n,) in [0, 1]; `neutral` for one without a word.

        Only the first 20,000 characters count. A text gets exactly the same value in any batch.
        """
        return predictions(self, texts)[0]

    def score(self, text: str) -> float | None:
        """Return the quality of one text in [0, 1], None if it has no word."""
        seen = extract(text)
        return None if seen is None else self.value(seen)

    def value(self, seen: Features) -> float:
        """Return the quality, in [0, 1], of a text with these features."""
        surface, words = self.inputs(seen)
        share = self.short_share(seen.words)
        value = 0.0
        if share < 1.0:
            value += (1.0 - share) * head_score(self.long, surface, seen.slots, words)
        if share > 0.0:
            short = head_score(self.short, surface, seen.slots, words)
            value += share * (self.base + self.spread * short)
        return min(1.0, max(0.0, value))

    def inputs(self, seen: Features) -> tuple[Floats, Floats]:
        """Return the standardised surface and the tf-idf of the slots, of Euclidean length 1."""
        surface = (seen.surface - self.mean) / self.deviation
        words = (1.0 + np.log(seen.counts)) * self.idf[seen.slots]
        # Sums by numpy itself: the order of additions in a BLAS depends on the processor.
        length = math.sqrt(float((words * words).sum()))
        return np.clip(surface, -MAX_DEVIATION, MAX_DEVIATION), words / length

    def short_share(self, words: int) -> float:
        """Return g, the weight of the head for short texts at this number of words."""
        return float(np.interp(math.log1p(words), np.log1p(self.gate), [0.0, 1.0, 1.0, 0.0]))


def predictions(model: TextQuality, texts: Sequence[str]) -> tuple[NDArray[np.float32], int]:
    """Return the quality of texts, float32 (n,), and the number of texts without a score."""
    at_once = getattr(model, "scores", None)
    scores = [model.score(text) for text in texts] if at_once is None else at_once(texts)
    filled = [model.neutral if q is None else q for q in scores]
    return np.array(filled, dtype=np.float32), scores.count(None)


def head_score(head: Head, surface: Floats, slots: NDArray[np.int64], words: Floats) -> float:
    """Return a head's score of a text, from `QualityModel.inputs` and distinct slots."""
    return (
        head.intercept
        + float((head.surface * surface).sum())
        + float((head.words[slots] * words).sum())
    )


@functools.cache
def _packaged() -> QualityModel:
    manifest, data = packaged_files("surface", _WHAT)
    return read_model(manifest, data)


def read_model(manifest: Mapping[str, Any], data: bytes) -> QualityModel:
    """Return the model from a manifest and its arrays (an .npz file, never pickled)."""
    arrays = arrays_of(manifest, data, _WHAT)
    if (manifest["features"], manifest["surface"]) != (VERSION, list(SURFACE)):
        raise PnyxError("the quality model is of another version of pnyx: reinstall pnyx")
    fields: dict[str, Any] = {
        name: Head(manifest["intercepts"][name], arrays[f"{name}_surface"], arrays[f"{name}_words"])
        for name in ("long", "short")
    }
    if any(len(head.words) != 2**HASH_BITS for head in fields.values()):
        raise PnyxError("the quality model is of another version of pnyx: reinstall pnyx")
    fields |= {name: arrays[name] for name in ("mean", "deviation", "idf")}
    fields |= {name: manifest[name] for name in ("name", "neutral", "base", "spread")}
    return QualityModel(**fields, gate=tuple(manifest["gate"]))


def packaged_files(name: str, what: str) -> tuple[dict[str, Any], bytes]:
    """Return the manifest and the array file of a packaged model; PnyxError if missing."""
    folder = resources.files("pnyx.judging.students") / "weights"
    try:
        manifest = json.loads(folder.joinpath(f"{name}.json").read_text(encoding="utf-8"))
        return manifest, folder.joinpath(f"{name}.npz").read_bytes()
    except (OSError, ValueError) as error:
        raise PnyxError(f"the {what} cannot be read: reinstall pnyx") from error


def arrays_of(
    manifest: Mapping[str, Any], data: bytes, what: str
) -> dict[str, NDArray[np.float64]]:
    """Return the arrays of a file by name; PnyxError if the file does not match the manifest."""
    if hashlib.sha256(data).hexdigest() != manifest.get("sha256"):
        raise PnyxError(f"the weights of the {what} are damaged: reinstall pnyx")
    with garbage_kept(), np.load(io.BytesIO(data), allow_pickle=False) as file:
        return {name: file[name].astype(np.float64) for name in file.files}
