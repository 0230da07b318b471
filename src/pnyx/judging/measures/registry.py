"""All measures of a judge's answers against labels, by name (docs/reference/measures.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from pnyx.judging.measures import binary
from pnyx.stats import alpha
from pnyx.stats.base import Bootstrap
from pnyx.stats.correlation import weighted_kendall, weighted_mean_absolute_error, weighted_spearman
from pnyx.stats.intervals import UNIT, Bounds, Range, interval_of
from pnyx.stats.rankings import ndcg, ranking_average_precision
from pnyx.stats.weighted_measures import Floats, Weighted, measured_once

GoldColumn: TypeAlias = Literal["yes", "gain", "grade", "uncertain", "correct", "rating"]
"""The meaning of labels: yes or no; a grade; a grade, or yes as 1; whether people were unsure;
whether the answer is right; a rating."""

ScoreColumn: TypeAlias = Literal["value", "probability", "confidence", "doubt"]
"""The meaning of scores: the value, the probability of yes, that of the value, 1 minus that."""

Inputs: TypeAlias = Mapping[str, tuple[GoldColumn, ScoreColumn]]

_RATED: Inputs = {"quality": ("rating", "value")}


def _both(gold: GoldColumn, score: ScoreColumn) -> Inputs:
    return {"support": (gold, score), "relevance": (gold, score)}


@dataclass(frozen=True, slots=True)
class Spread:
    """The settings of an interval besides the draws; see `pnyx.stats.intervals`."""

    bounds: Range | None = UNIT
    units: int | None = None
    unseen: float = 0.0  # weight of one additional pair with a loss of 1
    bias: float = 0.0  # maximum by which a sample exceeds the true value

    def interval(self, value: float, drawn: Floats, clusters: int, bootstrap: Bootstrap) -> Bounds:
        """Return the interval of a value with these draws."""
        units = clusters if self.units is None else min(self.units, clusters)
        unseen = self.unseen * ((1 - value) / (self.units or clusters)) ** 2
        low, high, why = interval_of(
            value, drawn, clusters, bootstrap, bounds=self.bounds, units=units, unseen=unseen
        )
        if low is None or high is None:
            return None, None, why
        if self.bounds is None:
            return low, high, ""
        # Draws are biased like the value, and a second time: only their spread is used.
        least, most = self.bounds
        return max(least, low - max(0.0, self.bias)), min(most, high - min(0.0, self.bias)), ""


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure; `inputs` is task -> (column of labels, column of answers)."""

    inputs: Inputs
    weighted: Weighted
    low: float = 0
    high: float = 1
    best: float = 1
    units: Literal["all", "yes", "rarer"] = "all"  # the pairs that could make the value worse
    unseen: float = 0.0  # see `Spread`
    bias: Callable[[Floats], float] | None = None  # see `Spread`

    def spread(self, gold: Floats, score: Floats) -> Spread:
        """Return the settings of an interval of these pairs."""
        bounds = None if math.isinf(self.high) else (float(self.low), float(self.high))
        units = len(gold)
        if self.units != "all" and np.isin(gold, (0.0, 1.0)).all():
            yes = int(gold.sum())
            units = yes if self.units == "yes" else min(yes, len(gold) - yes)
        bias = self.bias(score) if self.bias is not None and len(score) else 0.0
        return Spread(bounds, max(1, units), self.unseen, bias)

    def value(
        self, gold: Sequence[float] | Floats, score: Sequence[float] | Floats
    ) -> float | None:
        """Return the measure of scored pairs, None if it is undefined."""
        return measured_once(self.weighted, gold, score)


MEASURES: dict[str, Measure] = {
    "f1": Measure(_both("yes", "value"), binary.weighted_f1, units="yes"),
    "accuracy": Measure({**_both("yes", "value"), **_RATED}, binary.weighted_accuracy),
    "average_precision": Measure(
        _both("yes", "probability"), binary.weighted_average_precision, units="yes"
    ),
    "auroc": Measure(_both("yes", "probability"), binary.weighted_auroc, units="rarer"),
    # Are right answers given with more confidence than wrong ones? (DIRAS, Ni et al. 2024, 3.1)
    "auroc_correct": Measure(_both("correct", "confidence"), binary.weighted_auroc, units="rarer"),
    "ece": Measure(_both("yes", "probability"), binary.weighted_ece, best=0, bias=binary.ece_bias),
    # Good judges rarely show how wrong they can be: half a confident wrong answer is added.
    "brier": Measure(_both("yes", "probability"), binary.weighted_brier, best=0, unseen=0.5),
    # Is the judge less confident on items that people were unsure about? (DIRAS, 3.1)
    "uncertainty_average_precision": Measure(
        _both("uncertain", "doubt"), binary.weighted_average_precision, units="yes"
    ),
    "spearman": Measure(
        {"relevance": ("gain", "probability"), **_RATED}, weighted_spearman, low=-1
    ),
    "kendall": Measure(_RATED, weighted_kendall, low=-1),
    "kappa": Measure(
        {**_both("yes", "value"), **_RATED}, alpha.weighted_kappa, low=-1, units="rarer"
    ),
    "alpha_nominal": Measure(
        {**_both("yes", "value"), **_RATED}, alpha.weighted_alpha_nominal, low=-1, units="rarer"
    ),
    "alpha_ordinal": Measure(_RATED, alpha.weighted_alpha_ordinal, low=-1, units="rarer"),
    "alpha_interval": Measure(_RATED, alpha.weighted_alpha_interval, low=-1, units="rarer"),
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
    """The mean of other measures, in [0, 1]; measures in `turned` count as 1 minus the value."""

    parts: tuple[str, ...]
    turned: frozenset[str] = frozenset()
    tasks: tuple[str, ...] = ("relevance",)

    def mean(self, values: Sequence[Floats]) -> Floats:
        """Return the mean of the parts' values, one array per part; NaN where any part is NaN."""
        pairs = zip(self.parts, values, strict=True)
        total = sum((1 - v if n in self.turned else v for n, v in pairs), np.zeros(1))
        return np.asarray(total / len(self.parts))

    def bias(self, biases: Mapping[str, float]) -> float:
        """Return the bias of the mean from those of its parts; see `Spread`."""
        signed = (-bias if name in self.turned else bias for name, bias in biases.items())
        return sum(signed) / len(self.parts)


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
"""DIRAS's four dimensions of a relevance judge -> their measures."""

SUMMARY_AVERAGE = DerivedMeasure(tuple(SUMMARY.values()))
