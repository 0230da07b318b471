"""Several judges, or one judge several times, as one judge."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial

from pnyx.errors import InputError
from pnyx.judge.answers import Answer
from pnyx.judge.base import Emit, Judge, refuse_other_kinds
from pnyx.judge.combine import How, combine
from pnyx.judge.questions import JudgeQuestion
from pnyx.models.flow import run_all

__all__ = ["Panel", "Repeats"]


class Panel:
    """Asks several judges the same questions at the same time and combines their answers.

    Votes and agreement are in an answer's notes, the judges' provenances in its details; `combine`
    says how votes are counted.

    Args:
        judges: at least one; the order is that of the votes in the notes.
        how: `auto`, `majority` or `mean`.

    Raises:
        InputError: there is no judge, or no kind of question that all of them answer.
    """

    def __init__(self, judges: Sequence[Judge], how: How = "auto") -> None:
        if not judges:
            raise InputError("found no judge, expected at least one")
        self.members = tuple(judges)
        self.how: How = how
        self.kinds = frozenset.intersection(*(judge.kinds for judge in self.members))
        if not self.kinds:
            names = ", ".join(judge.name for judge in self.members)
            raise InputError(f"no kind of question is answered by all of {names}")

    @property
    def name(self) -> str:
        """`panel(NAME, NAME)`; with another way to count than `auto`, `panel-mean(...)`."""
        way = "" if self.how == "auto" else f"-{self.how}"
        return f"panel{way}({', '.join(judge.name for judge in self.members)})"

    @property
    def card(self) -> str:
        """What is known of each judge; of the panel nothing is, until it is measured."""
        cards = (f"{judge.name}: {judge.card or 'no card'}" for judge in self.members)
        return f"{len(self.members)} judges, not measured together; {'; '.join(cards)}"

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question as soon as all votes on it (without their raw replies) are in.

        Raises:
            TypeError: a question is of a kind that a judge does not answer; nothing was asked.
            pnyx.errors.ModelError: a judge cannot go on. The others are stopped; what they had
                paid for is stored, and no answer is made of a part of the votes.
        """
        refuse_other_kinds(self, questions)
        waiting: dict[int, dict[int, Answer]] = {}
        counted: set[int] = set()

        def vote(member: int, position: int, answer: Answer) -> None:
            votes = waiting.setdefault(position, {})
            if member in votes or position in counted:
                raise RuntimeError(
                    f"{self.members[member].name} answered question {position} twice"
                )
            votes[member] = dataclasses.replace(answer, raw="")
            if len(votes) == len(self.members):
                counted.add(position)
                answers = [votes[place] for place in sorted(waiting.pop(position))]
                emit(position, combine(questions[position], answers, self.how, judge=self.name))

        async def poll(item: tuple[int, Judge]) -> None:
            await item[1].answer(questions, partial(vote, item[0]))

        await run_all(enumerate(self.members), poll, workers=len(self.members))


class Repeats(Panel):
    """Asks the same judge several times: self-consistency.

    Args:
        make: from the number of a sample, 0-based, to its judge, which reshuffles the order of
            dimensions or documents: only what can come out differently is worth repeating.
        n: how many samples, at least 1.
        how: `auto`, `majority` or `mean`.
    """

    def __init__(self, make: Callable[[int], Judge], n: int, how: How = "auto") -> None:
        if n < 1:
            raise InputError(f"found {n} samples, expected at least 1")
        super().__init__([make(sample) for sample in range(n)], how)

    @property
    def name(self) -> str:
        """`NAME x3`; with another way to count than `auto`, `NAME x3 mean`."""
        way = "" if self.how == "auto" else f" {self.how}"
        return f"{self.members[0].name} x{len(self.members)}{way}"

    @property
    def card(self) -> str:
        """What is known of the judge when it is asked once."""
        once = self.members[0].card or "no card"
        return f"asked {len(self.members)} times, not measured so; asked once: {once}"
