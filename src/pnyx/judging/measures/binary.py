"""Agreement of yes/no answers and probabilities with labels (checked against scikit-learn)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from pnyx.judging.answers import Answer, Judged
from pnyx.stats.base import Measured, row_of
from pnyx.stats.intervals import share_of, wilson
from pnyx.stats.weighted_measures import (
    ClusterWeights,
    EachCluster,
    Floats,
    Index,
    RunningSums,
    Weights,
    measured_once,
    prepared,
    ratio,
    weight_by,
)

_SAME = 1e-9  # Ratings this close are equal: a mean of several labels carries rounding errors.

_SIDES: Final[tuple[Literal["left"], Literal["right"]]] = ("left", "right")

ECE_BINS = 10

_SCORES, _PAIRS = 512, 100_000  # Distinct scores and pairs of clusters that are ranked at once
_LEAST = 1e-300  # Divisor that replaces 0 in a precision

_AtScores: TypeAlias = Callable[[Floats, Floats, Floats, Floats], Floats]


def weighted_accuracy(gold: Floats, score: Floats, weights: Weights) -> Floats:
    """Share of pairs whose value equals the label, in [0, 1]."""
    same = (np.abs(gold - score) <= _SAME).astype(np.float64)
    return ratio(weights @ same, weights.sum(axis=1))


def weighted_f1(gold: Floats, score: Floats, weights: Weights) -> Floats:
    """F1 of the yes class, in [0, 1]; undefined without any yes among answers and labels."""
    return ratio(2 * (weights @ (gold * score)), weights @ (gold + score))


class _Ranked:
    """Pairs by descending score: sums above each distinct score of a pair labelled yes.

    `of` takes, for scores by draws, the weight of yes at a score, of yes down to it, of no above it
    and of no down to it; its results are summed over the scores.
    """

    def __init__(self, gold: Floats, score: Floats) -> None:
        self._gold, self._score = gold, score
        order = np.argsort(-score, kind="stable").astype(np.int32)
        self.yes, self._no = order[gold[order] > 0], order[gold[order] <= 0]
        yes, no = -score[self.yes], -score[self._no]
        last = np.append(yes[1:] != yes[:-1], len(yes) > 0)[: len(yes)]
        self._yes_ends = (np.flatnonzero(last) + 1).astype(np.int32)
        sides = [np.searchsorted(no, yes[last], side=side).astype(np.int32) for side in _SIDES]
        self._no_ends = np.stack(sides, axis=1)

    def summed(self, weights: Weights, of: _AtScores) -> Floats:
        """Return the sums (draws,)."""
        if isinstance(weights, EachCluster):
            return self._each(weights, of)
        if not isinstance(weights, ClusterWeights):
            weights = ClusterWeights(weights, np.arange(len(self._score)))
        sums = [self._block(times, clusters, of) for times, clusters in weights.blocks()]
        return np.concatenate([np.empty(0), *sums])

    def _block(self, times: Floats, clusters: Index, of: _AtScores) -> Floats:
        yes_sums, no_sums = (RunningSums(times, clusters[x]) for x in (self.yes, self._no))
        total, above = np.zeros(times.shape[1]), np.zeros(times.shape[1])
        for start in range(0, len(self._yes_ends), _SCORES):
            some = slice(start, start + _SCORES)
            yes, no_ends = yes_sums.first(self._yes_ends[some]), self._no_ends[some]
            here = np.empty_like(yes)
            np.subtract(yes[0], above, out=here[0])
            np.subtract(yes[1:], yes[:-1], out=here[1:])
            above = yes[-1].copy()
            if (no_ends[:, 0] == no_ends[:, 1]).all():  # no ties between yes and no
                before = down_to = no_sums.first(no_ends[:, 0])
            else:
                both = no_sums.first(no_ends.ravel())
                before, down_to = both[0::2], both[1::2]
            total += of(here, yes, before, down_to).sum(axis=0)
        return total

    def _each(self, weights: EachCluster, of: _AtScores) -> Floats:
        """Rank each cluster's pairs separately, many clusters at once."""
        by_cluster = np.argsort(weights.clusters, kind="stable")
        ends = np.flatnonzero(np.diff(weights.clusters[by_cluster], append=-1)) + 1
        total, start = np.zeros(len(weights)), 0
        while start < len(by_cluster):
            end = int(ends[np.searchsorted(ends, start + _PAIRS).clip(max=len(ends) - 1)])
            total += self._some(weights, by_cluster[start:end], of)
            start = end
        return total

    def _some(self, weights: EachCluster, places: Index, of: _AtScores) -> Floats:
        """Rank the pairs at these positions, which are all pairs of some clusters."""
        order = places[np.lexsort((-self._score[places], weights.clusters[places]))]
        cluster, score, yes = weights.clusters[order], self._score[order], self._gold[order] > 0
        last = np.append((cluster[1:] != cluster[:-1]) | (score[1:] != score[:-1]), len(score) > 0)
        owner = cluster[last[: len(score)]]
        sums = []
        for side in (yes, ~yes):
            totals = np.bincount(cluster, side, len(weights))
            down_to = np.cumsum(side)[last[: len(score)]].astype(np.float64)
            before = np.append(0.0, down_to)[: len(down_to)]
            others = (np.cumsum(totals) - totals)[owner]
            sums += [before - others, down_to - others]
        values = of(sums[1] - sums[0], sums[1], sums[2], sums[3])
        return np.bincount(owner, values, len(weights)).astype(np.float64)


