"""The writer that asks a language model for conclusions, each followed by cited premises.

Nothing of a reply that cannot be read is guessed at: the side is then reported as not written.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pnyx.corpora.text.citations import without_marks
from pnyx.errors import InputError, shorten
from pnyx.files import read_jsonl
from pnyx.judge.claims import claims
from pnyx.judge.llm.prompting import load_prompt
from pnyx.judge.llm.reading import UnreadableReply, cut_reason, schema_of, validated
from pnyx.judge.llm.templates import block
from pnyx.judge.store.completions import StoredModel
from pnyx.models.chat.types import CallFailed, ChatRequest, Message, Reply
from pnyx.records import SIDES, Document, Evidence, Question, Sentence, Side
from pnyx.write.case import Draft, sentence
from pnyx.write.packing import Packed, pack_for, words_per_token
from pnyx.write.plan import CONTEXT, POINTS, SHOTS

if TYPE_CHECKING:
    import pydantic


@dataclass(frozen=True, slots=True)
class WorkedExample:
    """A question argued by hand, shown to the model before the real one (few-shot).

    `documents` are cited by number, from 1; `points` have the shape of the model's own reply.
    """

    question: str
    side: Side
    documents: tuple[str, ...]
    points: tuple[Any, ...]


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

    They are the first of one shuffled order, the same for all questions, that are on other
    questions: those that argue the same side, and others where these are too few. So nearly all
    questions see the same ones in the same order, which servers can reuse.
    """
    shuffled = list(examples)
    random.Random(0).shuffle(shuffled)
    words = _words(question)
    others = [one for one in shuffled if _words(one.question) != words]
    return tuple(sorted(others, key=lambda one: one.side != side)[:count])


def _words(question: str) -> list[str]:
    return re.findall(r"\w+", question.casefold())


class LlmWriter:
    """Asks a language model for one side of a question; a side in its store is not paid again.

    It writes at most `points` conclusions from documents of `context` tokens, all together, by the
    model's own count where it can be had (`pack_for`); `shots` of the worked `examples`, each with
    documents of as many tokens, go before the question (`choose_examples`).
    """

    def __init__(
        self,
        model: StoredModel,
        *,
        points: int = POINTS,
        context: int = CONTEXT,
        examples: Sequence[WorkedExample] = (),
        shots: int = SHOTS,
    ) -> None:
        self.model = model
        self.points = points
        self.context = context
        self.examples = tuple(examples)
        self.shots = shots
        self._rates: tuple[float, ...] | None = None

    @property
    def name(self) -> str:
        """The model's name and the prompt's."""
        return f"{self.model.name} ({load_prompt('argue').label})"

    async def write(self, question: Question, side: Side, documents: Sequence[Evidence]) -> Draft:
        """Ask for the argument; a failed or unreadable reply gives a failed draft, no guess."""
        request, packed = await self._request(question, side, documents)
        shown, problems = packed.documents, []
        if packed.trimmed:
            counted = "the model's own count" if packed.counted else "an estimate"
            problems.append(
                f"{packed.trimmed} of {len(shown)} documents were trimmed to fit the context, by "
                f"{counted} of tokens"
            )
        request, reply = await self.model.whole(request)
        fault = reply.reason if isinstance(reply, CallFailed) else cut_reason(reply, request)
        if fault is None and isinstance(reply, Reply):
            try:
                sentences = tuple(self._sentences(_parse(reply.text), shown, problems))
                return Draft(sentences, tuple(problems))
            except UnreadableReply as error:
                fault = f"schema: {error}"
        return Draft((), (*problems, f"{self.model.name} wrote nothing usable: {fault}"), True)

    async def _request(
        self, question: Question, side: Side, documents: Sequence[Evidence]
    ) -> tuple[ChatRequest, Packed]:
        """Return what is asked: what was asked before at another estimate, if it was answered."""
        if self._rates is None:
            self._rates = words_per_token(self.model)
        for rate in self._rates:
            packed = await pack_for(self.model, documents, self.context, rate)
            turns = await self._turns(question.text, side, rate)
            request = self._render(question.text, side, [d.text for d in packed.documents])
            system, user = request.messages
            request = replace(request, messages=(system, *turns, user))
            if packed.counted or self.model.store.get(self.model.key(request)) is not None:
                break
        return request, packed

    async def _turns(self, question: str, side: Side, rate: float) -> list[Message]:
        """Return the chosen examples, each as a question and the reply to it."""
        turns: list[Message] = []
        for shot in choose_examples(self.examples, question, side, self.shots):
            given = [Document(str(n), text) for n, text in enumerate(shot.documents, 1)]
            packed = await pack_for(self.model, given, self.context, rate)
            texts = [one.text for one in packed.documents]
            answer = json.dumps({"points": shot.points}, ensure_ascii=False)
            turns.append(self._render(shot.question, shot.side, texts).messages[1])
            turns.append(Message("assistant", answer))
        return turns

    def _render(self, question: str, side: Side, texts: Sequence[str]) -> ChatRequest:
        numbered = (f"Document {n}:\n{block('DOCUMENT', t)}" for n, t in enumerate(texts, 1))
        return load_prompt("argue").request(
            {
                "question": question,
                "side": side,
                "claim": claims(question)[SIDES.index(side)],
                "points": str(self.points),
                "documents": "\n\n".join(numbered),
            },
            schema=schema_of(_reply_model()),
        )

    def _sentences(
        self,
        parsed: Sequence[tuple[str, str, list[int]]],
        shown: Sequence[Document],
        problems: list[str],
    ) -> Iterator[Sentence]:
        for role, text, numbers in parsed:
            clean, marked = without_marks(text, lambda number: 1 <= number <= len(shown))
            cited = []
            for number in dict.fromkeys([*numbers, *marked]):
                if 1 <= number <= len(shown):
                    cited.append(shown[number - 1].id)
                else:
                    found = f"removed a citation of document {number} from {shorten(clean, 60)!r}"
                    problems.append(f"{found}: {len(shown)} documents were given")
            yield sentence(role, clean, cited)


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
    text = (str, pydantic.Field(pattern=r"\S"))
    one: Any = pydantic.create_model(
        "Sentence", __config__=strict, text=text, citations=(list[int], ...)
    )
    point: Any = pydantic.create_model(
        "Point", __config__=strict, conclusion=(one, ...), premises=(list[one], ...)
    )
    return pydantic.create_model("Reply", __config__=strict, points=(list[point], ...))
