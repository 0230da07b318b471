"""The packaged judge, which answers each task with its best packaged model.

Chosen in: docs/explain/decisions/packaged-encoder.md, perspective-detector.md, sides.md.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from pnyx.core.errors import InputError, PnyxError, shorten
from pnyx.judging.answers import Answer, Judged, Provenance, Unscored
from pnyx.judging.base import (
    Emit,
    Judge,
    answer_chunks,
    by_text,
    chunks_by_text,
    of_kind,
    refuse_other_kinds,
)
from pnyx.judging.calibration.curves import log_odds, logistic
from pnyx.judging.encoder import Calibration, EncoderJudge, load_calibrations
from pnyx.judging.judge_names import WEAK
from pnyx.judging.passages import pieces_of, read_passage, wording
from pnyx.judging.questions import JudgeQuestion, Support, blank
from pnyx.judging.statements import statements
from pnyx.judging.students.student import Score, StudentJudge, load_scorer, read_student

_CHUNK = 64
"""Questions answered between two emits: those about one text share its reading."""


@functools.cache
def load_perspective_student() -> StudentJudge:
    """Open the packaged detector of perspectives, once.

    It answers Support questions of the task `support`: whether a passage supports a statement,
    explicitly or by implication (BERDS, Appendix A), not whether a sentence follows from it
    (docs/explain/decisions/perspective-detector.md). PnyxError if a file is missing or damaged.
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
    """A scorer that is loaded at its first use: a card is read without it."""

    def __init__(self, *what: Any) -> None:
        self._load = functools.cache(functools.partial(load_scorer, *what))

    def score(self, questions: Sequence[Support]) -> list[Score]:
        return self._load().score(questions)


_SLOPE = 0.809
"""From a difference of log-odds to the log-odds of a side (lab/berds/sides.py)."""

_SIDES_CARD = (
    "stance: the right one of two sides 0.81 [0.77, 0.85], AUROC 0.885 (432 arguments of the 56 "
    "Debatewise pages by which the detector was chosen; the encoder's stance head 0.55, AUROC "
    "0.56), 142 of 180 passages of unseen pages and 24 of 33 of BERDS"
)


CITATION = "citation"
"""Questions of support whose statement cites the text; the others are about perspectives."""

ANSWER = "answer"
"""Questions of support about a sentence of a generated answer and its retrieved text."""

OF_A_CASE = (CITATION, "relevance", "stance")
"""Tasks about an argued case."""

_BY_RULES = ("negative", "needs-citation")
"""Tasks on which explicit rules decide: the keys of `rules.RULE_TASKS`."""

_PACKAGED = (
    *("support", CITATION, ANSWER, "nugget", "relevance", "stance", "quality", *_BY_RULES),
    "unanswerable",
)
"""Tasks that a packaged model answers; docs/lab/benchmarks.md has the figures and alternatives."""


