"""Students as judges, and the packaged judge, which answers each task by its best packaged model.

Which that is: docs/decisions/packaged-encoder.md, perspective-detector.md, sides.md.
"""

from __future__ import annotations

import functools
import importlib
import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from pnyx.errors import InputError, PnyxError, shorten
from pnyx.judge.answers import Answer, Judged, Provenance, Unscored
from pnyx.judge.base import Emit, Judge, answer_chunks, of_kind, refuse_other_kinds
from pnyx.judge.calibration.curves import log_odds, logistic
from pnyx.judge.claims import NO_OPPOSITE, opposite
from pnyx.judge.passages import pieces_of
from pnyx.judge.questions import JudgeQuestion, Support, blank
from pnyx.judge.reports.related import RelatedJudge
from pnyx.judge.reports.rules import RULE_TASKS, RuleJudge
from pnyx.native import free_memory
from pnyx.students.files import Student, read_student

if TYPE_CHECKING:
    from pnyx.judge.encoder import EncoderJudge
    from pnyx.students.assignment import AssignmentJudge
    from pnyx.students.quality.judge import QualityJudge

_CHUNK, _SIDES_CHUNK = 256, 64
"""Questions answered between two emits, by a student and of sides."""

SCORERS: Mapping[str, str] = {
    "combined": "pnyx.students.combined",
    "late-interaction": "pnyx.students.late",
    "lexical": "pnyx.students.lexical",
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
    if kind == "logistic":
        raise InputError("kind: students of the kind logistic are gone: distil it as lexical")
    if kind not in SCORERS:
        problem = f"kind: found {shorten(kind, 40)!r}, expected one of {', '.join(SCORERS)}"
        raise InputError(problem)
    scorer: Scorer = importlib.import_module(SCORERS[kind]).load(folder, settings)
    free_memory()  # most of what a file is unpacked through
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
        asked = sorted(
            enumerate(of_kind(Support, questions, self.name)),
            key=lambda pair: (pair[1].text, pair[1].statement),
        )
        await answer_chunks(asked, _CHUNK, self.judge, emit)

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


_SLOPE = 0.779
"""From a difference of log-odds to the log-odds of a side (benchmarks/berds/sides.py)."""

_SIDES_CARD = (
    "stance: the right one of two sides .70 [.65, .75], AUROC .77 (432 arguments of the 56 "
    "Debatewise pages by which the detector was chosen; the encoder's stance head .55, AUROC .56), "
    "121 of 180 passages of unseen pages"
)


_PACKAGED = ("support", "nugget", "relevance", "stance", "quality", *RULE_TASKS, "unanswerable")
"""The tasks that something packaged answers."""


class PackagedJudge:
    """Answers Support questions of every task, and ratings of overall quality.

    Each by the packaged model that is best at it.

    An answer's provenance names the model, which is loaded when it is first asked.

    Args:
        tasks: what is to be asked; all by default. Name and card are those of their models.
        as_perspectives: whether support means that a passage, outright or by implication, speaks
            for a perspective (BERDS, Appendix A), not that a sentence follows from it.
    """

    def __init__(self, *tasks: str, as_perspectives: bool = False) -> None:
        self._as_perspectives = as_perspectives
        self._models = {name: self._model(name) for name in _PACKAGED if name in tasks or not tasks}
        if not self._models:
            raise InputError(
                f"task {shorten(', '.join(tasks), 40)} needs a language model (--llm) or --labels: "
                "the packaged judge answers yes/no questions and rates overall quality only"
            )
        self.kinds: frozenset[type] = frozenset().union(*(m.kinds for m in self._models.values()))

    def _model(self, task: str) -> Judge:
        if task == "quality":
            return _quality_judge()
        if task == "stance":
            return _side_judge()
        if task == "nugget":
            return _assignment_judge()
        if task in RULE_TASKS:
            return RuleJudge()
        if task == "unanswerable":
            return RelatedJudge(_encoder_judge())
        if task == "support" and self._as_perspectives:
            return load_perspective_student()
        return _encoder_judge()

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks whose questions it answers."""
        return tuple(self._models)

    @property
    def name(self) -> str:
        """The model's name; `packaged(NAME, ...)` of several."""
        names = list(dict.fromkeys(model.name for model in self._models.values()))
        return names[0] if len(names) == 1 else f"packaged({', '.join(names)})"

    @property
    def card(self) -> str:
        """For each task the figures of its model."""
        if self._models.keys() == {"support"} and self._as_perspectives:
            return self._models["support"].card
        cards: dict[str, dict[str, None]] = {}
        for task, model in self._models.items():
            own = getattr(model, "cards", {}).get(task, model.card)
            cards.setdefault(model.name, {}).update(dict.fromkeys(own.split("; ")))
        shown = [f"{name}: {'; '.join(own)}" for name, own in cards.items()]
        parts = shown if len(shown) > 1 else next(iter(cards.values()))
        return "; ".join([*parts, "weak: hints only"])

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`; see `pnyx.judge.base.Judge`."""
        by_model: dict[int, tuple[Judge, list[int]]] = {}
        refuse_other_kinds(self, questions)
        for position, question in enumerate(questions):
            model = self._models.get(question.task)
            problem = blank(question)
            if (model is None or type(question) not in model.kinds) and not problem:
                problem = f"task: no packaged model for {shorten(question.task, 40)!r}"
            if problem or model is None:
                emit(position, Unscored(problem, Provenance(self.name)))
            else:
                by_model.setdefault(id(model), (model, []))[1].append(position)
        for model, positions in by_model.values():
            own = [questions[position] for position in positions]

            def put(place: int, answer: Answer, at: list[int] = positions) -> None:
                emit(at[place], answer)

            await model.answer(own, put)


class SideJudge:
    """Answers stance questions by a judge of support, asked for the claim and for its opposite.

    P(yes) is a logistic of the difference of the two log-odds, so both sides add to one. Of the
    passages of a longer text it is their mean, times the root of their number: several that agree
    are surer than one. It presumes that the text is on topic.
    """

    kinds: frozenset[type] = frozenset({Support})
    cards: Mapping[str, str] = MappingProxyType({"stance": _SIDES_CARD})

    card = f"{_SIDES_CARD}; weak: hints only"

    def __init__(self, judge: StudentJudge) -> None:
        self._judge, self.name = judge, f"{judge.name}+sides"

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`, those about the same text together."""
        asked = sorted(
            enumerate(of_kind(Support, questions, self.name)), key=lambda pair: pair[1].text
        )
        for start in range(0, len(asked), _SIDES_CHUNK):
            await self._answer(asked[start : start + _SIDES_CHUNK], emit)

    async def _answer(self, asked: Sequence[tuple[int, Support]], emit: Emit) -> None:
        """Ask for both statements about each passage, each pair of passage and statement once."""
        todo: dict[tuple[str, str], Support] = {}
        open_ones = []
        for position, question in asked:
            other = opposite(question.statement)
            if problem := blank(question) or _not_a_side(question, other):
                emit(position, Unscored(problem, self._provenance()))
                continue
            pieces = pieces_of(question.text)
            pair = [
                [(p, statement) for p in pieces] for statement in (question.statement, other or "")
            ]
            todo |= {key: Support(question.id, *key) for keys in pair for key in keys}
            open_ones.append((position, pair))
        found: dict[int, Answer] = {}
        await self._judge.answer(list(todo.values()), found.__setitem__)
        answers = dict(zip(todo, (found[place] for place in range(len(todo))), strict=True))
        for position, pair in open_ones:
            emit(position, self._verdict(*([answers[key] for key in keys] for keys in pair)))

    def _verdict(self, claim: Sequence[Answer], other: Sequence[Answer]) -> Answer:
        stated = []
        for answers in (claim, other):
            p = []
            for answer in answers:
                if isinstance(answer, Unscored):
                    return Unscored(answer.reason, self._provenance())
                if answer.probability is None:
                    return Unscored("probability: none is stated", self._provenance())
                p.append(answer.probability)
            stated.append(float(np.mean(log_odds(p))))
        apart = math.sqrt(len(claim)) * (stated[0] - stated[1])
        p, q, side = logistic(np.array([*stated, _SLOPE * apart])).round(6).tolist()
        return Judged(
            value=side >= 0.5,
            probability=side,
            provenance=self._provenance(claim=p, opposite=q),
            explanation=f"for the claim {p:.2f}, for its opposite {q:.2f}; yes from 0.50",
        )

    def _provenance(self, **details: float) -> Provenance:
        return Provenance(self.name, method="student", details=details)


def _not_a_side(question: Support, other: str | None) -> str:
    if question.task != "stance":
        return f"task: it answers stance, not {shorten(question.task, 40)!r}"
    return NO_OPPOSITE if other is None else ""


@functools.cache
def _encoder_judge() -> EncoderJudge:
    from pnyx.judge.encoder import EncoderJudge

    return EncoderJudge()


@functools.cache
def _quality_judge() -> QualityJudge:
    from pnyx.students.quality.judge import QualityJudge

    return QualityJudge()


@functools.cache
def _assignment_judge() -> AssignmentJudge:
    from pnyx.students.assignment import AssignmentJudge

    return AssignmentJudge(load_perspective_student())


@functools.cache
def _side_judge() -> SideJudge:
    return SideJudge(load_perspective_student())
