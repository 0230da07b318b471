"""How reports are judged: what can be chosen, and what each outcome weighs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Final, Literal, TypeAlias

MIN_SCORED: Final = 0.8
"""Share of its items that a value of a leaderboard must rest on. Stated, not fitted: by leaving a
fifth out a share rises by a quarter at most."""

MAX_SENTENCE: Final = 2000
"""Characters of a sentence by the rules of a campaign; a longer one is not judged and is a no. The
longest of 11,264 sentences of real reports has 1,373 (RAGTIME 2026, NeuCLIR 2024, iKAT 2024)."""

EXPECTED: Final = {
    "attests": 0.8,
    "needs_citation": 0.95,
    "unanswerable": 0.05,
    "said_before": 0.6,
    "answers": 0.8,
}
"""Node -> share of what it may ask that a run is expected to ask, where that follows on answers not
known: most citations hold, few sentences say that nothing is known. Stated, not fitted."""

Answers: TypeAlias = Literal["judge", "lookup"]
"""Who tells which answers a sentence gives: the judge, or the stated rule of `lookup.py`."""

Credit: TypeAlias = Literal["attested", "cited", "any"]
"""Which sentences can give an answer: those attested by a relevant citation, all with citations, or
all."""

Attest: TypeAlias = Literal["relevant", "all"]
"""Of which cited documents it is asked whether they attest the sentence."""

Unknown: TypeAlias = Literal["no", "unscored"]
"""What a citation counts as whose document the collection does not hold, once there is one."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What each outcome weighs: rewards are above 0, penalties below it, or 0.

    ARGUE leaves the magnitudes open (Auto-ARGUE, 2.2).

    Attributes:
        attested: reward for a relevant citation that attests its sentence.
        answered: reward for each nugget answer that a sentence gives.
        confirmed: reward for a negative statement that an unanswerable nugget confirms.
        irrelevant: penalty for a citation of a document that is not relevant.
        unattested: penalty for a relevant citation that does not attest its sentence.
        unconfirmed: penalty for a negative statement that no nugget confirms.
        uncited: penalty for a sentence that lacks the citation it needs.
    """

    attested: float = 1.0
    answered: float = 1.0
    confirmed: float = 1.0
    irrelevant: float = -1.0
    unattested: float = -1.0
    unconfirmed: float = -1.0
    uncited: float = -1.0

    def __post_init__(self) -> None:
        for option in fields(self):
            value, reward = getattr(self, option.name), option.default > 0  # type: ignore[operator]
            if not math.isfinite(value) or (value < 0 if reward else value > 0):
                expected = "a number from 0" if reward else "a number up to 0"
                raise ValueError(f"{option.name}: found {value:g}, expected {expected}")


@dataclass(frozen=True, slots=True)
class ReportPlan:
    """How reports are judged.

    Attributes:
        answers, credit, attest: see the types of these names.
        unknown_documents: see `Unknown`.
        min_grade: grade of the qrels from which a document is relevant.
        strict: by the rules of a campaign: a sentence of more than `MAX_SENTENCE` characters and a
            citation of a document without text are a no, and runs do not share a call.
        every, least: where an answer is missing, ask all that could follow on it, or only what
            follows whatever it is: to count what a run may cost, of a judge that only looks up what
            was asked before.
    """

    answers: Answers = "judge"
    credit: Credit = "attested"
    attest: Attest = "all"
    min_grade: int = 1
    unknown_documents: Unknown = "no"
    weights: Weights = field(default_factory=Weights)
    strict: bool = False
    every: bool = False
    least: bool = False

    def is_too_long(self, sentence: str) -> bool:
        """Whether a sentence is a no without being judged."""
        return self.strict and len(sentence) > MAX_SENTENCE

    def row(self) -> dict[str, object]:
        """Return what decides the outcomes, as an object of JSON."""
        weights = {f.name: getattr(self.weights, f.name) for f in fields(self.weights)}
        names = ("answers", "credit", "attest", "min_grade", "unknown_documents")
        rules = {"strict": True, "max_sentence": MAX_SENTENCE} if self.strict else {}
        return {**{name: getattr(self, name) for name in names}, **rules, "weights": weights}
