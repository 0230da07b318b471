"""The judges where none is named: who answers what, of the judges in the package.

Questions of relevance that come with a definition go to a student that was trained and calibrated
for them; all others to the encoder's judge. Figures: docs/decisions/packaged-relevance.md. Whether
a passage supports a perspective is asked of a student of its own:
docs/decisions/perspective-detector.md.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pnyx.errors import InputError, PnyxError
from pnyx.judge.answers import Answer
from pnyx.judge.base import Emit, Judge, of_kind
from pnyx.judge.encoder import EncoderJudge
from pnyx.judge.questions import JudgeQuestion, Support

if TYPE_CHECKING:
    from pnyx.judge.students.judge import Score, Scorer, StudentJudge

__all__ = ["PackagedJudge", "load_perspective_student", "load_relevance_student"]

_VERSION = "packaged@1"
"""Counted up when an answer can change: a test holds it together with what the judge is made of."""


@functools.cache
def load_relevance_student() -> StudentJudge:
    """Open the packaged student of relevance; the second call returns the same one.

    Raises:
        PnyxError: a file of it is missing or damaged.
    """
    return _open(_weights("relevance"), "relevance")


@functools.cache
def load_perspective_student() -> StudentJudge:
    """Open the packaged detector of perspectives; the second call returns the same one.

    It answers Support questions of the task `support`: whether a passage, outright or by
    implication, speaks for a statement (BERDS, Appendix A), not whether a sentence follows from it.

    Raises:
        PnyxError: a file of it is missing or damaged.
    """
    return _open(_weights("perspectives"), "support")


def _weights(name: str) -> Path:
    import pnyx.models

    return Path(pnyx.models.__file__).parent / "weights" / name


def _open(folder: Path, task: str) -> StudentJudge:
    from pnyx.judge.students.files import read_student
    from pnyx.judge.students.judge import StudentJudge

    try:
        student = read_student(folder, task)
    except InputError as error:
        raise PnyxError(f"the packaged student cannot be used: {error}: reinstall pnyx") from error
    return StudentJudge(student, _Deferred(student.kind, folder, student.settings))


class _Deferred:
    """A scorer that is loaded when it is first asked: a card is read without it."""

    def __init__(self, kind: str, folder: Path, settings: Mapping[str, Any]) -> None:
        self._what = kind, folder, settings
        self._scorer: Scorer | None = None

    def score(self, questions: Sequence[Support]) -> list[Score]:
        """See `pnyx.judge.students.judge.Scorer`."""
        if self._scorer is None:
            from pnyx.judge.students.judge import load_scorer

            self._scorer = load_scorer(*self._what)
        return self._scorer.score(questions)


class PackagedJudge:
    """Answers Support questions with what comes in the package, on the CPU; made for relevance.

    - Task `relevance` with a definition (`guideline`): the packaged student.
    - All else, and relevance without a definition: `EncoderJudge`.

    The student's weights are loaded with the first question that needs them.

    Args:
        encoder: the judge of all else.
        student: the judge of relevance; the packaged one by default.

    Attributes:
        name: `packaged@1`; the number changes with any part. Which part answered is in the
            provenance's details (`by`).
        kinds: {Support}.
        card: how far each part can be trusted, in one line.
    """

    kinds: frozenset[type] = frozenset({Support})
    name = _VERSION

    def __init__(
        self, encoder: EncoderJudge | None = None, student: StudentJudge | None = None
    ) -> None:
        self.encoder = encoder if encoder is not None else EncoderJudge()
        self._student = student

    @property
    def student(self) -> StudentJudge:
        """The judge of relevance with a definition."""
        if self._student is None:
            self._student = load_relevance_student()
        return self._student

    @property
    def card(self) -> str:
        """See the class."""
        return f"relevance with a definition: {self.student.card}; all else: {self.encoder.card}"

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`, by the part that it is for."""
        asked = of_kind(Support, questions, self.name)
        defined = [place for place, question in enumerate(asked) if _is_defined(question)]
        others = [place for place, question in enumerate(asked) if not _is_defined(question)]
        if defined:
            await self._pass_on(self.student, asked, defined, emit)
        if others:
            await self._pass_on(self.encoder, asked, others, emit)

    async def _pass_on(
        self, judge: Judge, asked: Sequence[Support], places: Sequence[int], emit: Emit
    ) -> None:
        def signed(place: int, answer: Answer) -> None:
            by = answer.provenance
            details = {**by.details, "by": judge.name}
            provenance = dataclasses.replace(by, judge=self.name, details=details)
            emit(places[place], dataclasses.replace(answer, provenance=provenance))

        await judge.answer([asked[place] for place in places], signed)


def _is_defined(question: Support) -> bool:
    return question.task == "relevance" and bool(question.guideline.strip())
