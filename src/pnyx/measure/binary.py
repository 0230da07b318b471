"""How well yes/no answers with probabilities agree with labels.

All functions take plain sequences of scored pairs; leaving out the unscored, and counting them,
is the caller's (`against_labels` does both). Checked against scikit-learn in the tests.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pnyx.judge.answers import Answer, Judged
from pnyx.measure.base import Measured
from pnyx.measure.intervals import wilson

__all__ = ["accuracy", "against_labels", "auroc", "average_precision", "brier", "f1"]


def accuracy(labels: Sequence[bool], values: Sequence[bool]) -> float:
    """Return the share of values equal to their labels, in [0, 1]; at least one pair."""
    _same_length(labels, values)
    return sum(a == b for a, b in zip(labels, values, strict=True)) / len(labels)


def f1(labels: Sequence[bool], values: Sequence[bool]) -> float | None:
    """Return F1 of the yes class, in [0, 1]; None where there is neither a yes nor a label yes."""
    _same_length(labels, values)
    hits = sum(a and b for a, b in zip(labels, values, strict=True))
    total = sum(labels) + sum(values)
    return 2 * hits / total if total else None


def auroc(labels: Sequence[bool], scores: Sequence[float]) -> float | None:
    """Return the area under the ROC curve, ties counting half; None where one class is absent."""
    _same_length(labels, scores)
    truth = np.asarray(labels, dtype=bool)
    positives = int(truth.sum())
    negatives = len(truth) - positives
    if positives == 0 or negatives == 0:
        return None
    ranks = _mean_ranks(np.asarray(scores, dtype=np.float64))
    wins = float(ranks[truth].sum()) - positives * (positives + 1) / 2
    return wins / (positives * negatives)


def average_precision(labels: Sequence[bool], scores: Sequence[float]) -> float | None:
    """Return average precision over score thresholds (tied scores form one); None without a yes.

    The sum of precision times the gain in recall, without interpolation, as scikit-learn does.
    """
    _same_length(labels, scores)
    if not any(labels):
        return None
    values = np.asarray(scores, dtype=np.float64)
    order = np.argsort(-values, kind="stable")
    truth = np.asarray(labels, dtype=bool)[order]
    last_of_tie = np.append(np.diff(values[order]) != 0, True)
    hits = np.cumsum(truth)[last_of_tie]
    seen = np.flatnonzero(last_of_tie) + 1
    gains = np.diff(hits, prepend=0)
    return float((gains * hits / seen).sum() / truth.sum())


def brier(labels: Sequence[bool], probabilities: Sequence[float]) -> float:
    """Return the mean squared distance of probability of yes and label, in [0, 1]."""
    _same_length(labels, probabilities)
    truth = np.asarray(labels, dtype=np.float64)
    return float(np.mean((np.asarray(probabilities, dtype=np.float64) - truth) ** 2))


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
    out = {
        "accuracy": Measured(None, 0, asked),
        "f1": Measured(f1(truth, values) if judged else None, len(judged), asked),
    }
    if judged:
        right = sum(a == b for a, b in zip(truth, values, strict=True))
        out["accuracy"] = Measured(
            right / len(judged), len(judged), asked, *wilson(right, len(judged))
        )
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


def _mean_ranks(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return 1-based ranks, tied values sharing the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[inverse], dtype=np.float64)


def _same_length(a: Sequence[object], b: Sequence[object]) -> None:
    if len(a) != len(b):
        raise ValueError(f"found {len(a)} labels and {len(b)} values, expected one for each")
    if len(a) == 0:
        raise ValueError("found no pairs, expected at least one")
