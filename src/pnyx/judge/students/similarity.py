"""What the logistic student sees of a pair: how close the passage is to what is looked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pnyx.judge.passages import read_passage
from pnyx.judge.questions import Support
from pnyx.models.encoder import Encoder

__all__ = ["FEATURES", "similarity_features"]

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
question stands for it."""

_BEST = 3
_SCALE = 20.0
"""Products of two unit vectors' coordinates are some 1/384: brought to the size of the cosines."""

Floats = npt.NDArray[np.float64]


def similarity_features(encoder: Encoder, questions: Sequence[Support]) -> Floats:
    """Return the features of pairs.

    Args:
        encoder: of texts.
        questions: with words in text and statement.

    Returns:
        Float64 [n, len(FEATURES) + encoder.dimensions]: the cosines of `FEATURES`, then the
        products, coordinate by coordinate, of the passage's and the definition's vectors times 20.
    """
    texts: dict[str, None] = {}
    parts = {text: _parts(text) for q in questions for text in (q.text, _definition(q))}
    for q in questions:
        definition = _definition(q)
        texts.update(dict.fromkeys((q.text, q.statement, definition)))
        texts.update(dict.fromkeys((*parts[q.text], *parts[definition])))
    names = list(texts)
    vectors = dict(zip(names, encoder.encode(names), strict=True))
    out = np.empty((len(questions), len(FEATURES) + encoder.dimensions))
    for row, q in zip(out, questions, strict=True):
        definition = _definition(q)
        passage, whole, asked = vectors[q.text], vectors[definition], vectors[q.statement]
        sentences = np.stack([vectors[part] for part in parts[q.text]])
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


def _definition(question: Support) -> str:
    return f"{question.statement} {question.guideline}".strip()


def _parts(text: str) -> tuple[str, ...]:
    return read_passage(text).sentences or (text,)
