"""Scores pairs by the words they share, with no network: the first stage of a cascade."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pnyx.corpora.fields import number
from pnyx.errors import InputError, shorten
from pnyx.files import parse_json_object, read_lines
from pnyx.judge.questions import Support
from pnyx.judge.students.lexicon import FEATURES, FEATURES_VERSION, Lexicon

__all__ = ["MAX_WORDS", "WEIGHTS", "WORDS", "LexicalScorer", "load"]

WEIGHTS = "weights.safetensors"
WORDS = "words.json"
MAX_WORDS = 50_000
"""Words whose frequency a student knows, at most; all others count as never seen."""

Floats = npt.NDArray[np.float64]


class LexicalScorer:
    """P(yes) = logistic(features x weights + intercept).

    Args:
        lexicon: makes the features.
        weights: float64 [features].
        intercept: log-odds where all features are 0.
    """

    def __init__(self, lexicon: Lexicon, weights: Floats, intercept: float) -> None:
        self._lexicon, self._weights, self._intercept = lexicon, weights, intercept

    def score(self, questions: Sequence[Support]) -> list[float | str]:
        """See `pnyx.judge.students.judge.Scorer`."""
        features = self._lexicon.features(questions)
        z = np.einsum("ij,j->i", features, self._weights) + self._intercept
        return [float(p) for p in np.exp(-np.logaddexp(0.0, -z))]


def load(folder: Path, settings: Mapping[str, Any]) -> LexicalScorer:
    """Load a lexical student.

    Raises:
        InputError: it was fitted to other features, or its words or weights cannot be.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    if settings.get("features") != FEATURES_VERSION:
        found = shorten(settings.get("features"), 20)
        raise InputError(f"features: found version {found}, expected {FEATURES_VERSION}: distil it")
    words = _words(folder / WORDS)
    try:
        tensors = load_file(folder / WEIGHTS)
        weights, idf = (np.asarray(tensors[name], np.float64) for name in ("weights", "idf"))
    except (OSError, KeyError, SafetensorError) as error:
        raise InputError(f"{WEIGHTS}: cannot be read: {shorten(str(error), 80)}") from error
    unseen = float(number(settings.get("unseen"), "settings.unseen"))
    expected = (len(FEATURES) + 1,), (len(words),)
    if (weights.shape, idf.shape) != expected:
        raise InputError(f"{WEIGHTS}: found shapes {weights.shape} and {idf.shape}, "
                         f"expected {expected[0]} and {expected[1]}")  # fmt: skip
    if not np.isfinite(weights).all() or not ((idf >= 0) & (idf <= unseen)).all():
        raise InputError(f"{WEIGHTS}: expected finite weights, and frequencies up to {unseen:g}")
    lexicon = Lexicon(dict(zip(words, idf.tolist(), strict=True)), unseen)
    return LexicalScorer(lexicon, weights[:-1], float(weights[-1]))


def _words(path: Path) -> list[str]:
    """Return the words of a student, each once and in order."""
    if not path.is_file():
        raise InputError(f"{WORDS}: is missing")
    text = " ".join(line for _, line in read_lines(path))
    words = parse_json_object(text or "null", path=path, number=1, keep_surrogates=True).get(
        "words"
    )
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise InputError(f"{WORDS}: expected words, a list of strings")
    if len(words) > MAX_WORDS or any(a >= b for a, b in itertools.pairwise(words)):
        raise InputError(f"{WORDS}: expected up to {MAX_WORDS} words, in order and each once")
    return words
