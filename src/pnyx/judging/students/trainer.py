"""The training data common to all kinds of student, and the result of a training."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from pnyx.judging.questions import Support

Report: TypeAlias = Callable[[int, int, str], None]
"""Called with progress: finished steps, their total, and a note."""


@dataclass(frozen=True, slots=True)
class TrainingExample:
    """A labelled pair for training a student."""

    question: Support
    target: float
    value: bool
    group: str
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class Trained:
    """The result of a training: the scorer's settings, and a description; ready for JSON."""

    settings: Mapping[str, Any]
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trainer:
    """Trains one `kind` of student (a key of `SCORERS`); its fields are its settings."""

    kind: ClassVar[str]

    @property
    def what(self) -> str:
        """A few words for the card, such as "logistic regression over shared words"."""
        raise NotImplementedError

    def plan(self) -> Mapping[str, Any]:
        """Return all settings of the training, ready for JSON: another plan does not resume."""
        return dataclasses.asdict(self)

    def train(
        self,
        examples: Sequence[TrainingExample],
        work: Path,
        out: Path,
        report: Report,
        unseen: Sequence[Support] = (),
    ) -> Trained:
        """Train on examples of both classes, and write the weights to the empty folder `out`.

        An interrupted training resumes from the last checkpoint in `work` and ends with the same
        weights. `unseen` pairs of other questions show the distribution of scores on unseen data.
        """
        raise NotImplementedError


def quiet(done: int, of: int, word: str) -> None:
    """Ignore progress."""
