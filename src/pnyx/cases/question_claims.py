"""Let a language model read a question: both claims, other searches, language; in one call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from pnyx.core.errors import shorten
from pnyx.core.records import Question
from pnyx.formats.text.language import language_of
from pnyx.judging.llm.prompts import load_prompt
from pnyx.judging.llm.structured_replies import ask_structured

if TYPE_CHECKING:
    import pydantic

    from pnyx.judging.store.completions import StoredModel

PROMPT: Final = "question"

SEARCHES: Final = 3
"""Most searches in other words, in addition to the first."""

_LONGEST: Final = 300
"""Characters of a claim or a search; a longer one is not used."""


@dataclass(frozen=True, slots=True)
class QuestionReading:
    """A question as a language model reads it.

    Attributes:
        model: its name.
        claims: of pro and con; None if no two claims could be read.
        searches: searches in other words.
        answerable: whether yes and no can answer it.
        language: the English name of its language; empty if unknown.
        problem: why it could not be read, if so.
        missing: whether the model has not been asked yet (offline).
    """

    model: str
    claims: tuple[str, str] | None = None
    searches: tuple[str, ...] = ()
    answerable: bool = True
    language: str = ""
    problem: str = ""
    missing: bool = False

    def posed(self, question: Question) -> Question:
        """Return the question with the claims, unless it has claims already."""
        if question.claims is not None or self.claims is None:
            return question
        return replace(question, claims=self.claims)

    def described(self, question: Question) -> str:
        """Say how the question was read, in a line for the report's settings."""
        if self.problem:
            return self.doubts[0]
        claims = self.claims if question.claims is None else None
        parts = [f"read by {self.model}"]
        if claims is not None:
            parts.append(f"yes means “{claims[0]}”, no means “{claims[1]}”")
        if self.searches:
            parts.append("also searched: " + "; ".join(f"“{query}”" for query in self.searches))
        return ". ".join(parts)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Notes for the reader on the question, one line each."""
        if self.problem:
            return (
                f"{self.model} could not read the question ({shorten(self.problem, 120)}): "
                "it is used as it is.",
            )
        if not self.answerable:
            return (
                f"{self.model} says that yes and no do not answer this question. Name both sides: "
                "--claims PRO CON.",
            )
        return ()


async def read_question(
    model: StoredModel, question: Question, documents: Iterable[str] = ()
) -> QuestionReading:
    """Ask a model what a question means; `documents` are texts retrieved by its own words."""
    inputs = {
        "question": question.text,
        "criterion": question.definition,
        "documents_language": _usual_language(documents),
    }
    shape: type[Any] = _reply_shape()
    request = load_prompt(PROMPT).request(inputs)
    reply, problems = await ask_structured(model, request, shape)
    if reply is None:
        missing = problems[-1].startswith("not_in_store")
        return QuestionReading(model.name, problem=problems[-1], missing=missing)
    claims = _claims(reply.yes, reply.no)
    lines = dict.fromkeys(filter(_usable, map(_line, reply.searches)))
    lines.pop(_line(question.text), None)
    return QuestionReading(
        model.name,
        claims,
        tuple(lines)[:SEARCHES],
        reply.yes_or_no,
        _line(reply.language),
        problem="" if claims else "claims: expected two different claims",
    )


def _claims(yes: str, no: str) -> tuple[str, str] | None:
    pair = _line(yes), _line(no)
    if pair[0].casefold() == pair[1].casefold() or not all(map(_usable, pair)):
        return None
    return pair


def _line(text: str) -> str:
    return " ".join(text.split())


def _usable(line: str) -> bool:
    return any(character.isalnum() for character in line) and len(line) <= _LONGEST


def _usual_language(texts: Iterable[str]) -> str:
    """Return the language of most texts; empty if there is none."""
    counts = Counter(map(language_of, texts))
    counts.pop("", None)
    language, count = max(counts.items(), key=lambda item: item[1], default=("", 0))
    return language if 2 * count > counts.total() else ""


@cache
def _reply_shape() -> type[pydantic.BaseModel]:
    """Build the reply's schema on first use: pydantic is slow to import."""
    import pydantic

    fields = ["language", "yes_or_no", "yes", "no", "searches"]
    closed: Any = {"additionalProperties": False, "required": fields}
    return pydantic.create_model(
        "QuestionReply",
        __config__={"json_schema_extra": closed},
        language=(str, ...),
        yes_or_no=(bool, ...),
        yes=(str, ...),
        no=(str, ...),
        searches=(list[str], ...),
    )
