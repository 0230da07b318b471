"""The compiled kernel; importing it loads numba.

Documents are processed in blocks that fit the processor's cache. A posting outside of its block
stops its term, so that no index, however hostile, makes this code write outside of its arrays.
Scores are compared by their bits: as integers, +0.0 and above keep their order, and -0.0 is below
them all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pnyx.core.native import load_numba
from pnyx.search.lexical.postings import FREQUENCY_BITS, MAX_FREQUENCY

BLOCK = 1 << 13
"""Documents per block: 64 KB of float64 scores."""

_FREQUENCY = np.uint8(MAX_FREQUENCY)
_SHIFT = np.uint64(16 - FREQUENCY_BITS)

_BUCKETS = 1 << 11
_BUCKET_BITS = 44
_OCTAVES_BELOW = 6 << 52
"""Candidates are counted in buckets of scores, 256 to each power of two (an exponent begins at bit
52), from six powers below the best of the first candidates to two above it."""


def jit(function: Any) -> Any:
    """Compile on first call; cache the machine code on disk if possible."""
    numba = load_numba()
    # No fastmath: it would reorder and fuse, and the scores would differ from numpy's.
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no writable folder for the cache
        return numba.njit(nogil=True)(function)


@jit
def count_exceptions(lows: Any, highs: Any, documents: Any) -> Any:
    """See `kernels.count_exceptions`."""
    exceptions = wrong = 0
    least = np.uint64(0)
    for at in range(len(lows)):
        low, high = lows[at], highs[at]
        number = np.uint64(high & ~_FREQUENCY) << _SHIFT | np.uint64(low)
        wrong += int(number < least)
        least = number + np.uint64(1)
        exceptions += high & _FREQUENCY == 0
    return -1 if wrong or least > documents else exceptions


@jit
def _add_block(
    query: Any, cursors: Any, exception_cursors: Any, first: Any, scores: Any, places: Any
) -> Any:
    """Add every term's postings to a block, and move the cursors past them."""
    lengths, lows, highs, _, stops, weights, values, bounds = query[:8]
    exception_documents, exception_values, length_values, additive = query[8:]
    named = np.uint64(0)
    size, start = np.uint64(len(scores)), np.uint64(first)
    block_lengths = lengths[first : first + len(scores)]
    for term in range(len(cursors)):
        weight, by_frequency = weights[term], values[term]
        at = cursors[term]
        # No term has more postings in a block than the block has documents.
        stop = min(stops[term], at + BLOCK)
        for here in range(np.uint64(at), np.uint64(stop)):
            low, high = lows[here], highs[here]
            # Unsigned: a document before the block wraps around and is also too large.
            position = (np.uint64(high & ~_FREQUENCY) << _SHIFT | np.uint64(low)) - start
            if position >= size:
                break
            if places is not None:
                places[named] = position
                named += np.uint64(1)
            frequency = np.uint64(high & _FREQUENCY)
            if frequency > 0:
                length = length_values[block_lengths[position]]
                if additive:
                    scores[position] += weight * max(by_frequency[frequency] + length, 0.0)
                else:
                    scores[position] += weight - weight / (1.0 + by_frequency[frequency] * length)
            at += 1
        cursors[term] = at
        at = exception_cursors[term]
        while at < bounds[term + 1]:
            position = np.uint64(exception_documents[at]) - start
            if position >= size:
                break
            length = length_values[block_lengths[position]]
            if additive:
                scores[position] += weight * max(exception_values[at] + length, 0.0)
            else:
                scores[position] += weight - weight / (1.0 + exception_values[at] * length)
            at += 1
        exception_cursors[term] = at
    return np.int64(named)


@jit
def score(query: Any, scores: Any) -> None:
    """Add the scores of a segment's documents to `scores`; `query` is from `kernels.flat`."""
    cursors, exception_cursors = query[3].copy(), query[7][:-1].copy()
    for first in range(0, len(query[0]), BLOCK):
        part = scores[first : first + BLOCK]
        _add_block(query, cursors, exception_cursors, first, part, None)


@jit
def _compact(scores: Any, numbers: Any, count: Any, k: Any) -> Any:
    """Keep the best k of `count` candidates, the lower numbers of ties; return their count."""
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
    count_kept = 0
    for at in range(count):
        score, number = scores[at], numbers[at]
        scores[count_kept], numbers[count_kept] = score, number
        count_kept += score > cut or (score == cut and number <= last)
    return count_kept


def start(k: int) -> tuple[Any, Any, Any, Any]:
    """Return the arrays that `top` fills: candidates' scores and numbers, state, bucket sizes.

    The state: candidates; the cut, whose bits a score must exceed to become one; the bits at which
    the buckets begin; the bucket of the k-th best so far; candidates in that or above. There is
    room for 4 k candidates, those of a block, and one that is written but not kept.
    """
    room = 4 * k + BLOCK + 1
    state = np.array([0, -1, 0, 0, 0])
    return np.empty(room), np.empty(room, np.int64), state, np.zeros(_BUCKETS, np.int64)


@jit
def _collect(
    block: Any, places: Any, cut: Any, first: Any, scores: Any, numbers: Any, count: Any
) -> Any:
    """Add a block's documents whose score is above the cut to the candidates; reset the block."""
    bits = block.view(np.int64)
    start, written = np.uint64(first), np.uint64(count)
    for position in places:
        # Always written, then counted or not, to avoid mispredicted branches.
        scores[written], numbers[written] = block[position], start + np.uint64(position)
        written += np.uint64(bits[position] > cut)
        block[position] = -0.0
    return np.int64(written)


