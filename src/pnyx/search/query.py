"""From the words of a question to what the kernels add: each term's postings and its tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pnyx.corpora.tokens import Tokenizer
from pnyx.search.kernels import SegmentPart, TermPart
from pnyx.search.models import Collection, Floats, Model, Term
from pnyx.search.postings import LENGTHS, MAX_FREQUENCY
from pnyx.search.segments import Segment

__all__ = ["QueryCompiler"]

_FREQUENCIES = np.arange(MAX_FREQUENCY + 1, dtype=np.float64)
_FREQUENCIES[0] = 1.0  # stands for the exceptions; its value is never used
_DECODED_LENGTHS = LENGTHS.astype(np.float64)
_REMEMBERED_TERMS = 100_000
_REMEMBERED_TABLES = 20_000
"""Terms whose tables of weights are kept: about half a kilobyte each."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a term's postings lie in one segment, and those that are exceptions."""

    segment: int
    first: int
    stop: int
    exception_documents: NDArray[np.int64]
    exception_frequencies: Floats


@dataclass(frozen=True, slots=True)
class _Occurrence:
    """A term in the whole collection."""

    term: Term
    places: tuple[_Place, ...]


class QueryCompiler:
    """Compiles questions for one collection; remembers the terms that it has looked up."""

    def __init__(
        self, segments: Sequence[Segment], tokenizer: Tokenizer, collection: Collection
    ) -> None:
        self._segments, self._tokenizer, self._collection = segments, tokenizer, collection
        self._known: dict[str, _Occurrence | None] = {}
        self._tables: dict[tuple[str, Model], list[tuple[int, TermPart]]] = {}
        self._length_values: dict[Model, Floats] = {}

    def parts(self, text: str, model: Model) -> list[SegmentPart] | None:
        """Compile a query against each segment; None where no word of it is in the index."""
        terms: list[list[TermPart]] = [[] for _ in self._segments]
        for term, count in Counter(self._tokenizer.terms(text)).items():
            for segment, part in self._compiled(term, model):
                terms[segment].append(part if count == 1 else part.repeated(count))
        if not any(terms):
            return None
        return [
            SegmentPart(
                segment.lengths.whole(),
                segment.lows.unverified(),
                segment.highs.unverified(),
                parts,
            )
            for segment, parts in zip(self._segments, terms, strict=True)
        ]

    def _compiled(self, term: str, model: Model) -> list[tuple[int, TermPart]]:
        """Return what one occurrence of a term in a query adds, with the numbers of segments."""
        known = self._tables.get((term, model))
        if known is not None:
            return known
        if len(self._tables) >= _REMEMBERED_TABLES:
            self._tables = {}
        out: list[tuple[int, TermPart]] = []
        found = self.find(term)
        if found is not None:
            weight = model.weight(found.term, self._collection)
            values = model.term_values(_FREQUENCIES, found.term, self._collection)
            for place in found.places:
                documents, frequencies = place.exception_documents, place.exception_frequencies
                exceptional = model.term_values(frequencies, found.term, self._collection)
                part = TermPart(place.first, place.stop, weight, values, documents, exceptional)
                out.append((place.segment, part))
        self._tables[term, model] = out
        return out

    def by_length(self, model: Model) -> Floats:
        """Return the model's value for each length byte."""
        values = self._length_values.get(model)
        if values is None:
            values = model.length_values(_DECODED_LENGTHS, self._collection)
            self._length_values = {model: values}
        return values

    def find(self, term: str) -> _Occurrence | None:
        """Return where a term occurs, None where it does not."""
        if term in self._known:
            return self._known[term]
        if len(self._known) >= _REMEMBERED_TERMS:
            self._known = {}
        found = self._known[term] = self._look_up(term)
        return found

    def _look_up(self, term: str) -> _Occurrence | None:
        places: list[_Place] = []
        frequency = 0
        for number, segment in enumerate(self._segments):
            at = segment.terms.find(term)
            if at is not None:
                first, stop = segment.posting_range(at)
                places.append(_Place(number, first, stop, *segment.exceptions(first, stop)))
                frequency += segment.frequency(at, stop - first)
        if not places:
            return None
        return _Occurrence(Term(sum(p.stop - p.first for p in places), frequency), tuple(places))
