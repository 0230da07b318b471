"""A judge that asks another judge in a format: several questions per item, one answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from pnyx.judging.answers import Answer
from pnyx.judging.base import Emit, Judge, refuse_other_kinds
from pnyx.judging.formats import JudgingFormat, Part
from pnyx.judging.questions import JudgeQuestion
from pnyx.models.http.flow import run_all

NumberedPart: TypeAlias = tuple[int, int, JudgeQuestion]
"""Position of the item, number of the part, and the question."""


class Formatted:
    """Asks the questions of a format about each item; `make` returns a judge for each prompt."""

    def __init__(self, make: Callable[[str], Judge], form: JudgingFormat, kind: type) -> None:
        self.form = form
        self._judges = {name: make(name) for name in form.prompts}
        self._first = self._judges[form.prompts[0]]
        self.kinds = frozenset({kind})

    @property
    def name(self) -> str:
        """`NAME FORMAT`, because another format makes another judge."""
        return f"{self._first.name} {self.form.name}"

    @property
    def card(self) -> str:
        """The cards of the judges that are asked."""
        return "; ".join(dict.fromkeys(judge.card for judge in self._judges.values()))

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question once all its parts are answered; see `pnyx.judging.base.Judge`."""
        refuse_other_kinds(self, questions)
        by_prompt: dict[str, list[NumberedPart]] = {}
        waiting: list[dict[int, Answer]] = [{} for _ in questions]
        counts = []
        for position, question in enumerate(questions):
            parts: Sequence[Part] = self.form.parts(question)
            counts.append(len(parts))
            if not parts:
                emit(position, self.form.join(question, (), self.name))
            for n, part in enumerate(parts):
                numbered = (position, n, part.question)
                by_prompt.setdefault(self.form.prompt_of(part), []).append(numbered)

        def receive(position: int, n: int, answer: Answer) -> None:
            parts = waiting[position]
            parts[n] = answer
            if len(parts) == counts[position]:
                answers = [parts[n] for n in sorted(parts)]
                parts.clear()
                emit(position, self.form.join(questions[position], answers, self.name))

        async def ask(item: tuple[str, list[NumberedPart]]) -> None:
            name, parts = item

            def part_emit(number: int, answer: Answer) -> None:
                position, n, question = parts[number]
                receive(position, n, replace(answer, question=question))

            await self._judges[name].answer([question for _, _, question in parts], part_emit)

        await run_all(by_prompt.items(), ask, workers=max(1, len(by_prompt)))
