"""The packaged judge of nuggets: does a text give an answer to a question, or a claim?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from pnyx.errors import shorten
from pnyx.judge.answers import Answer, Provenance, Unscored
from pnyx.judge.base import Emit, Judge, of_kind
from pnyx.judge.questions import JudgeQuestion, Support, blank

__all__ = ["AssignmentJudge"]


class AssignmentJudge:
    """Answers Support questions of the task `nugget` by a judge of support."""

    kinds: frozenset[type] = frozenset({Support})
    cards: Mapping[str, str] = MappingProxyType({})

    def __init__(self, judge: Judge) -> None:
        self._judge, self.name, self.card = judge, judge.name, judge.card

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`; see `pnyx.judge.base.Judge`."""
        asked: list[tuple[int, Support]] = []
        for position, question in enumerate(of_kind(Support, questions, self.name)):
            if question.task == "nugget":
                asked.append((position, replace(question, task="support")))
                continue
            problem = f"task: it answers nugget, not {shorten(question.task, 40)!r}"
            emit(position, Unscored(blank(question) or problem, Provenance(self.name)))

        def put(place: int, answer: Answer) -> None:
            emit(asked[place][0], answer)

        await self._judge.answer([question for _, question in asked], put)
