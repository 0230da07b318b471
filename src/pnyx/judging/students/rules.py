"""Classify a report's sentences with explicit rules, without any model: data in `rules.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from pnyx.core.errors import shorten
from pnyx.judging.answers import Answer, Judged, Provenance, Unscored
from pnyx.judging.base import Emit, of_kind
from pnyx.judging.questions import JudgeQuestion, Support, blank

_LONGEST = 2000
"""Characters of a sentence that are read; a longer text is not a sentence."""


class _Rule(NamedTuple):
    """A pattern; a match has the meaning of its kind, or the opposite for an exception."""

    name: str
    pattern: re.Pattern[str]
    holds: bool


class _Kind(NamedTuple):
    """How a task is decided: the meaning of a match, and the explanation if there is none."""

    rules: str
    match: bool
    otherwise: str


RULE_TASKS: Mapping[str, _Kind] = {
    "negative": _Kind("negative", True, "no rule says that something is not known"),
    "needs-citation": _Kind("uncited", False, "it states something, and no rule excepts it"),
}
"""Task -> how rules decide its questions."""


@cache
def _table(path: str | None = None) -> tuple[int, Mapping[str, Sequence[_Rule]]]:
    """Return the version of a file of rules, and its rules; by default the packaged one."""
    packaged = resources.files("pnyx.judging.students").joinpath("rules.toml")
    table = tomllib.loads((Path(path) if path else packaged).read_text("utf-8"))
    rules: dict[str, list[_Rule]] = {kind.rules: [] for kind in RULE_TASKS.values()}
    for kind, compiled in rules.items():
        for rule in table[kind]:  # line breaks and white space in a multi-line pattern mean nothing
            verbose = re.VERBOSE if "\n" in rule["pattern"] else 0
            pattern = re.compile(rule["pattern"], re.IGNORECASE | verbose)
            compiled.append(_Rule(rule["name"], pattern, rule.get("is", True)))
    return table["version"], rules


class RuleJudge:
    """Answers `negative` and `needs-citation` with explicit rules on English sentences."""

    kinds: frozenset[type] = frozenset({Support})
    card = (
        "stated rules on English wording; negative statements: precision 0.96, recall 0.81 on 128 "
        "held-out sentences, all written by one author (docs/lab/reports.md); the need of a "
        "citation: not measured"
    )

    def __init__(self, path: str | None = None) -> None:
        self._version, self._rules = _table(path)

    @property
    def name(self) -> str:
        """`rules@` and the version of the rules."""
        return f"rules@{self._version}"

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
        for rule in self._rules[kind.rules]:
            if rule.pattern.search(text):
                return Judged(
                    kind.match is rule.holds, by, explanation=f"by the rule {rule.name!r}"
                )
        return Judged(not kind.match, by, explanation=kind.otherwise)