class PackagedJudge:
    """Answers Support questions of every task, and ratings of overall quality.

    Each is answered by the packaged model that is best at it (docs/lab/benchmarks.md, "Which judge
    answers"). An answer's provenance names the model, which is loaded at its first use.

    Args:
        tasks: the tasks of the questions; all by default. Name and card are those of their models.
            `support` asks whether a passage supports a statement, explicitly or by implication
            (BERDS, Appendix A); `citation` is support where the statement cites the passage
            (`Support.cites`): whether it follows from it. `answer` is support of a sentence of an
            answer by the retrieved text (`Support.from_answer`).
    """

    def __init__(self, *tasks: str) -> None:
        self._models = {name: self._model(name) for name in _PACKAGED if name in tasks or not tasks}
        if not self._models:
            raise InputError(
                f"task {shorten(', '.join(tasks), 40)} needs a language model or people's labels "
                "(--judge): the packaged judge answers yes/no questions and rates overall quality "
                "only"
            )
        self.kinds: frozenset[type] = frozenset().union(*(m.kinds for m in self._models.values()))

    def _model(self, task: str) -> Judge:
        if task in _BY_RULES:
            from pnyx.judging.students.rules import RuleJudge

            return RuleJudge()
        if task == "unanswerable":
            return RelatedJudge(_once(EncoderJudge))
        if task == "support":
            return load_perspective_student()
        special: Mapping[str, Callable[[], Judge]] = {
            "quality": _quality_judge,
            "stance": SideJudge,
            "nugget": AssignmentJudge,
            ANSWER: AnswerJudge,
        }
        judge: Judge = _once(special.get(task, EncoderJudge))
        return judge

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks whose questions it answers."""
        return tuple(self._models)

    @property
    def name(self) -> str:
        """The model's name; `packaged(NAME, ...)` for several."""
        names = list(dict.fromkeys(model.name for model in self._models.values()))
        return names[0] if len(names) == 1 else f"packaged({', '.join(names)})"

    @property
    def card(self) -> str:
        """The figures of the model of each task."""
        if self._models.keys() == {"support"}:
            return self._models["support"].card
        cards: dict[str, dict[str, None]] = {}
        for task, model in self._models.items():
            card_task = "support" if task in (CITATION, ANSWER) else task
            task_card = getattr(model, "cards", {}).get(card_task, model.card)
            cards.setdefault(model.name, {}).update(dict.fromkeys(task_card.split("; ")))
        lines = [f"{name}: {'; '.join(card)}" for name, card in cards.items()]
        parts = lines if len(lines) > 1 else next(iter(cards.values()))
        return "; ".join([*parts, WEAK])

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`; see `pnyx.judging.base.Judge`."""
        by_model: dict[int, tuple[Judge, list[int]]] = {}
        refuse_other_kinds(self, questions)
        for position, question in enumerate(questions):
            task = _packaged_task(question)
            model = self._models.get(task)
            if model is None and task == ANSWER and "support" in self._models:
                model = self._model(task)
            problem = blank(question)
            if (model is None or type(question) not in model.kinds) and not problem:
                problem = f"task: no packaged model for {shorten(task, 40)!r}"
            if problem or model is None:
                emit(position, Unscored(problem, Provenance(self.name)))
            else:
                by_model.setdefault(id(model), (model, []))[1].append(position)
        for model, positions in by_model.values():
            batch = [questions[position] for position in positions]

            def put(number: int, answer: Answer, at: list[int] = positions) -> None:
                emit(at[number], answer)

            await model.answer(batch, put)


def _quality_judge() -> Judge:
    from pnyx.judging.students.overall_quality import QualityJudge

    return QualityJudge()


def _packaged_task(question: JudgeQuestion) -> str:
    if not isinstance(question, Support) or question.task != "support":
        return question.task
    return CITATION if question.cites else ANSWER if question.from_answer else "support"


@functools.cache
def _once(make: Callable[[], Any]) -> Any:
    """Create a judge at its first use, so that its model is loaded once."""
    return make()


def _stated(question: Support) -> tuple[str, str]:
    """Return the judged statement and its opposite."""
    if question.opposite:
        return question.statement, question.opposite
    pair = statements(question.question or question.statement)
    if question.statement in pair:
        return question.statement, pair[pair[0] == question.statement]
    return statements(question.statement)


class SideJudge:
    """Answers stance questions with a judge of support, asked about the claim and its opposite.

    P(yes) is a logistic function of the difference of the two log-odds; for a longer text, of the
    mean over its pieces, times the square root of their number. The text is assumed to be on topic.
    """

    kinds: frozenset[type] = frozenset({Support})
    cards: Mapping[str, str] = MappingProxyType({"stance": _SIDES_CARD})

    card = f"{_SIDES_CARD}; {WEAK}"

    def __init__(self, judge: StudentJudge | None = None) -> None:
        self._judge = judge or load_perspective_student()
        self.name = f"{self._judge.name}+sides"

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`, those about the same text together."""
        numbered = by_text(questions, self.name)
        for chunk in chunks_by_text(numbered, _CHUNK):
            await self._answer(chunk, emit)

    async def _answer(self, questions: Sequence[tuple[int, Support]], emit: Emit) -> None:
        """Ask about both statements for each passage, each pair of passage and statement once."""
        todo: dict[tuple[str, str], Support] = {}
        open_ones = []
        for position, question in questions:
            problem = blank(question) or _other_task(question, "stance")
            if problem:
                emit(position, Unscored(problem, self._provenance()))
                continue
            pieces = pieces_of(question.text)
            pair = [[(p, statement) for p in pieces] for statement in _stated(question)]
            todo |= {key: Support(question.id, *key) for keys in pair for key in keys}
            open_ones.append((position, pair))
        by_position: dict[int, Answer] = {}
        await self._judge.answer(list(todo.values()), by_position.__setitem__)
        answers = dict(zip(todo, (by_position[number] for number in range(len(todo))), strict=True))
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
        difference = math.sqrt(len(claim)) * (stated[0] - stated[1])
        p, q, side = logistic(np.array([*stated, _SLOPE * difference])).round(6).tolist()
        return Judged(
            value=side >= 0.5,
            probability=side,
            provenance=self._provenance(claim=p, opposite=q),
            explanation=f"for the claim {p:.2f}, for its opposite {q:.2f}; yes from 0.50",
        )

    def _provenance(self, **details: float) -> Provenance:
        return Provenance(self.name, method="student", details=details)


class AssignmentJudge:
    """Decides whether a text contains an answer or a claim: the task `nugget`, but never partly.

    P(yes) is a logistic function of the detector's log-odds that the text supports the statement
    (an answer is put after its question), the share of the statement's words in the text, and how
    far the statement repeats, or repeats and contradicts, the text. Calibrated on nuggets of
    reports and on key points of arguments (docs/lab/nuggets.md).
    """

    kinds: frozenset[type] = frozenset({Support})
    task = "nugget"
    packaged = "nugget"  # file of the packaged calibration

    def __init__(
        self, detector: StudentJudge | None = None, calibration: Calibration | None = None
    ) -> None:
        about, packaged = load_calibrations(self.packaged) if calibration is None else ({}, {})
        self._detector = detector or load_perspective_student()
        self._calibration = calibration or packaged[self.task]
        self.name = str(about.get("judge", f"{self._detector.name}+custom"))
        self.cards: Mapping[str, str] = about.get("card", {})

    @property
    def card(self) -> str:
        """The calibration data and figures; empty for a custom calibration."""
        return "; ".join([*self.cards.values(), WEAK]) if self.cards else ""

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`, those about the same text together."""
        await answer_chunks(by_text(questions, self.name), _CHUNK, self._judge, emit)

    def features(self, questions: Sequence[Support]) -> list[dict[str, float] | str]:
        """Return the calibration's features of each question, or why it cannot be judged."""
        problems = [blank(q) or _other_task(q, self.task) for q in questions]
        answerable = [q for q, problem in zip(questions, problems, strict=True) if not problem]
        answers = iter(self._detector.judge([self._as_support(q) for q in answerable]))
        return [
            problem or self._seen(q, next(answers))
            for q, problem in zip(questions, problems, strict=True)
        ]

    def _seen(self, question: Support, answer: Answer) -> dict[str, float] | str:
        if isinstance(answer, Unscored) or answer.probability is None:
            return getattr(answer, "reason", "") or "probability: none is stated"
        passage = read_passage(question.text)
        words = wording(question.statement, passage)
        return {
            "detector": round(float(log_odds([answer.probability])[0]), 6),
            "overlap": round(wording(self._as_support(question).statement, passage).overlap, 6),
            "copy": round(words.copy, 6),
            "conflict": round(words.conflict, 6),
        }

    def _as_support(self, question: Support) -> Support:
        """Return the detector's question: an answer is meaningful only after its question."""
        statement = " ".join(f"{question.question} {question.statement}".split())
        return replace(question, task="support", statement=statement, question="", guideline="")

    def _judge(self, questions: Sequence[Support]) -> list[Answer]:
        return [self._verdict(feature) for feature in self.features(questions)]

    def _verdict(self, features: dict[str, float] | str) -> Answer:
        if isinstance(features, str):
            return Unscored(features, Provenance(self.name, method="calibrated"))
        return self._calibration.verdict(self.name, features)


