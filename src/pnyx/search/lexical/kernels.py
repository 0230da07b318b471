"""Scoring postings and selecting the best k, twice: in numpy, and compiled by numba.

Both add the terms in the same order in float64, so scores are equal bit for bit. `Kernel` starts
with numpy and switches to numba (the extra `fast`, a second to load) once that pays off. A document
without any query term scores -0.0; a matched one +0.0 or more (Lucene returns those clipped to 0).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from types import ModuleType
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pnyx.core.native import can_compile
from pnyx.search.lexical.postings import MAX_FREQUENCY, join
from pnyx.search.ranking.models import Combine, Floats

KernelName: TypeAlias = Literal["numpy", "numba"]

UNMATCHED = -0.0
"""Score of a document without query terms; `np.signbit` distinguishes it from a matched 0.0."""

_SWITCH_AFTER = 40_000_000
"""Postings scored by numpy after which numba is loaded. Measured: numba takes about a second to
load and then saves some 23 ns a posting, so waiting longer would cost more than loading."""


_NO_DOCUMENTS, _NO_VALUES = np.zeros(0, dtype=np.int64), np.zeros(0)


@dataclass(frozen=True, slots=True)
class TermPart:
    """One query term in one segment: postings `first` to `stop`, and tables for them."""

    first: int
    stop: int
    weight: float
    values: Floats  # by frequency, 0 to MAX_FREQUENCY; exceptions have their own
    exception_documents: NDArray[np.int64]
    exception_values: Floats


@dataclass(frozen=True, slots=True)
class SegmentPart:
    """The data of one segment for a query; `lows` and `highs` are verified in `terms`' ranges."""

    lengths: NDArray[np.uint8]
    lows: NDArray[np.uint16]
    highs: NDArray[np.uint8]
    terms: Sequence[TermPart]


@dataclass(frozen=True, slots=True)
class Boosts:
    """The factors of each document's score: its cluster's factor, then that of its quality.

    A code is a row of `cluster_factors` shifted left by `shift` bits, plus a step that bounds the
    quality; `bounds` (float32) is at least the product of both factors for each code. The factor of
    quality, in [0, 1], is 1 + quality_weight * quality.
    """

    codes: NDArray[np.uint16] | NDArray[np.uint32]
    shift: int
    bounds: NDArray[np.float32]
    cluster_factors: Floats
    quality: NDArray[np.float32]
    quality_weight: float

    def apply(self, scores: Floats) -> Floats:
        """Return the scores of all documents, boosted; -0.0 stays -0.0."""
        boosted: Floats = scores * self.cluster_factors[self.codes >> self.shift]
        boosted *= 1.0 + self.quality_weight * self.quality.astype(np.float64)
        return boosted


def count_exceptions(lows: NDArray[np.uint16], highs: NDArray[np.uint8], documents: int) -> int:
    """Return how many of a term's postings are exceptions; -1 if its documents do not fit.

    They must ascend and be below `documents`.
    """
    numbers, frequencies = join(lows, highs)
    if (numbers[1:] <= numbers[:-1]).any() or (numbers[-1:] >= documents).any():
        return -1
    return len(frequencies) - int(np.count_nonzero(frequencies))


def score_numpy(part: SegmentPart, length_values: Floats, combine: Combine) -> Floats:
    """Return the score of every document of a segment."""
    scores = np.full(len(part.lengths), UNMATCHED)
    for term in part.terms:
        at, exceptions = slice(term.first, term.stop), term.exception_documents
        documents, frequencies = join(part.lows[at], part.highs[at])
        if len(exceptions):
            documents, frequencies = documents[frequencies > 0], frequencies[frequencies > 0]
        ordinary = documents, term.values[frequencies]
        for numbers, values in (ordinary, (exceptions, term.exception_values)):
            lengths = length_values[part.lengths[numbers]]
            scores[numbers] += _added(term.weight, values, lengths, combine)
    return scores


def _added(weight: Any, values: Floats, lengths: Floats, combine: Combine) -> Floats:
    """Return a term's contribution to the scores of documents."""
    if combine == "add":
        added: Floats = weight * np.maximum(values + lengths, 0.0)
    else:
        added = weight - weight / (1.0 + values * lengths)
    return added


def score_terms(
    part: SegmentPart, length_values: Floats, combine: Combine, only: NDArray[np.int64]
) -> list[tuple[int, int, float]]:
    """Return the contributions of terms to some documents: term, document, value; terms ascend."""
    if not part.terms or not len(only):
        return []
    spans = [slice(term.first, term.stop) for term in part.terms]
    lows, highs = (np.concatenate([half[s] for s in spans]) for half in (part.lows, part.highs))
    documents, frequencies = join(lows, highs)
    wanted = np.zeros(len(part.lengths), dtype=np.bool_)
    wanted[only] = True
    places = np.flatnonzero(wanted[documents])
    ends = np.cumsum([term.stop - term.first for term in part.terms])
    owners, documents = np.searchsorted(ends, places, side="right"), documents[places]
    frequencies = frequencies[places]
    values = np.stack([term.values for term in part.terms])[owners, frequencies]
    for at in np.flatnonzero(frequencies == 0).tolist():  # exceptions have their own values
        term = part.terms[owners[at]]
        values[at] = term.exception_values[np.searchsorted(term.exception_documents, documents[at])]
    weights = np.array([term.weight for term in part.terms])[owners]
    added = _added(weights, values, length_values[part.lengths[documents]], combine)
    return list(zip(owners.tolist(), documents.tolist(), added.tolist(), strict=True))


