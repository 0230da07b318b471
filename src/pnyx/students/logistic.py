"""Scores pairs with a logistic regression over the packaged encoder's similarities."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pnyx.errors import InputError
from pnyx.models.encoder import load_encoder
from pnyx.students.linear import WEIGHTS, LinearScorer, check_version, read_arrays
from pnyx.students.similarity import FEATURES, FEATURES_VERSION, similarity_features

__all__ = ["load"]


def load(folder: Path, settings: Mapping[str, Any]) -> LinearScorer:
    """Load a logistic student.

    Raises:
        InputError: it was fitted on another encoder or to other features, or its weights are of
            another shape.
    """
    check_version(settings, FEATURES_VERSION)
    encoder = load_encoder(str(settings.get("encoder")))
    (weights,) = read_arrays(folder, "weights")
    expected = len(FEATURES) + encoder.dimensions + 1
    if weights.shape != (expected,) or not np.isfinite(weights).all():
        raise InputError(f"{WEIGHTS}: found shape {weights.shape}, expected ({expected},), finite")
    return LinearScorer(partial(similarity_features, encoder), weights[:-1], float(weights[-1]))
