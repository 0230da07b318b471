"""How well numbers follow graded labels: in order (Spearman) and in size (absolute error)."""

from __future__ import annotations

import numpy as np

from pnyx.measure.weighted import Floats, Ties, ratio

__all__ = ["weighted_mean_absolute_error", "weighted_spearman"]


def weighted_spearman(gold: Floats, score: Floats, weights: Floats) -> Floats:
    """Spearman's rank correlation, in [-1, 1], ties sharing their mean rank.

    Pearson's correlation of the ranks (Spearman 1904); undefined where either side is constant.
    """
    middle = (weights.sum(axis=1, keepdims=True) + 1) / 2
    a, b = (Ties(x).ranks(weights) - middle for x in (gold, score))
    size = (weights * a * a).sum(axis=1) * (weights * b * b).sum(axis=1)
    return np.clip(ratio((weights * a * b).sum(axis=1), np.sqrt(size)), -1.0, 1.0)


def weighted_mean_absolute_error(gold: Floats, score: Floats, weights: Floats) -> Floats:
    """Mean distance of rating and label, in points of the scale, 0 or more."""
    return ratio(weights @ np.abs(gold - score), weights.sum(axis=1))
