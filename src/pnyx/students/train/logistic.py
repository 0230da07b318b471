"""The student that trains in seconds: logistic regression over the packaged encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from pnyx.judge.questions import Support
from pnyx.models.encoder import load_encoder
from pnyx.students.linear import WEIGHTS, Floats
from pnyx.students.logistic import FEATURES, FEATURES_VERSION, similarity_features
from pnyx.students.train.base import Example, Report, Trained, Trainer
from pnyx.students.train.regression import STRENGTHS, fit_examples

__all__ = ["LogisticTrainer"]

_SCALE = 5.0
"""Of the cosines, which vary less than the products: both are penalised alike."""
_BLOCK = 256


@dataclass(frozen=True, slots=True)
class LogisticTrainer(Trainer):
    """Fits weights over the packaged encoder called `encoder` to the teacher's probabilities.

    `strengths` are inverse strengths of the penalty, of which left-out questions choose one.
    """

    kind: ClassVar[str] = "logistic"
    encoder: str = "minilm-int8"
    strengths: tuple[float, ...] = STRENGTHS

    @property
    def what(self) -> str:
        """See `Trainer`."""
        return f"logistic regression over {self.encoder}"

    def train(
        self,
        examples: Sequence[Example],
        work: Path,  # noqa: ARG002 - it takes seconds: nothing to resume
        out: Path,
        report: Report,
        unseen: Sequence[Support] = (),  # noqa: ARG002 - what it learns is of its examples alone
    ) -> Trained:
        """See `Trainer`."""
        from safetensors.numpy import save_file

        x = self._features(examples, report)
        scale = np.ones(x.shape[1])
        scale[: len(FEATURES)] = _SCALE
        weights, strength = fit_examples(x, examples, scale, self.strengths)
        save_file({"weights": weights}, out / WEIGHTS)
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
