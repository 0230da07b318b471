"""The dimensions of ratings: data files, one per task (`quality.toml`)."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from pnyx.core.errors import InputError, shorten


@dataclass(frozen=True, slots=True)
class Scale:
    """A rating scale: whole numbers, or true (1) and false (0)."""

    name: str  # as in the setting `scale`; may be empty
    low: float
    high: float
    values_in_words: str
    levels: tuple[str, ...]  # their meanings, one line each

    @property
    def boolean(self) -> bool:
        """Whether a reply says true or false."""
        return self.name == "boolean"

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest value."""
        return self.low, self.high

    def nearest(self, share: float) -> int:
        """Return the whole number nearest to a normalised value, halves rounded up."""
        return math.floor(self.low + share * (self.high - self.low) + 0.5)


def normalised(value: float, bounds: tuple[float, float]) -> float:
    """Return a value normalised to [0, 1], to twelve digits: more would be rounding errors."""
    low, high = bounds
    return round((value - low) / (high - low), 12)


@dataclass(frozen=True, slots=True)
class Dimension:
    """One aspect of quality: its name in files, its label, and its definition for the model."""

    name: str
    label: str
    definition: str
    criteria: Mapping[str, str] = field(default_factory=dict, hash=False)
    steps: tuple[str, ...] = ()  # steps towards a score (G-Eval)
    nugget: str = ""  # the question about a key point
    aspect: str = ""  # its branch of the taxonomy
    under: str = ""  # its parent dimension


@cache
def _table(task: str) -> dict[str, Any]:
    file = resources.files("pnyx.judging.dimensions") / f"{task}.toml"
    if not task.isidentifier() or not file.is_file():
        return {}
    return tomllib.loads(file.read_text(encoding="utf-8"))


@cache
def scales_of(task: str) -> dict[str, Scale]:
    """Return the packaged scales of a task by name, the default one first."""
    return {
        name: Scale(name, row["low"], row["high"], row["told"], tuple(row["levels"]))
        for name, row in _table(task).get("scales", {}).items()
    }


@cache
def scale_of(task: str, bounds: tuple[float, float]) -> Scale:
    """Return the scale of a task between two values: a packaged one, or one without words."""
    for scale in scales_of(task).values():
        if scale.bounds == bounds:
            return scale
    low, high = math.ceil(bounds[0]), math.floor(bounds[1])
    meaning = f"a whole number from {low} to {high}"
    return Scale("", *bounds, meaning, (f"{low}: the lowest.", f"{high}: the highest."))


@cache
def dimensions_of(task: str) -> dict[str, Dimension]:
    """Return a task's packaged dimensions by name; those that its file `includes` come last."""
    table = _table(task)
    if not table:
        raise InputError(f"task {shorten(task, 40)!r} has no dimensions")
    dimensions = {
        name: Dimension(
            name,
            entry["label"],
            entry["definition"],
            entry.get("criteria", {}),
            tuple(entry.get("steps", ())),
            entry.get("nugget", ""),
            entry.get("aspect", ""),
            entry.get("under", ""),
        )
        for name, entry in table["dimensions"].items()
    }
    return dimensions | (dimensions_of(table["includes"]) if "includes" in table else {})


def definition(task: str, name: str) -> str:
    """Return the definition of a dimension; InputError if the task has no such dimension."""
    dimensions = dimensions_of(task)
    if name not in dimensions:
        raise InputError(
            f"dimension {shorten(name, 40)!r}: task {task} has {', '.join(sorted(dimensions))}"
        )
    return dimensions[name].definition


@cache
def aspects_of(task: str) -> dict[str, tuple[str, ...]]:
    """Return the branches of a task's taxonomy with their dimensions; empty without one."""
    aspects: dict[str, tuple[str, ...]] = {}
    for name, dimension in dimensions_of(task).items() if _table(task) else ():
        if dimension.aspect:
            aspects[dimension.aspect] = (*aspects.get(dimension.aspect, ()), name)
    return aspects


def aspect_of(task: str, name: str) -> str:
    """Return the branch of the task's taxonomy that a dimension belongs to; empty for none."""
    return next((aspect for aspect, names in aspects_of(task).items() if name in names), "")
