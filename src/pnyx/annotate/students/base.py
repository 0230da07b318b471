"""What all kinds of student are trained on, and what a training leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from pnyx.annotate.labelled import LabelledPair
from pnyx.errors import PnyxError
from pnyx.judge.questions import Support
from pnyx.judge.tasks import ask_relevance

__all__ = ["Example", "Report", "Trained", "Trainer", "example_of", "need_torch", "quiet"]

PARTLY = 0.75
"""Target of a pair that is relevant only in part, where no probability is known."""

Report: TypeAlias = Callable[[int, int, str], None]
"""Told of progress: steps done, of how many, and a word on how it goes."""


@dataclass(frozen=True, slots=True)
class Example:
    """A labelled pair as a student learns it.

    Attributes:
        question: what the judge will be asked.
        target: probability that the document is relevant, as the teacher sees it, in [0, 1].
        value: the teacher's verdict.
        group: the question that the pair belongs to.
        explanation: the teacher's reason; empty where it gave none.
    """

    question: Support
    target: float
    value: bool
    group: str
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class Trained:
    """What a training left in its folder.

    Attributes:
        settings: for the scorer, beside the files; ready for JSON.
        about: how it was trained; ready for JSON.
    """

    settings: Mapping[str, Any]
    about: Mapping[str, Any] = field(default_factory=dict)


class Trainer(Protocol):
    """Trains one kind of student.

    Attributes:
        kind: a key of `pnyx.judge.students.judge.SCORERS`.
        what: a few words for the card, such as "cross-encoder of 6 layers".
    """

    @property
    def kind(self) -> str:
        """See the class."""

    @property
    def what(self) -> str:
        """See the class."""

    def plan(self) -> Mapping[str, Any]:
        """Return all settings of the training, ready for JSON: another plan does not resume.

        Raises:
            PnyxError: a library is missing.
            InputError: what it is to start from is not what it needs.
        """

    def train(
        self,
        examples: Sequence[Example],
        work: Path,
        out: Path,
        report: Report,
        unseen: Sequence[Support],
    ) -> Trained:
        """Train, and write the weights to `out`.

        Args:
            examples: of both classes.
            work: an existing folder of its own, where checkpoints lie: a training that was
                interrupted goes on from the last of them and ends with the same weights.
            out: an empty folder for the weights.
            report: told of progress.
            unseen: pairs of other questions, without labels: how scores lie that were not fitted.

        Raises:
            PnyxError: a library is missing, or the training failed.
        """


def quiet(done: int, of: int, word: str) -> None:
    """Report progress to nobody."""


def example_of(pair: LabelledPair) -> Example:
    """Return what a student learns of a pair that has a verdict."""
    if pair.value is None:
        raise ValueError(f"{pair.id} has no verdict")
    target = pair.probability
    if target is None:
        target = PARTLY if pair.partial else float(pair.value)
    question = ask_relevance(
        pair.id, pair.question, pair.document, definition=pair.definition, group=pair.group
    )
    return Example(question, target, pair.value, pair.group, pair.explanation)


def need_torch() -> None:
    """Check that what trains and exports a network is installed, before anything is done.

    Raises:
        PnyxError: it is not.
    """
    try:
        import onnx  # noqa: F401 - needed at the end, so it is missed at the start
        import torch  # noqa: F401
    except ImportError as error:
        raise PnyxError(
            f"{error.name} is missing: pip install 'pnyx[distil]', or train --kind logistic, which "
            "needs none"
        ) from error
