"""Two judges, one asked if the other is uncertain: most of the quality at part of the price."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pnyx.errors import InputError, shorten
from pnyx.judge.answers import Answer, Judged
from pnyx.judge.base import Emit, Judge, of_kind
from pnyx.judge.questions import JudgeQuestion, Support
from pnyx.judge.recalibration import Recalibrated, read_calibration
from pnyx.judge.sure import Sure

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

__all__ = ["Cascade", "cascade_from"]

_STRONG_CALLS = 4
"""Concurrent calls of the strong judge's `answer`. What the cheap one leaves meanwhile is
asked together, so that a judge that takes many questions in one request can."""


class Cascade:
    """Keeps a cheap judge's answer if it is certain, and asks a strong judge otherwise.

    The strong judge also gets what the cheap one leaves unscored, while that is still at work. An
    answer keeps its judge's provenance; `notes["stage"]` says which of the two that was.

    Args:
        cheap: answers all questions first; without a probability it is never certain.
        strong: answers the others.
        sure: when the cheap judge's answer is kept, in terms of its own probability: of a
            `Recalibrated` judge the one before recalibration, `notes["uncalibrated"]`.

    Raises:
        InputError: one of the judges answers no Support questions.
    """

    kinds: frozenset[type] = frozenset({Support})

    def __init__(self, cheap: Judge, strong: Judge, sure: Sure) -> None:
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
        """What the cheap judge keeps, and both cards."""
        cards = "; ".join(shorten(judge.card, 400) for judge in self.judges if judge.card)
        return f"cascade that {self.sure}{'; ' if cards else ''}{cards}"

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`; see `pnyx.judge.base.Judge`."""
        of_kind(Support, questions, self.name)
        await _Run(self, questions, emit).run()

    def stands(self, answer: Answer) -> bool:
        """Return whether an answer of the cheap judge stands."""
        if not isinstance(answer, Judged) or answer.probability is None:
            return False
        own = answer.notes.get("uncalibrated", answer.probability)
        return self.sure.keeps(own, verdict=answer.value is True)


class _Run:
    """One call of a cascade: what waits for the strong judge, and how often that one is at work."""

    def __init__(self, cascade: Cascade, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        self._cascade, self._questions, self._emit = cascade, questions, emit
        self._waiting: list[int] = []
        self._calls = 0
        self._called = False  # a call is about to take all that waits
        self._failure: Exception | None = None

    async def run(self) -> None:
        """Ask both judges; the first exception of either ends both and is raised as it is."""
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

            def receive(place: int, answer: Answer, positions: list[int] = positions) -> None:
                self._emit(positions[place], _staged(answer, "strong"))

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
    """Return the cascade that a file of `pnyx calibrate --error`, made for `cheap`, describes.

    Raises:
        InputError: the file is not a calibration of this judge, or holds no thresholds.
    """
    calibration = read_calibration(path)
    if calibration.sure is None:
        raise InputError(
            "holds no thresholds for a cascade (fit it with pnyx calibrate --error)", path=path
        )
    return Cascade(Recalibrated(cheap, calibration), strong, calibration.sure)
