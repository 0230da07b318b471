"""The forms of the packaged prompts: preference, ranking, rating."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

from pnyx.judging.answers import Missing
from pnyx.judging.dimensions import Scale
from pnyx.judging.forms.base import (
    FormCall,
    PromptForm,
    Put,
    Readings,
    ReplyReading,
    by_name,
    reordered,
    shape,
    word,
)
from pnyx.judging.llm.json_objects import UnreadableReply, number_spans, one_object, word_spans
from pnyx.judging.llm.structured_replies import validated, validated_value
from pnyx.judging.questions import Preference, Ranking, RatedShot, Rating

if TYPE_CHECKING:
    from pydantic import BaseModel

NAMES = {"first": "a", "second": "b", "tie": "tie"}
"""Word of a reply -> the text that it means; the first one is a."""


class PreferenceForm(PromptForm):
    """Asks which text is better, `a` first; the judge asks again with both swapped."""

    kind = Preference
    inputs = {  # noqa: RUF012
        **dict.fromkeys(("a", "b", "question", "criterion", "group"), False),
        "documents": True,
    }

    def reply(self, question: Preference) -> type[BaseModel]:
        """Return the reply's type: a reason and the winner."""
        return choice_type()

    def read(self, call: FormCall, text: str) -> Readings:  # noqa: D102
        choice: Any = validated(choice_type(), text)
        return [ReplyReading(value=NAMES[choice.winner], explanation=choice.reason)]


def winner_word() -> Any:
    """Return the type of the word for the better one of two."""
    return word(*NAMES)


@cache
def choice_type() -> type[BaseModel]:
    """Return the type of a choice between two: a reason and the winner."""
    return shape("Choice", reason=str, winner=winner_word())


_CHOICES = {"first": "a", "second": "b", "neither": "tie"}


class ChoiceForm(PreferenceForm):
    """Asks for one word, so that each of the three answers has a token probability."""

    by_token = True
    inputs = {**PreferenceForm.inputs, "claims": False}  # noqa: RUF012

    def reply(self, question: Preference) -> type[BaseModel]:
        """Return the reply's type: the word."""
        return _word()

    def put(self, call: FormCall) -> Put:  # noqa: D102
        question = call.question
        there = {"claims": f"First claim: {question.a}\nSecond claim: {question.b}"}
        return {n: there.get(n) or getattr(question, n) for n in call.prompt.inputs}, ()

    def read(self, call: FormCall, text: str) -> Readings:  # noqa: D102
        choice: Any = validated(_word(), text)
        spans = word_spans(text, "answer")
        span = spans[0] if spans else None
        return [ReplyReading(value=_CHOICES[choice.answer], span=span, words=_CHOICES)]


@cache
def _word() -> type[BaseModel]:
    return shape("Word", answer=word(*_CHOICES))


class RankingForm(PromptForm):
    """Asks for the numbers of the texts, best first; a sample reorders the texts."""

    kind = Ranking
    inputs = {"query": False, "criterion": False, "texts": True}  # noqa: RUF012
    listed = "texts"
    keyed = False

    def reply(self, question: Ranking) -> type[BaseModel]:
        """Return the reply's type: the order."""
        return _order()

    def put(self, call: FormCall) -> Put:  # noqa: D102
        question = call.question
        inputs, _ = super().put(call)
        texts = [text for _, text in reordered(question.texts, call.sample, question.query)]
        return {**inputs, "texts": texts}, [str(number) for number in range(1, len(texts) + 1)]

    def read(self, call: FormCall, text: str) -> Readings:
        """See `PromptForm.read`; missing, repeated and invented numbers are only noted."""
        question = call.question
        reply: Any = validated(_order(), text)
        texts = reordered(question.texts, call.sample, question.query)
        order: list[int] = []
        repeated: list[int] = []
        invented = 0
        for number in reply.order:
            if not 1 <= number <= len(texts):
                invented += 1
                continue
            position = texts[number - 1][0]
            (repeated if position in order else order).append(position)
        if not order:
            raise UnreadableReply("the order names none of the texts")
        missing = [i for i in range(len(question.texts)) if i not in order]
        faults = {"missing": missing, "repeated": repeated, "invented": invented}
        notes = {name: what for name, what in faults.items() if what}
        return [ReplyReading(value=order, notes=notes)]


@cache
def _order() -> type[BaseModel]:
    from pydantic import WithJsonSchema

    # The schema says at least 1, but any number is read: an invented one is noted.
    number = Annotated[int, WithJsonSchema({"type": "integer", "minimum": 1})]
    return shape("Order", order=list[number])


