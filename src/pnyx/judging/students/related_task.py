"""Answer questions of one task with a judge of another: the closest packaged model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pnyx.core.errors import shorten
from pnyx.judging.answers import Provenance, Unscored
from pnyx.judging.base import Emit, Judge, of_kind
from pnyx.judging.questions import JudgeQuestion, Support, blank


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
