"""The compiled kernel. Importing this module loads numba: only `kernels.Kernel` does, when it pays.

Documents are taken in blocks that fit the processor's cache: all terms are added to a block, then
its best go to a heap. A posting outside of its block stops its term, so that even an index made by
a malicious hand cannot make this code write outside of its arrays.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

__all__ = ["score", "top"]

_BLOCK = 1 << 14
"""Documents a block: 128 KB of float64 scores."""


def _jit(function: Any) -> Any:
    """Compile on first call; keep the machine code on disk where that is possible."""
    # No fastmath: it would reorder and fuse, and the scores would differ from numpy's.
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no writable place for the cache
        return numba.njit(nogil=True)(function)


@_jit
def _add_block(
    lengths: Any,
    postings: Any,
    cursors: Any,
    stops: Any,
    weights: Any,
    values: Any,
    exception_cursors: Any,
    bounds: Any,
    exception_documents: Any,
    exception_values: Any,
    length_values: Any,
    additive: Any,
    first: Any,
    scores: Any,
) -> Any:
    """Add every term's postings to a block; return whether there was any."""
    touched = False
    size = len(scores)
    for term in range(len(cursors)):
        weight = weights[term]
        at, stop = cursors[term], stops[term]
        before = at
        while at < stop:
            posting = postings[at]
            place = np.int64(posting >> 8) - first
            if place < 0 or place >= size:
                break
            frequency = posting & 255
            if frequency > 0:
                length = length_values[lengths[first + place]]
                if additive:
                    scores[place] += weight * max(values[term, frequency] + length, 0.0)
                else:
                    scores[place] += weight - weight / (1.0 + values[term, frequency] * length)
            at += 1
        touched = touched or at > before
        cursors[term] = at
        at = exception_cursors[term]
        while at < bounds[term + 1]:
            place = exception_documents[at] - first
            if place < 0 or place >= size:
                break
            length = length_values[lengths[first + place]]
            if additive:
                scores[place] += weight * max(exception_values[at] + length, 0.0)
            else:
                scores[place] += weight - weight / (1.0 + exception_values[at] * length)
            at += 1
        exception_cursors[term] = at
    return touched


@_jit
def score(
    lengths: Any,
    postings: Any,
    firsts: Any,
    stops: Any,
    weights: Any,
    values: Any,
    bounds: Any,
    exception_documents: Any,
    exception_values: Any,
    length_values: Any,
    additive: Any,
    scores: Any,
) -> None:
    """Add the scores of all documents of a segment to `scores`, block by block."""
    cursors, exception_cursors = firsts.copy(), bounds[:-1].copy()
    for first in range(0, len(lengths), _BLOCK):
        _add_block(
            lengths,
            postings,
            cursors,
            stops,
            weights,
            values,
            exception_cursors,
            bounds,
            exception_documents,
            exception_values,
            length_values,
            additive,
            first,
            scores[first : first + _BLOCK],
        )


@_jit
def _worse(scores: Any, numbers: Any, i: Any, j: Any) -> Any:
    """Whether entry i ranks below entry j: a lower score, or an equal one of a later document."""
    return scores[i] < scores[j] or (scores[i] == scores[j] and numbers[i] > numbers[j])


@_jit
def _swap(scores: Any, numbers: Any, i: Any, j: Any) -> None:
    scores[i], scores[j] = scores[j], scores[i]
    numbers[i], numbers[j] = numbers[j], numbers[i]


@_jit
def _push(scores: Any, numbers: Any, size: Any, value: Any, number: Any) -> Any:
    """Add to the heap, pushing out its root (the worst entry) when full; return the size."""
    if size < len(scores):
        at = size
        scores[at], numbers[at] = value, number
        while at > 0 and _worse(scores, numbers, at, (at - 1) // 2):
            _swap(scores, numbers, at, (at - 1) // 2)
            at = (at - 1) // 2
        return size + 1
    scores[0], numbers[0] = value, number
    at = 0
    while True:
        worst, child = at, 2 * at + 1
        if child < size and _worse(scores, numbers, child, worst):
            worst = child
        if child + 1 < size and _worse(scores, numbers, child + 1, worst):
            worst = child + 1
        if worst == at:
            return size
        _swap(scores, numbers, at, worst)
        at = worst


@_jit
def top(
    lengths: Any,
    postings: Any,
    firsts: Any,
    stops: Any,
    weights: Any,
    values: Any,
    bounds: Any,
    exception_documents: Any,
    exception_values: Any,
    length_values: Any,
    additive: Any,
    heap_scores: Any,
    heap_numbers: Any,
    size: Any,
    offset: Any,
) -> Any:
    """Put the best documents of a segment on the heap and return its size.

    Documents come in order, so one that ties with the worst of a full heap ranks below it.
    """
    cursors, exception_cursors = firsts.copy(), bounds[:-1].copy()
    block = np.full(_BLOCK, -0.0)
    for first in range(0, len(lengths), _BLOCK):
        scores = block[: min(_BLOCK, len(lengths) - first)]
        touched = _add_block(
            lengths,
            postings,
            cursors,
            stops,
            weights,
            values,
            exception_cursors,
            bounds,
            exception_documents,
            exception_values,
            length_values,
            additive,
            first,
            scores,
        )
        if not touched:
            continue
        for place in range(len(scores)):
            value = scores[place]
            if size < len(heap_scores):
                if math.copysign(1.0, value) > 0.0:
                    size = _push(heap_scores, heap_numbers, size, value, offset + first + place)
            elif value > heap_scores[0]:
                size = _push(heap_scores, heap_numbers, size, value, offset + first + place)
        scores[:] = -0.0
    return size
