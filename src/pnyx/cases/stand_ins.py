"""Stand-ins that ask nothing, for plans of what would be asked."""

from __future__ import annotations

from collections.abc import Sequence

from pnyx.cases.case import Draft, Writer, sentence
from pnyx.cases.plan import PREMISES
from pnyx.core.records import Evidence, Question, Side
from pnyx.judging.answers import Answer, Judged, Provenance
from pnyx.judging.base import Emit, Judge
from pnyx.judging.questions import JudgeQuestion, Support


class StandInJudge:
    """A judge whose missing answers are replaced by yes."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.name, self.kinds, self.card = judge.name, judge.kinds, judge.card
        self.model = getattr(judge, "model", None)

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`; see `pnyx.judging.base.Judge`."""

        def put(position: int, answer: Answer) -> None:
            missing = isinstance(questions[position], Support) and not isinstance(answer, Judged)
            emit(position, Judged(True, _BY) if missing else answer)

        await self._judge.answer(questions, put)


class StandInWriter:
    """A writer replaced by the longest argument that it may write.

    Every sentence cites every document, so no argument has more to judge.
    """

    def __init__(self, writer: Writer, points: int, words: int | None = None) -> None:
        sentences = points * (1 + PREMISES)
        self._writer, self._sentences = writer, max(sentences, (words or 0) // _SHORTEST)
        self.name = writer.name

    async def write(self, question: Question, side: Side, documents: Sequence[Evidence]) -> Draft:
        """See `pnyx.cases.case.Writer`."""
        draft = await self._writer.write(question, side, documents)
        if not draft.failed:
            return draft
        ids = [document.id for document in documents]
        texts = [" ".join([f"({number})", *["word"] * _WORDS]) for number in range(self._sentences)]
        return Draft(tuple(sentence("premise", text, ids) for text in texts))


_BY = Provenance("stand-in", method="plan")


_WORDS = 40
"""Words of a sentence in place of an unwritten one; few are longer."""


_SHORTEST = 5
"""Words of a sentence of prose, at least."""
