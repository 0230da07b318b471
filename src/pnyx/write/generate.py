"""The writer that asks a language model for conclusions, each followed by cited premises.

Nothing of a reply that cannot be read is guessed at: the side is then reported as not written.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pnyx.corpora.text.wording import words_of
from pnyx.errors import InputError, shorten
from pnyx.files import read_jsonl
from pnyx.judge.llm.json_objects import UnreadableReply
from pnyx.judge.llm.prompting import load_prompt
from pnyx.judge.llm.reading import cut_reason, schema_of, validated
from pnyx.judge.statements import statements_of
from pnyx.judge.store.completions import StoredModel
from pnyx.models.chat.types import CallFailed, ChatRequest, Message, Reply
from pnyx.records import SIDES, Document, Evidence, Question, Side
from pnyx.write.case import Draft, sentence
from pnyx.write.packing import ModelWriter, cited_ids, cited_sentence, numbered, pack_for
from pnyx.write.plan import CONTEXT, POINTS, SHOTS

if TYPE_CHECKING:
    import pydantic


@dataclass(frozen=True, slots=True)
class WorkedExample:
    """A question argued by hand, shown to the model before the real one (few-shot)."""

    question: str
    side: Side
    documents: tuple[str, ...]  # cited by number, from 1
    points: tuple[Any, ...]  # in the shape of the model's own reply


def read_examples(path: str | Path) -> tuple[WorkedExample, ...]:
    """Read worked examples from JSONL: `question`, `side`, `documents` (texts), `points`."""
    examples = []
    for line, row in read_jsonl(path):
        fault = partial(InputError, path=path, line=line)
        question, side, documents = row.get("question"), row.get("side"), row.get("documents")
        if not isinstance(question, str) or side not in SIDES:
            raise fault("expected question (text) and side (pro or con)")
        if not isinstance(documents, list) or not all(isinstance(d, str) for d in documents):
            raise fault("expected documents (a list of texts)")
        try:
            reply = _parse(json.dumps({"points": row.get("points")}))
        except UnreadableReply as error:
            raise fault(f"points: {error}") from error
        for text, number in ((text, number) for _, text, numbers in reply for number in numbers):
            if not 1 <= number <= len(documents):
                found = f"{shorten(text, 40)!r} cites document {number}"
                raise fault(f"{found}, expected 1 to {len(documents)}")
        examples.append(WorkedExample(question, side, tuple(documents), tuple(row["points"])))
    return tuple(examples)


def choose_examples(
    examples: Sequence[WorkedExample], question: str, side: Side, count: int = SHOTS
) -> tuple[WorkedExample, ...]:
    """Return the `count` examples that are shown before a question and a side.

    The first of one shuffled order that are on other questions, those of the same side before
    others: nearly all questions see the same ones, which servers can reuse.
    """
    shuffled = list(examples)
    random.Random(0).shuffle(shuffled)
    words = words_of(question)
    others = [one for one in shuffled if words_of(one.question) != words]
    return tuple(sorted(others, key=lambda one: one.side != side)[:count])


class LlmWriter(ModelWriter):
    """Asks a language model for one side of a question; a side in its store is not paid again.

    It writes at most `points` conclusions from documents of `context` tokens, all together, by the
    model's own count where it can be had (`pack_for`); `shots` of the worked `examples`, each with
    documents of as many tokens, go before the question (`choose_examples`).
    """

    prompt = "argue"

    def __init__(
        self,
        model: StoredModel,
        *,
        points: int = POINTS,
        context: int = CONTEXT,
        examples: Sequence[WorkedExample] = (),
        shots: int = SHOTS,
    ) -> None:
        super().__init__(model, context)
        self.points, self.examples, self.shots = points, tuple(examples), shots

    async def write(self, question: Question, side: Side, documents: Sequence[Evidence]) -> Draft:
        """Ask for the argument; a failed or unreadable reply gives a failed draft, no guess."""

        async def render(shown: list[Document], rate: float) -> ChatRequest:
            turns = await self._turns(question.text, side, rate)
            request = self._render(question, side, [d.text for d in shown])
            system, user = request.messages
            return replace(request, messages=(system, *turns, user))

        request, packed = await self.asked(documents, render)
        shown, problems = packed.documents, packed.problems
        request, reply = await self.model.whole(request)
        fault = reply.reason if isinstance(reply, CallFailed) else cut_reason(reply, request)
        if fault is None and isinstance(reply, Reply):
            try:
                parts = await self._parts(request, reply)
            except UnreadableReply as error:
                fault = f"schema: {error}"
            else:
                sentences = [
                    sentence(role, *cited_ids(text, numbers, shown, problems))
                    for role, text, numbers in parts
                ]
                return Draft(tuple(sentences), tuple(problems))
        return Draft((), (*problems, f"{self.model.name} wrote nothing usable: {fault}"), True)

    async def _parts(self, request: ChatRequest, reply: Reply) -> list[tuple[str, str, list[int]]]:
        """Return the sentences of a reply; one of an earlier run that is unreadable is renewed."""
        try:
            return _parse(reply.text)
        except UnreadableReply as error:
            fresh = await self.model.asked_anew(request)
            try:
                if fresh is None or cut_reason(fresh, request):
                    raise
                return _parse(fresh.text)
            except UnreadableReply:
                self.model.note_unreadable(request, str(error))
                raise

    async def _turns(self, question: str, side: Side, rate: float) -> list[Message]:
        """Return the chosen examples, each as a question and the reply to it."""
        turns: list[Message] = []
        for shot in choose_examples(self.examples, question, side, self.shots):
            given = [Document(str(n), text) for n, text in enumerate(shot.documents, 1)]
            packed = await pack_for(self.model, given, self.context, rate)
            texts = [one.text for one in packed.documents]
            answer = json.dumps({"points": shot.points}, ensure_ascii=False)
            shown = Question("", shot.question)
            turns.append(self._render(shown, shot.side, texts).messages[1])
            turns.append(Message("assistant", answer))
        return turns

    def _render(self, question: Question, side: Side, texts: Sequence[str]) -> ChatRequest:
        return load_prompt("argue").request(
            {
                "question": question.text,
                "side": side,
                "claim": statements_of(question)[SIDES.index(side)],
                "points": str(self.points),
                "documents": numbered(texts),
            },
            schema=schema_of(_reply_model()),
        )


def _parse(text: str) -> list[tuple[str, str, list[int]]]:
    sentences: list[tuple[str, str, list[int]]] = []
    for point in validated(_reply_model(), text).points:
        sentences.append(("conclusion", point.conclusion.text, point.conclusion.citations))
        sentences += [("premise", p.text, p.citations) for p in point.premises]
    return sentences


@cache
def _reply_model() -> type[pydantic.BaseModel]:
    """Build the reply's shape on first use: pydantic is slow to import."""
    import pydantic

    strict = pydantic.ConfigDict(strict=True, extra="forbid")
    one: Any = cited_sentence()
    point: Any = pydantic.create_model(
        "Point", __config__=strict, conclusion=(one, ...), premises=(list[one], ...)
    )
    return pydantic.create_model("Reply", __config__=strict, points=(list[point], ...))
