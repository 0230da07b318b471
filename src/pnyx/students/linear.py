"""What students that are logistic regressions share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pnyx.errors import InputError, shorten
from pnyx.judge.questions import Support

WEIGHTS = "weights.safetensors"

Floats = npt.NDArray[np.float64]


def logistic(z: Any) -> Any:
    """Return 1 / (1 + exp(-z)), of a number or of an array."""
    return np.exp(-np.logaddexp(0.0, -z))


class LinearScorer:
    """P(yes) = logistic(features @ weights + intercept), with features float64 [n, features]."""

    def __init__(
        self,
        features: Callable[[Sequence[Support]], Floats],
        weights: npt.ArrayLike,
        intercept: float,
    ) -> None:
        self._features = features
        self._weights, self._intercept = np.asarray(weights, dtype=np.float64), intercept

    def score(self, questions: Sequence[Support]) -> list[float | str]:
        """See `pnyx.students.judge.Scorer`."""
        z = np.einsum("ij,j->i", self._features(questions), self._weights) + self._intercept
        return [float(p) for p in logistic(z)]


def check_version(settings: Mapping[str, Any], expected: int) -> None:
    """Raise InputError unless weights were fitted to features that mean what they mean today."""
    if settings.get("features") != expected:
        found = shorten(settings.get("features"), 20)
        raise InputError(f"features: found version {found}, expected {expected}: distil it")


def read_arrays(folder: Path, *names: str) -> list[Floats]:
    """Return arrays of `WEIGHTS` in a student's folder."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        tensors = load_file(folder / WEIGHTS)
        return [np.asarray(tensors[name], np.float64) for name in names]
    except (OSError, KeyError, SafetensorError) as error:
        raise InputError(f"{WEIGHTS}: cannot be read: {shorten(str(error), 80)}") from error
