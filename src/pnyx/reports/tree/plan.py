"""Plans for judging reports: the options, and the weight of each outcome."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Final, Literal, TypeAlias

MIN_SCORED: Final = 0.8
"""Minimum share of its items that a value of a leaderboard must be based on. Set, not fitted:
leaving out a fifth raises a share by a quarter at most."""

MAX_SENTENCE: Final = 2000
"""Maximum characters of a sentence under campaign rules; a longer one is a no without judging. The
longest of 11,264 sentences of real reports has 1,373 (RAGTIME 2026, NeuCLIR 2024, iKAT 2024)."""

EXPECTED: Final = {
    "attests": 0.8,
    "needs_citation": 0.95,
    "unanswerable": 0.05,
    "said_before": 0.6,
    "answers": 0.8,
}
"""Node -> expected share of its questions that depend on unknown answers: most citations hold, few
sentences say that nothing is known. Set, not fitted."""

Answers: TypeAlias = Literal["judge", "lookup"]
"""How to decide which answers a sentence gives: by the judge, or by the rule in `lookup.py`."""

Credit: TypeAlias = Literal["attested", "cited", "any"]
"""Which sentences can give an answer: those attested by a relevant citation, those with citations,
or all."""

Attest: TypeAlias = Literal["relevant", "all"]
"""Which cited documents are checked for attesting the sentence."""

Unknown: TypeAlias = Literal["no", "unscored"]
"""How to treat a citation of a document that is not in the collection, if there is one."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each outcome: at least 0 for rewards, at most 0 for penalties.

    ARGUE leaves the magnitudes open (Auto-ARGUE, 2.2).

    Attributes:
        attested: reward for a relevant citation that attests its sentence.
        answered: reward for each nugget answer that a sentence gives.
        confirmed: reward for a negative statement that an unanswerable nugget confirms.
        irrelevant: penalty for a citation of a document that is not relevant.
        unattested: penalty for a relevant citation that does not attest its sentence.
        unconfirmed: penalty for a negative statement that no nugget confirms.
        uncited: penalty for a sentence without the citation that it needs.
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
    """How to judge reports.

    Attributes:
        answers, credit, attest: see the types of these names.
        unknown_documents: see `Unknown`.
        min_grade: grade of the qrels from which a document is relevant.
        strict: campaign rules: a sentence of more than `MAX_SENTENCE` characters and a citation of
            a document without text are a no, and runs do not share a call.
        every, least: if an answer is missing, ask everything that could depend on it, or only what
            is needed in any case: to count what a run may cost, with a judge that only looks up
            earlier answers.
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
        """Return the settings that affect the outcomes, as a JSON object."""
        weights = {f.name: getattr(self.weights, f.name) for f in fields(self.weights)}
        names = ("answers", "credit", "attest", "min_grade", "unknown_documents")
        rules = {"strict": True, "max_sentence": MAX_SENTENCE} if self.strict else {}
        return {**{name: getattr(self, name) for name in names}, **rules, "weights": weights}
