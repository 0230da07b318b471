"""Judges composed of judges: several, one several times, a cheap one first, or one in a format."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pnyx.core.errors import InputError, shorten
from pnyx.judging.answers import Answer, Judged
from pnyx.judging.base import Emit, Judge, of_kind, refuse_other_kinds
from pnyx.judging.calibration.recalibration import Recalibrated, read_calibration
from pnyx.judging.calibration.selective import ConfidenceRegions
from pnyx.judging.formats import JudgingFormat, Part
from pnyx.judging.questions import JudgeQuestion, Support
from pnyx.judging.votes import How, combine
from pnyx.models.http.flow import run_all

if TYPE_CHECKING:
    from anyio.abc import TaskGroup


class Panel:
    """Asks several judges the same questions at the same time and combines their answers.

    Votes and agreement are in an answer's notes, the judges' provenances in its details; `combine`
    documents how votes are counted.

    Args:
        judges: at least one; the votes in the notes have this order.
        how: `auto`, `majority` or `mean`.

    Raises:
        InputError: there are no judges, or no kind of question that all of them answer.
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
        """`panel(NAME, NAME)`; `panel-mean(...)` if `how` is not `auto`."""
        way = "" if self.how == "auto" else f"-{self.how}"
        return f"panel{way}({', '.join(judge.name for judge in self.members)})"

    @property
    def card(self) -> str:
        """The cards of the judges; nothing is known of the panel until it is measured."""
        cards = (f"{judge.name}: {judge.card or 'no card'}" for judge in self.members)
        return f"{len(self.members)} judges, not measured together; {'; '.join(cards)}"

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question as soon as all votes (without their raw replies) are in.

        Raises:
            TypeError: a judge does not answer questions of this kind; nothing was asked.
            pnyx.core.errors.ModelError: a judge cannot continue. The others are stopped; the
            replies that they paid for are stored, and no answer is made from a part of the votes.
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
                answers = [votes[n] for n in sorted(waiting.pop(position))]
                emit(position, combine(questions[position], answers, self.how, judge=self.name))

        async def poll(item: tuple[int, Judge]) -> None:
            await item[1].answer(questions, partial(vote, item[0]))

        await run_all(enumerate(self.members), poll, workers=len(self.members))


class Repeats(Panel):
    """Asks the same judge several times: self-consistency.

    Args:
        make: returns the judge for a sample number, 0-based; it reshuffles the order of dimensions
            or documents, because only a different request is worth repeating.
        n: the number of samples, at least 1.
        how: `auto`, `majority` or `mean`.
    """

    def __init__(self, make: Callable[[int], Judge], n: int, how: How = "auto") -> None:
        if n < 1:
            raise InputError(f"found {n} samples, expected at least 1")
        super().__init__([make(sample) for sample in range(n)], how)

    @property
    def name(self) -> str:
        """`NAME x3`; `NAME x3 mean` if `how` is not `auto`."""
        way = "" if self.how == "auto" else f" {self.how}"
        return f"{self.members[0].name} x{len(self.members)}{way}"

    @property
    def card(self) -> str:
        """The card of the judge when it is asked once."""
        once = self.members[0].card or "no card"
        return f"asked {len(self.members)} times, not measured so; asked once: {once}"


_STRONG_CALLS = 4
"""Concurrent calls of the strong judge's `answer`. Meanwhile, questions left by the cheap judge
accumulate, so that a judge that takes many questions per request can answer them together."""


