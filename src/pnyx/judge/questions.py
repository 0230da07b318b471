"""The four kinds of question that every task asks a judge (docs/architecture.md, "The one idea").

`Task` names what the question is asked for (`support`, `relevance`, `stance`, ...): it selects the
prompt of a language model and the calibration of the packaged encoder; the kind fixes the shape
of the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

__all__ = ["JudgeQuestion", "Preference", "Ranking", "Rating", "Shot", "Support", "blank"]


def _extra() -> Any:
    return field(default_factory=dict, hash=False, repr=False)


@dataclass(frozen=True, slots=True)
class Shot:
    """An answered question that is shown before the one that is asked (few-shot).

    Attributes:
        text: as in `Support`.
        statement: as in `Support`.
        yes: what people answered.
    """

    text: str
    statement: str
    yes: bool


@dataclass(frozen=True, slots=True)
class Support:
    """Does `text` support `statement`? Answered by a bool with the probability of yes.

    Attributes:
        id: unique within one run over an items file.
        text: the passage that is judged.
        statement: what the passage must support, or the question it must help to answer.
        task: `support`, `relevance`, `stance` ...; names the prompt and the calibration.
        question: the contentious question behind the statement, if any.
        guideline: a relevance definition or other instruction for the judge.
        group: the topic the item belongs to, for per-topic measures.
        extra: unknown fields of the items file, carried to the answers.
        shots: examples for a prompt that shows some.
    """

    id: str
    text: str
    statement: str
    task: str = "support"
    question: str = ""
    guideline: str = ""
    group: str = ""
    extra: Mapping[str, Any] = _extra()
    shots: tuple[Shot, ...] = ()

    @property
    def sought(self) -> str:
        """Statement and guideline in one: what an encoder compares the text with."""
        return f"{self.statement} {self.guideline}".strip()


@dataclass(frozen=True, slots=True)
class Rating:
    """How good is `text` on each of `dimensions`? Answered by a number on `scale` for each.

    Attributes:
        id: unique within one run over an items file.
        text: what is rated.
        dimensions: their names, at least one.
        scale: lowest and highest value, both possible.
        task: names the prompt.
        question: what the text is about, if anything.
        stance: `pro`, `con` or empty: the side that the text takes.
        documents: what the text rests on, if that is to be seen.
        group: the topic, for per-topic measures.
        extra: unknown fields of the items file, carried to the answers.
    """

    id: str
    text: str
    dimensions: tuple[str, ...]
    scale: tuple[float, float]
    task: str = "quality"
    question: str = ""
    stance: str = ""
    documents: tuple[str, ...] = ()
    group: str = ""
    extra: Mapping[str, Any] = _extra()


@dataclass(frozen=True, slots=True)
class Preference:
    """Which of `a` and `b` answers `question` better? Answered by "a", "b" or "tie".

    Attributes:
        id: unique within one run over an items file.
        a: one text.
        b: the other.
        question: what both are about.
        task: names the prompt.
        criterion: what makes one better, if the prompt's own idea of it is not to count.
        documents: what both rest on, if that is to be seen.
        group: the topic, for per-topic measures.
        extra: unknown fields of the items file, carried to the answers.
    """

    id: str
    a: str
    b: str
    question: str
    task: str = "preference"
    criterion: str = ""
    documents: tuple[str, ...] = ()
    group: str = ""
    extra: Mapping[str, Any] = _extra()


@dataclass(frozen=True, slots=True)
class Ranking:
    """In what order do `texts` serve `query`? Answered by their 0-based positions, best first.

    Attributes:
        id: unique within one run over an items file.
        query: what the texts are to serve.
        texts: at least one, in their order so far.
        task: names the prompt.
        criterion: what makes a text better, e.g. a definition of relevance or a side to argue.
        group: the topic, for per-topic measures.
        extra: unknown fields of the items file, carried to the answers.
    """

    id: str
    query: str
    texts: tuple[str, ...]
    task: str = "ranking"
    criterion: str = ""
    group: str = ""
    extra: Mapping[str, Any] = _extra()


JudgeQuestion: TypeAlias = Support | Rating | Preference | Ranking


def blank(question: JudgeQuestion) -> str:
    """Return why a question has nothing to judge, or an empty string where it has.

    A text of white space and signs supports nothing; a judge that is asked all the same makes an
    answer up.
    """
    for name in _JUDGED[type(question)]:
        value = getattr(question, name)
        texts = (value,) if isinstance(value, str) else value
        if not any(character.isalnum() for text in texts for character in text):
            return f"blank: the {name} has no words"
    return ""


_JUDGED: dict[type, tuple[str, ...]] = {
    Support: ("text", "statement"),
    Rating: ("text",),
    Preference: ("a", "b", "question"),
    Ranking: ("query", "texts"),
}
"""What of each kind must hold words."""
