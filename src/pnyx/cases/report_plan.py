"""The options of a report, with defaults; importing this does not load numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LIMIT: Final = 2000
"""Characters of a report if request, track and user do not say: as in RAGTIME."""

QUESTIONS: Final = 6
"""Sub-questions that a language model is asked for."""


@dataclass(frozen=True, slots=True)
class WritingPlan:
    """The plan of a report.

    Attributes:
        retrieve: documents retrieved for each query.
        documents: documents handed to the writer, at most.
        lam: weight of relevance against novelty in choosing them, in [0, 1] (MMR).
        relevant: the least probability with which a document is about one of the queries, by its
            ranking.
        judged: documents that a language model is asked about, if there is one.
        helpful: the least probability with which a document is evidence, by the language model.
        quality: how much less a document of the lowest quality counts than one of the highest, in
            [0, 1].
        background: weight of a sentence of the background beside one of the problem, in [0, 1]; it
            moves documents up and brings none.
        questions: sub-questions that a language model is asked for; 0 for none.
        per_sentence: citations of a sentence, at most; None for any number.
        team: `team_id` of the responses.
        run: their `run_id`.
    """

    retrieve: int = 30
    documents: int = 20
    lam: float = 0.75
    relevant: float = 0.35
    judged: int = 48
    helpful: float = 0.5
    quality: float = 0.5
    background: float = 0.25
    questions: int = QUESTIONS
    per_sentence: int | None = 3
    team: str = "pnyx"
    run: str = "pnyx"
