"""Replies to the prompts of `pnyx build` and their checks; built on first use (slow pydantic)."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Literal

from pnyx.corpora.benchmarks.drafts import clean, words_of

_MAX_TEXT = 1000
_SENTENCE = re.compile(r"\w+\W+\w+\W+\w+|\w{8}")
"""Three words, or as much in a script without spaces."""
_ASKS = ("?", "？", "؟")


@cache
def pair_reply() -> Any:
    """Return the shape of a reply to `question-pair`."""
    fields = {
        "opposed": (Literal["yes", "no"], ...),
        "question": (str, ...),
        "yes_from": (Literal["first", "second", "neither"], ...),
        "pro": (str, ...),
        "con": (str, ...),
    }

    def check(reply: Any) -> Any:
        if reply.opposed == "yes":
            if reply.yes_from == "neither":
                raise ValueError('yes_from is "neither", though the arguments are opposed')
            _check_question(reply.question)
            _check_statements({"pro": reply.pro, "con": reply.con})
        return reply

    return _shape(fields, check)


@cache
def claim_reply() -> Any:
    """Return the shape of a reply to `question-claim`."""

    def check(reply: Any) -> Any:
        if reply.debatable == "yes":
            _check_question(reply.question)
        return reply

    return _shape({"debatable": (Literal["yes", "no"], ...), "question": (str, ...)}, check)


@cache
def survey_reply(options: int) -> Any:
    """Return the shape of a reply to `question-survey` about so many answers."""
    view: Any = _shape(
        {
            "statement": (str, ...),
            "side": (Literal["pro", "con", "none"], ...),
            "option": (int, ...),
        }
    )

    def check(reply: Any) -> Any:
        if reply.form == "none":
            return reply
        _check_question(reply.question)
        numbers = [one.option for one in reply.perspectives]
        if len(set(numbers)) < len(numbers) or not set(numbers) <= set(range(1, options + 1)):
            raise ValueError(f"option: expected different numbers from 1 to {options}")
        sides = sorted(one.side for one in reply.perspectives)
        if reply.form == "scale" and sides != ["con", "pro"]:
            raise ValueError("a scale has two perspectives, one pro and one con")
        if reply.form == "choice" and (len(sides) < 2 or set(sides) != {"none"}):
            raise ValueError('a choice has two perspectives or more, all with side "none"')
        _check_statements({f"option {one.option}": one.statement for one in reply.perspectives})
        return reply

    fields = {
        "form": (Literal["scale", "choice", "none"], ...),
        "question": (str, ...),
        "perspectives": (list[view], ...),
    }
    return _shape(fields, check)


@cache
def personal_reply() -> Any:
    """Return the shape of a reply to `personal`."""
    return _shape({"reason": (str, ...), "personal": (Literal["yes", "no"], ...)})


def _shape(fields: dict[str, Any], check: Any = None) -> Any:
    import pydantic

    strict = pydantic.ConfigDict(strict=True, extra="forbid", frozen=True)
    checks: dict[str, Any] = {}
    if check is not None:
        checks["check"] = pydantic.model_validator(mode="after")(check)
    return pydantic.create_model("Reply", __config__=strict, __validators__=checks, **fields)


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
