"""The writer that asks a language model for conclusions, each followed by cited premises.

Nothing of a reply that cannot be read is guessed at: the side is then reported as not written.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pnyx.corpora.text.citations import without_marks
from pnyx.corpora.text.segment import trim, word_weight
from pnyx.errors import InputError, shorten
from pnyx.files import read_jsonl
from pnyx.judge.claims import claims
from pnyx.judge.llm.prompting import block, load_prompt
from pnyx.judge.llm.reading import UnreadableReply, cut_reason, schema_of, validated
from pnyx.judge.store.completions import StoredModel
from pnyx.models.chat.types import CallFailed, ChatRequest, Message, Reply
from pnyx.records import SIDES, Document, Evidence, Question, Sentence, Side
from pnyx.write.case import Draft, sentence
from pnyx.write.plan import CONTEXT, POINTS

if TYPE_CHECKING:
    import pydantic

__all__ = ["WORDS_PER_TOKEN", "LlmWriter", "WorkedExample", "pack", "read_examples"]


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


class LlmWriter:
    """Asks a language model for one side of a question; a side in its store is not paid again.

    It writes at most `points` conclusions from documents of `context` tokens, all together
    (estimated); worked `examples` go before the question.
    """

    def __init__(
        self,
        model: StoredModel,
        *,
        points: int = POINTS,
        context: int = CONTEXT,
        examples: Sequence[WorkedExample] = (),
    ) -> None:
        self.model = model
        self.points = points
        self.context = context
        self.examples = tuple(examples)

    @property
    def name(self) -> str:
        """The model's name and the prompt's."""
        return f"{self.model.name} ({load_prompt('argue').label})"

    async def write(self, question: Question, side: Side, documents: Sequence[Evidence]) -> Draft:
        """Ask for the argument; a failed or unreadable reply gives a failed draft, no guess."""
        shown, trimmed = pack(documents, self.context)
        problems = []
        if trimmed:
            problems.append(f"{trimmed} of {len(shown)} documents were trimmed to fit the context")
        request, reply = await self.model.whole(self._request(question, side, shown))
        fault = reply.reason if isinstance(reply, CallFailed) else cut_reason(reply, request)
        if fault is None and isinstance(reply, Reply):
            try:
                sentences = tuple(self._sentences(_parse(reply.text), shown, problems))
                return Draft(sentences, tuple(problems))
            except UnreadableReply as error:
                fault = f"schema: {error}"
        return Draft((), (*problems, f"{self.model.name} wrote nothing usable: {fault}"), True)

    def _request(self, question: Question, side: Side, shown: Sequence[Document]) -> ChatRequest:
        request = self._render(question.text, side, [d.text for d in shown])
        system, user = request.messages
        turns: list[Message] = []
        for shot in self.examples:
            answer = json.dumps({"points": shot.points}, ensure_ascii=False)
            turns.append(self._render(shot.question, shot.side, shot.documents).messages[1])
            turns.append(Message("assistant", answer))
        return replace(request, messages=(system, *turns, user))

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


WORDS_PER_TOKEN = 0.7
"""English words for each token, on the low side: an estimate, since tokenizers differ."""


def pack(documents: Sequence[Evidence], max_tokens: int) -> tuple[list[Document], int]:
    """Trim every document by the same proportion to fit `max_tokens` (estimated); count those.

    None is dropped while each can keep a word: that would silence whole sources (ConQRet, 3.2.2).
    """
    budget = max(len(documents), int(max_tokens * WORDS_PER_TOKEN))
    plain = [_plain(d) for d in documents]
    # A "word" without spaces can be arbitrarily long, so words are weighed by their letters too.
    sizes = [word_weight(d.text) for d in plain]
    total = sum(sizes)
    if total <= budget:
        return plain, 0
    trimmed = [
        replace(d, text=trim(d.text, max(1, size * budget // total)))
        for d, size in zip(plain, sizes, strict=True)
    ]
    return trimmed, sum(a.text != b.text for a, b in zip(plain, trimmed, strict=True))


def _plain(document: Evidence) -> Document:
    if isinstance(document, Document):
        return document
    return Document(document.id, document.text, document.title, document.url, document.source)