@jit
def _collect_boosted(
    block: Any, places: Any, boosts: Any, first: Any, scores: Any, numbers: Any, state: Any
) -> Any:
    """As `_collect`, by boosted scores; the exact boost only where its bound beats the cut."""
    codes, shift, bounds, cluster_factors, quality, quality_weight = boosts
    count, cut = state[0], state[1]
    if cut < 0:
        stop = np.uint64(_collect(block, places, cut, first, scores, numbers, count))
    else:
        floor, here = state[1:2].view(np.float64)[0], codes[first : first + len(block)]
        start, stop = np.uint64(first), np.uint64(count)
        for position in places:
            score = block[position]
            scores[stop], numbers[stop] = score, start + np.uint64(position)
            stop += np.uint64(score * bounds[here[position]] > floor)
            block[position] = -0.0
    bits = scores.view(np.int64)
    written = np.uint64(count)
    for candidate in range(np.uint64(count), stop):
        score, document = scores[candidate], np.uint64(numbers[candidate])
        score *= cluster_factors[codes[document] >> shift]
        score *= 1.0 + quality_weight * np.float64(quality[document])
        scores[written], numbers[written] = score, document
        written += np.uint64(bits[written] > cut)
    return np.int64(written)


@jit
def _count_buckets(bits: Any, base: Any, sizes: Any) -> None:
    for score in bits:
        sizes[min(max(score - base, 0) >> _BUCKET_BITS, _BUCKETS - 1)] += 1


@jit
def _raise_cut(scores: Any, numbers: Any, before: Any, k: Any, state: Any, sizes: Any) -> None:
    """Count the candidates from `before` on, and raise the cut while k of all stay above it."""
    count, cut, base, bucket, above = state
    bits = scores.view(np.int64)
    if before == 0 or count > 4 * k:
        if count > 4 * k:
            count = _compact(scores, numbers, count, k)
            cut = bits[:count].min()
        base, bucket, above, before = bits[:count].max() - _OCTAVES_BELOW, 0, 0, 0
        sizes[:] = 0
    _count_buckets(bits[before:count], base, sizes)
    above += count - before
    while above - sizes[bucket] >= k:
        above -= sizes[bucket]
        bucket += 1
    if bucket > 0:
        cut = max(cut, base + (bucket << _BUCKET_BITS) - 1)
    state[0], state[1], state[2], state[3], state[4] = count, cut, base, bucket, above


@jit
def top(
    query: Any, boosts: Any, k: Any, offset: Any, scores: Any, numbers: Any, state: Any, sizes: Any
) -> None:
    """Add a segment's documents that may be among the best k to the candidates of `start`.

    Blocks come in order, so a document that ties with the k-th best of earlier blocks is not among
    them.
    """
    cursors, exception_cursors = query[3].copy(), query[7][:-1].copy()
    documents, terms = len(query[0]), len(cursors)
    block, places = np.full(BLOCK, -0.0), np.empty(terms * BLOCK, dtype=np.uint16)
    for first in range(0, documents, BLOCK):
        part = block[: min(BLOCK, documents - first)]
        named = _add_block(query, cursors, exception_cursors, first, part, places)
        here, before = places[:named], state[0]
        if boosts is None:
            count = _collect(part, here, state[1], offset + first, scores, numbers, before)
        else:
            count = _collect_boosted(part, here, boosts, offset + first, scores, numbers, state)
        if count > before:
            state[0] = count
            _raise_cut(scores, numbers, before, k, state, sizes)


@jit
def finish(scores: Any, numbers: Any, state: Any) -> Any:
    """Keep the best k candidates and few others; return keys to sort them by, and their low bits.

    A key contains a candidate's position in its low bits, and above them as many bits of its score
    as fit.
    """
    count, _, base, bucket, _ = state
    edge = base + (bucket << _BUCKET_BITS) if bucket > 0 else 0
    bits = scores.view(np.int64)
    written = np.uint64(0)
    for at in range(count):
        score, number, keep = scores[at], numbers[at], bits[at] >= edge
        scores[written], numbers[written] = score, number
        written += np.uint64(keep)
    count = np.int64(written)
    if count == 0:
        return np.zeros(0, dtype=np.int64), 0
    best = bits[:count].max()
    low = drop = 0
    while count >> low:
        low += 1
    while (best - bits[:count].min()) >> drop >> (62 - low):
        drop += 1
    return ((best - bits[:count]) >> drop) << low | np.arange(count), low


@jit
def settle(keys: Any, low: Any, scores: Any, numbers: Any) -> Any:
    """Return scores and numbers by sorted keys, with a few near ties reordered; is all in order?"""
    places = keys & ((1 << low) - 1)
    ranked, ordered = scores[places], numbers[places]
    moves = 0
    for at in range(1, len(keys)):
        score, number = ranked[at], ordered[at]
        to = at
        while to > 0 and (
            ranked[to - 1] < score or (ranked[to - 1] == score and ordered[to - 1] > number)
        ):
            ranked[to], ordered[to] = ranked[to - 1], ordered[to - 1]
            to -= 1
        ranked[to], ordered[to] = score, number
        moves += at - to
        if moves > 8 * len(keys):
            return ranked, ordered, False
    return ranked, ordered, True
