"""Trim documents to a context, all by the same proportion, by the model's own token count."""

from __future__ import annotations

import math
import statistics
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from pnyx.core.errors import shorten
from pnyx.core.records import Document, Evidence, judged_text
from pnyx.formats.text.citations import without_notes
from pnyx.formats.text.segment import trim, word_weight
from pnyx.judging.llm.prompts import Prompt, load_prompt
from pnyx.judging.llm.structured_replies import ask_structured
from pnyx.judging.llm.templates import block
from pnyx.judging.store.completions import StoredModel
from pnyx.models.chat.types import ChatRequest, cuts_prompt

WORDS_PER_TOKEN = 0.7
"""English words per token, a low estimate, since tokenizers differ."""

_LEAST_SEEN, _MOST_SEEN = 5, 200
"""Most stored replies used to correct an estimate."""
_STEP = 0.05
"""Corrected estimates are rounded down to this step, so that new replies rarely change requests."""
_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Packed:
    """Documents that fit a context."""

    documents: list[Document]
    trimmed: int  # how many of them were cut
    counted: bool = False  # by the model's own tokenizer, not estimated

    @property
    def problems(self) -> list[str]:
        """Notes for the reader, one line each."""
        if not self.trimmed:
            return []
        counted = "the model's own count" if self.counted else "an estimate"
        return [
            f"{self.trimmed} of {len(self.documents)} documents were trimmed to fit the context, "
            f"by {counted} of tokens"
        ]


class ModelWriter:
    """A language model that writes from documents of `context` tokens in total."""

    def __init__(self, model: StoredModel, context: int, prompt: Prompt) -> None:
        self.model, self.context, self.prompt = model, context, prompt
        self._rates: tuple[float, ...] | None = None

    @property
    def name(self) -> str:
        """The model's name and the prompt's."""
        return f"{self.model.name} ({self.prompt.label})"

    async def asked(
        self,
        documents: Sequence[Evidence],
        render: Callable[[list[Document], float], Awaitable[ChatRequest]],
    ) -> tuple[ChatRequest, Packed]:
        """Return the request; an earlier one with another estimate, if it was answered."""
        if self._rates is None:
            self._rates = words_per_token(self.model)
        for rate in self._rates:
            packed = await pack_for(self.model, documents, self.context, rate)
            request = await render(packed.documents, rate)
            if packed.counted or self.model.store.get(self.model.key(request)) is not None:
                break
        return request, packed

    def render(self, schema: Mapping[str, Any], inputs: Mapping[str, str]) -> ChatRequest:
        """Return the request for those of the inputs that the prompt uses."""
        used = {name: inputs[name] for name in self.prompt.inputs}
        # As `ask_structured` sends it, since the store's key contains it.
        return self.prompt.request(used, schema=schema)

    async def reply(self, request: ChatRequest, shape: type[Any], problems: list[str]) -> Any:
        """Return the reply, after a repair turn if necessary, or None; problems are appended."""
        reply, faults = await ask_structured(self.model, request, shape)
        problems += faults
        if reply is None:
            problems[-1] = f"{shorten(self.model.name, 60)} returned nothing usable: {problems[-1]}"
        return reply


def writing_prompt(name: str, inputs: Iterable[str]) -> Prompt:
    """Return a prompt for a writer; InputError if it has other inputs, or lists."""
    prompt = load_prompt(name)
    prompt.check_inputs(dict.fromkeys(inputs, False))
    return prompt


def numbered(texts: Iterable[str]) -> str:
    """Return documents as a prompt shows them, with the numbers by which they are cited."""
    return "\n\n".join(f"Document {n}:\n{block('DOCUMENT', t)}" for n, t in enumerate(texts, 1))


async def pack_for(
    model: StoredModel, documents: Sequence[Evidence], max_tokens: int, rate: float
) -> Packed:
    """Trim all documents alike to fit `max_tokens`; none is dropped (ConQRet, 3.2.2)."""
    plain = [_plain(d) for d in documents]
    counts = await model.count_tokens([d.text for d in plain])
    if counts is None:
        return Packed(*pack(documents, max_tokens, rate))
    total = sum(counts)
    if total <= max_tokens:
        return Packed(plain, 0, True)
    budgets = [max(1, count * max_tokens // total) for count in counts]
    texts = await _cut(model, [d.text for d in plain], counts, budgets)
    cut = [replace(d, text=text) for d, text in zip(plain, texts, strict=True)]
    return Packed(cut, sum(a.text != b.text for a, b in zip(plain, cut, strict=True)), True)


async def _cut(
    model: StoredModel, texts: Sequence[str], counts: Sequence[int], budgets: Sequence[int]
) -> list[str]:
    """Return the start of each text up to a number of tokens (but at least one word)."""
    sizes = [word_weight(text) for text in texts]
    kept_sizes = [
        max(1, size * budget // max(1, count))
        for size, count, budget in zip(sizes, counts, budgets, strict=True)
    ]
    for _ in range(_ROUNDS):
        cut = [trim(text, size) for text, size in zip(texts, kept_sizes, strict=True)]
        token_counts = await model.count_tokens(cut)
        if token_counts is None:
            break
        over = [f > b and k > 1 for f, b, k in zip(token_counts, budgets, kept_sizes, strict=True)]
        if not any(over):
            break
        kept_sizes = [
            max(1, min(k - 1, k * b // f)) if o else k
            for k, b, f, o in zip(kept_sizes, budgets, token_counts, over, strict=True)
        ]
    return [trim(text, size) for text, size in zip(texts, kept_sizes, strict=True)]


def words_per_token(model: StoredModel) -> tuple[float, ...]:
    """Return rates of words per token to try: the default, and the median of stored replies."""
    rates = []
    rows = model.store.rows(model=model.name, skip_damaged=True)
    for row in islice(rows, _MOST_SEEN):
        tokens = row.reply.usage.get("prompt_tokens", 0)
        words = sum(word_weight(message.content) for message in row.request.messages)
        if tokens > 0 and words > 0 and not cuts_prompt(row.request, row.reply.usage):
            rates.append(words / tokens)
    if len(rates) < _LEAST_SEEN:
        return (WORDS_PER_TOKEN,)
    learnt = math.floor(min(2.0, statistics.median(rates)) / _STEP) * _STEP
    return (WORDS_PER_TOKEN, max(_STEP, round(learnt, 2)))


def pack(
    documents: Sequence[Evidence], max_tokens: int, rate: float = WORDS_PER_TOKEN
) -> tuple[list[Document], int]:
    """Trim all documents alike to `max_tokens`, at `rate` words per token; count trimmed ones."""
    budget = max(len(documents), int(max_tokens * rate))
    plain = [_plain(d) for d in documents]
    # A "word" without spaces can be arbitrarily long, so its letters are counted too.
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
    """Return a document as shown to a writer: title and text, without footnote marks."""
    return Document(
        document.id,
        without_notes(judged_text(document)),
        document.title,
        document.url,
        document.source,
        passage=document.passage,
    )
