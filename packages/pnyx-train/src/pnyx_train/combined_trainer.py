"""Trains combined students: late interaction and shared words, scaled together with closeness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from pnyx.core.errors import PnyxError
from pnyx.judging.questions import Support
from pnyx.judging.students.combined import CLOSENESS, CLOSENESS_VERSION, PARTS, open_parts
from pnyx.judging.students.lexical import LexicalTrainer
from pnyx.judging.students.scorers import LEAST_DEVIATION, Part, Standard
from pnyx.judging.students.trainer import Report, Trained, Trainer, TrainingExample
from pnyx_train.late_trainer import LateTrainer

_BLOCK = 256


@dataclass(frozen=True, slots=True)
class CombinedTrainer(Trainer):
    """Trains the parts `late` and `lexical`, and scales them like `encoder`."""

    kind: ClassVar[str] = "combined"
    late: LateTrainer = field(default_factory=LateTrainer)
    lexical: LexicalTrainer = field(default_factory=LexicalTrainer)
    encoder: str = "minilm-int8"

    @property
    def what(self) -> str:
        """See `Trainer`."""
        return f"{self.late.what}, {self.lexical.what} and closeness by {self.encoder}, added"

    def plan(self) -> Mapping[str, Any]:
        """See `Trainer`."""
        return {**{part.kind: part.plan() for part in self._trainers()}, CLOSENESS: self._closeness}

    def train(
        self,
        examples: Sequence[TrainingExample],
        work: Path,
        out: Path,
        report: Report,
        unseen: Sequence[Support] = (),
    ) -> Trained:
        """Scale by unseen pairs (fitted ones have more extreme values), all questions together.

        It is part of the judgement that one question's documents are closer than another's.
        """
        settings: dict[str, Mapping[str, Any]] = {CLOSENESS: self._closeness}
        about = {}
        for trainer in self._trainers():
            folder = work / trainer.kind
            folder.mkdir(exist_ok=True)
            trained = trainer.train(examples, folder, out, _named(report, trainer.kind), unseen)
            settings[trainer.kind] = trained.settings
            about[trainer.kind] = {**trainer.plan(), **trained.about}
        standards = _standards(open_parts(out, settings), unseen, _named(report, "scale"))
        parts = {
            name: {
                "settings": settings[name],
                "mean": standards[name].mean,
                "deviation": standards[name].deviation,
            }
            for name in PARTS
        }
        return Trained({"parts": parts}, about)

    def _trainers(self) -> tuple[Trainer, ...]:
        return self.late, self.lexical

    @property
    def _closeness(self) -> Mapping[str, Any]:
        return {"encoder": self.encoder, "features": CLOSENESS_VERSION}


def _named(report: Report, name: str) -> Report:
    return lambda done, of, word: report(done, of, f"{name}: {word}")


def _standards(
    parts: Mapping[str, Part], unseen: Sequence[Support], report: Report
) -> dict[str, Standard]:
    values: dict[str, list[float]] = {name: [] for name in parts}
    for start in range(0, len(unseen), _BLOCK):
        report(start, len(unseen), "scoring other questions")
        for name, part in parts.items():
            odds = part(unseen[start : start + _BLOCK])
            values[name] += [value for value in odds if not isinstance(value, str)]
    report(len(unseen), len(unseen), "scoring other questions")
    return {name: _standard(name, value) for name, value in values.items()}


def _standard(name: str, values: Sequence[float]) -> Standard:
    if not values:
        raise PnyxError(f"{name} scores none of the pairs of other questions: no scale can be set")
    deviation = float(np.std(values))
    # A part with the same value for all pairs keeps its unit: it then adds nothing here.
    return Standard(float(np.mean(values)), deviation if deviation >= LEAST_DEVIATION else 1.0)
