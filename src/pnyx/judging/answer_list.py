"""A judge's answers: a list that prints as a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, SupportsIndex, overload

from pnyx.core.errors import shorten
from pnyx.core.tabular import Result
from pnyx.judging.answers import Answer, Judged, answer_rows, verdict_fields

_SHOWN: Final = ("id", "dimension", "value", "probability", "unscored", "explanation")
_FIRST: Final = 10  # answers that `print` shows


class Answers(Result, list[Answer]):
    """The result of `pnyx.ask`: a list of answers that prints as a summary.

    `answers[0].value`, `answers[:5]`, `for answer in answers` and `len(answers)` work as for any
    list; `answers.to_frame()` is a data frame with the fields of an answers file.
    """

    __slots__ = ()

    @overload
    def __getitem__(self, index: SupportsIndex) -> Answer: ...

    @overload
    def __getitem__(self, index: slice) -> Answers: ...

    def __getitem__(self, index: SupportsIndex | slice) -> Answer | Answers:
        chosen = list.__getitem__(self, index)
        return Answers(chosen) if isinstance(chosen, list) else chosen

    def rows(self) -> list[dict[str, Any]]:
        """Return the lines of an answers file: one per answer, or per dimension of a rating."""
        return [row for answer in self for row in _rows(answer)]

    def _heading(self) -> list[str]:
        scored = [answer.value for answer in self if isinstance(answer, Judged)]
        counts = {"scored": len(scored)}
        if scored and all(isinstance(value, bool) for value in scored):
            counts = {"yes": scored.count(True), "no": scored.count(False)}
        elif scored and all(isinstance(value, str) for value in scored):
            counts = dict(Counter(shorten(value, 20) for value in scored).most_common(5))
        counts["unscored"] = len(self) - len(scored)
        listed = ", ".join(f"{count:,} {what}" for what, count in counts.items())
        names = dict.fromkeys(answer.provenance.judge for answer in self)
        judges = f" (judge: {', '.join(shorten(name, 40) for name in names)})" if names else ""
        return [f"{len(self):,} answer{'s' * (len(self) != 1)}: {listed}{judges}"]

    def _main_rows(self, rows: Sequence[dict[str, Any]]) -> Sequence[Mapping[str, Any]]:
        nothing = dict.fromkeys(_SHOWN)
        return [{name: row.get(name) for name in _SHOWN} for row in rows[:_FIRST]] or [nothing]


def _rows(answer: Answer) -> list[dict[str, Any]]:
    if answer.question is None:  # not made by `ask`
        return [{"id": None, **verdict_fields(answer)}]
    return answer_rows(answer.question, answer)
