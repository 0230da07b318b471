"""nDCG and MAP as in rank_eval 0.1.3, with which DIRAS's published figures were computed.

rank_eval truncates gains to whole numbers, counts a question without any gain as 0, and sorts with
numba's `argsort`, which is not stable, and reverses the result. So the order of equal scores
depends on their positions among all scores. The algorithm is written out here, so that a later
numba cannot change the figures; the tests compare it with numba's
(docs/explain/decisions/rank-eval.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from pnyx.judging import Agreement, LabelledVerdicts
from pnyx.stats import Measured
from pnyx.stats.weighted_measures import Floats, defined_mean, numbers

_SMALL = 15
"""Parts shorter than this are sorted by insertion sort."""


def rank_eval_order(scores: Sequence[float] | Floats) -> npt.NDArray[np.intp]:
    """Return the positions of the scores, (n,), highest first, ties in rank_eval's order.

    Args:
        scores: (n,) finite numbers, in the input order of rank_eval.
    """
    keys = np.asarray(scores, dtype=np.float64).tolist()
    order = list(range(len(keys)))
    parts = [(0, len(keys) - 1)]
    while parts:
        low, high = parts.pop()
        while high - low >= _SMALL:
            split = _partition(keys, order, low, high)
            # The larger part waits.
            if high - split > split - low:
                parts.append((split + 1, high))
                high = split - 1
            else:
                parts.append((low, split - 1))
                low = split + 1
        _insertion_sort(keys, order, low, high)
    return np.array(order[::-1], dtype=np.intp)


def _partition(keys: list[float], order: list[int], low: int, high: int) -> int:
    """Move smaller keys before a pivot (the median of three) and larger after; return its position.

    Keys equal to the pivot are exchanged, too, which causes the unusual order of ties.
    """
    middle = (low + high) >> 1
    for left, right in ((low, middle), (middle, high), (low, middle)):
        if keys[order[right]] < keys[order[left]]:
            order[left], order[right] = order[right], order[left]
    pivot = keys[order[middle]]
    order[high], order[middle] = order[middle], order[high]
    i, j = low, high - 1
    while True:
        while i < high and keys[order[i]] < pivot:
            i += 1
        while j >= low and pivot < keys[order[j]]:
            j -= 1
        if i >= j:
            break
        order[i], order[j] = order[j], order[i]
        i, j = i + 1, j - 1
    order[i], order[high] = order[high], order[i]
    return i


def _insertion_sort(keys: list[float], order: list[int], low: int, high: int) -> None:
    for start in range(low + 1, high + 1):
        moved, i = order[start], start
        while i > low and keys[moved] < keys[order[i - 1]]:
            order[i] = order[i - 1]
            i -= 1
        order[i] = moved


def ndcg(gains: Sequence[float], scores: Sequence[float], k: int | None = None) -> float | None:
    """Return nDCG of the pairs of a question, in the order of the answers; None without pairs."""
    gain = np.maximum(np.trunc(np.asarray(gains, dtype=np.float64)), 0.0)
    discount = 1 / np.log2(np.arange(len(gain)) + 2)
    discount[len(gain) if k is None else k :] = 0.0
    ideal = float(np.sort(gain)[::-1] @ discount)
    if ideal == 0:
        return 0.0 if len(gain) else None
    return min(1.0, float(gain[rank_eval_order(scores)] @ discount) / ideal)


def average_precision(labels: Sequence[bool], scores: Sequence[float]) -> float | None:
    """Return the average precision of the pairs of a question, in order; None without pairs."""
    yes = np.asarray(labels, dtype=np.float64)
    if not yes.any():
        return 0.0 if len(yes) else None
    ranked = yes[rank_eval_order(scores)]
    precision = np.cumsum(ranked) / np.arange(1, len(ranked) + 1)
    return float(ranked @ precision / yes.sum())


def as_published(joined: LabelledVerdicts, true: Agreement) -> Agreement:
    """Return figures with nDCG, MAP and measures derived from them as rank_eval computes them."""
    groups: dict[str, list[tuple[float, bool, float]]] = {}
    for pair in sorted(joined.pairs, key=lambda pair: pair.verdict.line):
        gold, p = pair.gold, pair.verdict.probability
        if p is not None and gold.yes is not None:
            gain = float(gold.yes) if gold.gain is None else gold.gain
            groups.setdefault(pair.group, []).append((gain, gold.yes, p))
    columns = [tuple(zip(*rows, strict=True)) for rows in groups.values()]
    depths = {"ndcg": None, "ndcg@5": 5, "ndcg@10": 10, "ndcg@15": 15}
    values = {name: [ndcg(g, p, k) for g, _, p in columns] for name, k in depths.items()}
    values["map"] = [average_precision(y, p) for _, y, p in columns]
    means = {name: defined_mean(numbers(per_question)) for name, per_question in values.items()}
    if means["ndcg"] is not None and means["map"] is not None:
        means["info"] = (means["ndcg"] + means["map"]) / 2
    measures = {
        name: _as(m, means[name]) if name in means else m for name, m in true.measures.items()
    }
    summary = dict(true.summary)
    if "info" in summary:
        summary["info"] = measures["info"]
    four = [summary[name].value for name in ("unc", "bin", "cal", "info") if name in summary]
    if "avg" in summary:
        avg = None if None in four else sum(four) / 4
        summary["avg"] = _as(summary["avg"], avg)
    return replace(true, measures=measures, summary=summary)


def _as(measured: Measured, value: float | None) -> Measured:
    return Measured(value, measured.scored, measured.asked)
