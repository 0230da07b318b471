"""A judge that caches answers, for benchmarks that repeat most questions."""

from __future__ import annotations

from collections.abc import Sequence

from pnyx.judging.answers import Answer
from pnyx.judging.base import Emit, Judge, ask_async
from pnyx.judging.questions import JudgeQuestion

__all__ = ["CachedJudge"]


class CachedJudge:
    """A judge that answers repeated questions from memory."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._answers: dict[tuple[str, ...], Answer] = {}
        self.name, self.kinds, self.card = judge.name, judge.kinds, judge.card

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Ask the judge only new questions."""
        keys = [self._key(question) for question in questions]
        new = {
            key: question
            for key, question in zip(keys, questions, strict=True)
            if key not in self._answers
        }
        answers = await ask_async(self._judge, list(new.values()))
        self._answers.update(zip(new, answers, strict=True))
        for position, key in enumerate(keys):
            emit(position, self._answers[key])

    @staticmethod
    def _key(question: JudgeQuestion) -> tuple[str, ...]:
        names = ("task", "text", "statement", "question", "guideline")
        return tuple(str(getattr(question, name, "")) for name in names)
