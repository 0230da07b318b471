"""How likely each sentence of a passage is to state a reason, by a small packaged regression."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]

WEIGHTS: Final = Path(__file__).with_name("reasons.json")
"""Fitted on the training folders by `lab/argue/fit_reasons.py`."""

MIN_REASON: Final = 0.6
"""Minimum probability of a sentence that counts as stating a reason. In folds over the training
folders, 85 % of the headlines that reach it do (docs/lab/argue-folders.md)."""

_FIGURE = re.compile(
    r"\d|\b(?:per ?cent|half|third|quarter|twice|dozen|hundreds?|thousands?|millions?|billions?)\b",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:I|me|my|mine)\b")


def reason_inputs(texts: Sequence[str], vectors: Floats) -> Floats:
    """Return the features of each sentence of one passage.

    Args:
        texts: the sentences, n of them.
        vectors: their embeddings by the packaged encoder, [n, d].

    Returns:
        Float64 [n, 4 + d]: the cosine to the passage's mean, the logarithm of the number of words,
        whether there is a figure, whether the writer speaks of themselves, and the embedding.
    """
    embedded = np.asarray(vectors, dtype=np.float64)
    words = np.array([len(text.split()) for text in texts], dtype=np.float64)
    figures = np.array([bool(_FIGURE.search(text)) for text in texts], dtype=np.float64)
    personal = np.array([bool(_FIRST_PERSON.search(text)) for text in texts], dtype=np.float64)
    hand = (embedded @ embedded.mean(axis=0), np.log(np.maximum(words, 1)), figures, personal)
    return np.column_stack([*hand, embedded])


def reason_probabilities(texts: Sequence[str], vectors: Floats) -> Floats:
    """Return the probability that each sentence of a passage, on its own, states a reason.

    `texts` and `vectors` as in `reason_inputs`; there is at least one.
    """
    constant, weights = _regression()
    odds = reason_inputs(texts, vectors) @ weights + constant
    chances: Floats = 1.0 / (1.0 + np.exp(-odds))
    return chances


@cache
def _regression() -> tuple[float, Floats]:
    stored = json.loads(WEIGHTS.read_text("utf-8"))
    return float(stored["constant"]), np.array(stored["weights"], dtype=np.float64)
