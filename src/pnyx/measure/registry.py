"""All measures of a judge's answers against labels, by name (docs/measures.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from pnyx.measure import binary
from pnyx.measure.correlation import weighted_mean_absolute_error, weighted_spearman
from pnyx.measure.ranked import ndcg, ranking_average_precision
from pnyx.measure.weighted import Floats, Weighted, measured_once

__all__ = ["DERIVED_MEASURES", "MEASURES", "RANKING_MEASURES", "SUMMARY", "SUMMARY_AVERAGE"]
__all__ += ["DerivedMeasure", "GoldColumn", "Measure", "RankingMeasure", "ScoreColumn"]

GoldColumn: TypeAlias = Literal["yes", "gain", "grade", "uncertain", "correct", "rating"]
"""What labels say: yes or no; how much; that, or yes as 1; whether people were unsure; whether the
answer is right; a rating."""

ScoreColumn: TypeAlias = Literal["value", "probability", "confidence", "doubt"]
"""What answers say: the value, the probability of yes, that of the value, 1 less that."""

Inputs: TypeAlias = Mapping[str, tuple[GoldColumn, ScoreColumn]]

_SKLEARN, _DIRAS = "as in scikit-learn", "DIRAS (Ni et al. 2024), 3.1"
_RATED: Inputs = {"quality": ("rating", "value")}


def _both(gold: GoldColumn, score: ScoreColumn) -> Inputs:
    return {"support": (gold, score), "relevance": (gold, score)}


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure; `inputs` is task -> (column of labels, column of answers)."""

    name: str
    description: str
    inputs: Inputs
    source: str
    weighted: Weighted
    low: float = 0
    high: float = 1
    best: float = 1

    def value(
        self, gold: Sequence[float] | Floats, score: Sequence[float] | Floats
    ) -> float | None:
        """Return the measure of scored pairs, None where it is undefined."""
        return measured_once(self.weighted, gold, score)


MEASURES: dict[str, Measure] = {
    m.name: m
    for m in (
        Measure("f1", "F1 of yes", _both("yes", "value"), _SKLEARN, binary.weighted_f1),
        Measure(
            "accuracy",
            "answers equal to the label",
            {**_both("yes", "value"), **_RATED},
            _SKLEARN,
            binary.weighted_accuracy,
        ),
        Measure(
            "average_precision",
            "mean precision over the thresholds on the probability of yes",
            _both("yes", "probability"),
            _SKLEARN,
            binary.weighted_average_precision,
        ),
        Measure(
            "auroc",
            "chance that an item labelled yes gets a higher probability than one labelled no",
            _both("yes", "probability"),
            _SKLEARN,
            binary.weighted_auroc,
        ),
        Measure(
            "auroc_correct",
            "chance that a right answer is given with more confidence than a wrong one",
            _both("correct", "confidence"),
            _DIRAS,
            binary.weighted_auroc,
        ),
        Measure(
            "ece",
            "expected calibration error of the probability of yes, ten bins",
            _both("yes", "probability"),
            "Guo et al., ICML 2017",
            binary.weighted_ece,
            best=0,
        ),
        Measure(
            "brier",
            "mean squared distance of the probability of yes and the label",
            _both("yes", "probability"),
            "Brier 1950",
            binary.weighted_brier,
            best=0,
        ),
        Measure(
            "uncertainty_average_precision",
            "average precision of the doubt in the answer for items that people were unsure of",
            _both("uncertain", "doubt"),
            _DIRAS,
            binary.weighted_average_precision,
        ),
        Measure(
            "spearman",
            "rank correlation of the rating, or the probability of yes, with the graded label",
            {"relevance": ("gain", "probability"), **_RATED},
            "Spearman 1904",
            weighted_spearman,
            low=-1,
        ),
        Measure(
            "mean_absolute_error",
            "mean distance of rating and label, in points of the scale",
            _RATED,
            "by definition",
            weighted_mean_absolute_error,
            high=math.inf,
            best=0,
        ),
    )
}


@dataclass(frozen=True, slots=True)
class RankingMeasure:
    """A measure in [0, 1] of each question's ranking: (labels, probabilities) -> value."""

    name: str
    description: str
    gold: GoldColumn
    source: str
    ranked: Callable[[Floats, Floats], float | None]
    task: str = "relevance"


def _ndcg_at(k: int | None) -> RankingMeasure:
    depth = "" if k is None else f" of the first {k}"
    return RankingMeasure(
        "ndcg" if k is None else f"ndcg@{k}",
        f"discounted gain{depth} in each question's ranking, of the best possible",
        "grade",
        "Järvelin and Kekäläinen, TOIS 20, 2002",
        lambda gold, score: ndcg(gold, score, k),
    )


RANKING_MEASURES: dict[str, RankingMeasure] = {
    m.name: m
    for m in (
        *(_ndcg_at(k) for k in (None, 5, 10, 15)),
        RankingMeasure(
            "map",
            "mean precision at the ranks of a question's relevant pairs",
            "yes",
            "as in trec_eval",
            ranking_average_precision,
        ),
    )
}


@dataclass(frozen=True, slots=True)
class DerivedMeasure:
    """The mean of other measures, in [0, 1]; of those `turned`, 1 less the value counts."""

    name: str
    description: str
    parts: tuple[str, ...]
    turned: frozenset[str] = frozenset()
    tasks: tuple[str, ...] = ("relevance",)
    source: str = _DIRAS

    def mean(self, values: Sequence[Floats]) -> Floats:
        """Return the mean of the parts' values, one array for each part; NaN where one is."""
        pairs = zip(self.parts, values, strict=True)
        total = sum((1 - v if n in self.turned else v for n, v in pairs), np.zeros(1))
        return np.asarray(total / len(self.parts))


DERIVED_MEASURES: dict[str, DerivedMeasure] = {
    m.name: m
    for m in (
        DerivedMeasure(
            "calibration",
            "mean of auroc_correct, 1 - ece and 1 - brier",
            ("auroc_correct", "ece", "brier"),
            frozenset({"ece", "brier"}),
            ("support", "relevance"),
        ),
        DerivedMeasure("info", "mean of ndcg and map", ("ndcg", "map")),
    )
}

SUMMARY = {
    "unc": "uncertainty_average_precision",
    "bin": "f1",
    "cal": "calibration",
    "info": "info",
}
"""DIRAS's four dimensions of a relevance judge -> the measure of each."""

SUMMARY_AVERAGE = DerivedMeasure("avg", "mean of the four dimensions", tuple(SUMMARY.values()))
