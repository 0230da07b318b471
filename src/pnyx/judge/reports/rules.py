"""What stated rules tell of a report's sentences, without any model: data in `rules.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple

from pnyx.errors import shorten
from pnyx.judge.answers import Answer, Judged, Provenance, Unscored
from pnyx.judge.base import Emit, of_kind
from pnyx.judge.questions import JudgeQuestion, Support, blank

__all__ = ["RULE_TASKS", "RuleJudge"]

_LONGEST = 2000
"""Characters of a sentence that are looked at; a longer one is no sentence."""


class _Rule(NamedTuple):
    name: str
    pattern: re.Pattern[str]


class _Kind(NamedTuple):
    """How a task is told: what a match means, and what is said where there is none."""

    rules: str
    match: bool
    otherwise: str


RULE_TASKS: Mapping[str, _Kind] = {
    "negative": _Kind("negative", True, "no rule says that something is not known"),
    "needs-citation": _Kind("uncited", False, "it states something, and no rule excepts it"),
}
"""Task -> how its questions are told by rules."""


@cache
def _table() -> tuple[int, Mapping[str, Sequence[_Rule]]]:
    """Return the version of `rules.toml`, and its rules."""
    text = resources.files("pnyx.judge.reports").joinpath("rules.toml").read_text("utf-8")
    table = tomllib.loads(text)
    rules = {
        kind.rules: [_Rule(one["name"], _compiled(one["pattern"])) for one in table[kind.rules]]
        for kind in RULE_TASKS.values()
    }
    return table["version"], rules


def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern; white space and lines mean nothing in one on several lines."""
    return re.compile(pattern, re.IGNORECASE | (re.VERBOSE if "\n" in pattern else 0))


class RuleJudge:
    """Answers `negative` and `needs-citation` questions by stated rules on the sentence's words.

    English only. It looks at the statement, never at the report around it.
    """

    kinds: frozenset[type] = frozenset({Support})
    card = "stated rules on English wording, not measured against people's labels"

    @property
    def name(self) -> str:
        """`rules@` and the version of the rules."""
        return f"rules@{_table()[0]}"

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`; unscored if of another task."""
        for position, question in enumerate(of_kind(Support, questions, self.name)):
            emit(position, self._answer(question))

    def _answer(self, question: Support) -> Answer:
        by = Provenance(self.name, method="rule")
        kind = RULE_TASKS.get(question.task)
        if problem := blank(question):
            return Unscored(problem, by)
        if kind is None:
            return Unscored(f"task: rules tell no {shorten(question.task, 40)!r}", by)
        text = " ".join(question.statement.split())[:_LONGEST]
        for rule in _table()[1][kind.rules]:
            if rule.pattern.search(text):
                return Judged(kind.match, by, explanation=f"by the rule {rule.name!r}")
        return Judged(not kind.match, by, explanation=kind.otherwise)
