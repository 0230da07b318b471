"""Support: one document against one statement, or against several in one call."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pnyx.judge.forms.base import Form, Reading, by_name, plain_word, reordered, strict
from pnyx.judge.prompting import Prompt
from pnyx.judge.questions import Support
from pnyx.judge.reading import UnreadableReply, one_object, validated, validated_value, word_spans

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["SupportForm"]


class SupportForm(Form):
    """Asks for yes or no and how sure that is; a prompt with `statements` takes several at once."""

    kind = Support
    inputs = {  # noqa: RUF012
        **dict.fromkeys(("text", "statement", "question", "guideline", "group"), False),
        **dict.fromkeys(("shots", "statements"), True),
    }
    listed = "statements"

    def __init__(self, *fields: str) -> None:
        self.fields = fields

    def reply(self, question: Support) -> type[BaseModel]:
        """Return the type of a verdict."""
        return _verdict(self.fields)

    def put(
        self, prompt: Prompt, questions: Sequence[Support], sample: int
    ) -> tuple[dict[str, Any], Sequence[str]]:
        """See `Form.put`; several questions must be about one text under one guideline."""
        first = questions[0]
        inputs = {name: getattr(first, name) for name in prompt.inputs if name != self.listed}
        if not self.reorders(prompt):
            return inputs, ()
        shown = reordered(questions, sample, first.text)
        inputs[self.listed] = [question.statement for _, question in shown]
        return inputs, [str(number) for number in range(1, len(shown) + 1)]

    def read(
        self, prompt: Prompt, questions: Sequence[Support], sample: int, text: str
    ) -> list[Reading | None]:
        """See `Form.read`."""
        if not self.reorders(prompt):
            verdict = validated(_verdict(self.fields), text)
            return [_reading(verdict, word_spans(text, "answer")[:1])]
        given = by_name(one_object(text))
        spans = word_spans(text, "answer")
        exact = len(spans) == len(given)  # not where a key is spelt with escapes
        found: dict[str, Reading] = {}
        for place, (name, entry) in enumerate(given.items()):
            verdict = validated_value(_verdict(self.fields), entry, name)
            found[name] = _reading(verdict, spans[place : place + 1] if exact else [])
        readings: list[Reading | None] = [None] * len(questions)
        shown = reordered(questions, sample, questions[0].text)
        for number, (position, _) in enumerate(shown, 1):
            readings[position] = found.pop(str(number), None)
        if not given:
            raise UnreadableReply("it holds no verdict")
        if found:
            raise UnreadableReply(f"found a verdict on {next(iter(found))[:40]!r}, not a statement")
        return readings


def _reading(verdict: Any, spans: Sequence[tuple[int, int]]) -> Reading:
    yes = verdict.answer == "yes"
    of_yes = getattr(verdict, "probability", None)
    if of_yes is None:
        of_yes, contradicts = verdict.confidence if yes else 1.0 - verdict.confidence, False
    else:
        contradicts = of_yes < 0.5 if yes else of_yes > 0.5
    return Reading(
        value=yes,
        stated=of_yes,
        span=spans[0] if spans else None,
        explanation=getattr(verdict, "reason", ""),
        quote=getattr(verdict, "evidence", ""),
        notes={"contradiction": True} if contradicts else {},
    )


@cache
def _verdict(fields: tuple[str, ...]) -> type[BaseModel]:
    from pydantic import BeforeValidator, Field, create_model

    share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
    answer = Annotated[Literal["yes", "no"], BeforeValidator(plain_word)]
    kinds: dict[str, Any] = {"answer": answer, "confidence": share, "probability": share}
    parts: dict[str, Any] = {name: (kinds.get(name, str), ...) for name in fields}
    return create_model("Verdict", __config__=strict(), **parts)