class Cascade:
    """Keeps a cheap judge's answer if it is confident, and asks a strong judge otherwise.

    The strong judge also gets the questions that the cheap one leaves unscored, while the cheap one
    is still working. An answer keeps its judge's provenance; `notes["stage"]` names the stage.

    Args:
        cheap: answers all questions first; without a probability it is never confident.
        strong: answers the others.
        sure: the regions in which the cheap judge's answer is kept, by its own probability; for a
            `Recalibrated` judge, the one before recalibration, `notes["uncalibrated"]`.

    Raises:
        InputError: one of the judges answers no Support questions.
    """

    kinds: frozenset[type] = frozenset({Support})

    def __init__(self, cheap: Judge, strong: Judge, sure: ConfidenceRegions) -> None:
        for judge in (cheap, strong):
            if Support not in judge.kinds:
                raise InputError(f"{shorten(judge.name, 60)} answers no Support questions")
        self.cheap, self.strong, self.sure = cheap, strong, sure

    @property
    def judges(self) -> tuple[Judge, Judge]:
        """Both judges, in the order in which they are asked."""
        return self.cheap, self.strong

    @property
    def name(self) -> str:
        """Both names and the first 8 digits of the thresholds' hash."""
        limits = hashlib.sha256(repr((self.sure.low, self.sure.high)).encode()).hexdigest()
        return f"cascade({self.cheap.name},{self.strong.name})@{limits[:8]}"

    @property
    def card(self) -> str:
        """The rule of the cascade, and both cards."""
        cards = "; ".join(shorten(judge.card, 400) for judge in self.judges if judge.card)
        return f"cascade that {self.sure}{'; ' if cards else ''}{cards}"

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`; see `pnyx.judging.base.Judge`."""
        of_kind(Support, questions, self.name)
        await _Run(self, questions, emit).run()

    def stands(self, answer: Answer) -> bool:
        """Return whether an answer of the cheap judge is kept."""
        if not isinstance(answer, Judged) or answer.probability is None:
            return False
        probability = answer.notes.get("uncalibrated", answer.probability)
        return self.sure.keeps(probability, verdict=answer.value is True)


class _Run:
    """One call of a cascade: the questions waiting for the strong judge, and its running calls."""

    def __init__(self, cascade: Cascade, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        self._cascade, self._questions, self._emit = cascade, questions, emit
        self._waiting: list[int] = []
        self._calls = 0
        self._called = False  # a call is about to take all waiting questions
        self._failure: Exception | None = None

    async def run(self) -> None:
        """Ask both judges; the first exception of either ends both and is raised unchanged."""
        import anyio

        async with anyio.create_task_group() as tasks:

            def receive(position: int, answer: Answer) -> None:
                if self._cascade.stands(answer):
                    self._emit(position, _staged(answer, "cheap"))
                    return
                self._waiting.append(position)
                if not self._called and self._calls < _STRONG_CALLS:
                    self._called = True
                    self._calls += 1
                    tasks.start_soon(self._ask_strong, tasks)

            await self._guarded(tasks, self._cascade.cheap.answer(self._questions, receive))
        if self._failure is not None:
            raise self._failure

    async def _ask_strong(self, tasks: TaskGroup) -> None:
        self._called = False
        while self._waiting and self._failure is None:
            positions, self._waiting = self._waiting, []

            def receive(n: int, answer: Answer, positions: list[int] = positions) -> None:
                self._emit(positions[n], _staged(answer, "strong"))

            questions = [self._questions[position] for position in positions]
            await self._guarded(tasks, self._cascade.strong.answer(questions, receive))
        self._calls -= 1

    async def _guarded(self, tasks: TaskGroup, work: Coroutine[Any, Any, None]) -> None:
        """Do work; keep its exception out of the group, which would wrap it, and end the rest."""
        try:
            await work
        except Exception as error:
            self._failure = self._failure or error
            tasks.cancel_scope.cancel()


def _staged(answer: Answer, stage: str) -> Answer:
    return dataclasses.replace(answer, notes={**answer.notes, "stage": stage})


def cascade_from(path: str | Path, cheap: Judge, strong: Judge) -> Cascade:
    """Return the cascade of a file of `pnyx judge calibrate --error` that was made for `cheap`.

    Raises:
        InputError: the file is not a calibration of this judge, or has no thresholds.
    """
    calibration = read_calibration(path)
    if calibration.sure is None:
        raise InputError(
            "holds no thresholds for a cascade (fit it with pnyx judge calibrate --error)",
            path=path,
        )
    return Cascade(Recalibrated(cheap, calibration), strong, calibration.sure)


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
