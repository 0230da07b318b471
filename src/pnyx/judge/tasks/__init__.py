"""The tasks of `pnyx judge`: one file each, from an items file to questions.

A task module has `NAME`, `KIND` (its question class), `ASKS` (the question in one line for
people), `PROMPTS` (packaged prompts that a language model may get, the usual one first), `ITEMS`
(the format of its items file), `EXAMPLE` (a line of it) and `read(path)`. A new task is a new
file and a line in `TASKS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pnyx.judge.questions import JudgeQuestion
from pnyx.judge.tasks import preference, quality, ranking, relevance, stance, support

__all__ = ["TASKS", "Task"]


@dataclass(frozen=True, slots=True)
class Task:
    """A task.

    Attributes:
        name: as given on the command line.
        kind: class of its questions.
        asks: what it asks, in one line.
        prompts: names of its packaged prompts, the usual one first.
        many: the packaged prompt that asks several questions about one text; empty without one.
        items: format of its items file, as `pnyx validate` knows it.
        example: one line of its items file.
        read: the questions of an items file; InputError where a line is not what it must be.
    """

    name: str
    kind: type
    asks: str
    prompts: tuple[str, ...]
    many: str
    items: str
    example: str
    read: Callable[[str], list[JudgeQuestion]]


TASKS: dict[str, Task] = {
    module.NAME: Task(
        module.NAME,
        module.KIND,
        module.ASKS,
        module.PROMPTS,
        getattr(module, "MANY", ""),
        module.ITEMS,
        module.EXAMPLE,
        module.read,
    )
    for module in (support, relevance, stance, quality, preference, ranking)
}
"""Task name -> task."""
