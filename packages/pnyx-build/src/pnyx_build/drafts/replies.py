"""Replies to the prompts of `pnyx build`, and their checks."""

from __future__ import annotations

import re
from functools import cache
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, model_validator

from pnyx.formats.text.words import clean, words_of

_MAX_TEXT = 1000
_SENTENCE = re.compile(r"\w+\W+\w+\W+\w+|\w{8}")
"""Three words, or as much text in a script without spaces."""
_ASKS = ("?", "？", "؟")


class _Reply(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class PersonalReply(_Reply):
    """To `personal`."""

    reason: str
    personal: Literal["yes", "no"]


class PairReply(_Reply):
    """To `question-pair`."""

    opposed: Literal["yes", "no"]
    question: str
    yes_from: Literal["first", "second", "neither"]
    pro: str
    con: str

    @model_validator(mode="after")
    def _check(self) -> PairReply:
        if self.opposed == "yes":
            if self.yes_from == "neither":
                raise ValueError('yes_from is "neither", though the arguments are opposed')
            _check_question(self.question)
            _check_statements({"pro": self.pro, "con": self.con})
        return self


class ClaimReply(_Reply):
    """To `question-claim`."""

    debatable: Literal["yes", "no"]
    question: str

    @model_validator(mode="after")
    def _check(self) -> ClaimReply:
        if self.debatable == "yes":
            _check_question(self.question)
        return self


class StatedView(_Reply):
    """A perspective, and the number of the answer that it stands for."""

    statement: str
    side: Literal["pro", "con", "none"]
    option: int


class SurveyReply(_Reply):
    """A reply to `question-survey` about `options` answers."""

    options: ClassVar[int] = 0

    form: Literal["scale", "choice", "none"]
    question: str
    perspectives: list[StatedView]

    @model_validator(mode="after")
    def _check(self) -> SurveyReply:
        if self.form == "none":
            return self
        _check_question(self.question)
        numbers = {view.option for view in self.perspectives}
        sides = sorted(view.side for view in self.perspectives)
        if len(numbers) < len(sides) or not numbers <= set(range(1, self.options + 1)):
            raise ValueError(f"option: expected different numbers from 1 to {self.options}")
        if self.form == "scale" and sides != ["con", "pro"]:
            raise ValueError("a scale has two perspectives, one pro and one con")
        if self.form == "choice" and (len(sides) < 2 or set(sides) != {"none"}):
            raise ValueError('a choice has two perspectives or more, all with side "none"')
        _check_statements({f"option {view.option}": view.statement for view in self.perspectives})
        return self


@cache
def survey_reply(count: int) -> type[SurveyReply]:
    """Return the schema of a reply about this many answers."""
    return type("SurveyReply", (SurveyReply,), {"options": count})


def _check_question(text: str) -> None:
    line = clean(text)
    if not line.endswith(_ASKS) or not _is_sentence(line):
        raise ValueError(
            f"question: expected a sentence of at most {_MAX_TEXT} characters that ends in '?'"
        )


def _check_statements(texts: dict[str, str]) -> None:
    """Check that each is a sentence that asserts something, no two in the same words."""
    seen: dict[tuple[str, ...], str] = {}
    for name, text in texts.items():
        line = clean(text)
        if line.endswith(_ASKS) or not _is_sentence(line):
            raise ValueError(
                f"{name}: expected a sentence of at most {_MAX_TEXT} characters, and no question"
            )
        before = seen.setdefault(words_of(line), name)
        if before != name:
            raise ValueError(f"{name} says the same words as {before}")


def _is_sentence(line: str) -> bool:
    return len(line) <= _MAX_TEXT and _SENTENCE.search(line) is not None
