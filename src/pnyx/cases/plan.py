"""The options of an argument, with defaults; importing this does not load numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pnyx.core.records import SIDES, Side

ASKED: Final = 24
"""Top passages of the ranking that a language model is asked about: those of one call."""

POINTS: Final = 4
"""Most conclusions of a side."""

PREMISES: Final = 3
"""Most premises of a conclusion."""

CONTEXT: Final = 6000
"""Tokens of documents shown to a language model for a side, in total."""

ARGUED: Final = 0.35
"""The least probability of arguing a side from which a passage is used; chosen on
development folders and debates (docs/explain/decisions/likelihoods.md)."""

LISTED: Final = 0.2
"""The least probability from which an unused passage is listed."""

SHOTS: Final = 3
"""Worked examples that are shown before a question (ConQRet, 3.2.2)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of an argument.

    Attributes:
        sides: the sides to argue, in the order shown.
        retrieve: how many documents are retrieved and placed on a side.
        certainty: the least probability of arguing a side with which a document is argued with, in
            [0, 1].
        listed: the least probability with which one that is not argued with is listed.
        quality: how much less a document of the lowest quality counts than one of the highest, in
            [0, 1], in choosing what is quoted.
        asked: how many documents a language model is asked about, the first of the ranking; where
            it decides, later ones are not argued with.
        by_passages: whether the packaged judgement of passages says which documents argue a side
            (`write.passage_sides`), not the judge; None: where the judge is the packaged one, or a
            language model, which then decides where it answers.
        per_side: at most this many documents are handed to the writer for each side.
        team: `team_id` of the written responses.
        most: whether all that could be asked is asked where a reply is missing: for an estimate of
            the cost.
    """

    sides: tuple[Side, ...] = SIDES
    retrieve: int = 30
    certainty: float = ARGUED
    listed: float = LISTED
    quality: float = 1.0
    asked: int = ASKED
    by_passages: bool | None = None
    per_side: int = 8
    team: str = "pnyx"
    most: bool = False
