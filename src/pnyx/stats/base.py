"""Shared by all measures: the bootstrap's settings, and a value with its counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How confidence intervals are drawn.

    Attributes:
        draws: number of resamples; 0 for no intervals.
        seed: random seed; the same seed gives the same numbers.
        confidence: level of the intervals, above 0 and below 1.
    """

    draws: int = 1000
    seed: int = 0
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if self.draws < 0 or not 0 < self.confidence < 1:
            raise ValueError(
                f"found {self}, expected at least 0 draws and a confidence between 0 and 1"
            )

    def row(self, method: str, **facts: Any) -> dict[str, Any]:
        """Return the object `interval` in `--json` output."""
        level = {"method": method, "level": self.confidence}
        return {**level, **facts, "draws": self.draws, "seed": self.seed}


BOOTSTRAP = Bootstrap()

TEST: Literal["t", "randomisation"] = "randomisation"
"""The default paired test of two runs: it makes no assumption on the distribution of values."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A value with its interval and its counts.

    Attributes:
        value: the measure; None if nothing was scored (never 0, never NaN).
        scored: the number of answers that the value is based on.
        asked: the number of questions asked; `asked - scored` are unscored.
        low: lower end of the interval (95 % by default); None if none was computed.
        high: upper end.
        no_interval: why a requested interval is missing; else empty.
    """

    value: float | None
    scored: int
    asked: int
    low: float | None = None
    high: float | None = None
    no_interval: str = ""

    def __str__(self) -> str:
        """Return it as text for people: `0.863 [0.846, 0.879], 240 of 240 scored`."""
        value = "-" if self.value is None else f"{self.value:.3f}"
        has_interval = self.low is not None and self.high is not None
        interval = f" [{self.low:.3f}, {self.high:.3f}]" if has_interval else ""
        return f"{value}{interval}, {self.scored:,} of {self.asked:,} scored"

    def row(self) -> dict[str, Any]:
        """Return this measure's JSON object in `measures.json`."""
        return row_of(self, "value low high scored asked") | withheld(self)


def withheld(item: Any) -> dict[str, str]:
    """Return the JSON field that says why there is no interval; empty if there is no reason."""
    return {"no_interval": item.no_interval} if item.no_interval else {}


def plain(value: Any) -> Any:
    """Return a value as JSON: results by their `row()`, also within mappings and tuples."""
    if hasattr(value, "row"):
        return value.row()
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def row_of(item: Any, names: str) -> dict[str, Any]:
    """Return the named attributes as JSON."""
    return {name: plain(getattr(item, name)) for name in names.split()}


def distinct_text(value: float, limit: float) -> str:
    """Return a number with three decimals, or as many as distinguish it from an unequal limit."""
    texts = (f"{value:.{digits}f}" for digits in range(3, 17))
    return next((text for text in texts if float(text) != limit or value == limit), repr(value))
