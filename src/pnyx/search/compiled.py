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
    "BLOCK",
    "compact",
    "score",
    "top",
]

BLOCK = 1 << 13
"""Documents a block: 64 KB of float64 scores."""

_UNTOUCHED = -(2**63)
"""The bits of -0.0, the score of a document without any query term."""


def _jit(function: Any) -> Any:
    """Compile on first call; keep the machine code on disk where that is possible."""
    # No fastmath: it would reorder and fuse, and the scores would differ from numpy's.
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no writable place for the cache
        return numba.njit(nogil=True)(function)


@_jit
def _note(places: Any, count: Any, bits: Any, place: Any) -> Any:
    """List a place that is touched for the first time; return how many are listed."""
    if places is None:
        return 0
    places[count] = place  # written, then kept or not: no branch to mispredict
    return count + (bits[place] == _UNTOUCHED)


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
    places: Any,
) -> Any:
    """Add every term's postings to a block.

    Unless `places` is None, it begins with where the touched documents are in the block, each
    once, in any order; returns how many. A sum that was touched is never -0.0 again: models add
    +0.0 or more.
    """
    count = 0
    size = np.uint64(len(scores))
    bits = scores.view(np.int64)
    block_lengths = lengths[first : first + len(scores)]
    for term in range(len(cursors)):
        weight, by_frequency = weights[term], values[term]
        at, stop = cursors[term], stops[term]
        for posting in postings[at:stop]:
            # Unsigned: a document before the block wraps around and is too large as well.
            place = np.uint64(posting >> 8) - np.uint64(first)
            if place >= size:
                break
            frequency = np.uint64(posting & 255)
            if frequency > 0:
                count = _note(places, count, bits, place)
                length = length_values[block_lengths[place]]
                if additive:
                    scores[place] += weight * max(by_frequency[frequency] + length, 0.0)
                else:
                    scores[place] += weight - weight / (1.0 + by_frequency[frequency] * length)
            at += 1
        cursors[term] = at
        at = exception_cursors[term]
        while at < bounds[term + 1]:
            place = np.uint64(exception_documents[at] - first)
            if place >= size:
                break
            count = _note(places, count, bits, place)
            length = length_values[block_lengths[place]]
            if additive:
                scores[place] += weight * max(exception_values[at] + length, 0.0)
            else:
                scores[place] += weight - weight / (1.0 + exception_values[at] * length)
            at += 1
        exception_cursors[term] = at
    return count


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
    for first in range(0, len(lengths), BLOCK):
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
            scores[first : first + BLOCK],
            None,
        )


@_jit
def compact(scores: Any, numbers: Any, count: Any, k: Any) -> Any:
    """Keep the best k of `count` candidates, of ties the lower numbers; return their count."""
    if count <= k:
        return count
    cut = np.partition(scores[:count], count - k)[count - k]
    above = tied = 0
    for at in range(count):
        above += scores[at] > cut
        tied += scores[at] == cut
    last = np.int64(2**62)
    if above + tied > k:
        places = numbers[:count][scores[:count] == cut]
        last = np.partition(places, k - above - 1)[k - above - 1]
    kept = 0
    for at in range(count):
        score, number = scores[at], numbers[at]
        scores[kept], numbers[kept] = score, number
        kept += score > cut or (score == cut and number <= last)
    return kept


@_jit
def _collect(
    block: Any, places: Any, cut: Any, first: Any, scores: Any, numbers: Any, count: Any
) -> Any:
    """Add a block's documents whose score is above the cut to the candidates; untouch the block.

    Scores are compared by their bits: as integers, scores >= +0.0 order as they do as numbers.
    """
    bits = block.view(np.int64)
    for place in places:
        scores[count], numbers[count] = block[place], first + place
        count += bits[place] > cut
        block[place] = -0.0
    return count


@_jit
def _collect_boosted(
    block: Any,
    places: Any,
    boosts: Any,
    cut: Any,
    first: Any,
    scores: Any,
    numbers: Any,
    count: Any,
) -> Any:
    """Add a block's documents whose boosted score is above the cut; untouch the block.

    `codes` names a bound on each boost, in a table that fits the first cache; the boost itself is
    worked out only where the bound beats the cut.
    """
    codes, shift, bounds, cluster_factors, quality, quality_weight = boosts
    floor = -1.0 if cut < 0 else np.array([cut]).view(np.float64)[0]
    stop = count
    for place in places:
        scores[stop], numbers[stop] = block[place], first + place
        stop += block[place] * bounds[codes[first + place]] > floor
        block[place] = -0.0
    bits = scores.view(np.int64)
    for candidate in range(count, stop):
        score, document = scores[candidate], numbers[candidate]
        score *= cluster_factors[codes[document] >> shift]
        score *= 1.0 + quality_weight * np.float64(quality[document])
        scores[count], numbers[count] = score, document
        count += bits[count] > cut
    return count


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
    boosts: Any,
    k: Any,
    offset: Any,
    best_scores: Any,
    best_numbers: Any,
    count: Any,
    cut: Any,
) -> Any:
    """Add a segment's documents that may be among the best k to the candidates.

    Blocks come in order, so a document that ties with the k-th best of the blocks before is never
    among them. There is room for 2 k candidates and a block's documents, and one that is not kept.
    `boosts` is None or the fields of `kernels.Boosts`, of all documents of the index; numba
    compiles the two cases apart.
    """
    cursors, exception_cursors = firsts.copy(), bounds[:-1].copy()
    block, places = np.full(BLOCK, -0.0), np.empty(BLOCK + 1, dtype=np.uint16)
    for first in range(0, len(lengths), BLOCK):
        scores = block[: min(BLOCK, len(lengths) - first)]
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
            places,
        )
        if touched == 0:
            continue
        here, number = places[:touched], offset + first
        if boosts is None:
            count = _collect(block, here, cut, number, best_scores, best_numbers, count)
        else:
            count = _collect_boosted(
                block, here, boosts, cut, number, best_scores, best_numbers, count
            )
        if count > 2 * k:
            count = compact(best_scores, best_numbers, count, k)
            cut = best_scores[:count].view(np.int64).min()
    return count, cut
