"""Every measure of a judge's answers against labels, by name (docs/measures.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from pnyx.measure.binary import (
    weighted_accuracy,
    weighted_auroc,
    weighted_average_precision,
    weighted_brier,
    weighted_f1,
)
from pnyx.measure.calibration_error import weighted_ece
from pnyx.measure.correlation import weighted_mean_absolute_error, weighted_spearman
from pnyx.measure.ranked import ndcg, ranking_average_precision
from pnyx.measure.weighted import Floats, Weighted, measured_once

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
    "measure_names",
]

GoldColumn: TypeAlias = Literal["yes", "gain", "grade", "uncertain", "correct", "rating"]
"""What labels say: yes or no; how much; the same, or yes as 1 where they do not say; whether people
were unsure; whether the answer is right; a rating."""

ScoreColumn: TypeAlias = Literal["value", "probability", "confidence", "doubt"]
"""What answers say: the value, the probability of yes, that of the value given, 1 less that."""

Inputs: TypeAlias = Mapping[str, tuple[GoldColumn, ScoreColumn]]


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure.

    Attributes:
        name: as in `measures.json`.
        description: one line for people.
        inputs: task -> which column of the labels is set against which column of the answers.
        source: where it is defined.
        weighted: its definition.
        low: its least value.
        high: its greatest value; infinite where there is none.
        best: the value of a perfect judge.
    """

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
        """Return the measure of scored pairs, None where it is not defined."""
        return measured_once(self.weighted, gold, score)


def _both(gold: GoldColumn, score: ScoreColumn) -> dict[str, tuple[GoldColumn, ScoreColumn]]:
    return {"support": (gold, score), "relevance": (gold, score)}


_RATED: dict[str, tuple[GoldColumn, ScoreColumn]] = {"quality": ("rating", "value")}
_GRADED: dict[str, tuple[GoldColumn, ScoreColumn]] = {"relevance": ("gain", "probability")}
_SKLEARN = "as in scikit-learn"
_DIRAS = "DIRAS (Ni et al. 2024), 3.1"

MEASURES: dict[str, Measure] = {
    m.name: m
    for m in (
        Measure("f1", "F1 of yes", _both("yes", "value"), _SKLEARN, weighted_f1),
        Measure(
            "accuracy",
            "answers equal to the label",
            {**_both("yes", "value"), **_RATED},
            _SKLEARN,
            weighted_accuracy,
        ),
        Measure(
            "average_precision",
            "mean precision over the thresholds on the probability of yes",
            _both("yes", "probability"),
            _SKLEARN,
            weighted_average_precision,
        ),
        Measure(
            "auroc",
            "chance that an item labelled yes gets a higher probability than one labelled no",
            _both("yes", "probability"),
            _SKLEARN,
            weighted_auroc,
        ),
        Measure(
            "auroc_correct",
            "chance that a right answer is given with more confidence than a wrong one",
            _both("correct", "confidence"),
            _DIRAS,
            weighted_auroc,
        ),
        Measure(
            "ece",
            "expected calibration error of the probability of yes, ten bins",
            _both("yes", "probability"),
            "Guo et al., ICML 2017",
            weighted_ece,
            best=0,
        ),
        Measure(
            "brier",
            "mean squared distance of the probability of yes and the label",
            _both("yes", "probability"),
            "Brier 1950",
            weighted_brier,
            best=0,
        ),
        Measure(
            "uncertainty_average_precision",
            "average precision of the doubt in the answer for items that people were unsure of",
            _both("uncertain", "doubt"),
            _DIRAS,
            weighted_average_precision,
        ),
        Measure(
            "spearman",
            "rank correlation of the rating, or the probability of yes, with the graded label",
            {**_GRADED, **_RATED},
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
"""Name -> measure, in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class RankingMeasure:
    """A measure of the ranking of each question's pairs by probability; its value is their mean.

    Attributes:
        name: as in `measures.json`.
        description: one line for people.
        gold: the column of the labels.
        source: where it is defined.
        ranked: (labels, probabilities) of one question -> its value, from 0 to 1, the best; None
            where it is not defined.
        task: of whose answers.
    """

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
"""Name -> measure, in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class DerivedMeasure:
    """The mean of other measures, from 0 to 1, the best.

    Attributes:
        name: as in `measures.json`.
        description: one line for people.
        parts: the measures.
        turned: those of them of which 0 is the best; 1 less them counts.
        tasks: of whose answers.
        source: where it is defined.
    """

    name: str
    description: str
    parts: tuple[str, ...]
    turned: frozenset[str]
    tasks: tuple[str, ...]
    source: str

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
            _DIRAS,
        ),
        DerivedMeasure(
            "info", "mean of ndcg and map", ("ndcg", "map"), frozenset(), ("relevance",), _DIRAS
        ),
    )
}
"""Name -> measure, in the order in which they are shown."""

SUMMARY = {
    "unc": "uncertainty_average_precision",
    "bin": "f1",
    "cal": "calibration",
    "info": "info",
}
"""DIRAS's four dimensions of a relevance judge -> which measure each is."""

SUMMARY_AVERAGE = DerivedMeasure(
    "avg",
    "mean of the four dimensions",
    tuple(SUMMARY.values()),
    frozenset(),
    ("relevance",),
    _DIRAS,
)


def measure_names(task: str) -> list[str]:
    """Return the names of all measures of answers to a task, in the order of showing."""
    return [
        *(name for name, m in MEASURES.items() if task in m.inputs),
        *(name for name, r in RANKING_MEASURES.items() if task == r.task),
        *(name for name, d in DERIVED_MEASURES.items() if task in d.tasks),
    ]
