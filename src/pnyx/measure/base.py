"""A measure's value, always with the number of items asked and scored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Measured"]


@dataclass(frozen=True, slots=True)
class Measured:
    """One number with its interval and its base.

    Attributes:
        value: the measure, or None where nothing was scored (never 0, never NaN).
        scored: how many answers the value rests on.
        asked: how many questions were asked; `asked - scored` are unscored.
        low: lower end of the 95 % interval, None where none was computed.
        high: upper end of the 95 % interval, None where none was computed.
    """

    value: float | None
    scored: int
    asked: int
    low: float | None = None
    high: float | None = None

    def row(self) -> dict[str, Any]:
        """Return the JSON object of `measures.json` for this measure."""
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "scored": self.scored,
            "asked": self.asked,
        }
