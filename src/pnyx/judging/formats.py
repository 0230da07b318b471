"""Formats: ways of asking a language model about the items of a task.

A format defines the questions about one item (one or several, each with its own prompt) and
combines the answers. `Task.formats` lists those of a task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from pnyx.judging.answers import Answer, Judged, notes_on_reading
from pnyx.judging.questions import JudgeQuestion, Rating
from pnyx.judging.votes import provenance_of


class Part(NamedTuple):
    """One of the questions of a format about an item."""

    question: JudgeQuestion  # of any kind and task
    prompt: str = ""  # name of its packaged prompt; empty for the format's first


Join: TypeAlias = Callable[[Any, Sequence[Answer], str], Answer]
"""Combines the answers to an item's parts, in order, into one answer; the text is the judge's
name."""


def whole(question: JudgeQuestion) -> list[Part]:
    """Ask everything at once."""
    return [Part(question)]


def by_dimension(question: Any) -> list[Part]:
    """Ask about each dimension of a rating separately."""
    return [Part(replace(question, dimensions=(name,))) for name in question.dimensions]


def joined_ratings(question: Rating, answers: Sequence[Answer], judge: str) -> Answer:
    """Combine answers on the question's dimensions, in order, into one rating."""
    cells: list[Any] = []
    reasons: dict[str, str] = {}
    notes: dict[str, Any] = {}
    for answer in answers:
        part: Any = answer.question
        cells += part.votes(answer)
        own_reasons = answer.notes.get("reasons", {})
        if isinstance(answer, Judged) and len(part.dimensions) == 1:
            own_reasons = {part.dimensions[0]: answer.explanation, **own_reasons}
        reasons |= own_reasons
    for name in ("stated", "mass"):
        tables = [answer.notes[name] for answer in answers if name in answer.notes]
        notes |= {name: {k: v for table in tables for k, v in table.items()}} if tables else {}
    notes |= notes_on_reading(answers)
    if reasons:
        notes["reasons"] = reasons
    provenance = provenance_of(judge, "stated", answers)
    by = {n: a.provenance for a in answers for n in getattr(a.question, "dimensions", ())}
    hashes = {name: source.prompt_hash for name, source in by.items()}
    calls = {name: source.asked for name, source in by.items()}
    details = {**provenance.details, "prompt_hashes": hashes, "asked": calls}
    provenance = replace(provenance, details=details)
    composed: Answer = question.compose(cells, provenance, notes=notes)
    return composed


def the_only(_: JudgeQuestion, answers: Sequence[Answer], judge: str) -> Answer:
    """Return the answer of a format with one question, signed by `judge`."""
    (answer,) = answers
    return replace(answer, provenance=replace(answer.provenance, judge=judge))


@dataclass(frozen=True, slots=True)
class JudgingFormat:
    """One way of asking a language model about a task's items."""

    name: str  # as in `--judge-format`
    asks: str  # the content of a call, in one line
    prompts: tuple[str, ...]  # names of packaged prompts, the default one first
    shape: Callable[[Any], JudgeQuestion] = lambda question: question
    parts: Callable[[Any], Sequence[Part]] = whole  # the questions about one item
    join: Join = the_only  # combines the answers to the parts
    rubric: str = ""  # the prompt that first generates the points; may be empty
    makes_points: bool = False  # whether a model generates points
    by_tokens: bool = False  # whether its scores may be means by token probabilities
    packaged: bool = False  # whether the packaged judge can answer its parts

    def prompt_of(self, part: Part) -> str:
        """Return the name of the prompt of a part."""
        return part.prompt or self.prompts[0]

    def with_points(self, count: int) -> JudgingFormat:
        """Return the same format with `count` generated points for each question."""

        def shape(question: Any) -> JudgeQuestion:
            shaped: Any = self.shape(question)
            sized: Rating = replace(shaped, nuggets=count)
            return sized

        return replace(self, shape=shape)

    def plain(self, prompt: str) -> bool:
        """Whether it asks the item's own question with one prompt, `prompt`."""
        return self.parts is whole and self.join is the_only and self.prompts == (prompt,)
