"""Sorting tokens into postings (document and frequency), by term, then by document.

A posting has 24 bits: 20 for the document, 4 for the frequency, stored as two arrays: the 16 low
bits of the document, and its 4 high bits above the frequency.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

DOCUMENT_BITS: Final = 20
FREQUENCY_BITS: Final = 4
MAX_FREQUENCY: Final = (1 << FREQUENCY_BITS) - 1
"""Higher frequencies (about one posting in 2,000 of real text) are exceptions: their posting has
the frequency 0, which no other posting has."""


def split(postings: NDArray[np.uint32]) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """Return the low and high bits of postings (document << FREQUENCY_BITS | frequency)."""
    lows = (postings >> FREQUENCY_BITS).astype(np.uint16)
    highs = postings >> 16 & ~np.uint32(MAX_FREQUENCY) | postings & np.uint32(MAX_FREQUENCY)
    return lows, highs.astype(np.uint8)


def join(
    lows: NDArray[np.uint16], highs: NDArray[np.uint8]
) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Return the documents and the frequencies of postings in their stored form."""
    documents = highs.astype(np.uint32)
    documents >>= np.uint32(FREQUENCY_BITS)
    documents <<= np.uint32(16)
    documents |= lows
    return documents, highs & np.uint8(MAX_FREQUENCY)


@dataclass(frozen=True, slots=True)
class Postings:
    """A segment's postings by term number t: `postings[offsets[t]:offsets[t + 1]]`.

    A posting is document << FREQUENCY_BITS | frequency; 0 means a frequency that is an
    exception, found by `exception_positions` (ascending). Lengths are tokens of each document.
    """

    offsets: NDArray[np.int64]
    postings: NDArray[np.uint32]
    collection_frequencies: NDArray[np.int64]
    exception_positions: NDArray[np.int64]
    exception_frequencies: NDArray[np.int64]
    lengths: NDArray[np.int64]


class PostingsBuilder:
    """Collects tokens in document order and returns the postings of a whole segment."""

    def __init__(self) -> None:
        self.count = 0
        # Terms, their counts of postings, and postings by term and document, of some documents.
        self._chunks: list[tuple[NDArray[Any], NDArray[Any], NDArray[np.uint32]]] = []
        self._lengths: list[NDArray[np.int64]] = []
        self._documents = 0
        self._cf = np.zeros(0, dtype=np.int64)
        self._exceptions: list[NDArray[np.int64]] = []

    def add(self, terms: NDArray[np.int32], words: NDArray[np.int64], vocabulary: int) -> None:
        """Add the next documents: the term number of each word (-1 where left out), words each."""
        documents = np.repeat(np.arange(len(words)), words)
        indexed = terms >= 0
        documents, terms = documents[indexed], terms[indexed]
        self._lengths.append(np.bincount(documents, minlength=len(words)))
        keys = terms.astype(np.int64) << DOCUMENT_BITS | documents + self._documents
        self._documents += len(words)
        if not len(keys):
            return
        keys.sort()
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        frequencies = np.diff(starts, append=len(keys))
        keys = keys[starts]
        terms, documents = keys >> DOCUMENT_BITS, keys & ((1 << DOCUMENT_BITS) - 1)
        # Sums of weights are exact in float64 up to 2^53 tokens.
        cf = np.bincount(terms, weights=frequencies, minlength=vocabulary).astype(np.int64)
        cf[: len(self._cf)] += self._cf
        self._cf = cf
        above = frequencies > MAX_FREQUENCY
        if above.any():
            self._exceptions.append(np.stack([terms, documents, frequencies])[:, above])
        postings = (documents << FREQUENCY_BITS | np.where(above, 0, frequencies)).astype(np.uint32)
        starts = np.flatnonzero(np.diff(terms, prepend=-1))
        counts = np.diff(starts, append=len(terms))
        self._chunks.append((terms[starts], counts, postings))
        self.count += len(postings)

    def finish(self) -> Postings:
        """Join the chunks term by term; the builder is empty afterwards."""
        vocabulary = len(self._cf)
        offsets = np.zeros(vocabulary + 1, dtype=np.int64)
        for terms, counts, _ in self._chunks:
            offsets[terms + 1] += counts
        np.cumsum(offsets, out=offsets)
        free = offsets[:-1].copy()
        postings = np.empty(self.count, dtype=np.uint32)
        while self._chunks:
            terms, counts, chunk = self._chunks.pop(0)
            shift = np.repeat(free[terms] - (np.cumsum(counts) - counts), counts)
            postings[np.arange(len(shift)) + shift] = chunk
            free[terms] += counts
        positions, frequencies = self._place_exceptions(offsets, postings)
        lengths = np.concatenate([np.zeros(0, dtype=np.int64), *self._lengths])
        return Postings(offsets, postings, self._cf, positions, frequencies, lengths)

    def _place_exceptions(
        self, offsets: NDArray[np.int64], postings: NDArray[np.uint32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        if not self._exceptions:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        terms, documents, frequencies = np.concatenate(self._exceptions, axis=1)
        wanted = zip(terms.tolist(), (documents << FREQUENCY_BITS).tolist(), strict=True)
        positions = np.array(
            [
                offsets[t] + np.searchsorted(postings[offsets[t] : offsets[t + 1]], p)
                for t, p in wanted
            ]
        )
        order = np.argsort(positions)
        return positions[order], frequencies[order]


def _from_int4(code: int) -> int:
    """Lucene's SmallFloat.int4ToLong."""
    mantissa, shift = code & 0x07, (code >> 3) - 1
    return mantissa if shift == -1 else (mantissa | 0x08) << shift


_EXACT: Final = 24
"""Byte values not used by the small float: they extend the exact range."""


def decode_length(byte: int) -> int:
    """Return the length, in tokens, encoded by a byte 0 to 255."""
    return byte if byte < _EXACT else _EXACT + _from_int4(byte - _EXACT)


LENGTHS: Final[NDArray[np.int64]] = np.array([decode_length(b) for b in range(256)], dtype=np.int64)
"""Length of each byte, strictly increasing; shape (256,)."""


def encode_lengths(lengths: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Encode many lengths at once: the largest byte whose length does not exceed the true one."""
    codes = np.searchsorted(LENGTHS, lengths, side="right") - 1
    return codes.astype(np.uint8)
