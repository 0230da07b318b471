"""What scorers share: a linear function of features, and networks in ONNX with their tokenizers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pnyx.errors import InputError, shorten
from pnyx.judge.questions import Support

MODEL, TOKENIZER = "model.onnx", "tokenizer.json"

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


def read_tokenizer(data: bytes) -> Any:
    """Return a tokenizer that neither truncates nor pads; ValueError if the bytes are not one."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_str(data.decode("utf-8"))
    except Exception as error:  # the library raises its own, undocumented class
        raise ValueError(str(error)) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def encodable(text: str) -> str:
    """Replace lone surrogates, which tokenizers refuse, by as many other characters."""
    return text.encode("utf-8", "replace").decode("utf-8")


def open_network(
    folder: Path, tensors: Callable[[Path], Mapping[str, npt.NDArray[Any]]] = lambda _: {}
) -> tuple[Any, Any]:
    """Return session and tokenizer of a student's folder; `tensors` reads what the graph lacks."""
    from pnyx.models.embed.encoder import open_session

    try:
        session = open_session((folder / MODEL).read_bytes(), tensors(folder))
        return session, read_tokenizer((folder / TOKENIZER).read_bytes())
    except Exception as error:  # each library raises classes of its own
        raise InputError(f"the model cannot be loaded: {shorten(str(error), 80)}") from error
