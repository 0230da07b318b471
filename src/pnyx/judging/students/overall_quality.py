"""Overall quality of an argument: the model, and the packaged judge of only that dimension.

It uses the surface of a text, its words and the states of the encoder. Data, figures and limits:
docs/explain/model-cards/quality-judge.md, docs/explain/decisions/quality-judge.md.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pnyx.core.errors import PnyxError, shorten
from pnyx.judging.answers import Answer, Missing, Provenance, Unscored
from pnyx.judging.base import Emit, answer_chunks, of_kind
from pnyx.judging.dimensions import dimensions_of
from pnyx.judging.questions import JudgeQuestion, Rating, blank
from pnyx.judging.students.surface_quality import (
    MAX_DEVIATION,
    Features,
    QualityModel,
    arrays_of,
    extract,
    head_score,
    packaged_files,
)
from pnyx.models.embed.encoder import load_encoder

OVERALL = "overall"
"""The dimension that the judge rates."""

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
    """The weighted sum of a surface head's score and a states head's score."""

    intercept: float
    surface: float
    states: float

    def of(self, surface: Any, states: Any) -> Any:
        """Return the score of a text, or of many at once."""
        return self.intercept + self.surface * surface + self.states * states


@dataclass(frozen=True, slots=True)
class OverallScore:
    """The score of a text, on the scale of `QualityModel`."""

    value: float  # in [0, 1]
    surface: float  # from the surface and the words alone
    short: float  # weight of the heads for short texts, 0 to 1


@dataclass(frozen=True, slots=True)
class OverallQuality:
    """The surface model's heads, each combined with a head over all layers of the encoder.

    q = (1 - g) long(x) + g (base + spread short(x)), clipped to [0, 1], with g, base and spread as
    in `QualityModel`. long and short are a `Mix` of the surface model's head and of one over the
    means, maxima and standard deviations of the encoder's states (`Encoder.states`), for the first
    256 tokens only.

    Attributes:
        name: name and version.
        card: what is known about it, in one line.
        surface: the surface model.
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
        """Return the scores of texts, independent of each other; None for a text without words."""
        seen = [extract(text) for text in texts]
        readable = [
            text for text, features in zip(texts, seen, strict=True) if features is not None
        ]
        states = iter(self.standardised(load_encoder(ENCODER).states(readable)))
        return [None if features is None else self.of(features, next(states)) for features in seen]

    def standardised(self, states: NDArray[np.float32]) -> Floats:
        """Return the standardised states, float64 [texts, states]."""
        flat = states.reshape(len(states), len(self.mean)).astype(np.float64)
        return np.clip((flat - self.mean) / self.deviation, -MAX_DEVIATION, MAX_DEVIATION)

    def of(self, seen: Features, states: Floats) -> OverallScore:
        """Return the score of one text from its features and standardised states."""
        inputs = self.surface.inputs(seen)
        values = [
            mix.of(
                head_score(head, inputs[0], seen.slots, inputs[1]),
                probe.intercept + float((probe.weights * states).sum()),
            )
            for mix, head, probe in (
                (self.long_mix, self.surface.long, self.long),
                (self.short_mix, self.surface.short, self.short),
            )
        ]
        share = self.surface.short_share(seen.words)
        value = (1 - share) * values[0] + share * (self.base + self.spread * values[1])
        alone = self.surface.value(seen)
        return OverallScore(round(min(1.0, max(0.0, value)), 4), round(alone, 4), round(share, 4))


@functools.cache
def load_overall_quality() -> OverallQuality:
    """Return the packaged model; PnyxError if its files are missing or damaged."""
    manifest, data = packaged_files("overall", _WHAT)
    return read_overall_quality(manifest, data)


def read_overall_quality(manifest: Mapping[str, Any], data: bytes) -> OverallQuality:
    """Return the model from a manifest and its arrays (an .npz file, never pickled)."""
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


_ONLY = Missing("dimension: the packaged judge rates overall quality only")
_CHUNK = 32
"""Questions answered between two emits: enough to share work, few enough to show progress."""


class QualityJudge:
    """Answers Rating questions of the task `quality` on the dimension `overall`.

    A rating is the model's quality in [0, 1], mapped to the scale. Only the text counts. The same
    question gets exactly the same answer alone and among others.
    """

    kinds: frozenset[type] = frozenset({Rating})

    def __init__(self, model: OverallQuality | None = None) -> None:
        self._model = load_overall_quality() if model is None else model
        self.name = self._model.name
        self.card = self._model.card

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`; see `pnyx.judging.base.Judge`."""
        numbered = list(enumerate(of_kind(Rating, questions, self.name)))
        await answer_chunks(numbered, _CHUNK, self._judge, emit)

    def _judge(self, questions: Sequence[Rating]) -> list[Answer]:
        problems = [_problem(question) for question in questions]
        texts = [q.text for q, problem in zip(questions, problems, strict=True) if not problem]
        results = iter(self._model.score(list(dict.fromkeys(texts))))
        scores = dict(zip(dict.fromkeys(texts), results, strict=True))
        return [
            Unscored(problem, self._provenance())
            if problem
            else self._verdict(question, scores[question.text])
            for question, problem in zip(questions, problems, strict=True)
        ]

    def _verdict(self, question: Rating, score: OverallScore | None) -> Answer:
        if score is None:
            return Unscored("blank: the text has no words", self._provenance())
        low, high = question.scale
        value = round(low + score.value * (high - low), 4)
        cells = [value if name == OVERALL else _ONLY for name in question.dimensions]
        explanation = f"{score.value:.2f} of 1, by surface and words alone {score.surface:.2f}"
        details = {"quality": score.value, "surface": score.surface, "short": score.short}
        return question.compose(cells, self._provenance(**details), explanation=explanation)

    def _provenance(self, **details: Any) -> Provenance:
        return Provenance(self.name, method="calibrated", details=details)


def _problem(question: Rating) -> str:
    if problem := blank(question):
        return problem
    if question.task != "quality":
        return f"task: it answers quality, not {shorten(question.task, 40)!r}"
    if OVERALL not in question.dimensions:
        return str(_ONLY)
    return ""


def overall_only(questions: Sequence[JudgeQuestion]) -> list[JudgeQuestion]:
    """Return ratings of any dimensions as ratings of overall quality; others unchanged."""
    every = tuple(dimensions_of("quality"))
    return [
        replace(question, dimensions=(OVERALL,))
        if isinstance(question, Rating) and question.dimensions == every
        else question
        for question in questions
    ]
