"""The packaged judge of argument quality: overall quality, and no other dimension.

docs/decisions/quality-judge.md, docs/model-cards/quality-judge.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pnyx.errors import shorten
from pnyx.judge.answers import Answer, Missing, Provenance, Unscored
from pnyx.judge.base import Emit, answer_chunks, of_kind
from pnyx.judge.dimensions import dimensions_of
from pnyx.judge.questions import JudgeQuestion, Rating, blank
from pnyx.students.quality.model import OverallQuality, OverallScore, load_overall_quality

OVERALL = "overall"
"""The dimension that it rates."""


_ONLY = Missing("dimension: the packaged judge rates overall quality only")
_CHUNK = 32
"""Questions answered between two emits: enough to share work, few enough to show progress."""


class QualityJudge:
    """Answers Rating questions of the task `quality` on the dimension `overall`.

    A rating is on the question's scale: its lowest value and a share of its range, the share being
    the model's quality in [0, 1]. Only the text counts, not its topic, stance or documents. The
    same question gets the same bits alone and among others.

    Args:
        model: the packaged one by default.
    """

    kinds: frozenset[type] = frozenset({Rating})

    def __init__(self, model: OverallQuality | None = None) -> None:
        self._model = load_overall_quality() if model is None else model
        self.name = self._model.name
        self.card = self._model.card

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`; see `pnyx.judge.base.Judge`."""
        asked = list(enumerate(of_kind(Rating, questions, self.name)))
        await answer_chunks(asked, _CHUNK, self._judge, emit)

    def _judge(self, questions: Sequence[Rating]) -> list[Answer]:
        problems = [_problem(question) for question in questions]
        texts = [q.text for q, problem in zip(questions, problems, strict=True) if not problem]
        found = iter(self._model.score(list(dict.fromkeys(texts))))
        scores = dict(zip(dict.fromkeys(texts), found, strict=True))
        return [
            Unscored(problem, self._provenance())
            if problem
            else self._verdict(question, scores[question.text])
            for question, problem in zip(questions, problems, strict=True)
        ]

    def _verdict(self, question: Rating, score: OverallScore | None) -> Answer:
        if score is None:
            return Unscored("blank: the text has no words", self._provenance())
        low, high = question.scale
        value = round(low + score.value * (high - low), 4)
        cells = [value if name == OVERALL else _ONLY for name in question.dimensions]
        shown = f"{score.value:.2f} of 1, by surface and words alone {score.surface:.2f}"
        details = {"quality": score.value, "surface": score.surface, "short": score.short}
        return question.compose(cells, self._provenance(**details), explanation=shown)

    def _provenance(self, **details: Any) -> Provenance:
        return Provenance(self.name, method="calibrated", details=details)


def _problem(question: Rating) -> str:
    if problem := blank(question):
        return problem
    if question.task != "quality":
        return f"task: it answers quality, not {shorten(question.task, 40)!r}"
    if OVERALL not in question.dimensions:
        return str(_ONLY)
    return ""


def overall_only(questions: Sequence[JudgeQuestion]) -> list[JudgeQuestion]:
    """Return ratings of every dimension as ratings of the one that it rates; others as they are."""
    every = tuple(dimensions_of("quality"))
    return [
        replace(question, dimensions=(OVERALL,))
        if isinstance(question, Rating) and question.dimensions == every
        else question
        for question in questions
    ]
