"""The default student: late interaction, shared words and closeness (docs/decisions/student.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from pnyx.errors import PnyxError
from pnyx.judge.questions import Support
from pnyx.students.combined import CLOSENESS, LEAST_DEVIATION, PARTS, Part, Standard, open_parts
from pnyx.students.logistic import FEATURES_VERSION
from pnyx.students.train.base import Course, Report, Trained, Trainer
from pnyx.students.train.late import LateTrainer
from pnyx.students.train.regression import LexicalTrainer

_BLOCK = 256


@dataclass(frozen=True, slots=True)
class CombinedTrainer(Trainer):
    """Trains the parts `late` and `lexical`, and brings them and `encoder` to the same scale."""

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

    def _train(self, course: Course) -> Trained:
        """Scale by unseen pairs (values of fitted ones lie further apart), all questions together.

        That one question's documents are closer than another's is part of the judgement.
        """
        settings: dict[str, Mapping[str, Any]] = {CLOSENESS: self._closeness}
        about = {}
        for trainer in self._trainers():
            own = course.work / trainer.kind
            own.mkdir(exist_ok=True)
            report = _named(course.report, trainer.kind)
            trained = trainer.train(course.examples, own, course.out, report, course.unseen)
            settings[trainer.kind] = trained.settings
            about[trainer.kind] = {**trainer.plan(), **trained.about}
        standards = _standards(
            open_parts(course.out, settings), course.unseen, _named(course.report, "scale")
        )
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
        return {"encoder": self.encoder, "features": FEATURES_VERSION}


def _named(report: Report, name: str) -> Report:
    return lambda done, of, word: report(done, of, f"{name}: {word}")


def _standards(
    parts: Mapping[str, Part], unseen: Sequence[Support], report: Report
) -> dict[str, Standard]:
    values: dict[str, list[float]] = {name: [] for name in parts}
    for start in range(0, len(unseen), _BLOCK):
        report(start, len(unseen), "scoring other questions")
        for name, part in parts.items():
            found = part(unseen[start : start + _BLOCK])
            values[name] += [value for value in found if not isinstance(value, str)]
    report(len(unseen), len(unseen), "scoring other questions")
    return {name: _standard(name, found) for name, found in values.items()}


def _standard(name: str, values: Sequence[float]) -> Standard:
    if not values:
        raise PnyxError(f"{name} scores none of the pairs of other questions: no scale can be set")
    deviation = float(np.std(values))
    # A part that says the same of all pairs keeps the unit it has: it then adds nothing here.
    return Standard(float(np.mean(values)), deviation if deviation >= LEAST_DEVIATION else 1.0)
