"""An argument in progress: its steps, for everybody who waits for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pnyx.models.http.flow import LeftError

if TYPE_CHECKING:
    from pnyx.cases.case import Case


@dataclass(frozen=True, slots=True)
class Step:
    """A step of an argument."""

    name: str  # those of `pnyx.cases.argument.Tell`; `judging`; at the end `case`
    values: Mapping[str, Any] = field(default_factory=dict)  # its details, as JSON values
    case: Case | None = None  # the result, only in the last step


class Job:
    """One argument whose steps many can follow; it stops once everybody has left."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.followers = 0
        self._moved = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._over = False
        self._error: BaseException | None = None
        self.gone = threading.Event()

    @property
    def left(self) -> bool:
        """Whether everybody has left."""
        return self.gone.is_set()

    def give_up(self) -> None:
        """Stop the work at its next step: nobody waits for it."""
        self.gone.set()

    def tell(self, name: str, values: Mapping[str, Any]) -> None:
        """Add a step, from any thread; LeftError if nobody waits."""
        if self.gone.is_set():
            raise LeftError("nobody waits for this any more")
        self._loop.call_soon_threadsafe(self._add, Step(name, values))

    def count(self, done: int, total: int, unscored: int) -> None:
        """Report the number of verdicts; see `pnyx.judging.counted_judge.Watched`."""
        self.tell("judging", {"done": done, "asked": total, "unscored": unscored})

    def _add(self, step: Step) -> None:
        same = self.steps and self.steps[-1].name == step.name == "judging"
        if not same:  # Latecomers do not need outdated counts.
            self.steps.append(step)
        else:
            self.steps[-1] = step
        self._move()

    def _move(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()

    def end(self, case: Case | None, error: BaseException | None = None) -> None:
        """Pass the result, or the error, to all followers."""
        if case is not None:
            self.steps.append(Step("case", case=case))
        self._error, self._over = error, True
        self._move()

    async def follow(self, gone: Callable[[], None]) -> AsyncGenerator[Step, None]:
        """Yield each step, from the first; `gone` is called when the last follower left."""
        self.followers += 1
        position = 0
        step: Step | None = None
        try:
            while True:
                while position < len(self.steps):
                    step = self.steps[position]
                    position += 1
                    yield step
                if position and self.steps[position - 1] is not step:
                    step = self.steps[position - 1]
                    yield step
                    continue
                if self._over:
                    break
                await self._moved.wait()
            if self._error is not None:
                raise self._error
        finally:
            self.followers -= 1
            if not self.followers and not self._over:
                self.give_up()
                gone()
