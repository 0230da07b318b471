"""What can be chosen of an argument, with its defaults; importing it loads no numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pnyx.records import SIDES, Side
from pnyx.search.plan import CERTAINTY

ASKED: Final = 16
"""Documents that a language model is asked about: as many as the writer is handed at most."""

POINTS: Final = 4
"""How many conclusions a side has at most."""

PREMISES: Final = 3
"""How many premises a conclusion has at most."""

CONTEXT: Final = 6000
"""Tokens of documents that a language model is shown for a side, all together."""

HELD: Final = 0.98
"""The least probability that a side has a document at all; chosen on development debates
(docs/decisions/one-sided.md)."""

SHOTS: Final = 3
"""Worked examples that are shown before a question (ConQRet, 3.2.2)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a question is argued.

    Attributes:
        sides: the sides to argue, in the order shown.
        retrieve: how many documents are retrieved and placed on a side.
        relevant: where the ranking tells relevance, the least probability with which a document is
            argued with.
        read: where the ranking tells relevance, documents are asked for their side from this
            probability on, so that the others are compared with them.
        certainty: the least probability with which a judge's verdict puts a document on a side.
        fewest: a side with fewer documents gets the likeliest of those that are less sure, down
            to what is relevant at all and likelier on it than on the other; these are quoted
            apart, as less sure, and not argued with.
        held: a side is argued only where at least one of its documents is on it with this
            probability, by what the judge says of each alone: else a mistake on one of many
            documents invents a side (docs/decisions/one-sided.md).
        quality: how much less a document of the lowest quality counts than one of the highest, in
            [0, 1], in choosing what is quoted.
        asked: how many documents a language model is asked about, those that are likeliest to be
            about the question; the sides of others are the packaged judge's.
        by_rank: whether the ranking tells which documents are about the question
            (`search.relevance`), not the judge; None: where the judge is the packaged one, or a
            language model, which then has a say in it.
        contrast: share of a question's mean leaning that is taken from the side of each document,
            in [0, 1].
        per_side: at most this many documents are handed to the writer for each side.
        team: `team_id` of the written responses.
    """

    sides: tuple[Side, ...] = SIDES
    retrieve: int = 30
    relevant: float = 0.5
    read: float = 0.2
    certainty: float = CERTAINTY
    fewest: int = 2
    held: float = HELD
    contrast: float = 0.75
    quality: float = 1.0
    asked: int = ASKED
    by_rank: bool | None = None
    per_side: int = 8
    team: str = "pnyx"
