"""Scores pairs with a logistic regression over the packaged encoder's similarities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pnyx.errors import InputError
from pnyx.judge.passages import read_sentences
from pnyx.judge.questions import Support
from pnyx.models.embed.encoder import Encoder, load_encoder
from pnyx.students.linear import WEIGHTS, Floats, LinearScorer, check_version, read_arrays

FEATURES_VERSION = 2
"""Of what the features mean: weights that were fitted to another version are worth nothing."""

FEATURES = (
    "passage-question",
    "passage-definition",
    "sentence-question",
    "sentence-definition",
    "sentence-part, mean",
    "sentence-part, best",
    "sentence-part, best 3",
    "sentence-definition, mean",
)
"""Cosines of the passage, or its closest sentence, with the question, with question and definition
in one, and with the sentences (parts) of the definition. Where there is no definition, the
question stands for it. A passage's vector is the mean of its sentences', each counting by its
length: it costs half of embedding the passage once more, is no worse, and sees long ones whole."""

_BEST = 3
_SCALE = 20.0
"""Products of two unit vectors' coordinates are some 1/384: brought to the size of the cosines."""


def similarity_features(encoder: Encoder, questions: Sequence[Support]) -> Floats:
    """Return the cosines of `FEATURES`, then products of passage's and definition's vectors.

    Float64 [n, len(FEATURES) + encoder.dimensions]; the products are scaled by 20.
    """
    texts: dict[str, None] = {}
    parts = {text: _parts(text) for q in questions for text in (q.text, q.sought)}
    for q in questions:
        texts |= dict.fromkeys((q.statement, q.sought, *parts[q.text], *parts[q.sought]))
    vectors = _vectors(encoder, texts)
    sentences_of = {q.text: np.stack([vectors[part] for part in parts[q.text]]) for q in questions}
    passages = {text: _mean(found, parts[text]) for text, found in sentences_of.items()}
    out = np.empty((len(questions), len(FEATURES) + encoder.dimensions))
    for row, q in zip(out, questions, strict=True):
        definition = q.sought
        passage, whole, asked = passages[q.text], vectors[definition], vectors[q.statement]
        sentences = sentences_of[q.text]
        wanted = np.stack([vectors[part] for part in parts[definition]])
        best = np.sort((sentences @ wanted.T).max(axis=0))
        close = sentences @ whole
        row[: len(FEATURES)] = (
            passage @ asked,
            passage @ whole,
            (sentences @ asked).max(),
            close.max(),
            best.mean(),
            best[-1],
            best[-_BEST:].mean(),
            close.mean(),
        )
        row[len(FEATURES) :] = passage * whole * _SCALE
    return out


def closeness(encoder: Encoder, questions: Sequence[Support]) -> Floats:
    """Return the one feature "passage-definition" of pairs, to the same bits: float64 [n]."""
    parts = {q.text: _parts(q.text) for q in questions}
    texts = dict.fromkeys(part for own in parts.values() for part in own)
    vectors = _vectors(encoder, texts | dict.fromkeys(q.sought for q in questions))
    passages = {
        text: _mean(np.stack([vectors[part] for part in own]), own) for text, own in parts.items()
    }
    return np.array([passages[q.text] @ vectors[q.sought] for q in questions], dtype=np.float64)


def _vectors(encoder: Encoder, texts: Iterable[str]) -> dict[str, npt.NDArray[np.float32]]:
    names = list(texts)
    return dict(zip(names, encoder.encode(names), strict=True))


def _mean(vectors: npt.NDArray[np.float32], parts: Sequence[str]) -> npt.NDArray[np.float32]:
    """Return the unit vector in the direction of the mean of `vectors`, by the parts' lengths."""
    lengths = np.array([len(part) for part in parts], dtype=np.float32)
    total = (vectors * lengths[:, None]).sum(axis=0)
    unit: npt.NDArray[np.float32] = total / max(float(np.linalg.norm(total)), 1e-9)
    return unit


def _parts(text: str) -> tuple[str, ...]:
    return read_sentences(text) or (text,)


def load(folder: Path, settings: Mapping[str, Any]) -> LinearScorer:
    """Load a logistic student."""
    check_version(settings, FEATURES_VERSION)
    encoder = load_encoder(str(settings.get("encoder")))
    (weights,) = read_arrays(folder, "weights")
    expected = len(FEATURES) + encoder.dimensions + 1
    if weights.shape != (expected,) or not np.isfinite(weights).all():
        raise InputError(f"{WEIGHTS}: found shape {weights.shape}, expected ({expected},), finite")
    return LinearScorer(partial(similarity_features, encoder), weights[:-1], float(weights[-1]))
