"""Ranking: all texts in one call; what the reply leaves out keeps its order at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pnyx.judge.forms.base import Reading, reordered
from pnyx.judge.prompting import Prompt
from pnyx.judge.questions import Ranking
from pnyx.judge.reading import UnreadableReply, validated
from pnyx.models.replies import ChatRequest

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["RankingForm"]


class RankingForm:
    """Asks for the numbers of the texts, best first; a sample reorders the texts."""

    kind: type = Ranking
    inputs: Mapping[str, bool] = MappingProxyType(
        {"query": False, "criterion": False, "texts": True}
    )

    def request(self, prompt: Prompt, questions: Sequence[Ranking], sample: int) -> ChatRequest:
        """See `Form.request`; one question a call."""
        (question,) = questions
        shown = reordered(question.texts, sample, question.query)
        inputs = {
            "query": question.query,
            "criterion": question.criterion,
            "texts": [text for _, text in shown],
        }
        return prompt.request({name: inputs[name] for name in prompt.inputs}, items=len(shown))

    def read(
        self, prompt: Prompt, questions: Sequence[Ranking], sample: int, text: str
    ) -> list[Reading | None]:
        """See `Form.read`; missing, repeated and invented numbers are noted, never fatal."""
        (question,) = questions
        given: Any = validated(_order_model(), text)
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

    def reorders(self, prompt: Prompt) -> bool:
        """See `Form.reorders`."""
        return True


@cache
def _order_model() -> type[BaseModel]:
    from pydantic import BaseModel, ConfigDict

    class Order(BaseModel):
        model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

        order: list[int]

    return Order
