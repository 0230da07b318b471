"""Argument quality from the surface and the words of a text: the Q(d) of the Touché paper, Eq. 1.

The packaged model is described in docs/model-cards/quality.md: it prefers longer arguments.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pnyx.errors import PnyxError
from pnyx.students.quality.packaged import arrays_of, packaged_files
from pnyx.students.quality.text_features import HASH_BITS, SURFACE, VERSION, Features, extract

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
    """What predicts the quality of a text: `QualityModel`, or one that you trained."""

    @property
    def name(self) -> str:
        """Name and version; with another name, all documents are scored again."""

    @property
    def neutral(self) -> float:
        """What a text gets that has no score."""

    def score(self, text: str) -> float | None:
        """Return a text's quality in [0, 1], None where nothing can be said."""


@dataclass(frozen=True, slots=True)
class QualityModel:
    """Predicts how good an argument people find a text, from the text alone.

    q = (1 - g) long(x) + g (base + spread short(x)), clipped to [0, 1]. `long` is trained on
    arguments of debate portals, non-arguments at 0; `short` on single-sentence arguments, in
    standard deviations of their labels. g, the share of the short head, is 1 between the gate's
    middle numbers of words and falls to 0 at the outer ones, linear in log(1 + words).

    Attributes:
        name: name and version, e.g. `surface-words@2`.
        neutral: what a text without a word gets: the mean prediction over the training arguments.
        mean, deviation: of the surface features, (len(SURFACE),).
        idf: weight of each hash slot, (2**HASH_BITS,).
        long, short, base, spread: see above.
        gate: the four numbers of words at which g turns.
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
        """Return the packaged model; PnyxError where its files are missing or damaged."""
        return _packaged()

    def predict(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the quality of texts, float32 (n,) in [0, 1]; `neutral` for one without a word.

        Only the first 20,000 characters count. A text gets the same bits alone and in any batch.
        """
        return predictions(self, texts)[0]

    def score(self, text: str) -> float | None:
        """Return the quality of one text in [0, 1], None where it holds no word."""
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
        # Sums of numpy's own: a BLAS may add in another order from one processor to the next.
        length = math.sqrt(float((words * words).sum()))
        return np.clip(surface, -MAX_DEVIATION, MAX_DEVIATION), words / length

    def short_share(self, words: int) -> float:
        """Return g, how far the head for short texts counts at this number of words."""
        return float(np.interp(math.log1p(words), np.log1p(self.gate), [0.0, 1.0, 1.0, 0.0]))


def predictions(model: TextQuality, texts: Sequence[str]) -> tuple[NDArray[np.float32], int]:
    """Return the quality of texts, float32 (n,), and of how many nothing can be said."""
    found = [model.score(text) for text in texts]
    filled = [model.neutral if q is None else q for q in found]
    return np.array(filled, dtype=np.float32), found.count(None)


def head_score(head: Head, surface: Floats, slots: NDArray[np.int64], words: Floats) -> float:
    """Return what a head says of a text as `QualityModel.inputs` gives it, its slots distinct."""
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
    """Return the model of a manifest and its arrays (an .npz file, never pickled)."""
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
