"""Questions left unscored only by a report's own text, so that such texts do not pay off.

A sentence may exceed the model's context, be refused, or break the format of the reply. The same
question is then asked with ordinary text instead of the report's: if that is answered, the report's
text is the cause; if not, the judge, the server or the document may be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from pnyx.judging.answers import Answer, Judged, Unscored, after
from pnyx.judging.base import Emit, Judge
from pnyx.judging.questions import AGAIN, JudgeQuestion, Support

OWN_TEXT: Final = "own_text"
"""First word of the reason if only the report's own text left an answer unscored."""

_TEXT_DEPENDENT: Final = frozenset(
    ("too_long", "rejected", "refusal", "content_filter", "schema", "missing", "length", "empty",
     "oversized")
)  # fmt: skip
"""Reasons that a text can cause; not timeouts, server errors and rate limits."""

_SENTENCES = (
    "The town council met on Monday evening in the old school by the harbour. It talked about the "
    "budget for the coming year, the repair of two bridges and the opening hours of the library. "
    "Most members wanted to keep the library open on Saturdays, although a longer week costs more, "
    "and asked the mayor to find out how other towns of this size manage. The bridges are closed "
    "from May on, and the buses take the road along the river until the work is done in autumn. "
)
SENTENCE_LENGTH, REPORT_LENGTH = 500, 10_000
"""Characters of the ordinary text. Of 11,264 sentences of real reports, 4 are longer than 500, and
no report is longer than 5,007 (RAGTIME 2026, NeuCLIR 2024, iKAT 2024)."""


def _ordinary(length: int) -> str:
    return (_SENTENCES * (length // len(_SENTENCES) + 1))[:length]


_SENTENCE, _REPORT = _ordinary(SENTENCE_LENGTH), _ordinary(REPORT_LENGTH)

OWN_TEXT_RULE: Final = (
    f"an ordinary sentence of {SENTENCE_LENGTH} characters, or an ordinary report of "
    f"{REPORT_LENGTH:,},"
)
"""Description of the text that replaces a report's."""

_ORDINARY: Final[Mapping[str, Mapping[str, str]]] = {
    "attests": {"statement": _SENTENCE},
    "answers": {"text": _SENTENCE},
    "unanswerable": {"text": _SENTENCE},
    "negative": {"text": _REPORT, "statement": _SENTENCE},
    "needs_citation": {"text": _REPORT, "statement": _SENTENCE},
    "said_before": {"text": _REPORT, "statement": _SENTENCE},
}
"""Node -> the fields of a question that hold text of the report, and their replacement."""


_FIRST_TRIES: Final = 3
"""Questions on ordinary text that are asked first, each about a document cited by another run."""


def is_own_text(answer: Answer) -> bool:
    """Whether only the report's own text left a question unscored."""
    return isinstance(answer, Unscored) and _word(answer) == OWN_TEXT


def _word(answer: Unscored) -> str:
    return answer.reason.partition(":")[0]


class OwnTextJudge:
    """Wraps a judge, and also detects what only a report's own text left unscored.

    `whole` says that the questions on `answers` are about whole reports, not about sentences.
    """

    def __init__(self, judge: Judge, *, whole: bool = False) -> None:
        self.name, self.kinds, self.card = judge.name, judge.kinds, judge.card
        self._judge = judge
        self._tries = _FIRST_TRIES
        self._ordinary = {**_ORDINARY, **({"answers": {"text": _REPORT}} if whole else {})}

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """See `pnyx.judging.base.Judge`; if the report's text is the cause: `own_text: ...`."""
        suspect: dict[int, tuple[Support, Unscored]] = {}
        await self._ask_first(questions)

        def sort(position: int, answer: Answer) -> None:
            question = questions[position]
            if (
                isinstance(question, Support)
                and isinstance(answer, Unscored)
                and self._holds_own(question)
                and _word(answer) in _TEXT_DEPENDENT
            ):
                suspect[position] = question, answer
            else:
                emit(position, answer)

        await self._judge.answer(questions, sort)
        await self._ask_again(suspect, emit)
        await self._compare(suspect, emit)

    async def _ask_first(self, questions: Sequence[JudgeQuestion]) -> None:
        """Ask about ordinary text until one such question is answered.

        A model is given up if none of its first replies holds an answer. Without this, a report
        that provokes such replies would end the judging of all others (`StoredModel.heed`).
        """
        of_run: dict[object, Support] = {}
        for question in questions if self._tries else ():
            if isinstance(question, Support) and self._holds_own(question):
                of_run.setdefault(question.extra.get("run_id"), question)
        for question in of_run.values():
            if self._tries == 0:
                return
            self._tries -= 1
            answers: dict[int, Answer] = {}
            ordinary = self._with_ordinary_text(question)
            await self._judge.answer([ordinary], answers.__setitem__)
            if isinstance(answers[0], Judged):
                self._tries = 0

    async def _ask_again(self, suspect: dict[int, tuple[Support, Unscored]], emit: Emit) -> None:
        """Ask once more, because failure may be chance; answered questions are cleared."""
        places = list(suspect)
        again = [replace(q, extra={**q.extra, AGAIN: 1}) for q, _ in suspect.values()]

        def settle(position: int, answer: Answer) -> None:
            if isinstance(answer, Judged):
                _, before = suspect.pop(places[position])
                emit(places[position], after(before.provenance.asked, answer))

        if again:
            await self._judge.answer(again, settle)

    async def _compare(self, suspect: Mapping[int, tuple[Support, Unscored]], emit: Emit) -> None:
        """Ask the same questions of ordinary text, each once, and emit the cause."""
        ordinary = {
            index: self._with_ordinary_text(question) for index, (question, _) in suspect.items()
        }
        questions_once = list(
            {_content(question): question for question in ordinary.values()}.values()
        )
        answers: dict[object, Answer] = {}
        if questions_once:
            await self._judge.answer(
                questions_once,
                lambda n, answer: answers.__setitem__(_content(questions_once[n]), answer),
            )
        for index, (_, answer) in suspect.items():
            other = answers[_content(ordinary[index])]
            keys = *answer.provenance.asked, *other.provenance.asked
            if isinstance(other, Judged):
                answer = after(keys, replace(answer, reason=f"{OWN_TEXT}: {answer.reason}"))
            emit(index, answer)

    def _holds_own(self, question: Support) -> bool:
        return question.extra.get("node") in self._ordinary

    def _with_ordinary_text(self, question: Support) -> Support:
        texts = self._ordinary[question.extra["node"]]
        return replace(
            question,
            id=f"{question.id}/ordinary",
            text=texts.get("text", question.text),
            statement=texts.get("statement", question.statement),
        )


def _content(question: Support) -> object:
    """Return everything about a question that a judge sees, and the node."""
    return replace(question, id="", submitter="", extra={"node": question.extra["node"]})
