"""The inverted index of the embedded engine: a folder, opened and searched by words."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, count, islice, pairwise, repeat
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from pnyx.core.errors import IndexFolderError, InputError, shorten
from pnyx.core.native import WORTH_COMPILING, can_compile
from pnyx.core.records import Evidence
from pnyx.search.engine import FeatureInfo, Hit, Remembering
from pnyx.search.features.access import Feature, read_feature
from pnyx.search.lexical.kernels import Boosts, Kernel, KernelName, score_terms
from pnyx.search.lexical.manifest import PASSAGES, read_manifest
from pnyx.search.lexical.query import QueryCompiler
from pnyx.search.lexical.segments import open_segments
from pnyx.search.plan import check_least
from pnyx.search.ranking.models import CollectionStatistics, Floats, make_model

DEFAULT_MODEL = "dirichlet"

_RECENT = 32
"""Rankings whose ids are cached: they are usually requested next."""
_GIVEN = 4_000
"""Approximate number of recent ids whose numbers are cached."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexStats:
    """Statistics of an index; `added` and `seconds` are from the call that built it, or 0.

    `documents` counts the searchable units: whole documents, and `passages` of `split_documents`.
    """

    documents: int
    passages: int = 0
    split_documents: int = 0
    added: int = 0
    tokens: int
    postings: int
    segments: int
    bytes: int
    seconds: float = 0.0


