"""A judge's answers to a trial's questions, as numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pnyx.judging.questions import JudgeQuestion, Preference, Ranking, Rating
from pnyx.judging.votes import ranks_of
from pnyx.stats.correlation import kendall_tau_b

PREFERRED = {"a": 1.0, "tie": 0.5, "b": 0.0}
"""Verdict -> degree to which the first argument is preferred."""


@dataclass(frozen=True, slots=True)
class TrialAnswer:
    """A judge's answer to one question."""

    value: Any = None  # of its first line; None if it is unscored
    probability: float | None = None  # of yes
    ratings: Mapping[str, float] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)  # of the answer
    documents: Sequence[float | None] = ()  # the score of each document, if any is scored


def read_answers(rows: Iterable[Sequence[Mapping[str, Any]]]) -> list[TrialAnswer]:
    """Return the answers from the lines of each question."""
    return [
        TrialAnswer(
            lines[0]["value"],
            lines[0]["probability"],
            {str(r["dimension"]): r["value"] for r in lines if r["value"] is not None},
            lines[0]["notes"] or {},
            next((d for r in lines if (d := (r["notes"] or {}).get("documents"))), ()),
        )
        for lines in rows
    ]


def goodness(question: JudgeQuestion, answer: TrialAnswer, dimension: str = "") -> float | None:
    """Return how good the judge finds an item, in [0, 1]; None if it is unscored.

    For yes-no: the probability of yes, or 1 for yes; for ratings: the mean on the scale, or one
    dimension; for two arguments: 1 for the second, 0.5 for a tie; for a ranking: the probability
    that an original text ranks above a replacement (None without both).
    """
    if isinstance(question, Rating):
        names = (dimension,) if dimension else question.dimensions
        if not all(name in answer.ratings for name in names):
            return None
        low, high = question.scale
        return sum((answer.ratings[n] - low) / (high - low) for n in names) / len(names)
    if answer.value is None:
        return None
    if isinstance(question, Preference):
        return 1 - PREFERRED[answer.value]
    if isinstance(question, Ranking):
        return None
    return float(answer.value) if answer.probability is None else answer.probability


def change(question: JudgeQuestion, before: TrialAnswer, after: TrialAnswer) -> float | None:
    """Return the distance of two verdicts on one item, in [0, 1]; None if one is unscored."""
    if isinstance(question, Rating):
        both = [n for n in question.dimensions if n in before.ratings and n in after.ratings]
        if not both:
            return None
        low, high = question.scale
        differences = (abs(before.ratings[n] - after.ratings[n]) for n in both)
        return sum(differences) / len(both) / (high - low)
    if before.value is None or after.value is None:
        return None
    if isinstance(question, Preference):
        return abs(PREFERRED[before.value] - PREFERRED[after.value])
    if isinstance(question, Ranking):
        ranks = [ranks_of(answer.value, len(question.texts)) for answer in (before, after)]
        tau = kendall_tau_b(*ranks)
        return None if tau is None else (1 - tau) / 2
    return float(before.value != after.value)


def standing(question: JudgeQuestion, answer: TrialAnswer) -> float | None:
    """Return the rank of the changed text, in [0, 1]: the first argument, or the marked text."""
    if isinstance(question, Rating):
        return goodness(question, answer)
    if answer.value is None:
        return None
    if isinstance(question, Preference):
        return PREFERRED[answer.value]
    if isinstance(question, Ranking):
        count = len(question.texts)
        rank = ranks_of(answer.value, count)[question.extra["marked"]]
        return 1.0 if count < 2 else 1 - rank / (count - 1)
    return float(answer.value)


def in_first_order(question: Ranking, answer: TrialAnswer) -> TrialAnswer:
    """Return a ranking of reordered texts in terms of their first order."""
    if answer.value is None:
        return answer
    order: Sequence[int] = question.extra["order"]
    return TrialAnswer([order[index] for index in answer.value], notes=answer.notes)
