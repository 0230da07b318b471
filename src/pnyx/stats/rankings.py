"""Quality of rankings: nDCG and average precision of scores.

Ties count with the exact mean over their random orders (McSherry and Najork, ECIR 2008).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pnyx.stats.weighted_measures import Floats


def ndcg(
    gains: Sequence[float] | Floats, scores: Sequence[float] | Floats, k: int | None = None
) -> float | None:
    """Return the normalised discounted cumulative gain of one question's pairs, in [0, 1].

    The gain is the grade itself (linear), divided by log2(rank + 1) (Järvelin and Kekäläinen, TOIS
    20, 2002, as in trec_eval). Negative grades have no gain; equal scores share the mean of their
    gains.

    Args:
        gains: (n,) the relevance of each pair, in any unit.
        scores: (n,) the scores that rank the pairs, highest first.
        k: number of ranks that count, also in the ideal ranking; None for all.

    Returns:
        None if no pair has a gain.

    Raises:
        ValueError: the numbers of finite scores and gains differ, or k is below 1.
    """
    gain, score = _columns(gains, scores)
    if k is not None:
        _check_depth(k)
    gain = np.maximum(gain, 0.0)
    discount = 1 / np.log2(np.arange(len(gain)) + 2)
    discount[len(gain) if k is None else k :] = 0.0
    ideal = float(np.sort(gain)[::-1] @ discount)
    if ideal == 0:
        return None
    blocks = _Blocks(score)
    return min(1.0, float((blocks.sums(gain) / blocks.size) @ discount) / ideal)


def ranking_average_precision(
    relevant: Sequence[bool] | Sequence[float] | Floats, scores: Sequence[float] | Floats
) -> float | None:
    """Return the average precision of the ranking of one question's pairs, in [0, 1].

    The mean, over the relevant pairs (n,), of the precision at their ranks by score (n,), highest
    first; its mean over questions is MAP. Equal scores count with the expected value over their
    orders (`average_precision` treats them as one threshold). None if no pair is relevant.

    Raises:
        ValueError: the numbers of finite scores and labels differ.
    """
    labels, score = _columns(relevant, scores)
    yes = (labels != 0).astype(np.float64)
    return _expected_precision(yes, _Blocks(score)) if yes.any() else None


class _Blocks:
    """A ranking by score: the block of ties at a rank has `size` ranks, after `start` others."""

    def __init__(self, score: Floats) -> None:
        self.order = np.argsort(-score, kind="stable")
        ranked = score[self.order]
        self._firsts = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1]))
        self._sizes = np.diff(np.append(self._firsts, len(ranked)))
        self.start = np.repeat(self._firsts, self._sizes).astype(np.float64)
        self.size = np.repeat(self._sizes, self._sizes).astype(np.float64)

    def sums(self, amounts: Floats) -> Floats:
        """Return, at each rank, the sum of the amounts in its block."""
        sums = np.add.reduceat(amounts[self.order], self._firsts)
        return np.asarray(np.repeat(sums, self._sizes))


def _expected_precision(yes: Floats, blocks: _Blocks) -> float:
    """Return the expected average precision over all orders within blocks of equal scores."""
    here = blocks.sums(yes)
    ranked = np.cumsum(yes[blocks.order])
    before = np.where(blocks.start > 0, ranked[blocks.start.astype(np.intp) - 1], 0.0)
    rank = np.arange(1, len(yes) + 1)
    inside = (rank - blocks.start - 1) * (here - 1) / np.maximum(blocks.size - 1, 1)
    precision = (before + 1 + inside) / rank
    return min(1.0, float((here / blocks.size) @ precision / yes.sum()))


def _columns(
    gold: Sequence[float] | Floats | Sequence[bool], scores: Sequence[float] | Floats
) -> tuple[Floats, Floats]:
    labels = np.asarray(gold, dtype=np.float64)
    score = np.asarray(scores, dtype=np.float64)
    if labels.shape != score.shape or labels.ndim != 1:
        raise ValueError(f"found {labels.size} labels and {score.size} scores, expected as many")
    if not (np.isfinite(labels).all() and np.isfinite(score).all()):
        raise ValueError("found a label or a score that is not finite")
    return labels, score


def _check_depth(k: int) -> None:
    if k < 1:
        raise ValueError(f"the depth is {k}, expected at least 1")
