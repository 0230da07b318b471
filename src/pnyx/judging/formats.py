"""Formats: the ways to put the items of a task to a language model.

A format says what is asked about one item (one question or several, each by a prompt of its own)
and makes one answer of the answers. `Task.formats` names those of a task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from pnyx.judging.answers import Answer, Judged, notes_on_reading
from pnyx.judging.combining.votes import provenance_of
from pnyx.judging.questions import JudgeQuestion, Rating


class Part(NamedTuple):
    """One question of those that a format asks about an item."""

    question: JudgeQuestion  # of any kind and task
    prompt: str = ""  # of its packaged prompt; empty for the format's first


Join: TypeAlias = Callable[[Any, Sequence[Answer], str], Answer]
"""Makes one answer to an item's question of the answers to its parts, in order; the text is the
name of the judge that gives it."""


def whole(question: JudgeQuestion) -> list[Part]:
    """Ask all at once."""
    return [Part(question)]


def by_dimension(question: Any) -> list[Part]:
    """Ask for each dimension of a rating on its own."""
    return [Part(replace(question, dimensions=(name,))) for name in question.dimensions]


def joined_ratings(question: Rating, answers: Sequence[Answer], judge: str) -> Answer:
    """Return one rating of the answers on the question's dimensions, in order."""
    cells: list[Any] = []
    reasons: dict[str, str] = {}
    notes: dict[str, Any] = {}
    for answer in answers:
        question_part: Any = answer.question
        cells += question_part.votes(answer)
        own_reasons = answer.notes.get("reasons", {})
        if isinstance(answer, Judged) and len(question_part.dimensions) == 1:
            own_reasons = {question_part.dimensions[0]: answer.explanation, **own_reasons}
        reasons |= own_reasons
    for name in ("stated", "mass"):
        tables = [answer.notes[name] for answer in answers if name in answer.notes]
        notes |= {name: {k: v for table in tables for k, v in table.items()}} if tables else {}
    notes |= notes_on_reading(answers)
    if reasons:
        notes["reasons"] = reasons
    provenance = provenance_of(judge, "stated", answers)
    by = {n: a.provenance for a in answers for n in getattr(a.question, "dimensions", ())}
    hashes = {name: table.prompt_hash for name, table in by.items()}
    calls = {name: table.asked for name, table in by.items()}
    details = {**provenance.details, "prompt_hashes": hashes, "asked": calls}
    provenance = replace(provenance, details=details)
    composed: Answer = question.compose(cells, provenance, notes=notes)
    return composed


def the_only(_: JudgeQuestion, answers: Sequence[Answer], judge: str) -> Answer:
    """Return the answer of a format that asks one question, signed by `judge`."""
    (answer,) = answers
    return replace(answer, provenance=replace(answer.provenance, judge=judge))


@dataclass(frozen=True, slots=True)
class JudgingFormat:
    """One way to put a task's items to a language model."""

    name: str  # as in `--format`
    asks: str  # what is asked in a call, in one line
    prompts: tuple[str, ...]  # names of packaged prompts, the usual one first
    shape: Callable[[Any], JudgeQuestion] = lambda question: question
    parts: Callable[[Any], Sequence[Part]] = whole  # what is asked about one item
    join: Join = the_only  # makes one answer of those to the parts
    rubric: str = ""  # the prompt that first makes up the points; may be empty
    makes_points: bool = False  # whether a model makes up points
    by_tokens: bool = False  # whether its scores may be means by token probabilities
    packaged: bool = False  # whether the packaged judge answers its parts

    def prompt_of(self, part: Part) -> str:
        """Return the name of the prompt of a part."""
        return part.prompt or self.prompts[0]

    def with_points(self, count: int) -> JudgingFormat:
        """Return the same format with so many points made up for each question."""

        def shape(question: Any) -> JudgeQuestion:
            shaped: Any = self.shape(question)
            sized: Rating = replace(shaped, nuggets=count)
            return sized

        return replace(self, shape=shape)

    def plain(self, prompt: str) -> bool:
        """Whether it asks the item's own question with one prompt, `prompt`."""
        return self.parts is whole and self.join is the_only and self.prompts == (prompt,)
