"""Ranking: all texts in one call; what the reply leaves out keeps its order at the end."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

from pnyx.judge.forms.base import Form, Reading, reordered, strict
from pnyx.judge.prompting import Prompt
from pnyx.judge.questions import Ranking
from pnyx.judge.reading import UnreadableReply, validated

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["RankingForm"]


class RankingForm(Form):
    """Asks for the numbers of the texts, best first; a sample reorders the texts."""

    kind = Ranking
    inputs = {"query": False, "criterion": False, "texts": True}  # noqa: RUF012
    listed = "texts"
    keyed = False

    def reply(self, question: Ranking) -> type[BaseModel]:
        """Return the reply's type: the order."""
        return _order()

    def put(
        self, prompt: Prompt, questions: Sequence[Ranking], sample: int
    ) -> tuple[dict[str, Any], Sequence[str]]:
        """See `Form.put`."""
        (question,) = questions
        inputs, _ = super().put(prompt, questions, sample)
        shown = [text for _, text in reordered(question.texts, sample, question.query)]
        return {**inputs, "texts": shown}, [str(number) for number in range(1, len(shown) + 1)]

    def read(
        self, prompt: Prompt, questions: Sequence[Ranking], sample: int, text: str
    ) -> list[Reading | None]:
        """See `Form.read`; missing, repeated and invented numbers are noted, never fatal."""
        (question,) = questions
        given: Any = validated(_order(), text)
        shown = reordered(question.texts, sample, question.query)
        order: list[int] = []
        repeated: list[int] = []
        invented = 0
        for number in given.order:
            if not 1 <= number <= len(shown):
                invented += 1
                continue
            position = shown[number - 1][0]
            (repeated if position in order else order).append(position)
        if not order:
            raise UnreadableReply("the order names none of the texts")
        missing = [i for i in range(len(question.texts)) if i not in order]
        found = {"missing": missing, "repeated": repeated, "invented": invented}
        notes = {name: what for name, what in found.items() if what}
        return [Reading(value=[*order, *missing], notes=notes)]


@cache
def _order() -> type[BaseModel]:
    from pydantic import WithJsonSchema, create_model

    # Told to be at least 1, but read whatever it is: an invented number is noted.
    number = Annotated[int, WithJsonSchema({"type": "integer", "minimum": 1})]
    return create_model("Order", __config__=strict(), order=(list[number], ...))
