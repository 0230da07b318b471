"""Points that a question turns on, made up by a language model before it grades by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pnyx.formats.text.words import words_of
from pnyx.judging.answers import Answer, Provenance, Unscored, after
from pnyx.judging.base import Emit, Judge, refuse_other_kinds
from pnyx.judging.forms.base import shape
from pnyx.judging.llm.prompts import Prompt
from pnyx.judging.llm.reading import ask_structured
from pnyx.judging.questions import JudgeQuestion
from pnyx.judging.store.completions import StoredModel
from pnyx.models.http.flow import run_all

if TYPE_CHECKING:
    from pydantic import BaseModel

_NOT_ASKED = "not_in_store"
_PLACEHOLDER = "A reason, fact or objection that matters to the question, in one short statement"
"""Stands for a nugget that a plan cannot know: about as long as one."""


class _Topic(NamedTuple):
    """What nuggets depend on: questions that agree in it share them."""

    question: str
    stance: str
    size: int


class NuggetJudge:
    """Has a model name the points of a question and side, and a judge grade arguments by them."""

    def __init__(self, model: StoredModel, judge: Judge, prompt: Prompt) -> None:
        self._model, self._judge, self._prompt = model, judge, prompt
        self.kinds, self.name = judge.kinds, judge.name

    @property
    def card(self) -> str:
        """That of the judge that grades."""
        return self._judge.card

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`; unscored where its points could not be had."""
        refuse_other_kinds(self, questions)
        rated: Sequence[Any] = questions
        topics = [_Topic(rating.question, rating.stance, rating.nuggets) for rating in rated]
        points: dict[_Topic, Sequence[str] | str] = {}
        calls: dict[_Topic, list[str]] = {}

        async def make(topic: _Topic) -> None:
            calls[topic] = []
            points[topic] = await self._points(topic, calls[topic])

        async with self._model.running():
            await run_all(dict.fromkeys(topics), make, workers=self._model.concurrency)
            ready: list[tuple[int, Any]] = []
            planned: list[Any] = []
            for position, topic in enumerate(topics):
                question: Any = questions[position]
                reply = points[topic]
                if not isinstance(reply, str):
                    ready.append((position, replace(question, rubric=tuple(reply))))
                    continue
                emit(position, after(calls[topic], Unscored(reply, Provenance(self.name))))
                if self._model.offline and reply.startswith(_NOT_ASKED):
                    rubric = tuple(f"{_PLACEHOLDER} ({n})." for n in range(1, topic.size + 1))
                    planned.append(replace(question, rubric=rubric))

            def put(n: int, answer: Answer) -> None:
                position = ready[n][0]
                emit(position, after(calls[topics[position]], answer))

            if planned:  # so that a plan counts what is asked once the points are known
                await self._judge.answer(planned, lambda *_: None)
            await self._judge.answer([question for _, question in ready], put)

    async def _points(self, topic: _Topic, sent: list[str]) -> Sequence[str] | str:
        """Return the points, no two alike, or why there are none; `sent` receives keys."""
        if not any(character.isalnum() for character in topic.question):
            return "blank: the question has no words"
        inputs = {"topic": topic.question, "stance": topic.stance, "count": str(topic.size)}
        request = self._prompt.request(inputs, items=topic.size)
        reply, problems = await ask_structured(self._model, request, _reply_model(topic.size), sent)
        if reply is None:
            return problems[-1]
        results: dict[tuple[str, ...], str] = {}
        for number in range(1, topic.size + 1):
            text = " ".join(getattr(reply, str(number)).split())
            if words := words_of(text):
                results.setdefault(words, text)
        return list(results.values()) or "schema: the reply names no point"


@cache
def _reply_model(count: int) -> type[BaseModel]:
    return shape("NamedPoints", **{str(n): str for n in range(1, count + 1)})