class WordIndex(Remembering):
    """An index open for searching by words; immutable, so it may be shared between threads.

    Later changes of the folder are seen only after reopening it, even if the old files are gone.
    """

    def __init__(
        self, path: Path, manifest: dict[str, Any], kernel: KernelName | None = None
    ) -> None:
        self.path = path
        self.manifest = manifest
        opened = open_segments(path, manifest)
        self.tokenizer = opened.tokenizer
        entries, counts = manifest["segments"], opened.statistics
        size = sum(entry["bytes"] for entry in entries)
        totals = {name: counts[name] for name in ("documents", "tokens", "postings")}
        totals |= {name: counts[name] for name in PASSAGES if name in counts}
        self.statistics = IndexStats(**totals, segments=len(entries), bytes=size)
        collection = CollectionStatistics(counts["documents_with_terms"], counts["tokens"])
        self._segments = opened.segments
        self._starts = list(accumulate((len(s) for s in self._segments), initial=0))
        self._kernel = Kernel(kernel)
        count = self._kernel.count_exceptions
        self._queries = QueryCompiler(opened.segments, opened.tokenizer, collection, count)
        # All at once: files opened later may have been replaced by then.
        self._features = {name: self._opened(name) for name in manifest.get("features", {})}
        super().__init__()
        self._latest: list[tuple[list[str], NDArray[np.int64]]] = []
        self._given: dict[str, int] = {}

    def _opened(self, name: str) -> Feature | IndexFolderError | None:
        try:
            return read_feature(self.path, self.manifest, name)
        except IndexFolderError as error:
            return error  # for callers

    @classmethod
    def open(cls, path: str | Path, *, kernel: KernelName | None = None) -> Self:
        """Open an index folder in milliseconds; IndexFolderError: none, damaged, or newer."""
        folder = Path(path)
        manifest = read_manifest(folder)
        while True:
            try:
                index = cls(folder, manifest, kernel)
                if not any(
                    isinstance(feature, IndexFolderError) for feature in index._features.values()
                ):
                    return index
                error = None
            except IndexFolderError as found:
                error = found
            # Missing files may have been replaced since; then there is a new manifest.
            latest = read_manifest(folder)
            if latest == manifest:
                if error is not None:
                    raise error
                return index
            manifest = latest

    def __len__(self) -> int:
        return self._starts[-1]

    def __contains__(self, doc_id: object) -> bool:
        return isinstance(doc_id, str) and self._number(doc_id) is not None

    def search(
        self, text: str, model: str = DEFAULT_MODEL, k: int = 10, **parameters: float
    ) -> list[Hit]:
        """Return the best `k` documents with a query term, best first, ties in document order."""
        return self._hits(*self.rank(text, model, k, boosts=None, **parameters))

    def rank(
        self,
        text: str,
        model: str = DEFAULT_MODEL,
        k: int = 10,
        *,
        boosts: Boosts | None = None,
        **parameters: float,
    ) -> tuple[NDArray[np.int64], Floats]:
        """Return numbers and scores of the best `k`, each score multiplied by its `boosts`."""
        check_least("k", k, 1)
        scoring = make_model(model, parameters)
        parts = self._queries.parts(text, scoring)
        if parts is None:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        return self._kernel.top(parts, self._queries.by_length(scoring), scoring.combine, k, boosts)

    def score_all(self, text: str, model: str = DEFAULT_MODEL, **parameters: float) -> Floats:
        """Return each document's score, float64 (documents,); -0.0 without any query term."""
        scoring = make_model(model, parameters)
        parts = self._queries.parts(text, scoring)
        if parts is None:
            return np.full(len(self), -0.0)
        return self._kernel.scores(parts, self._queries.by_length(scoring), scoring.combine)

    def term_scores(
        self, text: str, ids: Sequence[str], model: str = DEFAULT_MODEL, **parameters: float
    ) -> list[dict[str, float]]:
        """See `Explainable`."""
        numbers = self.numbers(ids)
        scoring = make_model(model, parameters)
        by_length = self._queries.by_length(scoring)
        by_document: dict[int, dict[str, float]] = {number: {} for number in numbers.tolist()}
        parts = self._queries.named_parts(text, scoring)
        for (start, stop), (terms, part) in zip(pairwise(self._starts), parts, strict=True):
            local = numbers[(start <= numbers) & (numbers < stop)] - start
            for term, document, score in score_terms(part, by_length, scoring.combine, local):
                by_document[start + document][terms[term]] = score
        return [by_document[number] for number in numbers.tolist()]

    def compile(self) -> None:
        """Load the compiled kernel now, not when it pays off; searches continue meanwhile."""
        if len(self) < WORTH_COMPILING or not can_compile():
            return
        kernel = Kernel("numba")
        scoring = make_model(DEFAULT_MODEL, {})
        for document in islice(self.documents(), 20):
            parts = self._queries.parts(document.text, scoring)
            if parts is not None:
                kernel.top(parts, self._queries.by_length(scoring), scoring.combine, 10)
                kernel.count_exceptions(parts[0].lows[:0], parts[0].highs[:0], 0)
                self._kernel.use(kernel)
                return

    def _hits(self, numbers: NDArray[np.int64], scores: Floats) -> list[Hit]:
        rows = zip(self.doc_ids(numbers), count(1), scores.tolist(), strict=False)
        return list(map(tuple.__new__, repeat(Hit), rows))  # Hit(*row) takes three times as long

    def document(self, doc_id: str) -> Evidence:
        """Return the record with this id, as it was indexed; KeyError if there is none."""
        number = self._number(doc_id)
        if number is None:
            raise KeyError(doc_id)
        return self.document_at(number)

    def document_at(self, number: int) -> Evidence:
        """Return the record with this 0-based number in the order of indexing."""
        if not 0 <= number < len(self):
            raise IndexError(f"document {number} of {len(self)}")
        owner = bisect_right(self._starts, number) - 1
        return self._segments[owner].document(number - self._starts[owner])

    def documents_at(self, numbers: Sequence[int]) -> Iterator[Evidence]:
        """See `DocumentIndex`."""
        return map(self.document_at, numbers)

    def documents(self) -> Iterator[Evidence]:
        """Return every record in the order of indexing."""
        return map(self.document_at, range(len(self)))

    def doc_ids(self, numbers: NDArray[np.int64]) -> list[str]:
        """Return the ids of documents by number."""
        ids = self._ids(numbers)
        if len(ids) <= _GIVEN:
            self._latest = [*self._latest[1 - _RECENT :], (ids, numbers)]
        return ids

    def _ids(self, numbers: NDArray[np.int64]) -> list[str]:
        if len(self._segments) == 1:
            return self._segments[0].ids.some(numbers)
        out = [""] * len(numbers)
        owners = np.searchsorted(self._starts, numbers, side="right") - 1
        for owner in np.unique(owners).tolist():
            places = np.flatnonzero(owners == owner)
            ids = self._segments[owner].ids.some(numbers[places] - self._starts[owner])
            for position, doc_id in zip(places.tolist(), ids, strict=True):
                out[position] = doc_id
        return out

    def numbers(self, ids: Sequence[str]) -> NDArray[np.int64]:
        """Return the numbers of documents by id; InputError for an unknown one."""
        latest, self._latest = self._latest, []
        for some, places in latest:
            cache = self._given if len(self._given) < _GIVEN else {}
            self._given = cache | dict(zip(some, places.tolist(), strict=True))
        numbers = list(map(self._given.get, ids))
        for at in [at for at, number in enumerate(numbers) if number is None]:
            numbers[at] = self._number(ids[at])
            if numbers[at] is None:
                raise InputError(f"has no document {shorten(ids[at], 60)!r}", path=self.path)
        return np.array(numbers, dtype=np.int64)

    def _number(self, doc_id: str) -> int | None:
        if (cached := self._given.get(doc_id)) is not None:
            return cached
        for start, segment in zip(self._starts, self._segments, strict=False):
            position = segment.ids.find(doc_id)
            if position is not None:
                return start + position
        return None

    def known(self, name: str) -> Feature | None:
        """Return a feature, perhaps of some documents only; None if there is none."""
        feature = self._features.get(name)
        if isinstance(feature, IndexFolderError):
            raise feature
        return feature

    def feature_info(self, name: str) -> FeatureInfo | None:
        """See `Engine`."""
        if name == "passages":
            passages = self.statistics.passages
            return FeatureInfo(passages, "pnyx index") if passages else None
        feature = self.known(name)
        if feature is None:
            return None
        by = feature.meta.get("embedder", feature.meta.get("model"))
        return FeatureInfo(feature.documents, str(by))

    def feature(self, name: str, how: str) -> Feature:
        """Return a feature that all documents must have, else InputError with `how` to make it."""
        feature = self.known(name)
        if feature is None:
            raise InputError(f"the index has no {shorten(name, 40)}: {how}", path=self.path)
        if feature.documents != len(self):
            problem = f"the index has {shorten(name, 40)} of {feature.documents} of its {len(self)}"
            raise InputError(f"{problem} documents: {how}", path=self.path)
        return feature

    def verify(self) -> None:
        """Check every byte and record of the index and its features; see `verify_index`."""
        for segment in self._segments:
            segment.verify()
        for name in self._features:
            if feature := self.known(name):
                feature.file.verify_all()
                for section in feature.shapes:
                    feature.array(section)
