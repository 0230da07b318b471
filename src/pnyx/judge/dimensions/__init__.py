"""Dimensions that ratings are given on: data files, one for each task (`quality.toml`)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from pnyx.errors import InputError, shorten

__all__ = ["Dimension", "definition", "dimensions_of"]


@dataclass(frozen=True, slots=True)
class Dimension:
    """One aspect of quality: its name in files, its label, and what the model is told."""

    name: str
    label: str
    definition: str


@cache
def dimensions_of(task: str) -> dict[str, Dimension]:
    """Return the packaged dimensions of a task by name, in the order of their source."""
    file = resources.files("pnyx.judge.dimensions") / f"{task}.toml"
    if not file.is_file():
        raise InputError(f"task {shorten(task, 40)!r} has no dimensions")
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    return {
        name: Dimension(name, entry["label"], entry["definition"])
        for name, entry in table["dimensions"].items()
    }


def definition(task: str, name: str) -> str:
    """Return what a dimension means; InputError where the task has no such dimension."""
    known = dimensions_of(task)
    if name not in known:
        raise InputError(
            f"dimension {shorten(name, 40)!r}: task {task} has {', '.join(sorted(known))}"
        )
    return known[name].definition
