"""Reading the documents of an index in a cluster, checking each against the request."""

from __future__ import annotations

import binascii
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pnyx.core.errors import IndexFolderError, InputError, shorten
from pnyx.core.records import Evidence
from pnyx.search.lexical import record_codec
from pnyx.search.opensearch import schema
from pnyx.search.opensearch.answers import ClusterAnswer, SearchHit, read_documents
from pnyx.search.opensearch.client import Cluster

_AT_ONCE: Final = 500
_RECORD: Final = ("record", "digest")
"""The fields from which a record is read."""


class StoredDocuments:
    """The documents of one index, by `_id` (`keys`) or by number; thread-safe.

    Raises AnswerShapeError for an answer that does not fit the request, IndexFolderError for a
    document that is missing or has changed since it was loaded.
    """

    def __init__(self, cluster: Cluster, index: str, meta: Mapping[str, Any]) -> None:
        self._cluster, self._index = cluster, index
        self.path = str(cluster.address)
        self.count: int = meta["statistics"]["documents"]
        self._features = meta["features"]
        self._having = schema.documents_having(meta)

    # By id ---------------------------------------------------------------------------------------

    def contains(self, key: str) -> bool:
        """Whether there is a document with this `_id`."""
        return self._sources([key], "number")[0] is not None

    def records(self, keys: Sequence[str]) -> list[Evidence]:
        """Return records; InputError for an unknown one."""
        sources = self._known(keys, *_RECORD)
        return [self._record(key, source, key) for key, source in zip(keys, sources, strict=True)]

    def numbers(self, keys: Sequence[str]) -> NDArray[np.int64]:
        """Return numbers; InputError for an unknown document."""
        sources = self._known(keys, "number")
        values = [source.field("number").integer(0, self.count - 1) for source in sources]
        if len(set(values)) != len(set(keys)):
            raise IndexFolderError("is damaged: documents have the same number", path=self.path)
        return np.array(values, dtype=np.int64)

    def values(self, keys: Sequence[str], feature: str) -> list[Any]:
        """Return a feature of documents, in their order, None if one has none.

        Qualities are floats, topics integers, vectors arrays; InputError for an unknown document.
        """
        field = schema.FEATURES[feature]
        distinct = list(dict.fromkeys(keys))
        values: dict[str, Any] = {}
        for start in range(0, len(distinct), _AT_ONCE):
            some = distinct[start : start + _AT_ONCE]
            body = {"query": {"ids": {"values": some}}, "size": len(some), "_source": False}
            wanted = set(some)
            for hit in self._cluster.hits(self._index, body | {"docvalue_fields": [field]}):
                if hit.id not in wanted:
                    raise hit.answer.field("_id").wrong("a document that was asked for")
                values[hit.id] = self._features_of(hit, [field], self.count - 1).get(field)
        for key in distinct:
            if key not in values:
                raise self.unknown(key)
        return [values[key] for key in keys]

    def unknown(self, key: str) -> InputError:
        """Return the error for a missing document."""
        return InputError(f"has no document {shorten(key, 60)!r}", path=self.path)

    def _known(self, keys: Sequence[str], *fields: str) -> list[ClusterAnswer]:
        sources: list[ClusterAnswer] = []
        for key, source in zip(keys, self._sources(keys, *fields), strict=True):
            if source is None:
                raise self.unknown(key)
            sources.append(source)
        return sources

    def _sources(self, keys: Sequence[str], *fields: str) -> list[ClusterAnswer | None]:
        sources: list[ClusterAnswer | None] = []
        for start in range(0, len(keys), _AT_ONCE):
            some = list(keys[start : start + _AT_ONCE])
            path = f"/{self._index}/_mget"
            answer = self._cluster.ask("POST", path, {"ids": some}, _source=",".join(fields))
            sources += read_documents(answer, some)
        return sources

    # By number -----------------------------------------------------------------------------------

    def records_at(self, numbers: Sequence[int]) -> Iterator[Evidence]:
        """Return records, in the order asked."""
        for number, hit in self._at(numbers, *_RECORD):
            yield self._record(hit.id, hit.answer.field("_source"), str(number + 1))

    def vectors_at(self, numbers: Sequence[int]) -> NDArray[np.float32]:
        """Return vectors, in the order asked; shape (documents, dimensions)."""
        field, dimensions = schema.FEATURES["vectors"], self._features["vectors"]["dimensions"]
        vectors = np.zeros((len(numbers), dimensions), np.float32)
        for row, (number, hit) in enumerate(self._at(numbers, fields=[field])):
            vectors[row] = self._features_of(hit, [field], number)[field]
        return vectors

    def rows(self, first: int = 0) -> Iterator[tuple[Evidence, dict[str, Any]]]:
        """Return every record from a number on, with the fields of its features."""
        fields = list(schema.FEATURES.values())
        for number in range(first, self.count, _AT_ONCE):
            stop = min(number + _AT_ONCE, self.count)
            for position, hit in self._page(number, stop, fields):
                record = self._record(hit.id, hit.answer.field("_source"), str(position + 1))
                yield record, self._features_of(hit, fields, position)

    def topics(self, count: int) -> Iterator[int | None]:
        """Return the topics of the first documents."""
        field = schema.FEATURES["clusters"]
        for number in range(0, count, _AT_ONCE):
            for position, hit in self._page(number, min(number + _AT_ONCE, count), [field]):
                yield self._features_of(hit, [field], position).get(field)

    def _page(
        self, first: int, stop: int, fields: Sequence[str]
    ) -> Iterator[tuple[int, SearchHit]]:
        body: dict[str, Any] = {"query": {"range": {"number": {"gte": first, "lt": stop}}}}
        body |= {"sort": ["number"], "size": stop - first, "docvalue_fields": list(fields)}
        body |= {"_source": [*_RECORD, "number"]}
        expected = first
        for hit in self._cluster.hits(self._index, body):
            number = hit.source("number")
            if number.integer(0, stop - 1) < expected:
                raise number.wrong(f"at least {expected}, as hits are sorted by it")
            if number.value > expected:
                break
            yield expected, hit
            expected += 1
        if expected < stop:
            raise self._missing(expected)

    def _at(
        self, numbers: Sequence[int], *source: str, fields: Sequence[str] = ()
    ) -> Iterator[tuple[int, SearchHit]]:
        for start in range(0, len(numbers), _AT_ONCE):
            some = list(dict.fromkeys(numbers[start : start + _AT_ONCE]))
            body: dict[str, Any] = {"query": {"terms": {"number": some}}, "size": len(some)}
            body |= {"_source": [*source, "number"], "docvalue_fields": list(fields)}
            hits: dict[int, SearchHit] = {}
            for hit in self._cluster.hits(self._index, body):
                number = hit.source("number")
                if number.integer() not in some or number.value in hits:
                    raise number.wrong("the number of another document that was asked for")
                hits[number.value] = hit
            for wanted in numbers[start : start + _AT_ONCE]:
                if wanted not in hits:
                    raise self._missing(wanted)
                yield wanted, hits[wanted]

    def _missing(self, number: int) -> IndexFolderError:
        return IndexFolderError(f"is damaged: document {number + 1} is not there", path=self.path)

    # Values --------------------------------------------------------------------------------------

    def _record(self, key: str, source: ClusterAnswer, name: str) -> Evidence:
        """Return a record as it was loaded."""
        line = source.field("record").text()
        try:
            record = record_codec.decode(line.encode())
            digest = schema.digest_of(f"{line}\n".encode())
            sound = (schema.key_of(record.id), digest) == (key, source.field("digest").text())
        except (InputError, KeyError, TypeError, ValueError):
            sound = False
        if not sound:
            problem = f"is damaged: document {shorten(name, 60)} has changed since it was loaded"
            raise IndexFolderError(problem, path=self.path)
        return record

    def _features_of(self, hit: SearchHit, fields: Sequence[str], number: int) -> dict[str, Any]:
        """Return the values of a document's features, checking that all it must have are there."""
        answers, values = hit.fields(), {}
        for field in fields:
            if field in answers:
                values[field] = self._value(field, answers[field])
            elif number < self._having.get(field, 0):
                raise hit.answer.wrong(f"a value of {field}", "nothing")
        return values

    def _value(self, field: str, answer: ClusterAnswer) -> Any:
        if field == "quality":
            return answer.number(0.0, 1.0)
        if field == "cluster":
            return answer.integer(0, self._features["clusters"]["k"] - 1)
        dimensions = self._features["vectors"]["dimensions"]
        try:
            vector = schema.decoded(answer.text())
        except (binascii.Error, ValueError):
            vector = np.zeros(0, np.float32)
        if vector.shape != (dimensions,) or not np.isfinite(vector).all():
            raise answer.wrong(f"{dimensions} finite numbers of 16 bits in base64")
        return vector
