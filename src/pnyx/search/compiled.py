"""The compiled kernel. Importing this module loads numba: only `kernels.Kernel` does, when it pays.

Documents are taken in blocks that fit the processor's cache: all terms are added to a block, then
its best become candidates. A posting outside of its block stops its term, so that even an index
made by a malicious hand cannot make this code write outside of its arrays.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = [
    "compact",
    "score",
    "top",
]

_BLOCK = 1 << 14
"""Documents a block: 128 KB of float64 scores."""

_STEP = 16
"""Documents that are compared with the cut at once; divides a block."""


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
    size = np.uint64(len(scores))
    block_lengths = lengths[first : first + len(scores)]
    for term in range(len(cursors)):
        weight, by_frequency = weights[term], values[term]
        at, stop = cursors[term], stops[term]
        before = at
        for posting in postings[at:stop]:
            # Unsigned: a document before the block wraps around and is too large as well.
            place = np.uint64(posting >> 8) - np.uint64(first)
            if place >= size:
                break
            frequency = np.uint64(posting & 255)
            if frequency > 0:
                length = length_values[block_lengths[place]]
                if additive:
                    scores[place] += weight * max(by_frequency[frequency] + length, 0.0)
                else:
                    scores[place] += weight - weight / (1.0 + by_frequency[frequency] * length)
            at += 1
        touched = touched or at > before
        cursors[term] = at
        at = exception_cursors[term]
        while at < bounds[term + 1]:
            place = np.uint64(exception_documents[at] - first)
            if place >= size:
                break
            length = length_values[block_lengths[place]]
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
def compact(scores: Any, numbers: Any, count: Any, k: Any) -> Any:
    """Keep the best k of `count` candidates, in their order; return how many are left.

    Candidates are in document order, so of those that tie at the cut the first stay.
    """
    if count <= k:
        return count
    cut = np.partition(scores[:count], count - k)[count - k]
    ties = k
    for at in range(count):
        ties -= scores[at] > cut
    kept = 0
    for at in range(count):
        if scores[at] > cut or (scores[at] == cut and ties > 0):
            ties -= scores[at] == cut
            scores[kept], numbers[kept] = scores[at], numbers[at]
            kept += 1
    return kept


@_jit
def _collect(bits: Any, cut: Any, first: Any, k: Any, scores: Any, numbers: Any, count: Any) -> Any:
    """Add a block's documents whose score is above the cut to the candidates.

    Scores are compared by their bits: as integers, scores >= +0.0 order as they do as numbers, and
    the -0.0 of an unmatched document is below them all. Returns the candidates and the new cut.
    """
    rows, values = bits.reshape(-1, _STEP), bits.view(np.float64)
    for row in range(len(rows)):
        above = 0
        for column in range(_STEP):  # counted, not tested: this way it compiles to vector code
            above += rows[row, column] > cut
        if above == 0:
            continue
        if count + _STEP > len(scores):
            count = compact(scores, numbers, count, k)
            cut = scores[:count].view(np.int64).min()
        start = row * _STEP
        for at in range(start, start + _STEP):  # written, then kept or not: no branch to mispredict
            scores[count], numbers[count] = values[at], first + at
            count += bits[at] > cut
    return count, cut


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
    k: Any,
    offset: Any,
    best_scores: Any,
    best_numbers: Any,
    count: Any,
    cut: Any,
) -> Any:
    """Add a segment's documents that may be among the best k to the candidates.

    Documents come in order, so one that ties with the k-th best so far is never among them.
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
        if touched:
            bits, number = block.view(np.int64), offset + first
            count, cut = _collect(bits, cut, number, k, best_scores, best_numbers, count)
            block[:] = -0.0
    return count, cut
