"""The student that trains in seconds: logistic regression over the packaged encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pnyx.annotate.students.base import Example, Report, Trained
from pnyx.errors import PnyxError
from pnyx.judge.curves import folds_of
from pnyx.judge.students.logistic import WEIGHTS
from pnyx.judge.students.similarity import FEATURES, FEATURES_VERSION, similarity_features
from pnyx.measure.binary import weighted_auroc
from pnyx.measure.weighted import measured_once
from pnyx.models.encoder import load_encoder

__all__ = ["LogisticTrainer"]

_SCALE = 5.0
"""Of the cosines, which vary less than the products: both are penalised alike."""
_OWN = 10.0
"""Of a question's own intercept: large, so that the penalty hardly touches it."""
_NEEDS = "a student is trained with pip install 'pnyx[distil]'"
_FOLDS = 5
_BLOCK = 256

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LogisticTrainer:
    """Fits the weights to the teacher's probabilities.

    Each training question has an intercept of its own that is left out afterwards: how many
    documents of a question are relevant says nothing of which, nor of another question's.

    Attributes:
        encoder: name of the packaged encoder.
        strengths: inverse strengths of the penalty, of which questions left out choose one.
    """

    encoder: str = "minilm-int8"
    strengths: tuple[float, ...] = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)

    @property
    def kind(self) -> str:
        """See `Trainer`."""
        return "logistic"

    @property
    def what(self) -> str:
        """See `Trainer`."""
        return f"logistic regression over {self.encoder}"

    def plan(self) -> Mapping[str, Any]:
        """See `Trainer`."""
        return asdict(self)

    def train(
        self,
        examples: Sequence[Example],
        work: Path,  # noqa: ARG002 - it takes seconds: nothing to resume
        out: Path,
        report: Report,
    ) -> Trained:
        """See `Trainer`."""
        from safetensors.numpy import save_file

        x = self._features(examples, report)
        targets = np.array([example.target for example in examples])
        groups = [example.group for example in examples]
        with _one_thread():
            strength = self._strength(x, targets, groups)
            weights, own, intercept = _fit(x, targets, groups, strength)
        save_file({"weights": np.append(weights, intercept + own)}, out / WEIGHTS)
        settings = {"encoder": self.encoder, "features": FEATURES_VERSION}
        return Trained(settings, {"strength": strength})

    def _features(self, examples: Sequence[Example], report: Report) -> Floats:
        encoder = load_encoder(self.encoder)
        blocks = []
        for start in range(0, len(examples), _BLOCK):
            report(start, len(examples), "embedding")
            questions = [example.question for example in examples[start : start + _BLOCK]]
            blocks.append(similarity_features(encoder, questions))
        report(len(examples), len(examples), "embedding")
        return np.concatenate(blocks)

    def _strength(self, x: Floats, targets: Floats, groups: Sequence[str]) -> float:
        """Return the strength that orders the pairs of left-out questions best (mean AUROC)."""
        folds = np.array(folds_of(groups, _FOLDS))
        names = np.array(groups)
        found = []
        for strength in self.strengths:
            scores = np.empty(len(targets))
            for fold in np.unique(folds):
                rest = folds != fold
                if not rest.any():
                    return self.strengths[len(self.strengths) // 2]
                kept = [group for group, keep in zip(groups, rest, strict=True) if keep]
                weights, _, _ = _fit(x[rest], targets[rest], kept, strength)
                scores[~rest] = x[~rest] @ weights
            aurocs = [
                measured_once(weighted_auroc, (targets[own] >= 0.5).astype(np.float64), scores[own])
                for own in (names == name for name in dict.fromkeys(groups))
            ]
            defined = [value for value in aurocs if value is not None]
            found.append(float(np.mean(defined)) if defined else 0.0)
        return self.strengths[int(np.argmax(found))]


def _one_thread() -> AbstractContextManager[Any]:
    """Keep the solver's many small products on one core: several only wait for each other."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError as error:
        raise PnyxError(_NEEDS) from error
    limits: AbstractContextManager[Any] = threadpool_limits(1)
    return limits


def _fit(
    x: Floats, targets: Floats, groups: Sequence[str], strength: float
) -> tuple[Floats, float, float]:
    """Fit weights, the mean of the questions' own intercepts, and the common intercept."""
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError as error:
        raise PnyxError(_NEEDS) from error
    names = {name: place for place, name in enumerate(dict.fromkeys(groups))}
    own = np.zeros((len(x), len(names)))
    own[np.arange(len(x)), [names[group] for group in groups]] = _OWN
    scale = np.ones(x.shape[1])
    scale[: len(FEATURES)] = _SCALE
    design = np.concatenate([x * scale, own], axis=1)
    model = LogisticRegression(C=strength, max_iter=2000)
    # A soft target is a yes and a no, each of its weight.
    model.fit(
        np.concatenate([design, design]),
        np.repeat([1, 0], len(x)),
        sample_weight=np.concatenate([targets, 1 - targets]),
    )
    coefficients = model.coef_[0]
    shares = np.bincount([names[group] for group in groups], minlength=len(names)) / len(x)
    intercepts = coefficients[x.shape[1] :] * _OWN
    return (
        coefficients[: x.shape[1]] * scale,
        float(shares @ intercepts),
        float(model.intercept_[0]),
    )
