"""How well scores rank the pairs of one question: nDCG and average precision.

Both are what ties give on average over their random orders, exactly (McSherry and Najork, ECIR
2008): a judge that says "95 %" twenty times is neither lucky nor unlucky.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from pnyx.measure.rank_eval import rank_eval_order
from pnyx.measure.weighted import Floats

__all__ = ["COMPAT", "Compat", "ndcg", "ranking_average_precision"]

Compat: TypeAlias = Literal["rank-eval"]
"""Whose figures are reproduced in place of the true ones (docs/decisions/rank-eval.md)."""

COMPAT: tuple[Compat, ...] = get_args(Compat)


def ndcg(
    gains: Sequence[float] | Floats,
    scores: Sequence[float] | Floats,
    k: int | None = None,
    *,
    compat: Compat | None = None,
) -> float | None:
    """Return the normalised discounted cumulative gain of one question's pairs, in [0, 1].

    The gain is the grade itself (linear) and is divided by log2(rank + 1) (Järvelin and
    Kekäläinen, TOIS 20, 2002, as in trec_eval); negative grades gain nothing. Equal scores share
    the mean of what they gain.

    Args:
        gains: (n,) how relevant each pair is, in any unit.
        scores: (n,) by which the pairs are ranked, the highest first.
        k: only the first k ranks count, also in the ideal ranking; None for all.
        compat: `rank-eval` cuts gains down to whole numbers, orders equal scores as rank_eval 0.1.3
            does with pairs in this order, and counts a question where no pair gains as 0.

    Returns:
        None where no pair gains anything.

    Raises:
        ValueError: not one finite score for each gain, or k below 1.
    """
    gain, score = _columns(gains, scores)
    if k is not None and k < 1:
        raise ValueError(f"the depth is {k}, expected at least 1")
    gain = np.maximum(np.trunc(gain) if compat else gain, 0.0)
    discount = 1 / np.log2(np.arange(len(gain)) + 2)
    discount[len(gain) if k is None else k :] = 0.0
    ideal = float(np.sort(gain)[::-1] @ discount)
    if ideal == 0:
        return _nothing(gain, compat)
    ranked = gain[rank_eval_order(score)] if compat else _Blocks(score).means(gain)
    return min(1.0, float(ranked @ discount) / ideal)


def ranking_average_precision(
    relevant: Sequence[bool] | Sequence[float] | Floats,
    scores: Sequence[float] | Floats,
    *,
    compat: Compat | None = None,
) -> float | None:
    """Return the average precision of the ranking of one question's pairs, in [0, 1].

    The mean, over the relevant pairs, of the precision at their ranks. Equal scores count with the
    expected value over their orders. The mean over questions is MAP. `average_precision` among the
    measures of all pairs together takes equal scores as one threshold instead.

    Args:
        relevant: (n,) whether each pair is relevant.
        scores: (n,) by which the pairs are ranked, the highest first.
        compat: `rank-eval` orders equal scores as rank_eval 0.1.3 does with pairs in this order,
            and counts a question where no pair is relevant as 0.

    Returns:
        None where no pair is relevant.

    Raises:
        ValueError: not one finite score for each label.
    """
    labels, score = _columns(relevant, scores)
    yes = (labels != 0).astype(np.float64)
    if not yes.any():
        return _nothing(yes, compat)
    if compat:
        ranked = yes[rank_eval_order(score)]
        precision = np.cumsum(ranked) / np.arange(1, len(ranked) + 1)
        return float(ranked @ precision / yes.sum())
    return _expected_precision(yes, _Blocks(score))


def _nothing(pairs: Floats, compat: Compat | None) -> float | None:
    """Return what a question without a relevant pair counts as; without any pair it is none."""
    return 0.0 if compat and len(pairs) else None


class _Blocks:
    """A ranking by score, in which pairs of equal scores form a block.

    Attributes:
        order: (n,) the pairs' places, the highest score first.
        start: (n,) at each rank, how many ranks lie before its block.
        size: (n,) at each rank, the size of its block.
    """

    def __init__(self, score: Floats) -> None:
        self.order = np.argsort(-score, kind="stable")
        ranked = score[self.order]
        firsts = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1]))
        sizes = np.diff(np.append(firsts, len(ranked)))
        self._firsts = firsts
        self.start = np.repeat(firsts, sizes).astype(np.float64)
        self.size = np.repeat(sizes, sizes).astype(np.float64)

    def sums(self, amounts: Floats) -> Floats:
        """Return, at each rank, the sum of the amounts in its block."""
        sums = np.add.reduceat(amounts[self.order], self._firsts)
        return np.asarray(np.repeat(sums, np.diff(np.append(self._firsts, len(amounts)))))

    def means(self, amounts: Floats) -> Floats:
        """Return, at each rank, the mean amount of its block."""
        return np.asarray(self.sums(amounts) / self.size)


def _expected_precision(yes: Floats, blocks: _Blocks) -> float:
    """Return the expected average precision over the orders within blocks.

    At the j-th of the n ranks of a block with r relevant pairs, a relevant one stands with chance
    r / n; (j - 1)(r - 1) / (n - 1) of the others are then expected before it in the block.
    """
    here = blocks.sums(yes)
    ranked = np.cumsum(yes[blocks.order])
    before = np.where(blocks.start > 0, ranked[blocks.start.astype(np.intp) - 1], 0.0)
    rank = np.arange(1, len(yes) + 1)
    inside = (rank - blocks.start - 1) * (here - 1) / np.maximum(blocks.size - 1, 1)
    precision = (before + 1 + inside) / rank
    return min(1.0, float((here / blocks.size) @ precision / yes.sum()))


def _columns(
    gold: Sequence[float] | Floats | Sequence[bool], scores: Sequence[float] | Floats
) -> tuple[npt.NDArray[np.float64], Floats]:
    labels = np.asarray(gold, dtype=np.float64)
    score = np.asarray(scores, dtype=np.float64)
    if labels.shape != score.shape or labels.ndim != 1:
        raise ValueError(f"found {labels.size} labels and {score.size} scores, expected one each")
    if not (np.isfinite(labels).all() and np.isfinite(score).all()):
        raise ValueError("found a label or a score that is not finite")
    return labels, score
