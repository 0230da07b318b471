"""What can be chosen of an argument, with its defaults; importing it loads no numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pnyx.records import SIDES, Side
from pnyx.search.plan import CERTAINTY

__all__ = ["CONTEXT", "POINTS", "Plan"]

POINTS: Final = 4
"""How many conclusions a side has at most."""

CONTEXT: Final = 6000
"""Tokens of documents that a language model is shown for a side, all together (estimated)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a question is argued.

    Attributes:
        sides: the sides to argue, in the order shown.
        retrieve: how many documents are retrieved and placed on a side.
        certainty: the least probability with which a judge's verdict puts a document on a side.
        per_side: at most this many documents are handed to the writer for each side.
        team: `team_id` of the written responses.
    """

    sides: tuple[Side, ...] = SIDES
    retrieve: int = 30
    certainty: float = CERTAINTY
    per_side: int = 8
    team: str = "pnyx"
