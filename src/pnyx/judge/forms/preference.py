"""Preference: which of two texts is better, asked one order at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pnyx.judge.forms.base import Reading, plain_word
from pnyx.judge.prompting import Prompt
from pnyx.judge.questions import Preference
from pnyx.judge.reading import validated
from pnyx.models.replies import ChatRequest

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["PreferenceForm", "swapped"]

_NAMES = {"first": "a", "second": "b", "tie": "tie"}


class PreferenceForm:
    """Asks which is better, `a` shown first; the judge asks again with both `swapped`."""

    kind: type = Preference
    inputs: Mapping[str, bool] = MappingProxyType(
        dict.fromkeys(("a", "b", "question", "criterion", "group"), False) | {"documents": True}
    )

    def request(self, prompt: Prompt, questions: Sequence[Preference], sample: int) -> ChatRequest:
        """See `Form.request`; one question a call, nothing to reorder."""
        (question,) = questions
        inputs: dict[str, Any] = {name: getattr(question, name) for name in prompt.inputs}
        return prompt.request(inputs)

    def read(
        self, prompt: Prompt, questions: Sequence[Preference], sample: int, text: str
    ) -> list[Reading | None]:
        """See `Form.read`."""
        choice: Any = validated(_choice_model(), text)
        return [Reading(value=_NAMES[choice.winner], explanation=choice.reason)]

    def reorders(self, prompt: Prompt) -> bool:
        """See `Form.reorders`."""
        return False


def swapped(value: object) -> str:
    """Return a verdict on (b, a) in terms of (a, b)."""
    return {"a": "b", "b": "a"}.get(str(value), "tie")


@cache
def _choice_model() -> type[BaseModel]:
    from typing import Annotated, Literal

    from pydantic import BaseModel, BeforeValidator, ConfigDict

    class Choice(BaseModel):
        model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

        reason: str
        winner: Annotated[Literal["first", "second", "tie"], BeforeValidator(plain_word)]

    return Choice
