"""The list of nuggets of one topic as it grows, window by window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pnyx.core.nuggets import Nugget, NuggetAnswer, NuggetReference
from pnyx.core.records import md5_of
from pnyx.formats.text.words import clean, words_of

if TYPE_CHECKING:
    from pydantic import BaseModel

Style: TypeAlias = Literal["questions", "claims"]
"""Questions with answers (ARGUE), or claims (nuggetizer)."""

_MAX_TEXT = 1000


@dataclass
class _DraftNugget:
    """A nugget so far: answer -> the documents that attest it, in order (a claim is its own)."""

    text: str
    answers: dict[str, dict[str, None]] = field(default_factory=dict)
    wants_all: bool = False

    def attest(self, answer: str, documents: Sequence[str]) -> None:
        """Add documents to an answer, matching answers by their words."""
        words = words_of(answer)
        same_answer = next((answer for answer in self.answers if words_of(answer) == words), answer)
        self.answers.setdefault(same_answer, {}).update(dict.fromkeys(documents))


@dataclass
class Growing:
    """The nuggets of a topic, at most `most`."""

    style: Style
    most: int
    left_out: int = 0
    unattested: int = 0
    imagined: int = 0
    _found: list[_DraftNugget] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._found)

    @property
    def room(self) -> int:
        """How many more nuggets fit in."""
        return max(0, self.most - len(self) - self.imagined)

    def shown(self) -> list[str]:
        """Return the list in the form that a prompt shows."""
        listed = [
            stated(nugget.text, () if self._claims else nugget.answers) for nugget in self._found
        ]
        return [*listed, *(f"{_PLACEHOLDER[self.style]} ({n})" for n in range(self.imagined))]

    def imagine(self, windows: int) -> None:
        """Grow the list by an even share, for a window whose reply is not known."""
        self.imagined += min(self.room, -(-self.most // windows))

    def fold(self, reply: Any, doc_ids: Sequence[str]) -> None:
        """Add a reply about passages with these ids, in order."""
        for entry in reply.nuggets:
            text = _text(entry.claim if self._claims else entry.question)
            nugget = self._listed(entry.number, text)
            new = nugget is None
            if nugget is None:
                nugget = _DraftNugget(text, wants_all=getattr(entry, "wanted", "") == "all")
            for answer, documents in self._answers(entry, nugget):
                # A model may invent numbers of passages.
                valid = (n for n in dict.fromkeys(documents) if 1 <= n <= len(doc_ids))
                ids = [doc_ids[n - 1] for n in valid]
                if ids and words_of(answer):
                    nugget.attest(answer, ids)
            if not nugget.answers or (new and (entry.number or not words_of(text))):
                self.unattested += 1
            elif new and not self.room:
                self.left_out += 1
            elif new:
                self._found.append(nugget)

    def nuggets(self) -> tuple[Nugget, ...]:
        """Return the nuggets, in the order in which they were added."""
        return tuple(map(self._nugget, self._found))

    @property
    def _claims(self) -> bool:
        return self.style == "claims"

    def _answers(self, entry: Any, nugget: _DraftNugget) -> list[tuple[str, Sequence[int]]]:
        """Return the answers of an entry with the numbers of their passages."""
        if self._claims:
            return [(nugget.text, entry.documents)]
        return [(_text(part.answer), part.documents) for part in entry.answers]

    def _listed(self, number: int, text: str) -> _DraftNugget | None:
        if 1 <= number <= len(self._found):
            return self._found[number - 1]
        words = words_of(text)
        return next(
            (nugget for nugget in self._found if words and words_of(nugget.text) == words), None
        )

    def _nugget(self, nugget: _DraftNugget) -> Nugget:
        name = md5_of(nugget.text)
        if self._claims:
            (ids,) = nugget.answers.values()
            return Nugget(name, nugget.text, is_claim=True, references=_references(ids))
        answers = tuple(NuggetAnswer(a, _references(ids)) for a, ids in nugget.answers.items())
        return Nugget(name, nugget.text, answers, aggregator="AND" if nugget.wants_all else "OR")


_PLACEHOLDER = {
    "claims": "A fact that matters to the topic, said in one sentence of about a dozen words",
    "questions": "A question that matters to the topic, in about a dozen words? an answer; another",
}
"""Placeholder nuggets for plans, about as long as real ones."""


def stated(text: str, answers: Sequence[str] | dict[str, Any]) -> str:
    """Return a nugget in one line: a claim, or a question with its answers."""
    return f"{text} {'; '.join(answers)}" if answers else text


def _text(text: str) -> str:
    return clean(text)[:_MAX_TEXT].strip()


def _references(doc_ids: Sequence[str] | dict[str, None]) -> tuple[NuggetReference, ...]:
    return tuple(map(NuggetReference, doc_ids))


@cache
def reply_shape(style: Style) -> type[BaseModel]:
    """Return the schema of a reply to `nugget-claims` or `nugget-questions`."""
    from pydantic import ConfigDict, Field, create_model

    strict = ConfigDict(strict=True, extra="forbid", frozen=True)
    documents = (list[Annotated[int, Field(ge=0)]], ...)
    number = (Annotated[int, Field(ge=0)], ...)
    if style == "claims":
        parts: dict[str, Any] = {"number": number, "claim": (str, ...), "documents": documents}
    else:
        answer: Any = create_model("A", __config__=strict, answer=(str, ...), documents=documents)
        wanted: Any = (Literal["all", "one"], ...)
        answers: Any = (list[answer], ...)
        parts = {"number": number, "question": (str, ...), "wanted": wanted, "answers": answers}
    nugget: Any = create_model("N", __config__=strict, **parts)
    return create_model("Nuggets", __config__=strict, nuggets=(list[nugget], ...))
