"""The judge that a student is: it scores pairs with its weights and calibrates the scores."""

from __future__ import annotations

import functools
import importlib
import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from pnyx.errors import InputError, PnyxError, shorten
from pnyx.judge.answers import Answer, Judged, Provenance, Unscored
from pnyx.judge.base import Emit, of_kind
from pnyx.judge.questions import JudgeQuestion, Support, blank
from pnyx.students.files import Student, read_student

__all__ = [
    "SCORERS",
    "Score",
    "Scorer",
    "StudentJudge",
    "load_perspective_student",
    "load_scorer",
    "open_student",
]

_CHUNK = 256
"""Questions scored between two emits."""

SCORERS: Mapping[str, str] = {
    "combined": "pnyx.students.combined",
    "late-interaction": "pnyx.students.late",
    "lexical": "pnyx.students.lexical",
    "logistic": "pnyx.students.logistic",
    "lora": "pnyx.students.lora",
    "reader": "pnyx.students.reader",
}
"""Kind of student -> the module whose `load(folder, settings)` makes its scorer. All but `reader`,
the packaged detector of perspectives, are trained by `pnyx annotate distil`."""

Score: TypeAlias = float | str
"""A raw probability of yes in [0, 1], or why there is none."""


class Scorer(Protocol):
    """Scores questions of a student's task with its weights."""

    def score(self, questions: Sequence[Support]) -> list[Score]:
        """Return a score for each question, the same alone and among others; by one thread."""


def load_scorer(kind: str, folder: Path, settings: Mapping[str, Any]) -> Scorer:
    """Load the weights of a student of a kind in `SCORERS`, with the settings its training left."""
    if kind not in SCORERS:
        problem = f"kind: found {shorten(kind, 40)!r}, expected one of {', '.join(SCORERS)}"
        raise InputError(problem)
    scorer: Scorer = importlib.import_module(SCORERS[kind]).load(folder, settings)
    return scorer


class StudentJudge:
    """Answers questions of one task, mostly relevance, by a trained student.

    Args:
        student: what it is; its curve turns raw scores into probabilities.
        scorer: its weights.

    Attributes:
        name: `student:NAME@` and the first 8 digits of the student's hash.
        card: what it is and how well it did on questions that it was not trained on.
    """

    kinds: frozenset[type] = frozenset({Support})

    def __init__(self, student: Student, scorer: Scorer) -> None:
        self.student, self.card = student, student.card
        self.name = f"student:{student.name}@{student.digest[:8]}"
        self._scorer = scorer
        self._busy = threading.Lock()  # a cascade asks again while an answer is under way

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question, those about the same text together; unscored if of another task."""
        import anyio

        asked = sorted(
            enumerate(of_kind(Support, questions, self.name)),
            key=lambda pair: (pair[1].text, pair[1].statement),
        )
        for start in range(0, len(asked), _CHUNK):
            chunk = asked[start : start + _CHUNK]
            answers = await anyio.to_thread.run_sync(self.judge, [q for _, q in chunk])
            for (position, _), answer in zip(chunk, answers, strict=True):
                emit(position, answer)

    def judge(self, questions: Sequence[Support]) -> list[Answer]:
        """Answer questions in this thread."""
        problems = [_problem(question, self.student.task) for question in questions]
        asked = [q for q, problem in zip(questions, problems, strict=True) if not problem]
        with self._busy:
            scores = list(map(_number, self._scorer.score(asked))) if asked else []
        raw = [score for score in scores if not isinstance(score, str)]
        calibrated = iter(self.student.curve(raw).tolist())
        rest = iter(scores)
        return [self._verdict(problem or next(rest), calibrated) for problem in problems]

    def _verdict(self, score: Score, calibrated: Iterator[float]) -> Answer:
        student = self.student
        if isinstance(score, str):
            return Unscored(score, Provenance(self.name, method="student"))
        probability = next(calibrated)
        details = {"raw": round(score, 6), "threshold": student.threshold}
        return Judged(
            value=probability >= student.threshold,
            probability=probability,
            provenance=Provenance(self.name, method="student", details=details),
            explanation=f"{probability:.2f}; yes from {student.threshold:.2f}",
        )


def _number(score: Score) -> Score:
    """Return why a score is none: a curve would make a probability of it."""
    if isinstance(score, str) or math.isfinite(score):
        return score
    return f"score: found {score}, expected a number"


def _problem(question: Support, task: str) -> str:
    if problem := blank(question):
        return problem
    if question.task != task:
        return f"task: the student answers {task}, not {shorten(question.task, 40)!r}"
    return ""


def open_student(folder: str | Path) -> StudentJudge:
    """Open a student that `pnyx annotate distil` wrote.

    Raises:
        InputError: it is not a student's folder, or a file in it is missing or damaged.
        PnyxError: the library that runs it is not installed.
    """
    student = read_student(folder)
    try:
        return StudentJudge(student, load_scorer(student.kind, Path(folder), student.settings))
    except InputError as error:
        raise InputError(error.problem, path=folder) from error


@functools.cache
def load_perspective_student() -> StudentJudge:
    """Open the packaged detector of perspectives, once.

    It answers Support questions of the task `support`: whether a passage, outright or by
    implication, speaks for a statement (BERDS, Appendix A), not whether a sentence follows from it
    (docs/decisions/perspective-detector.md). PnyxError where a file is missing or damaged.
    """
    import pnyx.models

    return _open_packaged(Path(pnyx.models.__file__).parent / "weights/perspectives", "support")


def _open_packaged(folder: Path, task: str) -> StudentJudge:
    try:
        student = read_student(folder, task)
    except InputError as error:
        raise PnyxError(f"the packaged student cannot be used: {error}: reinstall pnyx") from error
    return StudentJudge(student, _Deferred(student.kind, folder, student.settings))


class _Deferred:
    """A scorer that is loaded when it is first asked: a card is read without it."""

    def __init__(self, *what: Any) -> None:
        self._load = functools.cache(functools.partial(load_scorer, *what))

    def score(self, questions: Sequence[Support]) -> list[Score]:
        return self._load().score(questions)
