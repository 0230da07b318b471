"""Support: one document against one statement, or against several in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pnyx.errors import InputError
from pnyx.judge.forms.base import Reading, by_name, keyed, plain_word, reordered
from pnyx.judge.prompting import Prompt
from pnyx.judge.questions import Support
from pnyx.judge.reading import UnreadableReply, one_object, validated, validated_value, word_spans
from pnyx.models.replies import ChatRequest

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["SupportForm", "read_verdict"]

_LIST = "statements"
"""The input of a prompt that takes several statements about one text."""


class SupportForm:
    """Asks for yes or no with a confidence; a prompt with `statements` takes several at once.

    Where a prompt's schema has `probability` in place of `confidence`, the reply states the
    probability of yes itself, whatever its answer (DIRAS, Fig. 10). Both are kept as they are:
    the answer is the value, and a probability on the other side of 0.5 is noted.
    """

    kind: type = Support
    inputs: Mapping[str, bool] = MappingProxyType(
        dict.fromkeys(("text", "statement", "question", "guideline", "group"), False)
        | {"shots": True, _LIST: True}
    )

    def request(self, prompt: Prompt, questions: Sequence[Support], sample: int) -> ChatRequest:
        """See `Form.request`; several questions must be about one text under one guideline."""
        first = questions[0]
        inputs: dict[str, Any] = {
            name: getattr(first, name) for name in prompt.inputs if name != _LIST
        }
        if not self.reorders(prompt):
            return prompt.request(inputs)
        shown = self._shown(questions, sample)
        inputs[_LIST] = [question.statement for _, question in shown]
        numbers = [str(n) for n in range(1, len(shown) + 1)]
        schema = keyed(prompt.schema or {}, numbers)
        return prompt.request(inputs, items=len(shown), schema=schema)

    def read(
        self, prompt: Prompt, questions: Sequence[Support], sample: int, text: str
    ) -> list[Reading | None]:
        """See `Form.read`."""
        model = _verdict_model(tuple((prompt.schema or {}).get("required", ())))
        if not self.reorders(prompt):
            verdict = validated(model, text)
            return [_reading(verdict, word_spans(text, "answer")[:1])]
        return self._read_many(model, questions, sample, text)

    def reorders(self, prompt: Prompt) -> bool:
        """See `Form.reorders`."""
        return _LIST in prompt.inputs

    def _shown(self, questions: Sequence[Support], sample: int) -> list[tuple[int, Support]]:
        return reordered(questions, sample, questions[0].text)

    def _read_many(
        self, model: type[BaseModel], questions: Sequence[Support], sample: int, text: str
    ) -> list[Reading | None]:
        given = by_name(one_object(text))
        spans = word_spans(text, "answer")
        exact = len(spans) == len(given)  # not where a key is spelt with escapes
        found: dict[str, Reading] = {}
        for place, (name, entry) in enumerate(given.items()):
            verdict = validated_value(model, entry, name)
            found[name] = _reading(verdict, spans[place : place + 1] if exact else [])
        readings: list[Reading | None] = [None] * len(questions)
        for number, (position, _) in enumerate(self._shown(questions, sample), 1):
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
def _verdict_model(fields: tuple[str, ...]) -> type[BaseModel]:
    """Return the shape of a verdict that has just these fields, as the prompt's schema says."""
    from typing import Annotated, Literal

    from pydantic import BeforeValidator, ConfigDict, Field, create_model

    share = (Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)], ...)
    kinds: dict[str, Any] = {
        "reason": (str, ...),
        "evidence": (str, ...),
        "answer": (Annotated[Literal["yes", "no"], BeforeValidator(plain_word)], ...),
        "confidence": share,
        "probability": share,
    }
    unknown = [name for name in fields if name not in kinds]
    how_sure = {"confidence", "probability"}.intersection(fields)
    if unknown or "answer" not in fields or len(how_sure) != 1:
        raise InputError(
            f"a support prompt whose schema requires {', '.join(fields) or 'nothing'}: expected "
            "answer and confidence (or probability), and at most reason and evidence beside them"
        )
    return create_model(
        "Verdict",
        __config__=ConfigDict(strict=True, extra="forbid", frozen=True),
        **{name: kinds[name] for name in fields},
    )


def read_verdict(text: str) -> Any:
    """Read a reply to a Support question that gives a reason.

    Args:
        text: one JSON object, alone or in one Markdown fence; a leading `<think>` block is
            passed over. Spelling of yes and no is taken in any case.

    Returns:
        An object with `reason`, `evidence`, `answer` ("yes" or "no") and `confidence` in [0, 1].

    Raises:
        UnreadableReply: anything else: no or several objects, a field too many or too few, a
            confidence out of range. A half-valid reply is not an answer.
    """
    return validated(_verdict_model(("reason", "evidence", "answer", "confidence")), text)
