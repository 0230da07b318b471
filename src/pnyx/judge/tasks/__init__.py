"""The tasks of `pnyx judge`: one file each, from an items file to questions.

A task module has `NAME`, `PROMPT` (the packaged prompt that a language model gets), `EXAMPLE`
(a line of its items file) and `read(path)`. A new task is a new file and a line in `TASKS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pnyx.judge.questions import Support
from pnyx.judge.tasks import relevance, stance, support

__all__ = ["TASKS", "Task"]


@dataclass(frozen=True, slots=True)
class Task:
    """A task.

    Attributes:
        name: as given on the command line.
        prompt: name of its packaged prompt.
        example: one line of its items file.
        read: the questions of an items file; InputError where a line is not what it must be.
    """

    name: str
    prompt: str
    example: str
    read: Callable[[str], list[Support]]


TASKS: dict[str, Task] = {
    module.NAME: Task(module.NAME, module.PROMPT, module.EXAMPLE, module.read)
    for module in (support, relevance, stance)
}
"""Task name -> task."""
