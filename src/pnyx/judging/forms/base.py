"""What the forms share: how a question is put, what was read, seeded reordering."""

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
from pnyx.judging.llm.reading import schema_of
from pnyx.models.chat.types import ChatRequest

if TYPE_CHECKING:
    from pydantic import BaseModel, ConfigDict

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReplyReading:
    """What a reply says of one question."""

    value: Value
    stated: float | None = None  # P(yes) by the reply's own words
    span: tuple[int, int] | None = None  # where the answer word stands
    explanation: str = ""
    quote: str = ""  # what decided, in the reply's own copy
    words: Mapping[str, Any] = field(default_factory=dict)  # words other than yes and no -> value
    notes: Mapping[str, Any] = field(default_factory=dict)
    spans: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # of scores, by dimension


Readings: TypeAlias = list[ReplyReading | None]
Put: TypeAlias = tuple[dict[str, Any], Sequence[str]]


class FormCall(NamedTuple):
    """Questions that are put in one call; `sample` is the number of the repeat (0: as given)."""

    prompt: Prompt
    questions: Sequence[Any]
    sample: int = 0

    @property
    def question(self) -> Any:
        """The first of the questions, of most forms the only one."""
        return self.questions[0]


class PromptForm:
    """How a prompt puts questions of one kind, and how its replies are read."""

    kind: ClassVar[type]
    inputs: ClassVar[Mapping[str, bool]]  # what a prompt may ask for -> whether it is a list
    listed: ClassVar[str] = ""  # the input whose entries samples reorder
    by_token: ClassVar[bool] = False  # whether probabilities of the answer's words are wanted
    keyed: ClassVar[bool] = True  # one `reply` for each listed entry, by name

    def reply(self, question: Any) -> type[BaseModel]:
        """Return the type of a reply, or of a keyed one's parts: it is told, and checked by."""
        raise NotImplementedError

    def entry(self, question: Any, name: str) -> type[BaseModel]:
        """Return the type of the part of a keyed reply that is about one listed entry."""
        return self.reply(question)

    def put(self, call: FormCall) -> Put:
        """Return the prompt's inputs, and the name in the reply of each entry that is listed."""
        return {name: getattr(call.question, name) for name in call.prompt.inputs}, ()

    def read(self, call: FormCall, text: str) -> Readings:
        """Return one reading for each question, None where the reply does not speak of it."""
        raise NotImplementedError

    def request(self, call: FormCall) -> ChatRequest:
        """Render one call; any sample but 0 reorders what may be reordered, each in its own way."""
        inputs, names = self.put(call)
        if names and self.keyed:
            parts = {name: schema_of(self.entry(call.question, name)) for name in names}
            closed = {"type": "object", "additionalProperties": False}
            schema = {**closed, "required": list(names), "properties": parts}
        else:
            schema = schema_of(self.reply(call.question))
        return call.prompt.request(inputs, items=len(names), schema=schema)

    def reorders(self, prompt: Prompt) -> bool:
        """Say whether another `sample` makes another request."""
        return self.listed in prompt.inputs


_TOLD_APART = 100
"""As many samples as may be asked for."""


def reordered(items: Sequence[T], sample: int, salt: str) -> list[tuple[int, T]]:
    """Return (original position, item) in a sample's order; few samples share an order."""
    pairs = list(enumerate(items))
    alike = [items.index(item) for item in items]  # equal items in another order look the same
    repeats = math.prod(math.factorial(count) for count in Counter(alike).values())
    orders = math.factorial(len(items)) // repeats
    seen = {tuple(alike)}
    order = pairs
    for number in range(1 if sample <= _TOLD_APART else sample, sample + 1):
        seen = set() if len(seen) == orders else seen
        seed = hashlib.sha256(f"{number}\n{salt}".encode("utf-8", "replace")).digest()
        drawn, order = random.Random(seed), list(pairs)
        drawn.shuffle(order)
        while tuple(alike[n] for n, _ in order) in seen:
            drawn.shuffle(order)
        seen.add(tuple(alike[n] for n, _ in order))
    return order


def by_name(reply: Mapping[str, T], names: Sequence[str]) -> dict[str, T]:
    """Return the fields of a keyed reply by the names asked for, in any case; none comes twice.

    A word or number beside the entries is left out and marked.
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
    """Return a word without white space around it and in lower case; anything else as it is."""
    return value.strip().lower() if isinstance(value, str) else value


def strict() -> ConfigDict:
    """Return the configuration of a reply: nothing is converted, no other field is taken."""
    from pydantic import ConfigDict

    return ConfigDict(strict=True, extra="forbid", frozen=True)


def shape(name: str, **parts: Any) -> type[BaseModel]:
    """Return the type of a reply, or of a part of one, with these fields and their types."""
    from pydantic import create_model

    fields: dict[str, Any] = {part: (kind, ...) for part, kind in parts.items()}
    return create_model(name, __config__=strict(), **fields)


def word(*words: str) -> Any:
    """Return the type of one of some words, in any case."""
    from pydantic import BeforeValidator

    one_of: Any = Literal[words]
    return Annotated[one_of, BeforeValidator(plain_word)]
