"""Dimensions that ratings are given on: data files, one for each task (`quality.toml`)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

from pnyx.errors import InputError, shorten

__all__ = ["Dimension", "definition", "dimensions_of"]


@dataclass(frozen=True, slots=True)
class Dimension:
    """One aspect of quality: its name in files, its label, and what the model is told.

    Attributes:
        criteria: name -> what holds or not; for a rubric of yes and no.
        steps: the way to a score, one after the other (G-Eval).
        nugget: what is asked about a key point of the question.
    """

    name: str
    label: str
    definition: str
    criteria: Mapping[str, str] = field(default_factory=dict, hash=False)
    steps: tuple[str, ...] = ()
    nugget: str = ""


@cache
def dimensions_of(task: str) -> dict[str, Dimension]:
    """Return the packaged dimensions of a task by name, in the order of their source.

    Those of the task that its file `includes` come after its own.
    """
    file = resources.files("pnyx.judge.dimensions") / f"{task}.toml"
    if not file.is_file():
        raise InputError(f"task {shorten(task, 40)!r} has no dimensions")
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    own = {
        name: Dimension(
            name,
            entry["label"],
            entry["definition"],
            entry.get("criteria", {}),
            tuple(entry.get("steps", ())),
            entry.get("nugget", ""),
        )
        for name, entry in table["dimensions"].items()
    }
    return own | (dimensions_of(table["includes"]) if "includes" in table else {})


def definition(task: str, name: str) -> str:
    """Return what a dimension means; InputError where the task has no such dimension."""
    known = dimensions_of(task)
    if name not in known:
        raise InputError(
            f"dimension {shorten(name, 40)!r}: task {task} has {', '.join(sorted(known))}"
        )
    return known[name].definition
