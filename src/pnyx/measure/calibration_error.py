"""How far stated probabilities are from the shares that come true."""

from __future__ import annotations

import numpy as np

from pnyx.measure.weighted import Floats, ratio

__all__ = ["ECE_BINS", "weighted_ece"]

ECE_BINS = 10


def weighted_ece(gold: Floats, score: Floats, weights: Floats) -> Floats:
    """Expected calibration error of the probability of yes, in [0, 1].

    Ten bins of equal width, closed on the right: [0, .1], (.1, .2] ... (.9, 1]. In each, the mean
    probability less the share of labels yes, without its sign; the mean of these, weighted by the
    bins' share of the pairs (Guo et al., ICML 2017; bins as in DIRAS).
    """
    edges = np.arange(1, ECE_BINS + 1) / ECE_BINS
    bins = np.searchsorted(edges, score, side="left")
    gap = np.zeros((len(score), ECE_BINS))
    gap[np.arange(len(score)), bins] = score - gold
    return ratio(np.abs(weights @ gap).sum(axis=1), weights.sum(axis=1))
