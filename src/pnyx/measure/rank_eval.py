"""The order in which rank_eval 0.1.3 puts equal scores, for figures that were computed with it.

rank_eval (the library behind DIRAS's nDCG and MAP) sorts by numba's `argsort`, which is not stable,
and reads the result backwards. Equal scores so come in an order that depends on where they stand
among all scores. That algorithm is written out here, so that a later numba cannot change published
figures; the tests hold it against numba's own. See docs/decisions/rank-eval.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pnyx.measure.weighted import Floats

__all__ = ["rank_eval_order"]

_SMALL = 15
"""Parts shorter than this are sorted by insertion."""


def rank_eval_order(scores: Sequence[float] | Floats) -> npt.NDArray[np.intp]:
    """Return the places of the scores, (n,), the highest first, equal ones in rank_eval's order.

    Args:
        scores: (n,) finite numbers, in the order in which rank_eval was given them.
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
    """Move smaller keys before a pivot (the median of three) and larger behind; return its place.

    Keys equal to the pivot are exchanged, too, which is what makes the order of ties odd.
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
    for place in range(low + 1, high + 1):
        moved, i = order[place], place
        while i > low and keys[moved] < keys[order[i - 1]]:
            order[i] = order[i - 1]
            i -= 1
        order[i] = moved