@prepared
def weighted_auroc(gold: Floats, score: Floats) -> Callable[[Weights], Floats]:
    """Area under the ROC curve, in [0, 1], ties counting half; undefined for a single class."""
    ranked = _Ranked(gold, score)

    def auroc(weights: Weights) -> Floats:
        yes = weights[:, ranked.yes].sum(axis=1)
        pairs = yes * (weights.sum(axis=1) - yes)
        wrong = ranked.summed(weights, lambda here, _, before, down_to: here * (before + down_to))
        return ratio(pairs - wrong / 2, pairs)

    return auroc


@prepared
def weighted_average_precision(gold: Floats, score: Floats) -> Callable[[Weights], Floats]:
    """Average precision over thresholds, ties as one, not interpolated, as in scikit-learn."""
    ranked = _Ranked(gold, score)

    def precisions(here: Floats, yes: Floats, _: Floats, down_to: Floats) -> Floats:
        return here * (yes / np.maximum(yes + down_to, _LEAST))

    def average(weights: Weights) -> Floats:
        yes = weights[:, ranked.yes].sum(axis=1)
        return ratio(ranked.summed(weights, precisions), yes)

    return average


def weighted_brier(gold: Floats, score: Floats, weights: Weights) -> Floats:
    """Mean squared distance of probability of yes and label, in [0, 1] (Brier 1950)."""
    return ratio(weights @ (score - gold) ** 2, weights.sum(axis=1))


def weighted_ece(gold: Floats, score: Floats, weights: Weights) -> Floats:
    """Expected calibration error, in [0, 1]: ten bins closed on the right (Guo, ICML 2017)."""
    gaps = weight_by(_bins(score), weights, ECE_BINS, score - gold)
    return ratio(np.abs(gaps).sum(axis=1), weights.sum(axis=1))


def ece_bias(score: Floats) -> float:
    """Return the expected ECE of a calibrated judge that states these probabilities.

    In a bin of n, the share of yes deviates from the mean probability p by sqrt(p (1 - p) / n) even
    for a perfect judge; the mean absolute deviation is sqrt(2 / pi) of that.
    """
    counts: Floats = np.bincount(_bins(score), minlength=ECE_BINS).astype(np.float64)
    means = ratio(np.bincount(_bins(score), score, ECE_BINS).astype(np.float64), counts)
    filled = counts > 0
    stray = np.sqrt(2 / np.pi * means[filled] * (1 - means[filled]) * counts[filled])
    return float(stray.sum() / len(score))


def _bins(score: Floats) -> npt.NDArray[np.intp]:
    return np.searchsorted(np.arange(1, ECE_BINS + 1) / ECE_BINS, score, side="left")


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """The pairs whose probability of yes is in (start, end]; the first bin includes 0.

    `share` is the share labelled yes, with Wilson's 95 % interval; None in an empty bin.
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
        rest = row_of(self, "count mean_probability share low high")
        return {"from": self.start, "to": self.end, **rest}


def reliability(
    labels: Sequence[bool] | Sequence[float] | Floats, probabilities: Sequence[float] | Floats
) -> tuple[ReliabilityBin, ...]:
    """Return the ten bins of a reliability diagram, as used by `ece` (Murphy and Winkler 1977).

    Args:
        labels: (n,) yes as 1, no as 0.
        probabilities: (n,) of yes, in [0, 1].

    Raises:
        ValueError: the numbers of labels and probabilities differ.
    """
    gold = np.asarray(labels, dtype=np.float64)
    score = np.asarray(probabilities, dtype=np.float64)
    if gold.shape != score.shape:
        raise ValueError(f"found {gold.size} labels and {score.size} probabilities")
    bins = _bins(score)
    listed = []
    for number in range(ECE_BINS):
        edges = number / ECE_BINS, (number + 1) / ECE_BINS
        inside = bins == number
        count, yes = int(inside.sum()), int(gold[inside].sum())
        if count == 0:
            listed.append(ReliabilityBin(*edges, 0))
            continue
        mean = float(score[inside].mean())
        listed.append(ReliabilityBin(*edges, count, mean, yes / count, *wilson(yes, count)))
    return tuple(listed)


def against_labels(answers: Sequence[Answer], labels: Sequence[bool]) -> dict[str, Measured]:
    """Measure Support answers against labels; unscored answers are left out and counted."""
    total = len(labels)
    judged = [(x, a) for x, a in zip(labels, answers, strict=True) if isinstance(a, Judged)]
    truth, values = [x for x, _ in judged], [bool(a.value) for _, a in judged]
    right = sum(a == b for a, b in zip(truth, values, strict=True))
    f1 = measured_once(weighted_f1, truth, values)
    out = {"accuracy": share_of(right, len(judged), total), "f1": Measured(f1, len(judged), total)}
    graded = [(x, a.probability) for x, a in judged if a.probability is not None]
    truth, scores = [x for x, _ in graded], [p for _, p in graded]
    for name, measure in (
        ("auroc", weighted_auroc),
        ("average_precision", weighted_average_precision),
        ("brier", weighted_brier),
    ):
        out[name] = Measured(measured_once(measure, truth, scores), len(graded), total)
    return out
