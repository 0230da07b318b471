"""Measures of the nuggets in a judged report: Auto-ARGUE's recall, nuggetizer's scores.

Answers are aggregated over all sentences of a report. A nugget without answers is unanswerable and
not part of any recall. An undecided one is neither true nor false: it counts as asked, not scored.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from pnyx.formats.reports.judged_report import (
    ANSWERED_ONLY,
    JudgedNugget,
    JudgedReport,
    all_of,
    any_of,
)
from pnyx.judging.measures.sentences import sentence_precision, share
from pnyx.stats.base import Measured

WEIGHTS: Mapping[str, float] = {"vital": 2.0, "okay": 1.0, "other": 1.0}
"""Importance -> weight (Auto-ARGUE, 2.2); `other` is for any other importance, or none."""


def checked_weights(weights: Mapping[str, float]) -> Mapping[str, float]:
    """Return `WEIGHTS` with these replaced; ValueError if one is not a number from 0."""
    for name, weight in weights.items():
        if not 0 <= weight < math.inf:
            raise ValueError(f"weight of {name!r}: found {weight!r}, expected a number from 0")
    return {**WEIGHTS, **{name.lower(): float(weight) for name, weight in weights.items()}}


def _answerable(report: JudgedReport) -> list[JudgedNugget]:
    nuggets = () if ANSWERED_ONLY in report.notes else report.nuggets
    return [nugget for nugget in nuggets if nugget.answers]


def _importance(nugget: JudgedNugget) -> str:
    return nugget.importance.strip().lower()


def nugget_recall(report: JudgedReport) -> Measured:
    """Return the share of nuggets answered: all answers of an AND, one of any other."""
    return share(nugget.answered for nugget in _answerable(report))


def nugget_recall_and(report: JudgedReport) -> Measured:
    """Return the share of nuggets all of whose answers are given, whatever the bank asks for."""
    return share(all_of(answer.given for answer in n.answers) for n in _answerable(report))


def nugget_recall_or(report: JudgedReport) -> Measured:
    """Return the share of nuggets one of whose answers is given, whatever the bank asks for."""
    return share(any_of(answer.given for answer in n.answers) for n in _answerable(report))


def answer_recall(report: JudgedReport) -> Measured:
    """Return the share of all answers of all nuggets that are given."""
    return share(answer.given for nugget in _answerable(report) for answer in nugget.answers)


def nugget_recall_weighted(
    report: JudgedReport, weights: Mapping[str, float] = WEIGHTS
) -> Measured:
    """Return nugget recall with each nugget weighted by its importance; weight 0 leaves one out."""
    other = weights.get("other", WEIGHTS["other"])
    weighted = [
        (weight, nugget.answered)
        for nugget in _answerable(report)
        if (weight := weights.get(_importance(nugget), other)) > 0
    ]
    decided = [(weight, answered) for weight, answered in weighted if answered is not None]
    if not decided:
        return Measured(None, 0, len(weighted))
    answered_weight = math.fsum(weight for weight, answered in decided if answered)
    return Measured(answered_weight / math.fsum(w for w, _ in decided), len(decided), len(weighted))


def f1(report: JudgedReport) -> Measured:
    """Return the harmonic mean of sentence precision and nugget recall."""
    return _harmonic(sentence_precision(report), nugget_recall(report))


def f1_weighted(report: JudgedReport, weights: Mapping[str, float] = WEIGHTS) -> Measured:
    """Return the harmonic mean of sentence precision and weighted nugget recall."""
    return _harmonic(sentence_precision(report), nugget_recall_weighted(report, weights))


def _harmonic(precision: Measured, recall: Measured) -> Measured:
    """Return the harmonic mean; 0 for a report that answers nothing and has nothing to attest."""
    scored, total = precision.scored + recall.scored, precision.asked + recall.asked
    p, r = precision.value, recall.value
    if r == 0 and precision.asked == 0:
        p = 0.0
    if p is None or r is None:
        return Measured(None, scored, total)
    return Measured(2 * p * r / (p + r) if p + r else 0.0, scored, total)


# nuggetizer ---------------------------------------------------------------------------------------


def _credit(nugget: JudgedNugget) -> float | None:
    """Return 1 for an answered nugget, 0.5 for a partly answered one, else 0; None if undecided.

    Partly: an answer is given partly, or some but not all answers of an AND are given.
    """
    answered = nugget.answered
    if answered is not False:
        return None if answered is None else 1.0
    in_part = any_of(answer.partial or answer.given for answer in nugget.answers)
    return None if in_part is None else 0.5 * in_part


def _mean(values: Iterable[float | None]) -> Measured:
    every = list(values)
    numbers = [value for value in every if value is not None]
    return Measured(
        math.fsum(numbers) / len(numbers) if numbers else None, len(numbers), len(every)
    )


def _vital(report: JudgedReport) -> list[JudgedNugget]:
    return [nugget for nugget in _answerable(report) if _importance(nugget) == "vital"]


def strict_vital_score(report: JudgedReport) -> Measured:
    """Return the share of vital nuggets that the report supports (nuggetizer)."""
    return share(nugget.answered for nugget in _vital(report))


def strict_all_score(report: JudgedReport) -> Measured:
    """Return the share of nuggets that the report supports (nuggetizer)."""
    return nugget_recall(report)


def vital_score(report: JudgedReport) -> Measured:
    """Return strict_vital_score with one half for what is supported in part (nuggetizer)."""
    return _mean(map(_credit, _vital(report)))


def all_score(report: JudgedReport) -> Measured:
    """Return strict_all_score with one half for what is supported in part (nuggetizer)."""
    return _mean(map(_credit, _answerable(report)))
