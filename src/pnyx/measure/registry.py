"""Every measure of a judge's answers against labels, by name (docs/measures.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pnyx.measure.binary import (
    weighted_accuracy,
    weighted_auroc,
    weighted_average_precision,
    weighted_brier,
    weighted_f1,
)
from pnyx.measure.calibration_error import weighted_ece
from pnyx.measure.correlation import weighted_mean_absolute_error, weighted_spearman
from pnyx.measure.weighted import Floats, Weighted, measured_once

__all__ = ["MEASURES", "GoldColumn", "Measure", "ScoreColumn"]

GoldColumn: TypeAlias = Literal["yes", "gain", "uncertain", "correct", "rating"]
"""What labels say: yes or no, how much, whether people were unsure, whether the answer is right."""

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
        low: its least value.
        high: its greatest value; infinite where there is none.
        best: the value of a perfect judge.
        source: where it is defined.
        weighted: its definition.
    """

    name: str
    description: str
    inputs: Inputs
    low: float
    high: float
    best: float
    source: str
    weighted: Weighted

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
        Measure("f1", "F1 of yes", _both("yes", "value"), 0, 1, 1, _SKLEARN, weighted_f1),
        Measure(
            "accuracy",
            "answers equal to the label",
            {**_both("yes", "value"), **_RATED},
            0,
            1,
            1,
            _SKLEARN,
            weighted_accuracy,
        ),
        Measure(
            "average_precision",
            "mean precision over the thresholds on the probability of yes",
            _both("yes", "probability"),
            0,
            1,
            1,
            _SKLEARN,
            weighted_average_precision,
        ),
        Measure(
            "auroc",
            "chance that an item labelled yes gets a higher probability than one labelled no",
            _both("yes", "probability"),
            0,
            1,
            1,
            _SKLEARN,
            weighted_auroc,
        ),
        Measure(
            "auroc_correct",
            "chance that a right answer is given with more confidence than a wrong one",
            _both("correct", "confidence"),
            0,
            1,
            1,
            _DIRAS,
            weighted_auroc,
        ),
        Measure(
            "ece",
            "expected calibration error of the probability of yes, ten bins",
            _both("yes", "probability"),
            0,
            1,
            0,
            "Guo et al., ICML 2017",
            weighted_ece,
        ),
        Measure(
            "brier",
            "mean squared distance of the probability of yes and the label",
            _both("yes", "probability"),
            0,
            1,
            0,
            "Brier 1950",
            weighted_brier,
        ),
        Measure(
            "uncertainty_average_precision",
            "average precision of the doubt in the answer for items that people were unsure of",
            _both("uncertain", "doubt"),
            0,
            1,
            1,
            _DIRAS,
            weighted_average_precision,
        ),
        Measure(
            "spearman",
            "rank correlation of the rating, or the probability of yes, with the graded label",
            {**_GRADED, **_RATED},
            -1,
            1,
            1,
            "Spearman 1904",
            weighted_spearman,
        ),
        Measure(
            "mean_absolute_error",
            "mean distance of rating and label, in points of the scale",
            _RATED,
            0,
            math.inf,
            0,
            "by definition",
            weighted_mean_absolute_error,
        ),
    )
}
"""Name -> measure, in the order in which they are shown."""
