"""What all measures share: the bootstrap's settings, a value with its base."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How intervals are drawn.

    Attributes:
        draws: how often; 0 for no intervals.
        seed: of everything that is drawn; the same seed gives the same numbers.
        confidence: of the intervals, above 0 and below 1.
    """

    draws: int = 1000
    seed: int = 0
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if self.draws < 0 or not 0 < self.confidence < 1:
            raise ValueError(
                f"found {self}, expected draws from 0 and a confidence between 0 and 1"
            )

    def row(self, method: str, **facts: Any) -> dict[str, Any]:
        """Return the object `interval` of `--json`."""
        level = {"method": method, "level": self.confidence}
        return {**level, **facts, "draws": self.draws, "seed": self.seed}


BOOTSTRAP = Bootstrap()

TEST: Literal["t", "randomisation"] = "randomisation"
"""The paired test of two runs wherever none is named: it assumes nothing of how values spread."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One number with its interval and its base.

    Attributes:
        value: the measure, None where nothing was scored (never 0, never NaN).
        scored: how many answers the value rests on.
        asked: how many questions were asked; `asked - scored` are unscored.
        low: lower end of the interval (95 % by default), None where none was computed.
        high: upper end.
        no_interval: why there is none where one was wanted; else empty.
    """

    value: float | None
    scored: int
    asked: int
    low: float | None = None
    high: float | None = None
    no_interval: str = ""

    def __str__(self) -> str:
        """Return it for people: `0.863 [0.846, 0.879], 240 of 240 scored`."""
        value = "-" if self.value is None else f"{self.value:.3f}"
        known = self.low is not None and self.high is not None
        interval = f" [{self.low:.3f}, {self.high:.3f}]" if known else ""
        return f"{value}{interval}, {self.scored:,} of {self.asked:,} scored"

    def row(self) -> dict[str, Any]:
        """Return the JSON object of `measures.json` for this measure."""
        return row_of(self, "value low high scored asked") | withheld(self)


def withheld(item: Any) -> dict[str, str]:
    """Return the field of JSON that says why there is no interval; nothing where nothing does."""
    return {"no_interval": item.no_interval} if item.no_interval else {}


def plain(value: Any) -> Any:
    """Return a value as JSON has it: results by their `row()`, also within mappings and tuples."""
    if hasattr(value, "row"):
        return value.row()
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def row_of(item: Any, names: str) -> dict[str, Any]:
    """Return the named attributes as JSON has them."""
    return {name: plain(getattr(item, name)) for name in names.split()}


def told_apart(value: float, limit: float) -> str:
    """Return a number in three digits, or as many as tell it from a limit that it is not."""
    shown = (f"{value:.{digits}f}" for digits in range(3, 17))
    return next((text for text in shown if float(text) != limit or value == limit), repr(value))
