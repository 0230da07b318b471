"""How well yes/no answers with probabilities agree with labels.

The plain functions take sequences of scored pairs; leaving out the unscored, and counting them, is
the caller's (`against_labels` does both). The `weighted_` ones are their definitions (see
`pnyx.measure.weighted`). Checked against scikit-learn in the tests.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pnyx.judge.answers import Answer, Judged
from pnyx.measure.base import Measured
from pnyx.measure.intervals import share_of
from pnyx.measure.weighted import Floats, Ties, Weighted, measured_once, ratio

__all__ = [
    "accuracy",
    "against_labels",
    "auroc",
    "average_precision",
    "brier",
    "f1",
    "weighted_accuracy",
    "weighted_auroc",
    "weighted_average_precision",
    "weighted_brier",
    "weighted_f1",
]

_SAME = 1e-9
"""Ratings this close are equal: a mean of several labels carries rounding errors."""


def weighted_accuracy(gold: Floats, score: Floats, weights: Floats) -> Floats:
    """Share of pairs whose value equals the label, in [0, 1]."""
    same = (np.abs(gold - score) <= _SAME).astype(np.float64)
    return ratio(weights @ same, weights.sum(axis=1))


def weighted_f1(gold: Floats, score: Floats, weights: Floats) -> Floats:
    """F1 of the yes class, in [0, 1]; undefined where there is neither a yes nor a label yes."""
    return ratio(2 * (weights @ (gold * score)), weights @ (gold + score))


def weighted_auroc(gold: Floats, score: Floats, weights: Floats) -> Floats:
    """Area under the ROC curve, in [0, 1], ties counting half; undefined with one class only."""
    ties = Ties(score)
    yes, no = ties.at(weights * gold), ties.at(weights * (1 - gold))
    no_below = np.cumsum(no, axis=1) - no
    wins = (yes * (no_below + no / 2)).sum(axis=1)
    return ratio(wins, yes.sum(axis=1) * no.sum(axis=1))


def weighted_average_precision(gold: Floats, score: Floats, weights: Floats) -> Floats:
    """Average precision over score thresholds, in [0, 1], tied scores forming one threshold.

    The sum of precision times the gain in recall, without interpolation, as scikit-learn has it;
    undefined without a label yes.
    """
    ties = Ties(-score)
    hits, seen = ties.up_to(weights * gold), ties.up_to(weights)
    precision = np.divide(hits, seen, out=np.zeros_like(hits), where=seen != 0)
    gains = np.diff(hits, axis=1, prepend=0.0)
    return ratio((gains * precision).sum(axis=1), hits[:, -1])


def weighted_brier(gold: Floats, score: Floats, weights: Floats) -> Floats:
    """Mean squared distance of probability of yes and label, in [0, 1] (Brier 1950)."""
    return ratio(weights @ (score - gold) ** 2, weights.sum(axis=1))


def accuracy(labels: Sequence[bool], values: Sequence[bool]) -> float:
    """Return the share of values equal to their labels, in [0, 1]; at least one pair."""
    return _always(weighted_accuracy, labels, values)


def f1(labels: Sequence[bool], values: Sequence[bool]) -> float | None:
    """Return F1 of the yes class, in [0, 1]; None where there is neither a yes nor a label yes."""
    return _checked(weighted_f1, labels, values)


def auroc(labels: Sequence[bool], scores: Sequence[float]) -> float | None:
    """Return the area under the ROC curve, ties counting half; None where one class is absent."""
    return _checked(weighted_auroc, labels, scores)


def average_precision(labels: Sequence[bool], scores: Sequence[float]) -> float | None:
    """Return average precision over score thresholds (tied scores form one); None without a yes."""
    return _checked(weighted_average_precision, labels, scores)


def brier(labels: Sequence[bool], probabilities: Sequence[float]) -> float:
    """Return the mean squared distance of probability of yes and label, in [0, 1]."""
    return _always(weighted_brier, labels, probabilities)


def against_labels(answers: Sequence[Answer], labels: Sequence[bool]) -> dict[str, Measured]:
    """Measure Support answers against labels, leaving the unscored out and counting them.

    Args:
        answers: one for each label, in the same order.
        labels: the truth.

    Returns:
        `accuracy` (Wilson interval), `f1`, and, over the answers that carry a probability,
        `auroc`, `average_precision` and `brier`. Values are None where nothing can be said.

    Raises:
        ValueError: not one answer for each label.
    """
    asked = len(labels)
    judged = [(x, a) for x, a in zip(labels, answers, strict=True) if isinstance(a, Judged)]
    truth = [x for x, _ in judged]
    values = [bool(a.value) for _, a in judged]
    right = sum(a == b for a, b in zip(truth, values, strict=True))
    out = {
        "accuracy": share_of(right, len(judged), asked),
        "f1": Measured(f1(truth, values) if judged else None, len(judged), asked),
    }
    graded = [(x, a.probability) for x, a in judged if a.probability is not None]
    truth, scores = [x for x, _ in graded], [p for _, p in graded]
    for name, measure in (
        ("auroc", auroc),
        ("average_precision", average_precision),
        ("brier", brier),
    ):
        value = measure(truth, scores) if graded else None
        out[name] = Measured(value, len(graded), asked)
    return out


def _checked(measure: Weighted, labels: Sequence[float], values: Sequence[float]) -> float | None:
    if len(labels) != len(values):
        raise ValueError(
            f"found {len(labels)} labels and {len(values)} values, expected one for each"
        )
    if len(labels) == 0:
        raise ValueError("found no pairs, expected at least one")
    return measured_once(measure, labels, values)


def _always(measure: Weighted, labels: Sequence[float], values: Sequence[float]) -> float:
    value = _checked(measure, labels, values)
    assert value is not None  # noqa: S101 - defined for any pair
    return value
