"""How far a language model decided the passages' sides, for the report and for files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Weighing:
    """How far a language model's answers on one question are used, and why.

    Attributes:
        model: its name.
        weight: share of the passages it was asked about on which its answer decides, in [0, 1]; 0
            if it did not pass the control.
        why: one line for people.
        asked: how many passages it was asked about.
        scored: how many of these it answered.
        again: how many it was asked about in both orders.
        agreed: on how many of these both answers were the same.
        unscored: how many answers are missing: passages, or 1 for the control.
        reason: why most of these are missing; empty where none is.
    """

    model: str
    weight: float
    why: str
    asked: int = 0
    scored: int = 0
    again: int = 0
    agreed: int = 0
    unscored: int = 0
    reason: str = ""

    @property
    def said(self) -> str:
        """Who decided the sides, and why; one sentence."""
        if self.weight:
            return f"{self.model} decided the sides of {self.scored} passages: {self.why}"
        return f"The packaged judge decided the sides, not {self.model}: {self.why}"

    @property
    def doubt(self) -> str:
        """A warning for the reader; empty if the model decided all that it was asked."""
        return self.said if not self.weight or self.unscored else ""

    def row(self) -> dict[str, Any]:
        """Return its fields as JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}
