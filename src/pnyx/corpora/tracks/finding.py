"""What is wrong with a submission: of what category, how grave, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Severity: TypeAlias = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.

    Attributes:
        category: what it is about, one of `CATEGORIES`.
        problem: what was found and what was expected.
        severity: whether the track refuses it, or only minds.
        line: 1-based line of the file; None where the whole file is meant.
        topic: the topic's id; empty where it is not known.
    """

    category: str
    problem: str
    severity: Severity = "error"
    line: int | None = None
    topic: str = ""
