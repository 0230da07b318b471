"""Forms of yes/no questions: support, and whether a text contains a nugget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

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
from pnyx.judging.llm.json_objects import UnreadableReply, one_object, word_spans
from pnyx.judging.llm.prompts import Prompt
from pnyx.judging.llm.structured_replies import validated, validated_value
from pnyx.judging.llm.templates import block
from pnyx.judging.questions import Support

if TYPE_CHECKING:
    from pydantic import BaseModel

GRADES = {"support": True, "partial_support": False, "not_support": False}
"""Word for how far a text covers a nugget -> whether it counts as covered (nuggetizer)."""


class SupportForm(PromptForm):
    """Asks for yes or no with a confidence, for one statement, several, or a `listing`."""

    kind = Support
    inputs = {  # noqa: RUF012
        **dict.fromkeys(("text", "statement", "question", "guideline", "group", "listing"), False),
        **dict.fromkeys(("shots", "statements"), True),
    }
    listed = "statements"

    def __init__(self, *fields: str) -> None:
        self.fields = fields

    def reply(self, question: Support) -> type[BaseModel]:
        """Return the type of a verdict."""
        return _verdict(self.fields)

    def put(self, call: FormCall) -> Put:
        """See `PromptForm.put`; several questions must share one text and one guideline."""
        first = call.question
        several = (self.listed, "listing")
        inputs = {name: getattr(first, name) for name in call.prompt.inputs if name not in several}
        if not self.reorders(call.prompt):
            return inputs, ()
        questions = [question for _, question in reordered(call.questions, call.sample, first.text)]
        if self.listed in call.prompt.inputs:
            inputs[self.listed] = [self.stated(question) for question in questions]
        if "listing" in call.prompt.inputs:
            inputs["listing"] = "\n".join(_listing(questions))
        return inputs, [str(number) for number in range(1, len(questions) + 1)]

    def reorders(self, prompt: Prompt) -> bool:  # noqa: D102
        return prompt.takes_several

    def stated(self, question: Support) -> str:
        """Return the line about a question in a list of statements."""
        return question.statement

    def reading(self, verdict: Any, spans: Sequence[tuple[int, int]]) -> ReplyReading:
        """Return the reading of a verdict; `spans` has the position of its word if it is known."""
        yes = verdict.answer == "yes"
        of_yes = getattr(verdict, "probability", None)
        if of_yes is None:
            of_yes, contradicts = verdict.confidence if yes else 1.0 - verdict.confidence, False
        else:
            contradicts = of_yes < 0.5 if yes else of_yes > 0.5
        return ReplyReading(
            value=yes,
            stated=of_yes,
            span=spans[0] if spans else None,
            explanation=getattr(verdict, "reason", ""),
            quote=getattr(verdict, "evidence", ""),
            notes={"contradiction": True} if contradicts else {},
        )

    def read(self, call: FormCall, text: str) -> Readings:  # noqa: D102
        verdicts = self.reply(call.question)
        if not self.reorders(call.prompt):
            verdict = validated(verdicts, text)
            spans = word_spans(text, "answer")
            return [self.reading(verdict, spans if len(spans) == 1 else [])]
        numbers = [str(number) for number in range(1, len(call.questions) + 1)]
        verdict_entries = by_name(one_object(text, numbers), numbers)
        spans = word_spans(text, "answer")
        exact = len(spans) == len(verdict_entries)  # False if a key contains escapes
        result: dict[str, ReplyReading] = {}
        for n, (name, entry) in enumerate(verdict_entries.items()):
            verdict = validated_value(verdicts, entry, name)
            result[name] = self.reading(verdict, spans[n : n + 1] if exact else [])
        readings: Readings = [None] * len(call.questions)
        order = reordered(call.questions, call.sample, call.question.text)
        for number, (position, _) in enumerate(order, 1):
            readings[position] = result.pop(str(number), None)
        if not verdict_entries:
            raise UnreadableReply("it holds no verdict")
        if result:
            name = next(iter(result))[:40]
            raise UnreadableReply(f"found a verdict on {name!r}, not a statement")
        return readings


class CitationsForm(SupportForm):
    """Asks whether the document cited by each sentence supports it; several documents per call.

    The input `material` has each document once, numbered, then the numbered sentences.
    """

    inputs = {"question": False, "material": False}  # noqa: RUF012
    listed = "material"

    def put(self, call: FormCall) -> Put:
        """See `PromptForm.put`."""
        salt = call.question.text
        questions = [question for _, question in reordered(call.questions, call.sample, salt)]
        texts = list(dict.fromkeys(question.text for question in questions))
        parts = [f"Document {n}:\n{block('document', text)}" for n, text in enumerate(texts, 1)]
        for number, question in enumerate(questions, 1):
            cited = f"Sentence {number}, which cites document {texts.index(question.text) + 1}:"
            parts.append(f"{cited}\n{block('sentence', question.statement)}")
        inputs = {"question": call.question.question, "material": "\n\n".join(parts)}
        names = [str(number) for number in range(1, len(questions) + 1)]
        return {name: inputs[name] for name in call.prompt.inputs}, names


class NuggetForm(SupportForm):
    """Asks how far a text covers a nugget; partly means no, with the note `partial`."""

    def reply(self, question: Support) -> type[BaseModel]:
        """Return the type of a verdict."""
        return _verdict(self.fields, tuple(GRADES))

    def stated(self, question: Support) -> str:  # noqa: D102
        if not question.question.strip():
            return question.statement
        return f"Question: {question.question}\nAnswer: {question.statement}"

    def reading(self, verdict: Any, spans: Sequence[tuple[int, int]]) -> ReplyReading:  # noqa: D102
        grade = GRADES[verdict.answer]
        sure = verdict.confidence
        return ReplyReading(
            value=grade,
            stated=sure if grade else (1.0 - sure) / 2,
            span=spans[0] if spans else None,
            explanation=getattr(verdict, "reason", ""),
            words=GRADES,
            notes={"partial": True} if verdict.answer == "partial_support" else {},
        )


class GivenNuggetForm(NuggetForm):
    """Asks which lines of a listing a text covers: lines missing in the reply are not covered.

    Such a line has no probability, and the note `not_named`.
    """

    keyed = False

    def reply(self, question: Support) -> type[BaseModel]:
        """Return the type of a reply: the lines that are covered, wholly or in part."""
        return _given_lines()

    def read(self, call: FormCall, text: str) -> Readings:  # noqa: D102
        reply: Any = validated(_given_lines(), text)
        spans = word_spans(text, "answer")
        exact = len(spans) == len(reply.given)
        named: dict[int, ReplyReading] = {}
        for n, entry in enumerate(reply.given):
            if entry.number in named or entry.number > len(call.questions):
                problem = "twice" if entry.number in named else "which is not a numbered line"
                raise UnreadableReply(f"found number {entry.number} {problem}"[:120])
            named[entry.number] = self.reading(entry, spans[n : n + 1] if exact else [])
        readings: Readings = [None] * len(call.questions)
        order = reordered(call.questions, call.sample, call.question.text)
        for number, (position, _) in enumerate(order, 1):
            unnamed = ReplyReading(value=False, notes={"not_named": True})
            readings[position] = named.get(number, unnamed)
        return readings


@cache
def _given_lines() -> type[BaseModel]:
    from pydantic import Field

    number = Annotated[int, Field(ge=1)]
    share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
    answer = word("support", "partial_support")
    line: Any = shape("GivenLine", number=number, answer=answer, confidence=share)
    return shape("GivenLines", given=list[line])


def _listing(questions: Sequence[Support]) -> Iterator[str]:
    """Yield the lines of a list: only those of statements start with a number."""
    heading = None
    for number, question in enumerate(questions, 1):
        line = " ".join(question.question.split())
        if line != heading and (line or heading):
            yield f"Question: {line}" if line else "No question:"
        heading = line
        yield f"{number}. {' '.join(question.statement.split())}"


@cache
def _verdict(fields: tuple[str, ...], words: tuple[str, ...] = ("yes", "no")) -> type[BaseModel]:
    from pydantic import Field

    share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
    kinds: dict[str, Any] = {"answer": word(*words), "confidence": share, "probability": share}
    return shape("Verdict", **{name: kinds.get(name, str) for name in fields})
