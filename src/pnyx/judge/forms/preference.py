"""Preference: which of two texts is better, asked one order at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pnyx.judge.forms.base import Form, Reading, plain_word, strict
from pnyx.judge.prompting import Prompt
from pnyx.judge.questions import Preference
from pnyx.judge.reading import validated

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["PreferenceForm"]

_NAMES = {"first": "a", "second": "b", "tie": "tie"}


class PreferenceForm(Form):
    """Asks which is better, `a` shown first; the judge asks again with both swapped."""

    kind = Preference
    inputs = {  # noqa: RUF012
        **dict.fromkeys(("a", "b", "question", "criterion", "group"), False),
        "documents": True,
    }

    def reply(self, question: Preference) -> type[BaseModel]:
        """Return the reply's type: a reason and the winner."""
        return _choice()

    def read(
        self, prompt: Prompt, questions: Sequence[Preference], sample: int, text: str
    ) -> list[Reading | None]:
        """See `Form.read`."""
        choice: Any = validated(_choice(), text)
        return [Reading(value=_NAMES[choice.winner], explanation=choice.reason)]


@cache
def _choice() -> type[BaseModel]:
    from pydantic import BeforeValidator, create_model

    winner = Annotated[Literal["first", "second", "tie"], BeforeValidator(plain_word)]
    return create_model("Choice", __config__=strict(), reason=(str, ...), winner=(winner, ...))