class RatingForm(PromptForm):
    """Asks for a score on each dimension; a sample reorders the dimensions."""

    kind = Rating
    inputs: ClassVar[Mapping[str, bool]] = {
        **dict.fromkeys(("text", "topic", "stance", "dimension", "told"), False),
        **dict.fromkeys(("documents", "dimensions", "levels", "shots"), True),
    }
    listed = "dimensions"

    def reply(self, question: Rating) -> type[BaseModel]:
        """Return the type of the entry on one dimension: a reason and a score on the scale."""
        if question.rating_scale.boolean:
            return _flag_type()
        return score_type(*question.scale)

    def score(self, question: Rating, entry: Any) -> float:
        """Return the score in an entry, as a number on the question's scale."""
        score: float = entry.score
        return int(score) if isinstance(score, bool) else score

    def remarks(self, question: Rating, entry: Any) -> Mapping[str, Any]:
        """Return the other content of an entry: name of a note -> its text on the dimension."""
        return {}

    def names(self, question: Rating, dimensions: Sequence[str]) -> list[str]:
        """Return the names in the reply, given the dimensions in the order of the sample."""
        return list(dimensions)

    def material(self, question: Rating, dimensions: Sequence[str]) -> dict[str, Any]:
        """Return all inputs available to a prompt; `dimension` is all of them as one text."""
        scale, defined_dimensions = question.rating_scale, question.known
        defined = [f"{name}: {defined_dimensions[name].definition}" for name in dimensions]
        return {
            "text": question.text,
            "topic": question.question,
            "stance": question.stance,
            "documents": list(question.documents),
            "dimensions": defined,
            "dimension": "\n".join(defined),
            "levels": list(scale.levels),
            "told": scale.values_in_words,
            "shots": [
                _shown(shot, dimensions, scale)
                for shot in question.shots
                if any(name in dimensions for name, _ in shot.scores)
            ],
        }

    def put(self, call: FormCall) -> Put:  # noqa: D102
        question = call.question
        dimensions = question.dimensions
        if self.reorders(call.prompt):
            dimensions = tuple(
                name for _, name in reordered(dimensions, call.sample, question.text)
            )
        inputs = self.material(question, dimensions)
        return {name: inputs[name] for name in call.prompt.inputs}, self.names(question, dimensions)

    def read(self, call: FormCall, text: str) -> Readings:
        """See `PromptForm.read`; dimensions that the reply omits are unscored."""
        question = call.question
        names = self.names(question, question.dimensions)
        scores = by_name(one_object(text, names), names)
        unknown = [name for name in scores if name not in names]
        faults = [f"found a score on {name[:40]!r}, not asked for" for name in unknown]
        rated: dict[str, tuple[float, Mapping[str, Any]] | Missing] = {}
        for name in question.dimensions:
            try:
                rating = self.rated(question, name, scores)
            except UnreadableReply as error:
                faults.append(str(error))
                rating = Missing(f"schema: {error}")
            rated[name] = rating
        value, notes = value_and_notes(rated)
        missing = len(notes.get("dimensions", ())) == len(rated)
        if missing and (faults or not all(name in scores for name in names)):
            raise UnreadableReply(faults[0] if faults else "it scores none of the dimensions")
        read = ReplyReading(value=value, notes=notes, spans=number_spans(text, "score", names))
        if faults:
            reading = replace(read, notes={**notes, "lenient": ["dimensions"]})
            raise UnreadableReply(faults[0], [reading])
        return [read]

    def rated(
        self, question: Rating, name: str, scores: Mapping[str, Any]
    ) -> tuple[float, Mapping[str, Any]] | Missing:
        """Return the score on a dimension and the reply's remarks on it, or why there is none."""
        if name not in scores:
            return Missing("missing: not in the reply")
        entry = validated_value(self.entry(question, name), scores[name], name)
        return self.score(question, entry), {
            "reasons": entry.reason,
            **self.remarks(question, entry),
        }


def value_and_notes(
    rated: Mapping[str, tuple[float, Mapping[str, Any]] | Missing],
) -> tuple[Any, dict[str, dict[str, Any]]]:
    """Return the value (a list for several dimensions), and note -> dimension -> remark."""
    scores: list[float | None] = []
    notes: dict[str, dict[str, Any]] = {}
    for name, rating in rated.items():
        score, remarks = (
            (None, {"dimensions": str(rating)}) if isinstance(rating, Missing) else rating
        )
        scores.append(score)
        for note, remark in remarks.items():
            notes.setdefault(note, {})[name] = remark
    return scores if len(scores) > 1 else scores[0], notes


class _Shown(NamedTuple):
    """A rated text as it appears in a prompt: its scores in words, one per line."""

    text: str
    scores: str


def _shown(shot: RatedShot, dimensions: Sequence[str], scale: Scale) -> _Shown:
    """Return an example with its scores in the order of the requested dimensions."""
    scores = {n: bool(v) if scale.boolean else v for n, v in shot.scores}
    lines = [f"{name}: {json.dumps(scores[name])}" for name in dimensions if name in scores]
    return _Shown(shot.text, "\n".join(lines))


@cache
def _flag_type() -> type[BaseModel]:
    return shape("Flag", reason=str, score=bool)


@cache
def score_type(low: float, high: float) -> type[BaseModel]:
    """Return the type of an entry with a reason and a whole number on a scale."""
    return shape("Score", reason=str, score=whole_number(low, high))


def whole_number(low: float, high: float) -> Any:
    """Return the type of a whole number on a scale, described as a list of values."""
    from pydantic import Field, WithJsonSchema

    values = list(range(math.ceil(low), math.floor(high) + 1))
    schema = WithJsonSchema({"type": "integer", "enum": values})
    return Annotated[int, Field(ge=low, le=high), schema]
