"""How well yes/no answers with probabilities agree with labels (checked against scikit-learn)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from pnyx.judge.answers import Answer, Judged
from pnyx.measure.core.base import Measured, row_of
from pnyx.measure.core.intervals import share_of, wilson
from pnyx.measure.core.weighted import (
    Floats,
    Weights,
    in_blocks,
    measured_once,
    ratio,
    written_out,
)

_SAME = 1e-9  # Ratings this close are equal: a mean of several labels carries rounding errors.

_SIDES: Final[tuple[Literal["left"], Literal["right"]]] = ("left", "right")

ECE_BINS = 10


def weighted_accuracy(gold: Floats, score: Floats, weights: Weights) -> Floats:
    """Share of pairs whose value equals the label, in [0, 1]."""
    same = (np.abs(gold - score) <= _SAME).astype(np.float64)
    return ratio(weights @ same, weights.sum(axis=1))


def weighted_f1(gold: Floats, score: Floats, weights: Weights) -> Floats:
    """F1 of the yes class, in [0, 1]; undefined where there is neither a yes nor a label yes."""
    return ratio(2 * (weights @ (gold * score)), weights @ (gold + score))


class _Ranked:
    """Pairs of label yes (1) and no (0), the highest score first: how many are up to each yes."""

    def __init__(self, gold: Floats, score: Floats) -> None:
        order = np.argsort(-score, kind="stable")
        self._yes, self._no = order[gold[order] > 0], order[gold[order] <= 0]
        yes, no = -score[self._yes], -score[self._no]
        self.yes_up_to = np.searchsorted(yes, yes, side="right")
        self.no_before, self.no_up_to = (np.searchsorted(no, yes, side=s) for s in _SIDES)

    def drawn(self, weights: Weights) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Yield blocks of draws: each yes's weight, and the sums of the first yes and no from 0."""
        columns = len(self._yes) + len(self._no)
        sides = (in_blocks(weights[:, places], columns) for places in (self._yes, self._no))
        for block in zip(*sides, strict=True):
            yes, no = map(written_out, block)
            yield yes, _sums(yes), _sums(no)


def _sums(weights: Floats) -> Floats:
    """Return the sums of the first 0, 1, ... n weights of each draw, (draws, n + 1)."""
    sums = np.zeros((len(weights), weights.shape[1] + 1))
    np.cumsum(weights, axis=1, out=sums[:, 1:])
    return sums


def weighted_auroc(gold: Floats, score: Floats, weights: Weights) -> Floats:
    """Area under the ROC curve, in [0, 1], ties counting half; undefined with one class only."""
    ranked, values = _Ranked(gold, score), [np.empty(0)]
    for weight, yes, no in ranked.drawn(weights):
        above = no[:, ranked.no_before] + no[:, ranked.no_up_to]
        pairs = yes[:, -1] * no[:, -1]
        values.append(ratio(pairs - np.einsum("ij,ij->i", weight, above) / 2, pairs))
    return np.concatenate(values)


def weighted_average_precision(gold: Floats, score: Floats, weights: Weights) -> Floats:
    """Average precision over thresholds, ties one, not interpolated, as in scikit-learn."""
    ranked, values = _Ranked(gold, score), [np.empty(0)]
    for weight, yes, no in ranked.drawn(weights):
        hits = yes[:, ranked.yes_up_to]
        seen = hits + no[:, ranked.no_up_to]
        precision = np.divide(hits, seen, out=seen, where=seen != 0)
        values.append(ratio(np.einsum("ij,ij->i", weight, precision), yes[:, -1]))
    return np.concatenate(values)


def weighted_brier(gold: Floats, score: Floats, weights: Weights) -> Floats:
    """Mean squared distance of probability of yes and label, in [0, 1] (Brier 1950)."""
    return ratio(weights @ (score - gold) ** 2, weights.sum(axis=1))


def weighted_ece(gold: Floats, score: Floats, weights: Weights) -> Floats:
    """Expected calibration error, in [0, 1]: ten bins closed on the right (Guo, ICML 2017)."""
    gap = np.zeros((len(score), ECE_BINS))
    gap[np.arange(len(score)), _bins(score)] = score - gold
    return ratio(np.abs(weights @ gap).sum(axis=1), weights.sum(axis=1))


def ece_bias(score: Floats) -> float:
    """Return the expected ECE of a calibrated judge that states these probabilities.

    In a bin of n the share of yes strays from the mean probability p by sqrt(p (1 - p) / n) without
    any fault of the judge, and the mean of its absolute value is sqrt(2 / pi) of that.
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
    """The pairs whose probability of yes lies in (start, end]; the first bin holds 0, too.

    `share` is that of the label yes, with Wilson's 95 % interval; None in an empty bin.
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
    """Measure Support answers against labels, leaving the unscored out and counting them."""
    asked = len(labels)
    judged = [(x, a) for x, a in zip(labels, answers, strict=True) if isinstance(a, Judged)]
    truth, values = [x for x, _ in judged], [bool(a.value) for _, a in judged]
    right = sum(a == b for a, b in zip(truth, values, strict=True))
    f1 = measured_once(weighted_f1, truth, values)
    out = {"accuracy": share_of(right, len(judged), asked), "f1": Measured(f1, len(judged), asked)}
    graded = [(x, a.probability) for x, a in judged if a.probability is not None]
    truth, scores = [x for x, _ in graded], [p for _, p in graded]
    for name, measure in (
        ("auroc", weighted_auroc),
        ("average_precision", weighted_average_precision),
        ("brier", weighted_brier),
    ):
        out[name] = Measured(measured_once(measure, truth, scores), len(graded), asked)
    return out
