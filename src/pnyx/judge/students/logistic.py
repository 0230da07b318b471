"""Scores pairs with a logistic regression over the packaged encoder's similarities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pnyx.errors import InputError, shorten
from pnyx.judge.questions import Support
from pnyx.judge.students.similarity import FEATURES, FEATURES_VERSION, similarity_features
from pnyx.models.encoder import Encoder, load_encoder

__all__ = ["WEIGHTS", "LogisticScorer", "load"]

WEIGHTS = "weights.safetensors"

Floats = npt.NDArray[np.float64]


class LogisticScorer:
    """P(yes) = logistic(features x weights + intercept).

    Args:
        encoder: that the weights were fitted with.
        weights: float64 [features].
        intercept: log-odds where all features are 0.
    """

    def __init__(self, encoder: Encoder, weights: Floats, intercept: float) -> None:
        self._encoder, self._weights, self._intercept = encoder, weights, intercept

    def score(self, questions: Sequence[Support]) -> list[float | str]:
        """See `pnyx.judge.students.judge.Scorer`."""
        features = similarity_features(self._encoder, questions)
        z = np.einsum("ij,j->i", features, self._weights) + self._intercept
        return [float(p) for p in np.exp(-np.logaddexp(0.0, -z))]


def load(folder: Path, settings: Mapping[str, Any]) -> LogisticScorer:
    """Load a logistic student.

    Raises:
        InputError: it was fitted on another encoder or to other features, or its weights are of
            another shape.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    if settings.get("features") != FEATURES_VERSION:
        found = shorten(settings.get("features"), 20)
        raise InputError(f"features: found version {found}, expected {FEATURES_VERSION}: distil it")
    encoder = load_encoder(str(settings.get("encoder")))
    try:
        weights = np.asarray(load_file(folder / WEIGHTS)["weights"], dtype=np.float64)
    except (OSError, KeyError, SafetensorError) as error:
        raise InputError(f"{WEIGHTS}: cannot be read: {shorten(str(error), 80)}") from error
    expected = len(FEATURES) + encoder.dimensions + 1
    if weights.shape != (expected,) or not np.isfinite(weights).all():
        raise InputError(f"{WEIGHTS}: found shape {weights.shape}, expected ({expected},), finite")
    return LogisticScorer(encoder, weights[:-1], float(weights[-1]))
