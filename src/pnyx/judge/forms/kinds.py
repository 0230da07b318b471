"""The forms of the packaged prompts: preference, ranking, rating, support."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pnyx.judge.dimensions import definition
from pnyx.judge.forms.base import Form, Reading, by_name, plain_word, reordered, strict
from pnyx.judge.llm.prompting import Prompt
from pnyx.judge.llm.reading import (
    UnreadableReply,
    one_object,
    validated,
    validated_value,
    word_spans,
)
from pnyx.judge.questions import Preference, Ranking, Rating, Support

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["ChoiceForm", "PreferenceForm", "RankingForm", "RatingForm", "SupportForm"]


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


_CHOICES = {"first": "a", "second": "b", "neither": "tie"}


class ChoiceForm(PreferenceForm):
    """Asks for one word, so that each of the three has a probability by token.

    `claims` are `a` and `b` in one block: its marks cost more tokens than a claim.
    """

    by_token = True
    inputs = {**PreferenceForm.inputs, "claims": False}  # noqa: RUF012

    def reply(self, question: Preference) -> type[BaseModel]:
        """Return the reply's type: the word."""
        return _word()

    def put(
        self, prompt: Prompt, questions: Sequence[Preference], sample: int
    ) -> tuple[dict[str, Any], Sequence[str]]:
        """See `Form.put`."""
        (question,) = questions
        there = {"claims": f"First claim: {question.a}\nSecond claim: {question.b}"}
        return {n: there.get(n) or getattr(question, n) for n in prompt.inputs}, ()

    def read(
        self, prompt: Prompt, questions: Sequence[Preference], sample: int, text: str
    ) -> list[Reading | None]:
        """See `Form.read`."""
        choice: Any = validated(_word(), text)
        spans = word_spans(text, "answer")
        span = spans[0] if spans else None
        return [Reading(value=_CHOICES[choice.answer], span=span, words=_CHOICES)]


@cache
def _word() -> type[BaseModel]:
    from pydantic import BeforeValidator, create_model

    answer = Annotated[Literal["first", "second", "neither"], BeforeValidator(plain_word)]
    return create_model("Word", __config__=strict(), answer=(answer, ...))


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


class RatingForm(Form):
    """Asks for a score on each dimension; a sample reorders the dimensions.

    Another format of rating overrides `reply`, a type with a `reason`, and `score`.
    """

    kind = Rating
    inputs = {  # noqa: RUF012
        **dict.fromkeys(("text", "topic", "stance"), False),
        **dict.fromkeys(("documents", "dimensions"), True),
    }
    listed = "dimensions"

    def reply(self, question: Rating) -> type[BaseModel]:
        """Return the type of the entry on one dimension: a reason and a score on the scale."""
        return _score(*question.scale)

    def score(self, question: Rating, entry: Any) -> float:
        """Return what an entry says, as a number on the question's scale."""
        number: float = entry.score
        return number

    def put(
        self, prompt: Prompt, questions: Sequence[Rating], sample: int
    ) -> tuple[dict[str, Any], Sequence[str]]:
        """See `Form.put`."""
        (question,) = questions
        names = [name for _, name in reordered(question.dimensions, sample, question.text)]
        inputs = {
            "text": question.text,
            "topic": question.question,
            "stance": question.stance,
            "documents": list(question.documents),
            "dimensions": [f"{name}: {definition(question.task, name)}" for name in names],
        }
        return {name: inputs[name] for name in prompt.inputs}, names

    def read(
        self, prompt: Prompt, questions: Sequence[Rating], sample: int, text: str
    ) -> list[Reading | None]:
        """See `Form.read`; each dimension that the reply omits is unscored."""
        (question,) = questions
        given = by_name(one_object(text))
        unknown = [name for name in given if name not in question.dimensions]
        if unknown:
            raise UnreadableReply(f"found a score on {unknown[0][:40]!r}, not asked for")
        model = self.reply(question)
        scores: list[Any] = []
        reasons = {}
        missing = {}
        for name in question.dimensions:
            if name not in given:
                scores.append(None)
                missing[name] = "missing: not in the reply"
                continue
            entry = validated_value(model, given[name], name)
            scores.append(self.score(question, entry))
            reasons[name] = entry.reason
        if len(missing) == len(scores):
            raise UnreadableReply("it scores none of the dimensions")
        return [
            Reading(
                value=scores if len(scores) > 1 else scores[0],
                notes={"reasons": reasons, **({"dimensions": missing} if missing else {})},
            )
        ]


@cache
def _score(low: float, high: float) -> type[BaseModel]:
    from pydantic import Field, WithJsonSchema, create_model

    values = list(range(math.ceil(low), math.floor(high) + 1))
    told = WithJsonSchema({"type": "integer", "enum": values})
    score = Annotated[int, Field(ge=low, le=high), told]
    return create_model("Score", __config__=strict(), reason=(str, ...), score=(score, ...))


class SupportForm(Form):
    """Asks for yes or no and how sure that is; a prompt with `statements` takes several at once.

    `fields` are those of a verdict, in order. `probability`, in place of `confidence`, is that of
    yes whatever the answer (DIRAS, Fig. 10); one on the other side of 0.5 is noted.
    """

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
