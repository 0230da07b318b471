"""A judge whose answers are counted as they come."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pnyx.judge.answers import Answer, Unscored
from pnyx.judge.base import Emit, Judge
from pnyx.judge.questions import JudgeQuestion


class Watched:
    """The judge that it wraps; `tell` gets what is asked, and the counts after each answer."""

    def __init__(self, judge: Judge, tell: Callable[[int, int, int], None]) -> None:
        self.name, self.kinds, self.card = judge.name, judge.kinds, judge.card
        self._judge, self._tell = judge, tell
        self._done = self._total = self._unscored = 0

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """See `pnyx.judge.base.Judge`."""
        self._total += len(questions)
        self._tell(self._done, self._total, self._unscored)

        def counted(position: int, answer: Answer) -> None:
            emit(position, answer)
            self._done += 1
            self._unscored += isinstance(answer, Unscored)
            self._tell(self._done, self._total, self._unscored)

        await self._judge.answer(questions, counted)
