"""All measures of a judge's answers against labels, by name (docs/measures.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from pnyx.measure.answers import alpha, binary
from pnyx.measure.answers.correlation import (
    weighted_kendall,
    weighted_mean_absolute_error,
    weighted_spearman,
)
from pnyx.measure.core.weighted import Floats, Weighted, measured_once
from pnyx.measure.runs.ranked import ndcg, ranking_average_precision

__all__ = [
    "DERIVED_MEASURES",
    "MEASURES",
    "RANKING_MEASURES",
    "SUMMARY",
    "SUMMARY_AVERAGE",
    "DerivedMeasure",
    "GoldColumn",
    "Measure",
    "RankingMeasure",
    "ScoreColumn",
]

GoldColumn: TypeAlias = Literal["yes", "gain", "grade", "uncertain", "correct", "rating"]
"""What labels say: yes or no; how much; that, or yes as 1; whether people were unsure; whether the
answer is right; a rating."""

ScoreColumn: TypeAlias = Literal["value", "probability", "confidence", "doubt"]
"""What answers say: the value, the probability of yes, that of the value, 1 less that."""

Inputs: TypeAlias = Mapping[str, tuple[GoldColumn, ScoreColumn]]

_RATED: Inputs = {"quality": ("rating", "value")}


def _both(gold: GoldColumn, score: ScoreColumn) -> Inputs:
    return {"support": (gold, score), "relevance": (gold, score)}


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure; `inputs` is task -> (column of labels, column of answers)."""

    inputs: Inputs
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
    "f1": Measure(_both("yes", "value"), binary.weighted_f1),
    "accuracy": Measure({**_both("yes", "value"), **_RATED}, binary.weighted_accuracy),
    "average_precision": Measure(_both("yes", "probability"), binary.weighted_average_precision),
    "auroc": Measure(_both("yes", "probability"), binary.weighted_auroc),
    # Is a right answer given with more confidence than a wrong one? (DIRAS, Ni et al. 2024, 3.1)
    "auroc_correct": Measure(_both("correct", "confidence"), binary.weighted_auroc),
    "ece": Measure(_both("yes", "probability"), binary.weighted_ece, best=0),
    "brier": Measure(_both("yes", "probability"), binary.weighted_brier, best=0),
    # Is the answer doubted on items that people were unsure of? (DIRAS, 3.1)
    "uncertainty_average_precision": Measure(
        _both("uncertain", "doubt"), binary.weighted_average_precision
    ),
    "spearman": Measure(
        {"relevance": ("gain", "probability"), **_RATED}, weighted_spearman, low=-1
    ),
    "kendall": Measure(_RATED, weighted_kendall, low=-1),
    "kappa": Measure({**_both("yes", "value"), **_RATED}, alpha.weighted_kappa, low=-1),
    "alpha_nominal": Measure(
        {**_both("yes", "value"), **_RATED}, alpha.weighted_alpha_nominal, low=-1
    ),
    "alpha_ordinal": Measure(_RATED, alpha.weighted_alpha_ordinal, low=-1),
    "alpha_interval": Measure(_RATED, alpha.weighted_alpha_interval, low=-1),
    "mean_absolute_error": Measure(_RATED, weighted_mean_absolute_error, high=math.inf, best=0),
}


@dataclass(frozen=True, slots=True)
class RankingMeasure:
    """A measure in [0, 1] of each question's ranking: (labels, probabilities) -> value."""

    gold: GoldColumn
    ranked: Callable[[Floats, Floats], float | None]
    task: str = "relevance"


RANKING_MEASURES: dict[str, RankingMeasure] = {
    "ndcg": RankingMeasure("grade", ndcg),
    **{f"ndcg@{k}": RankingMeasure("grade", partial(ndcg, k=k)) for k in (5, 10, 15)},
    "map": RankingMeasure("yes", ranking_average_precision),
}


@dataclass(frozen=True, slots=True)
class DerivedMeasure:
    """The mean of other measures, in [0, 1]; of those `turned`, 1 less the value counts."""

    parts: tuple[str, ...]
    turned: frozenset[str] = frozenset()
    tasks: tuple[str, ...] = ("relevance",)

    def mean(self, values: Sequence[Floats]) -> Floats:
        """Return the mean of the parts' values, one array for each part; NaN where one is."""
        pairs = zip(self.parts, values, strict=True)
        total = sum((1 - v if n in self.turned else v for n, v in pairs), np.zeros(1))
        return np.asarray(total / len(self.parts))


_TURNED = frozenset({"ece", "brier"})

DERIVED_MEASURES: dict[str, DerivedMeasure] = {  # DIRAS, 3.1
    "calibration": DerivedMeasure(
        ("auroc_correct", "ece", "brier"), _TURNED, ("support", "relevance")
    ),
    "info": DerivedMeasure(("ndcg", "map")),
}

SUMMARY = {
    "unc": "uncertainty_average_precision", "bin": "f1", "cal": "calibration", "info": "info"
}  # fmt: skip
"""DIRAS's four dimensions of a relevance judge -> the measure of each."""

SUMMARY_AVERAGE = DerivedMeasure(tuple(SUMMARY.values()))
