"""Compiling a question for the kernels: each term's postings and tables of values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from pnyx.formats.text.tokens import Tokenizer
from pnyx.search.lexical.kernels import SegmentPart, TermPart
from pnyx.search.lexical.postings import LENGTHS, MAX_FREQUENCY
from pnyx.search.lexical.segments import CountExceptions, IndexSegment, PostingRange
from pnyx.search.ranking.models import CollectionStatistics, Floats, Model, Term

_FREQUENCIES = np.arange(MAX_FREQUENCY + 1, dtype=np.float64)
_FREQUENCIES[0] = 1.0  # placeholder for exceptions; its value is never used
_DECODED_LENGTHS = LENGTHS.astype(np.float64)
_REMEMBERED_TERMS = 100_000
_REMEMBERED_QUESTIONS = 64  # a search that is explained compiles its question twice
_REMEMBERED_TABLES = 20_000
"""Number of terms whose tables of weights are cached: about half a kilobyte each."""


class _Occurrence(NamedTuple):
    term: Term
    ranges: list[tuple[int, PostingRange]]
    """By the number of the segment."""


class QueryCompiler:
    """Compiles questions for one collection; caches the terms that it has looked up.

    `named_parts` compiles one against each segment, and returns each part with the terms found
    there.
    """

    def __init__(
        self,
        segments: Sequence[IndexSegment],
        tokenizer: Tokenizer,
        collection: CollectionStatistics,
        count: CountExceptions,
    ) -> None:
        # Not bound methods: a cycle would keep the index's files open until it is collected.
        self.find = lru_cache(_REMEMBERED_TERMS)(partial(_look_up, segments, count))
        self._compiled = lru_cache(_REMEMBERED_TABLES)(partial(_compile, self.find, collection))
        self.by_length = lru_cache(1)(partial(_by_length, collection))
        named_parts = partial(_named_parts, segments, tokenizer, self._compiled)
        self.named_parts = lru_cache(_REMEMBERED_QUESTIONS)(named_parts)

    def parts(self, text: str, model: Model) -> list[SegmentPart] | None:
        """Compile a query against each segment; None if no word of it is in the index."""
        parts = [part for _, part in self.named_parts(text, model)]
        return parts if any(part.terms for part in parts) else None


def _named_parts(
    segments: Sequence[IndexSegment],
    tokenizer: Tokenizer,
    compiled: Callable[[str, Model], list[tuple[int, TermPart]]],
    text: str,
    model: Model,
) -> list[tuple[list[str], SegmentPart]]:
    """Compile a query against each segment; return each part with the terms found there."""
    names: list[list[str]] = [[] for _ in segments]
    terms: list[list[TermPart]] = [[] for _ in segments]
    for term, count in Counter(tokenizer.terms(text)).items():
        for segment, part in compiled(term, model):
            repeated = part if count == 1 else replace(part, weight=count * part.weight)
            names[segment].append(term)
            terms[segment].append(repeated)
    return [
        (
            term_names,
            SegmentPart(s.lengths.whole(), s.lows.unverified(), s.highs.unverified(), parts),
        )
        for s, term_names, parts in zip(segments, names, terms, strict=True)
    ]


def _by_length(collection: CollectionStatistics, model: Model) -> Floats:
    """Return the model's value for each length byte."""
    return model.length_values(_DECODED_LENGTHS, collection)


def _compile(
    find: Callable[[str], _Occurrence | None],
    collection: CollectionStatistics,
    term: str,
    model: Model,
) -> list[tuple[int, TermPart]]:
    """Return the contribution of one occurrence of a term in a query, by segment number."""
    entry = find(term)
    if entry is None:
        return []
    weight = model.weight(entry.term, collection)
    values = model.term_values(_FREQUENCIES, entry.term, collection)
    out: list[tuple[int, TermPart]] = []
    for segment, (first, stop, documents, frequencies) in entry.ranges:
        exceptional = model.term_values(frequencies, entry.term, collection)
        out.append((segment, TermPart(first, stop, weight, values, documents, exceptional)))
    return out


def _look_up(
    segments: Sequence[IndexSegment], count: CountExceptions, term: str
) -> _Occurrence | None:
    """Return where a term occurs, None if it does not."""
    ranges: list[tuple[int, PostingRange]] = []
    frequency = 0
    for number, segment in enumerate(segments):
        at = segment.terms.find(term)
        if at is not None:
            postings = segment.posting_range(at, count)
            ranges.append((number, postings))
            frequency += segment.frequency(at, postings.stop - postings.first)
    if not ranges:
        return None
    return _Occurrence(Term(sum(p.stop - p.first for _, p in ranges), frequency), ranges)
