"""Shared by scorers: linear functions, sums of parts, networks in ONNX with their tokenizers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pnyx.core.errors import InputError, shorten
from pnyx.formats.fields import number
from pnyx.judging.questions import Support

MODEL, TOKENIZER = "model.onnx", "tokenizer.json"

Floats = npt.NDArray[np.float64]

LEAST_DEVIATION = 1e-6
_MOST = 100.0
"""Log-odds are cut at about 14.5, cosines at 1: a larger mean or deviation is invalid."""

Part: TypeAlias = Callable[[Sequence[Support]], list[float | str]]
"""Returns a part's value for each pair, log-odds or cosine, or why there is none."""


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
        """See `pnyx.judging.students.judge.Scorer`."""
        z = np.einsum("ij,j->i", self._features(questions), self._weights) + self._intercept
        return [float(p) for p in logistic(z)]


@dataclass(frozen=True, slots=True)
class Standard:
    """Mean and scale of a part's values on unseen questions, and the part's weight."""

    mean: float
    deviation: float
    weight: float = 1.0

    def __call__(self, value: float) -> float:
        """Return a value in deviations from the mean, times the weight."""
        return self.weight * (value - self.mean) / self.deviation


class CombinedScorer:
    """Combines its parts: the log-odds of a score are the mean of the standardised values."""

    def __init__(self, parts: Sequence[tuple[Part, Standard]]) -> None:
        self._parts = tuple(parts)

    def score(self, questions: Sequence[Support]) -> list[float | str]:
        """See `pnyx.judging.students.judge.Scorer`; without a part's value there is no score."""
        columns = [
            [value if isinstance(value, str) else standard(value) for value in part(questions)]
            for part, standard in self._parts
        ]
        return [_combine(row) for row in zip(*columns, strict=True)]


def _combine(values: Sequence[float | str]) -> float | str:
    numbers = []
    for value in values:
        if isinstance(value, str):
            return value
        numbers.append(value)
    return float(logistic(math.fsum(numbers) / len(numbers)))


def read_parts(
    settings: Mapping[str, Any], names: Sequence[str]
) -> dict[str, tuple[Mapping[str, Any], Standard]]:
    """Return the settings and the standard of each part, in the order of `names`."""
    parts = settings.get("parts")
    if not isinstance(parts, dict) or set(parts) != set(names):
        names_found = ", ".join(map(str, parts)) if isinstance(parts, dict) else parts
        raise InputError(f"parts: found {shorten(names_found, 80)}, expected {', '.join(names)}")
    return {name: _part(name, parts[name]) for name in names}


def _part(name: str, row: Any) -> tuple[Mapping[str, Any], Standard]:
    if not isinstance(row, dict) or not isinstance(row.get("settings"), dict):
        raise InputError(f"{name}: expected an object with settings, mean and deviation")
    mean = _within(row.get("mean"), f"{name}: mean", -_MOST)
    deviation = _within(row.get("deviation"), f"{name}: deviation", LEAST_DEVIATION)
    weight = _within(row.get("weight", 1.0), f"{name}: weight", LEAST_DEVIATION)
    return row["settings"], Standard(mean, deviation, weight)


def _within(value: Any, name: str, least: float) -> float:
    parsed = float(number(value, name))
    if not least <= parsed <= _MOST:
        raise InputError(f"{name}: found {parsed:g}, expected {least:g} to {_MOST:g}")
    return parsed


def check_version(settings: Mapping[str, Any], expected: int) -> None:
    """Raise InputError unless weights were fitted to the current version of the features."""
    if settings.get("features") != expected:
        version = shorten(settings.get("features"), 20)
        raise InputError(f"features: found version {version}, expected {expected}: distil it")


def read_tokenizer(data: bytes) -> Any:
    """Return a tokenizer without truncation and padding; ValueError for invalid bytes."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_str(data.decode("utf-8"))
    except Exception as error:  # the library raises its own, undocumented class
        raise ValueError(str(error)) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def encodable(text: str) -> str:
    """Replace lone surrogates, which tokenizers refuse, by the same number of characters."""
    return text.encode("utf-8", "replace").decode("utf-8")


def open_network(
    folder: Path,
    tensors: Callable[[Path], Mapping[str, npt.NDArray[Any]]] = lambda _: {},
    words: Path | None = None,
) -> tuple[Any, Any]:
    """Return session and tokenizer of a student's folder; `tensors` reads external constants.

    The tokenizer is from the folder `words`, if given.
    """
    from pnyx.models.embed.encoder import open_session

    try:
        session = open_session((folder / MODEL).read_bytes(), tensors(folder))
        return session, read_tokenizer(((words or folder) / TOKENIZER).read_bytes())
    except Exception as error:  # each library raises classes of its own
        raise InputError(f"the model cannot be loaded: {shorten(str(error), 80)}") from error