class AnswerJudge(AssignmentJudge):
    """Decides whether a text supports a sentence of a generated answer: the task `support`.

    The features are those of its base; calibrated on sentences about passages, half of them
    supported (docs/explain/decisions/answer-support.md).
    """

    task = "support"
    packaged = "answer"

    def _as_support(self, question: Support) -> Support:
        """Return the detector's question: the sentence, which is meaningful on its own."""
        return replace(question, question="", guideline="")


def _other_task(question: Support, task: str) -> str:
    if question.task == task:
        return ""
    return f"task: it answers {task}, not {shorten(question.task, 40)!r}"


class RelatedJudge:
    """Answers `unanswerable` of a negative statement by the question's relevance to it."""

    kinds: frozenset[type] = frozenset({Support})

    def __init__(self, judge: Judge) -> None:
        self._judge, self.name, self.card = judge, judge.name, judge.card

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`; unscored if of another task."""
        related: list[tuple[int, Support]] = []
        for position, question in enumerate(of_kind(Support, questions, self.name)):
            problem = blank(question)
            if not problem and question.task != "unanswerable":
                problem = f"task: it answers unanswerable, not {shorten(question.task, 40)!r}"
            if problem:
                emit(position, Unscored(problem, Provenance(self.name)))
            else:
                related.append((position, replace(question, task="relevance")))
        positions = [position for position, _ in related]
        await self._judge.answer(
            [question for _, question in related], lambda n, a: emit(positions[n], a)
        )
