"""Overall quality of an argument from its surface, its words and the states of the encoder.

Data, figures and limits: docs/model-cards/quality-judge.md.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pnyx.errors import PnyxError
from pnyx.models.embed.encoder import load_encoder
from pnyx.students.quality.packaged import arrays_of, packaged_files
from pnyx.students.quality.surface import MAX_DEVIATION, QualityModel, head_score
from pnyx.students.quality.text_features import Features, extract

ENCODER = "minilm-int8"
_WHAT = "judge of quality"

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class StatesHead:
    """A linear function of the encoder's standardised states: weights (states,)."""

    intercept: float
    weights: Floats


@dataclass(frozen=True, slots=True)
class Mix:
    """How a head of the surface and one of the states make one score: a weighted sum."""

    intercept: float
    surface: float
    states: float

    def of(self, surface: Any, states: Any) -> Any:
        """Return the score of a text, or of many at once."""
        return self.intercept + self.surface * surface + self.states * states


@dataclass(frozen=True, slots=True)
class OverallScore:
    """What is said of a text, on the scale of `QualityModel`.

    Attributes:
        value: in [0, 1].
        surface: of the surface and the words alone.
        short: how far the heads for short texts count, from 0 to 1.
    """

    value: float
    surface: float
    short: float


@dataclass(frozen=True, slots=True)
class OverallQuality:
    """The surface model's heads, each joined by one that sees what every layer of the encoder does.

    q = (1 - g) long(x) + g (base + spread short(x)), clipped to [0, 1], with g, base and spread as
    in `QualityModel`; long and short are a `Mix` of the surface model's head and of one over the
    means, largest values and standard deviations of the encoder's states (`Encoder.states`), of
    which only the first 256 tokens count.

    Attributes:
        name: name and version.
        card: what is known of it, in one line.
        surface: the model that is joined.
        mean, deviation: of the states, (states,).
        long, short: the heads over states.
        long_mix, short_mix: the first on the scale of quality, the second in standard deviations.
        base, spread: from the second to the first.
    """

    name: str
    card: str
    surface: QualityModel
    mean: Floats
    deviation: Floats
    long: StatesHead
    short: StatesHead
    long_mix: Mix
    short_mix: Mix
    base: float
    spread: float

    def score(self, texts: Sequence[str]) -> list[OverallScore | None]:
        """Return what is said of texts, each as if alone; None of one without words."""
        seen = [extract(text) for text in texts]
        asked = [text for text, one in zip(texts, seen, strict=True) if one is not None]
        states = iter(self.standardised(load_encoder(ENCODER).states(asked)))
        return [None if one is None else self.of(one, next(states)) for one in seen]

    def standardised(self, states: NDArray[np.float32]) -> Floats:
        """Return states as the heads see them, float64 [texts, states]."""
        flat = states.reshape(len(states), len(self.mean)).astype(np.float64)
        return np.clip((flat - self.mean) / self.deviation, -MAX_DEVIATION, MAX_DEVIATION)

    def of(self, seen: Features, states: Floats) -> OverallScore:
        """Return what is said of one text by its features and standardised states."""
        inputs = self.surface.inputs(seen)
        found = [
            mix.of(
                head_score(head, inputs[0], seen.slots, inputs[1]),
                own.intercept + float((own.weights * states).sum()),
            )
            for mix, head, own in (
                (self.long_mix, self.surface.long, self.long),
                (self.short_mix, self.surface.short, self.short),
            )
        ]
        share = self.surface.short_share(seen.words)
        value = (1 - share) * found[0] + share * (self.base + self.spread * found[1])
        alone = self.surface.value(seen)
        return OverallScore(round(min(1.0, max(0.0, value)), 4), round(alone, 4), round(share, 4))


@functools.cache
def load_overall_quality() -> OverallQuality:
    """Return the packaged model; PnyxError where its files are missing or damaged."""
    manifest, data = packaged_files("overall", _WHAT)
    return read_overall_quality(manifest, data)


def read_overall_quality(manifest: Mapping[str, Any], data: bytes) -> OverallQuality:
    """Return the model of a manifest and its arrays (an .npz file, never pickled)."""
    arrays = arrays_of(manifest, data, _WHAT)
    surface = QualityModel.load()
    if (surface.name, ENCODER) != (manifest["surface"], manifest["encoder"]):
        raise PnyxError("the judge of quality is of another version of pnyx: reinstall pnyx")
    fields: dict[str, Any] = {k: manifest[k] for k in ("name", "card", "base", "spread")}
    fields |= {name: arrays[name] for name in ("mean", "deviation")}
    for name in ("long", "short"):
        fields[name] = StatesHead(manifest["intercepts"][name], arrays[name])
        fields[f"{name}_mix"] = Mix(**manifest["mixes"][name])
    return OverallQuality(surface=surface, **fields)
