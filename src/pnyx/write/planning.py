"""What an argument would ask a language model: stand-ins for the answers that are not there yet.

An argument asks in stages, each of what the one before gave. Where the model is offline, answers
and texts that cannot change how much is asked take the place of those that are missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pnyx.judge.answers import Answer, Judged, Provenance
from pnyx.judge.base import Emit, Judge
from pnyx.judge.questions import JudgeQuestion, Support
from pnyx.records import Evidence, Question, Side
from pnyx.write.case import Draft, Writer

_BY = Provenance("stand-in", method="plan")


class StandInJudge:
    """A judge in whose place a yes is given where it has no answer."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.name, self.kinds, self.card = judge.name, judge.kinds, judge.card
        self.model = getattr(judge, "model", None)

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`; see `pnyx.judge.base.Judge`."""

        def put(position: int, answer: Answer) -> None:
            emit(position, _stand_in(questions[position], answer))

        await self._judge.answer(questions, put)


def _stand_in(question: JudgeQuestion, answer: Answer) -> Answer:
    missing = isinstance(question, Support) and not isinstance(answer, Judged)
    return Judged(True, _BY) if missing else answer


class StandInWriter:
    """A writer in whose place another writes what it did not; quotations count as written."""

    def __init__(self, writer: Writer, other: Writer) -> None:
        self._writer, self._other = writer, other
        self.name = writer.name

    async def write(self, question: Question, side: Side, documents: Sequence[Evidence]) -> Draft:
        """See `pnyx.write.case.Writer`."""
        draft = await self._writer.write(question, side, documents)
        if not draft.failed:
            return draft
        return replace(await self._other.write(question, side, documents), quotes=False)
