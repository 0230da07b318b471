"""Calibration error: how far probabilities are from observed shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pnyx.measure.intervals import wilson
from pnyx.measure.weighted import Floats, ratio

__all__ = ["ECE_BINS", "ReliabilityBin", "reliability", "weighted_ece"]

ECE_BINS = 10


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """The pairs whose probability of yes lies in (start, end]; the first bin holds 0, too.

    Attributes:
        start: lower edge.
        end: upper edge.
        count: how many pairs.
        mean_probability: of these, None without any.
        share: of these with the label yes, None without any.
        low: lower end of Wilson's 95 % interval of the share, which takes pairs as independent.
        high: upper end.
    """

    start: float
    end: float
    count: int
    mean_probability: float | None = None
    share: float | None = None
    low: float | None = None
    high: float | None = None

    def row(self) -> dict[str, Any]:
        """Return the object of `measures.json`."""
        return {
            "from": self.start,
            "to": self.end,
            "count": self.count,
            "mean_probability": self.mean_probability,
            "share": self.share,
            "low": self.low,
            "high": self.high,
        }


def reliability(
    labels: Sequence[bool] | Sequence[float] | Floats, probabilities: Sequence[float] | Floats
) -> tuple[ReliabilityBin, ...]:
    """Return the ten bins of a reliability diagram, those of `ece` (Murphy and Winkler 1977).

    Args:
        labels: (n,) yes as 1, no as 0.
        probabilities: (n,) of yes, in [0, 1].

    Raises:
        ValueError: not one probability for each label.
    """
    gold = np.asarray(labels, dtype=np.float64)
    score = np.asarray(probabilities, dtype=np.float64)
    if gold.shape != score.shape:
        raise ValueError(f"found {gold.size} labels and {score.size} probabilities")
    bins = _bins(score)
    found = []
    for number in range(ECE_BINS):
        edges = number / ECE_BINS, (number + 1) / ECE_BINS
        inside = bins == number
        count, yes = int(inside.sum()), int(gold[inside].sum())
        if count == 0:
            found.append(ReliabilityBin(*edges, 0))
            continue
        mean = float(score[inside].mean())
        found.append(ReliabilityBin(*edges, count, mean, yes / count, *wilson(yes, count)))
    return tuple(found)


def _bins(score: Floats) -> npt.NDArray[np.intp]:
    edges = np.arange(1, ECE_BINS + 1) / ECE_BINS
    return np.searchsorted(edges, score, side="left")


def weighted_ece(gold: Floats, score: Floats, weights: Floats) -> Floats:
    """Expected calibration error of the probability of yes, in [0, 1].

    Ten bins of equal width, closed on the right: [0, .1], (.1, .2] ... (.9, 1]. In each, the mean
    probability less the share of labels yes, without its sign; the mean of these, weighted by the
    bins' share of the pairs (Guo et al., ICML 2017; bins as in DIRAS).
    """
    bins = _bins(score)
    gap = np.zeros((len(score), ECE_BINS))
    gap[np.arange(len(score)), bins] = score - gold
    return ratio(np.abs(weights @ gap).sum(axis=1), weights.sum(axis=1))
