"""Shared by all forms: rendering a question, the result of reading, seeded reordering."""

from __future__ import annotations

import hashlib
import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias, TypeVar

from pnyx.core.errors import escaped
from pnyx.judging.answers import Value
from pnyx.judging.llm.json_objects import UnreadableReply
from pnyx.judging.llm.leniency import field_name, mark_departure
from pnyx.judging.llm.prompts import Prompt
from pnyx.judging.llm.structured_replies import schema_of
from pnyx.models.chat.types import ChatRequest

if TYPE_CHECKING:
    from pydantic import BaseModel, ConfigDict

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReplyReading:
    """The content of a reply about one question."""

    value: Value
    stated: float | None = None  # P(yes) as the reply states it
    span: tuple[int, int] | None = None  # position of the answer word
    explanation: str = ""
    quote: str = ""  # the decisive text, as the reply quotes it
    words: Mapping[str, Any] = field(default_factory=dict)  # words other than yes and no -> value
    notes: Mapping[str, Any] = field(default_factory=dict)
    spans: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # of scores, by dimension


Readings: TypeAlias = list[ReplyReading | None]
Put: TypeAlias = tuple[dict[str, Any], Sequence[str]]


class FormCall(NamedTuple):
    """Questions of one call; `sample` is the number of the repeat (0: original order)."""

    prompt: Prompt
    questions: Sequence[Any]
    sample: int = 0

    @property
    def question(self) -> Any:
        """The first question; most forms have only one."""
        return self.questions[0]


class PromptForm:
    """How a prompt asks questions of one kind, and how its replies are read."""

    kind: ClassVar[type]
    inputs: ClassVar[Mapping[str, bool]]  # inputs available to a prompt -> whether it is a list
    listed: ClassVar[str] = ""  # the input whose entries samples reorder
    by_token: ClassVar[bool] = False  # whether token probabilities of the answer's words are needed
    keyed: ClassVar[bool] = True  # one `reply` for each listed entry, by name

    def reply(self, question: Any) -> type[BaseModel]:
        """Return the type of a reply, or of a keyed one's parts, for schema and validation."""
        raise NotImplementedError

    def entry(self, question: Any, name: str) -> type[BaseModel]:
        """Return the type of the part of a keyed reply about one listed entry."""
        return self.reply(question)

    def put(self, call: FormCall) -> Put:
        """Return the prompt's inputs, and the name in the reply of each listed entry."""
        return {name: getattr(call.question, name) for name in call.prompt.inputs}, ()

    def read(self, call: FormCall, text: str) -> Readings:
        """Return one reading per question, None if the reply does not mention it."""
        raise NotImplementedError

    def request(self, call: FormCall) -> ChatRequest:
        """Render one call; any sample except 0 reorders what may be reordered, in its own way."""
        inputs, names = self.put(call)
        if names and self.keyed:
            parts = {name: schema_of(self.entry(call.question, name)) for name in names}
            closed = {"type": "object", "additionalProperties": False}
            schema = {**closed, "required": list(names), "properties": parts}
        else:
            schema = schema_of(self.reply(call.question))
        return call.prompt.request(inputs, items=len(names), schema=schema)

    def reorders(self, prompt: Prompt) -> bool:
        """Return whether another `sample` makes another request."""
        return self.listed in prompt.inputs


_DISTINCT_SAMPLES = 100
"""Up to this sample number, the maximum for users, all orders are different."""


def reordered(items: Sequence[T], sample: int, salt: str) -> list[tuple[int, T]]:
    """Return (original position, item) in a sample's order; few samples share an order."""
    pairs = list(enumerate(items))
    alike = [items.index(item) for item in items]  # reordering equal items makes no difference
    repeats = math.prod(math.factorial(count) for count in Counter(alike).values())
    orders = math.factorial(len(items)) // repeats
    seen = {tuple(alike)}
    order = pairs
    for number in range(1 if sample <= _DISTINCT_SAMPLES else sample, sample + 1):
        seen = set() if len(seen) == orders else seen
        seed = hashlib.sha256(f"{number}\n{salt}".encode("utf-8", "replace")).digest()
        drawn, order = random.Random(seed), list(pairs)
        drawn.shuffle(order)
        while tuple(alike[n] for n, _ in order) in seen:
            drawn.shuffle(order)
        seen.add(tuple(alike[n] for n, _ in order))
    return order


def by_name(reply: Mapping[str, T], names: Sequence[str]) -> dict[str, T]:
    """Return the fields of a keyed reply by the expected names, in any case, without duplicates.

    A word or number next to the entries is left out and marked.
    """
    entries: dict[str, T] = {}
    expected = dict.fromkeys(names)
    for key, entry in reply.items():
        name = field_name(key, expected) or key.strip()
        if name not in expected and not isinstance(entry, dict):
            mark_departure("fields")
            continue
        if name in entries:
            raise UnreadableReply(f"{escaped(name, 40)!r} comes twice")
        if name != key.strip():
            mark_departure("fields")
        entries[name] = entry
    return entries


def plain_word(value: Any) -> Any:
    """Return a word stripped and in lower case; anything else unchanged."""
    return value.strip().lower() if isinstance(value, str) else value


def strict() -> ConfigDict:
    """Return the pydantic settings of a reply: no conversion, no additional fields."""
    from pydantic import ConfigDict

    return ConfigDict(strict=True, extra="forbid", frozen=True)


def shape(name: str, **parts: Any) -> type[BaseModel]:
    """Return the type of a reply, or of a part of one, with these fields and their types."""
    from pydantic import create_model

    fields: dict[str, Any] = {part: (kind, ...) for part, kind in parts.items()}
    return create_model(name, __config__=strict(), **fields)


def word(*words: str) -> Any:
    """Return the type of one of several words, in any case."""
    from pydantic import BeforeValidator

    one_of: Any = Literal[words]
    return Annotated[one_of, BeforeValidator(plain_word)]
