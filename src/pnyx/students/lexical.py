"""Scores pairs by the words they share, with no network: the first stage of a cascade."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pnyx.corpora.fields import number
from pnyx.errors import InputError
from pnyx.files import parse_json_object, read_lines
from pnyx.students.lexicon import FEATURES, FEATURES_VERSION, Lexicon
from pnyx.students.linear import WEIGHTS, LinearScorer, check_version, read_arrays

__all__ = ["MAX_WORDS", "WORDS", "load"]

WORDS = "words.json"
MAX_WORDS = 50_000
"""Words whose frequency a student knows, at most; all others count as never seen."""


def load(folder: Path, settings: Mapping[str, Any]) -> LinearScorer:
    """Load a lexical student.

    Raises:
        InputError: it was fitted to other features, or its words or weights are not usable.
    """
    check_version(settings, FEATURES_VERSION)
    words = _words(folder / WORDS)
    weights, idf = read_arrays(folder, "weights", "idf")
    unseen = float(number(settings.get("unseen"), "settings.unseen"))
    expected = (len(FEATURES) + 1,), (len(words),)
    if (weights.shape, idf.shape) != expected:
        raise InputError(f"{WEIGHTS}: found shapes {weights.shape} and {idf.shape}, "
                         f"expected {expected[0]} and {expected[1]}")  # fmt: skip
    if not np.isfinite(weights).all() or not ((idf >= 0) & (idf <= unseen)).all():
        raise InputError(f"{WEIGHTS}: expected finite weights, and frequencies up to {unseen:g}")
    lexicon = Lexicon(dict(zip(words, idf.tolist(), strict=True)), unseen)
    return LinearScorer(lexicon.features, weights[:-1], float(weights[-1]))


def _words(path: Path) -> list[str]:
    """Return the words of a student, each once and in order."""
    if not path.is_file():
        raise InputError(f"{WORDS}: is missing")
    text = " ".join(line for _, line in read_lines(path))
    row = parse_json_object(text or "null", path=path, number=1, keep_surrogates=True)
    words = row.get("words")
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise InputError(f"{WORDS}: expected words, a list of strings")
    if len(words) > MAX_WORDS or any(a >= b for a, b in itertools.pairwise(words)):
        raise InputError(f"{WORDS}: expected up to {MAX_WORDS} words, in order and each once")
    return words
