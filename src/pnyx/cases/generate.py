"""The writer that asks a language model for conclusions, each followed by cited premises.

Replies are read by `pnyx.cases.replies`; an unreadable one gets a repair turn. If that fails too,
nothing is guessed: the side is reported as not written.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pnyx.cases.case import Draft, sentence
from pnyx.cases.context import ModelWriter, numbered, pack_for, writing_prompt
from pnyx.cases.limits import Limits
from pnyx.cases.plan import CONTEXT, POINTS, PREMISES, SHOTS
from pnyx.cases.replies import cited_ids, points_reply, sentences_of
from pnyx.core.errors import InputError, shorten
from pnyx.core.files import read_jsonl
from pnyx.core.records import SIDES, Document, Evidence, Question, Sentence, Side
from pnyx.formats.text.words import words_of
from pnyx.judging.llm.json_objects import UnreadableReply
from pnyx.judging.llm.structured_replies import schema_of, validated_value
from pnyx.judging.statements import statements_of
from pnyx.judging.store.completions import StoredModel
from pnyx.models.chat.types import ChatRequest, Message


@dataclass(frozen=True, slots=True)
class WorkedExample:
    """A question argued by hand, shown to the model before the real one (few-shot)."""

    question: str
    side: Side
    documents: tuple[str, ...]  # cited by number, from 1
    points: tuple[Any, ...]  # in the format of the model's own reply


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
            reply: Any = validated_value(points_reply(), {"points": row.get("points")}, "")
        except UnreadableReply as error:
            raise fault(f"points: {error}") from error
        cited = [(text, number) for _, text, numbers in sentences_of(reply) for number in numbers]
        for text, number in cited:
            if not 1 <= number <= len(documents):
                fault_text = f"{shorten(text, 40)!r} cites document {number}"
                raise fault(f"{fault_text}, expected 1 to {len(documents)}")
        points = tuple(reply.model_dump()["points"])
        examples.append(WorkedExample(question, side, tuple(documents), points))
    return tuple(examples)


def choose_examples(
    examples: Sequence[WorkedExample], question: str, side: Side, count: int = SHOTS
) -> tuple[WorkedExample, ...]:
    """Return the `count` examples to show before a question and a side.

    The first of one shuffled order that are on other questions, those of the same side before
    others: nearly all questions see the same ones, which servers can reuse.
    """
    shuffled = list(examples)
    random.Random(0).shuffle(shuffled)
    words = words_of(question)
    others = [shot for shot in shuffled if words_of(shot.question) != words]
    return tuple(sorted(others, key=lambda shot: shot.side != side)[:count])


_INPUTS = ("question", "side", "claim", "points", "premises", "words", "documents")
"""Inputs that a prompt for one side may use."""
_WORDS = 300
"""Default length of a side, for a prompt that names one."""


class LlmWriter(ModelWriter):
    """Asks a language model for one side of a question; a stored side is not paid for again.

    It writes at most `points` conclusions from documents of `context` tokens, all together, by the
    model's own count where it can be had (`pack_for`); `shots` of the worked `examples`, each with
    documents of as many tokens, go before the question (`choose_examples`). With `words` it writes
    prose of at most so many words, with quotations. `prompt` is a packaged prompt or a file.
    """

    def __init__(
        self,
        model: StoredModel,
        *,
        points: int = POINTS,
        context: int = CONTEXT,
        examples: Sequence[WorkedExample] = (),
        shots: int = SHOTS,
        words: int | None = None,
        prompt: str | None = None,
    ) -> None:
        usual = "argue" if words is None else "argue-prose"
        super().__init__(model, context, writing_prompt(prompt or usual, _INPUTS))
        self.points, self.examples, self.shots = points, tuple(examples), shots
        self.words = words

    async def write(self, question: Question, side: Side, documents: Sequence[Evidence]) -> Draft:
        """Ask for the argument; a reply that remains unreadable gives a failed draft."""

        async def render(documents: list[Document], rate: float) -> ChatRequest:
            turns = await self._turns(question.text, side, rate)
            request = self._render(question, side, [d.text for d in documents])
            system, user = request.messages
            return replace(request, messages=(system, *turns, user))

        request, packed = await self.asked(documents, render)
        problems = packed.problems
        reply = await self.reply(request, points_reply(), problems)
        if reply is None:
            return Draft((), tuple(problems), failed=True)
        sentences = [
            sentence(role, *cited_ids(text, numbers, packed.documents, problems))
            for role, text, numbers in sentences_of(reply)
        ]
        premises = PREMISES if "premises" in self.prompt.inputs else None
        limited = within_limits(sentences, self.points, premises, self.words, problems)
        return Draft(limited, tuple(problems))

    async def _turns(self, question: str, side: Side, rate: float) -> list[Message]:
        """Return the chosen examples, each as a question and the reply to it."""
        turns: list[Message] = []
        for shot in choose_examples(self.examples, question, side, self.shots):
            documents = [Document(str(n), text) for n, text in enumerate(shot.documents, 1)]
            packed = await pack_for(self.model, documents, self.context, rate)
            texts = [document.text for document in packed.documents]
            answer = json.dumps({"points": shot.points}, ensure_ascii=False)
            example = Question("", shot.question)
            turns.append(self._render(example, shot.side, texts).messages[1])
            turns.append(Message("assistant", answer))
        return turns

    def _render(self, question: Question, side: Side, texts: Sequence[str]) -> ChatRequest:
        return self.render(
            schema_of(points_reply()),
            {
                "question": question.text,
                "side": side,
                "claim": statements_of(question)[SIDES.index(side)],
                "points": str(self.points),
                "premises": str(PREMISES),
                "words": str(self.words or _WORDS),
                "documents": numbered(texts),
            },
        )


def within_limits(
    sentences: Sequence[Sentence],
    points: int,
    premises: int | None,
    words: int | None,
    problems: list[str],
) -> tuple[Sentence, ...]:
    """Return the sentences within the limits of a side; omissions are appended to `problems`.

    At most `points` conclusions, each with at most `premises` (None: any number), and at most
    `words` words together; everything after the first sentence that exceeds these is dropped too.
    """
    within: list[Sentence] = []
    conclusions = following = 0
    for written in sentences:
        if written.extra["role"] == "conclusion":
            conclusions, following = conclusions + 1, 0
        else:
            following += 1
        if conclusions <= points and (premises is None or following <= premises):
            within.append(written)
    if over := len(sentences) - len(within):
        most = f"at most {points} points" + (f" of {premises} premises" if premises else "")
        problems.append(f"left out {over} of {len(sentences)} sentences: {most} were requested")
    if words is None:
        return tuple(within)
    limited = Limits((("words", words),)).cut(within)
    if over := len(within) - len(limited):
        problems.append(f"left out the last {over} of {len(within)} sentences: over {words} words")
    return limited
