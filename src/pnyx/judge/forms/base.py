"""What the forms share: the protocol, what was read, seeded reordering."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from pnyx.errors import shorten
from pnyx.judge.answers import Value
from pnyx.judge.prompting import Prompt
from pnyx.judge.reading import UnreadableReply
from pnyx.models.replies import ChatRequest

__all__ = ["Form", "Reading", "by_name", "keyed", "plain_word", "reordered"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply says of one question.

    Attributes:
        value: as in `Judged`.
        stated: P(yes) by the reply's own words, in [0, 1]; None where it states none.
        span: where in the reply's text the answer word stands (start, end); None where a
            probability by token makes no sense.
        explanation: the reply's reason.
        quote: what the reply says decided, in its own copy.
        notes: as in `Judged`.
    """

    value: Value
    stated: float | None = None
    span: tuple[int, int] | None = None
    explanation: str = ""
    quote: str = ""
    notes: Mapping[str, Any] = field(default_factory=dict)


class Form(Protocol):
    """How questions of one kind are asked and their replies read.

    Attributes:
        kind: the question class.
        inputs: what a prompt may ask for: name -> whether it is a list (True) or a text.
    """

    @property
    def kind(self) -> type: ...  # noqa: D102

    @property
    def inputs(self) -> Mapping[str, bool]: ...  # noqa: D102

    def request(self, prompt: Prompt, questions: Sequence[Any], sample: int) -> ChatRequest:
        """Render one call for one or several questions.

        Args:
            prompt: a prompt that takes as many questions.
            questions: of this kind.
            sample: 0 for the order given; any other number reorders what may be reordered, each
                time in the same way.
        """
        ...

    def read(
        self, prompt: Prompt, questions: Sequence[Any], sample: int, text: str
    ) -> list[Reading | None]:
        """Read a reply to `request(prompt, questions, sample)`.

        Returns:
            One reading for each question, None where the reply does not speak of it.

        Raises:
            UnreadableReply: the reply is not what was asked for.
        """
        ...

    def reorders(self, prompt: Prompt) -> bool:
        """Say whether another `sample` makes another request."""
        ...


def reordered(items: Sequence[T], sample: int, salt: str) -> list[tuple[int, T]]:
    """Return (original position, item) in the order of a sample; sample 0 keeps the order.

    Args:
        items: anything.
        sample: the number of the repeat.
        salt: what else the order depends on, so that not all questions share one order.
    """
    pairs = list(enumerate(items))
    if sample:
        seed = hashlib.sha256(f"{sample}\n{salt}".encode("utf-8", "replace")).digest()
        random.Random(seed).shuffle(pairs)
    return pairs


def keyed(item: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the schema of an object that has one `item` for each name and nothing else.

    An object is used where a list would do, since every server that takes a schema holds a model
    to required keys, but few hold it to the length of a list.
    """
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(names),
        "properties": {name: dict(item) for name in names},
    }


def by_name(given: Mapping[str, T]) -> dict[str, T]:
    """Return the fields of a keyed reply, their names without white space around them.

    Raises:
        UnreadableReply: two become the same: which of them counts is anybody's guess.
    """
    found: dict[str, T] = {}
    for name, entry in given.items():
        name = name.strip()
        if name in found:
            raise UnreadableReply(f"{shorten(name, 40)!r} comes twice")
        found[name] = entry
    return found


def plain_word(value: Any) -> Any:
    """Return a word without white space around it and in lower case; anything else as it is."""
    return value.strip().lower() if isinstance(value, str) else value