def best(scores: Floats, k: int) -> NDArray[np.int64]:
    """Return the numbers of the best `k` matched documents: by score, ties by document order."""
    matched = np.flatnonzero(~np.signbit(scores))
    if len(matched) > k:
        values = scores[matched]
        matched = matched[values >= np.partition(values, -k)[-k]]
    return matched[np.argsort(-scores[matched], kind="stable")[:k]]


class Kernel:
    """Scores queries; chooses between numpy and numba unless one is specified."""

    def __init__(self, name: KernelName | None = None) -> None:
        self._forced = name
        self._scored = 0
        self._compiled: ModuleType | None = None

    def scores(
        self, parts: Sequence[SegmentPart], length_values: Floats, combine: Combine
    ) -> Floats:
        """Return the score of every document, segment after segment; shape (documents,)."""
        compiled = self._choose(parts)
        if compiled is None:
            return np.concatenate([score_numpy(part, length_values, combine) for part in parts])
        scores = np.full(sum(len(p.lengths) for p in parts), UNMATCHED)
        first = 0
        for part in parts:
            stop = first + len(part.lengths)
            compiled.score(flat(part, length_values, combine), scores[first:stop])
            first = stop
        return scores

    def top(
        self,
        parts: Sequence[SegmentPart],
        length_values: Floats,
        combine: Combine,
        k: int,
        boosts: Boosts | None = None,
    ) -> tuple[NDArray[np.int64], Floats]:
        """Return the best `k` matched documents and their (boosted) scores, ties by number."""
        compiled = self._choose(parts)
        if compiled is None:
            scores = np.concatenate([score_numpy(part, length_values, combine) for part in parts])
            scores = scores if boosts is None else boosts.apply(scores)
            chosen = best(scores, k)
            return chosen, scores[chosen]
        k = min(k, sum(len(p.lengths) for p in parts))
        scores, numbers, *counts = compiled.start(k)
        first = 0
        values = None if boosts is None else tuple(getattr(boosts, f.name) for f in fields(boosts))
        for part in parts:
            query = flat(part, length_values, combine)
            compiled.top(query, values, k, first, scores, numbers, *counts)
            first += len(part.lengths)
        keys, low = compiled.finish(scores, numbers, counts[0])
        keys.sort()  # numpy's is vectorised
        ranked, ordered, in_order = compiled.settle(keys, low, scores, numbers)
        if not in_order:  # too many ties
            order = np.lexsort((ordered, -ranked))
            ranked, ordered = ranked[order], ordered[order]
        return ordered[:k], ranked[:k]

    def count_exceptions(
        self, lows: NDArray[np.uint16], highs: NDArray[np.uint8], documents: int
    ) -> int:
        """Count a term's exceptions, as the function of this name, compiled if that is loaded."""
        count = count_exceptions if self._compiled is None else self._compiled.count_exceptions
        return int(count(lows, highs, documents))

    def use(self, other: Kernel) -> None:
        """Use the compiled code that another kernel has loaded."""
        self._compiled = other._compiled

    def _choose(self, parts: Sequence[SegmentPart]) -> ModuleType | None:
        if self._compiled is None:
            self._scored += sum(term.stop - term.first for part in parts for term in part.terms)
            pays = not self._forced and self._scored > _SWITCH_AFTER and can_compile()
            if self._forced == "numba" or pays:
                from pnyx.search.lexical import compiled_kernel as compiled

                self._compiled = compiled
        return self._compiled


def flat(part: SegmentPart, length_values: Floats, combine: Combine) -> tuple[Any, ...]:
    """Lay a query and a segment out as flat arrays, the form for compiled code."""
    terms = part.terms
    ends = list(accumulate((len(term.exception_documents) for term in terms), initial=0))
    bounds = np.array(ends, dtype=np.int64)
    values = np.concatenate([_NO_VALUES, *(term.values for term in terms)])
    documents, exceptional = _NO_DOCUMENTS, _NO_VALUES
    if ends[-1]:
        documents = np.concatenate([term.exception_documents for term in terms])
        exceptional = np.concatenate([term.exception_values for term in terms])
    return (
        part.lengths,
        part.lows,
        part.highs,
        np.array([term.first for term in terms], dtype=np.int64),
        np.array([term.stop for term in terms], dtype=np.int64),
        np.array([term.weight for term in terms], dtype=np.float64),
        values.reshape(-1, MAX_FREQUENCY + 1),
        bounds,
        documents,
        exceptional,
        length_values,
        combine == "add",
    )
