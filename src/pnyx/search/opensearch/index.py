"""An index in OpenSearch, open for searching: an `Engine` as an index folder is one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from pnyx.errors import IndexFolderError, InputError, PnyxError, escaped, shorten
from pnyx.records import Evidence
from pnyx.search.engine import FeatureInfo, Hit, Remembering, Topic, TopicQuery
from pnyx.search.features.clusters import Clusters, topic_factors, why_not_used
from pnyx.search.features.topic_points import ClusterLabel
from pnyx.search.features.vectors import check_made_by
from pnyx.search.lexical import record_codec
from pnyx.search.opensearch import schema
from pnyx.search.opensearch.client import Cluster, ClusterAddress
from pnyx.search.opensearch.naming import behind, check_version, forget
from pnyx.search.opensearch.ranking import EVERY, Query, RemoteRanking, scored
from pnyx.search.plan import AUTO, PARAMETERS, Scoring, check_parameter
from pnyx.search.ranking.fusion import RankedList
from pnyx.search.ranking.scoring import depth_of_parts, fuse, moved_question

if TYPE_CHECKING:
    from pnyx.models.embed.embedder import Embedder

T = TypeVar("T")

_AT_ONCE: Final = 500
_HOW: Final = {
    "vectors": "pnyx index --update INDEX --vectors",
    "quality": "pnyx index --update INDEX --quality",
    "clusters": "pnyx index --update INDEX --clusters",
}


class RemoteIndex(Remembering):
    """An index in a cluster as it was when it was opened; safe in several threads.

    Once another has taken its place, its methods raise IndexFolderError: it is to be opened anew.
    """

    def __init__(self, cluster: Cluster, concrete: str, meta: Mapping[str, Any]) -> None:
        self.cluster, self.concrete, self.meta = cluster, concrete, meta
        self.path = str(cluster.address)
        self._ranking = RemoteRanking(cluster, concrete, meta)
        self.tokenizer = self._ranking.tokenizer
        super().__init__()

    @classmethod
    def open(cls, where: str | ClusterAddress) -> Self:
        """Open the index at an address.

        Raises IndexFolderError where there is none, or another one than Pnyx's; PnyxError where
        the cluster cannot be reached, is too old, or has lost shards of it.
        """
        address = where if isinstance(where, ClusterAddress) else ClusterAddress.parse(where)
        cluster = Cluster(address, lambda: forget(str(address)))
        check_version(cluster)
        concrete, found = behind(cluster)
        meta = schema.meta_of(found, str(address))
        if not meta.get("complete"):
            raise IndexFolderError("is not loaded to the end", path=str(address))
        health = cluster.ask("GET", f"/_cluster/health/{concrete}")
        if health["status"] == "red":
            told = f"is red: only {health['active_shards']} shards of it can be asked"
            raise PnyxError(f"{escaped(str(address))}: {told}")
        return cls(cluster, concrete, meta)

    @property
    def name(self) -> str:
        """See `Engine`."""
        return f"index {self.cluster.address.name}"

    @property
    def known_by(self) -> Any:
        """What its documents are known again by, as JSON."""
        return self.meta["content"]

    def __len__(self) -> int:
        documents: int = self.meta["statistics"]["documents"]
        return documents

    # Ranking -------------------------------------------------------------------------------------

    def retrieve(
        self, text: str, scoring: Scoring, k: int, embedder: Embedder | None = None
    ) -> list[Hit]:
        """See `Engine`."""
        if scoring.model == AUTO:
            raise ValueError("auto names no model before choose_scoring has chosen one")
        ids: dict[int, str] = {}
        return self._hits(*self._rank(text, scoring, k, embedder, ids), ids)

    def nearest(self, vector: NDArray[np.float32], k: int) -> list[Hit]:
        """Return the documents with the largest cosine to a vector, best first."""
        self._needs("vectors")
        ids: dict[int, str] = {}
        return self._hits(*self._ranking.nearest(vector, k, ids), ids)

    def _rank(
        self, text: str, scoring: Scoring, k: int, embedder: Embedder | None, ids: dict[int, str]
    ) -> RankedList:
        if scoring.parts:
            return self._fused(text, scoring, k, embedder, ids)
        if scoring.model == "dense":
            question = self._question(text, embedder)
            return _NOTHING if question is None else self._ranking.nearest(question, k, ids)
        if scoring.model == "touche":
            query = self._touche(text, scoring, embedder)
        else:
            query = self._ranking.words(text, scoring.model, scoring.parameters)
        return _NOTHING if query is None else self._ranking.top(query, k, ids)

    def _fused(
        self, text: str, scoring: Scoring, k: int, embedder: Embedder | None, ids: dict[int, str]
    ) -> RankedList:
        rankings, known = self._parts(text, scoring, k, embedder)
        ids.update(known)
        return fuse(scoring, rankings, k)

    def _parts(
        self, text: str, scoring: Scoring, k: int, embedder: Embedder | None
    ) -> tuple[list[RankedList], dict[int, str]]:
        """Return the rankings that a hybrid fuses in the end, and the keys of their documents."""
        deep = depth_of_parts(k)

        def rank() -> tuple[list[RankedList], dict[int, str]]:
            ids: dict[int, str] = {}
            question = self._question(text, embedder)
            words = self._rank(text, scoring.parts[0], deep, embedder, ids)
            if question is None:
                return [words, _NOTHING], ids
            rankings = [words, self._ranking.nearest(question, deep, ids)]
            if scoring.feedback:

                def rows(numbers: NDArray[np.int64]) -> NDArray[np.float64]:
                    keys = [ids[number] for number in numbers.tolist()]
                    return self._vectors_of(keys).astype(np.float64)

                moved = moved_question(scoring, rankings, question, rows)
                rankings[1] = self._ranking.nearest(moved, deep, ids)
            return rankings, ids

        by = "" if embedder is None else embedder.name
        return self.lately(("parts", text, repr(scoring), deep, by), rank)

    def _question(self, text: str, embedder: Embedder | None) -> NDArray[np.float32] | None:
        """Return the question's vector; None for no words, which are near by chance."""
        if embedder is None:
            raise InputError("a dense ranking needs an embedder, to compare question and documents")
        check_made_by(self._needs("vectors").made_by, embedder.name, self.path)
        if not text.split():
            return None
        vector: NDArray[np.float32] = embedder.encode([text])[0]
        return vector

    def _touche(self, text: str, scoring: Scoring, embedder: Embedder | None) -> Query | None:
        wc, wq = (scoring.parameter(name) for name in ("wc", "wq"))
        check_parameter("wc", wc)
        check_parameter("wq", wq)
        if wq > 0:
            self._needs("quality")
        factors = self._factors(text, wc, embedder) if wc > 0 else []
        mu = {"mu": scoring.parameters.get("mu", PARAMETERS["mu"].default)}
        query = EVERY if scoring.flat else self._ranking.words(text, "dirichlet", mu)
        if query is None:
            return None
        own = {"flat": scoring.flat, "topics": wc > 0, "factors": factors, "wq": wq}
        return scored(query, schema.BOOSTED, own)

    def _factors(self, text: str, wc: float, embedder: Embedder | None) -> list[float]:
        """Return what a document's score is multiplied by, for each topic it may be on."""
        self._needs("clusters")
        factors: list[float] = topic_factors(self.clusters, text, wc, embedder, self.path).tolist()
        return factors

    def _hits(
        self, numbers: NDArray[np.int64], scores: NDArray[np.float64], ids: Mapping[int, str]
    ) -> list[Hit]:
        keys = [ids[number] for number in numbers.tolist()]
        names = self._names(keys)
        return [Hit(*row) for row in zip(names, count(1), scores.tolist(), strict=False)]

    def _names(self, keys: Sequence[str]) -> list[str]:
        """Return the ids of documents by their keys."""
        hashed = [key for key in keys if schema.is_hashed(key)]
        known = {key: record.id for key, record in self._records(hashed)}
        return [known.get(key, key) for key in keys]

    # Parts of a score ----------------------------------------------------------------------------

    def term_scores(
        self, text: str, ids: Sequence[str], model: str, **parameters: float
    ) -> list[dict[str, float]]:
        """See `Explainable`."""
        keys = list(map(schema.key_of, ids))
        return self._each(self._ranking.term_scores(text, keys, model, parameters), keys)

    def cosines(
        self, text: str, ids: Sequence[str], embedder: Embedder | None
    ) -> NDArray[np.float64]:
        """See `Explainable`."""
        question = self._question(text, embedder)
        if question is None or not ids:
            return np.zeros(len(ids))
        found: NDArray[np.float64] = self.vectors(ids).astype(np.float64) @ question
        return found

    def boosts(
        self, text: str, ids: Sequence[str], wc: float, wq: float, embedder: Embedder | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """See `Explainable`."""
        topics, quality = np.ones(len(ids)), np.zeros(len(ids), dtype=np.float32)
        if wc > 0:
            factors = self._factors(text, wc, embedder)
            own = self._of(ids, "clusters")
            topics = np.array([1.0 if topic is None else factors[int(topic)] for topic in own])
        if wq > 0:
            quality = np.nan_to_num(self.quality(ids))
        return topics, quality

    def rank_parts(
        self, text: str, scoring: Scoring, k: int, embedder: Embedder | None
    ) -> list[RankedList]:
        """See `Explainable`."""
        return self._parts(text, scoring, k, embedder)[0]

    # Documents -----------------------------------------------------------------------------------

    def __contains__(self, doc_id: object) -> bool:
        if not isinstance(doc_id, str) or not doc_id:
            return False
        return bool(self._got([schema.key_of(doc_id)], "number")[0]["found"])

    def fetch(self, ids: Sequence[str]) -> list[Evidence]:
        """See `Engine`."""
        return [record for _, record in self._records([schema.key_of(i) for i in ids])]

    def document(self, doc_id: str) -> Evidence:
        """Return the record with this id, as it was loaded; KeyError where there is none."""
        if doc_id not in self:
            raise KeyError(doc_id)
        return self.fetch([doc_id])[0]

    def documents_at(self, numbers: Sequence[int]) -> Iterator[Evidence]:
        """Return the records with these 0-based numbers, in the order asked."""
        for row in self._at(numbers, ["record", "number"]):
            yield self.decoded(row["_source"]["record"])

    def vectors_at(self, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the unit vectors of documents by number; shape (documents, dimensions)."""
        found = np.zeros((len(numbers), self.meta["features"]["vectors"]["dimensions"]), np.float32)
        for at, row in enumerate(self._at(numbers.tolist(), ["number"], "vector")):
            found[at] = schema.decoded(row["fields"]["vector"][0])
        return found

    def _at(self, numbers: Sequence[int], kept: Sequence[str], *fields: str) -> Iterator[Any]:
        for start in range(0, len(numbers), _AT_ONCE):
            some = list(numbers[start : start + _AT_ONCE])
            body: Query = {"query": {"terms": {"number": some}}, "size": len(some)}
            body |= {"_source": kept, "docvalue_fields": fields}
            hits = self._ranking.search(body)["hits"]["hits"]
            found = {hit["_source"]["number"]: hit for hit in hits}
            yield from (found[number] for number in some)

    def numbers(self, ids: Sequence[str]) -> NDArray[np.int64]:
        """Return the numbers of documents by id; InputError for an unknown one."""
        rows = self._found([schema.key_of(doc_id) for doc_id in ids], "number")
        return np.array([row["_source"]["number"] for row in rows], dtype=np.int64)

    def documents(self) -> Iterator[Evidence]:
        """Return every record in the order of loading."""
        for row in self.pages(0):
            yield self.decoded(row["_source"]["record"])

    def rows(self, first: int = 0) -> Iterator[tuple[Evidence, dict[str, Any]]]:
        """Return every record from a number on, with the fields of its features."""
        for row in self.pages(first, *schema.FEATURES.values()):
            fields = {name: values[0] for name, values in row.get("fields", {}).items()}
            if "vector" in fields:
                fields["vector"] = schema.padded(fields["vector"])
            yield self.decoded(row["_source"]["record"]), fields

    def pages(self, first: int, *fields: str) -> Iterator[Any]:
        """Return what the cluster keeps of every document from a number on."""
        for at in range(first, len(self), _AT_ONCE):
            within = {"gte": at, "lt": min(at + _AT_ONCE, len(self))}
            body: Query = {"query": {"range": {"number": within}}, "size": _AT_ONCE}
            body |= {"sort": ["number"], "docvalue_fields": list(fields)}
            yield from self._ranking.search(body)["hits"]["hits"]

    def _records(self, keys: Sequence[str]) -> Iterator[tuple[str, Evidence]]:
        for key, row in zip(keys, self._found(keys, "record"), strict=True):
            yield key, self.decoded(row["_source"]["record"])

    def _found(self, keys: Sequence[str], field: str) -> list[Any]:
        rows = self._got(keys, field)
        for row in rows:
            if not row["found"]:
                raise InputError(f"has no document {shorten(row['_id'], 60)!r}", path=self.path)
        return rows

    def _got(self, keys: Sequence[str], field: str) -> list[Any]:
        rows: list[Any] = []
        for start in range(0, len(keys), _AT_ONCE):
            body = {"ids": list(keys[start : start + _AT_ONCE])}
            found = self.cluster.ask("POST", f"/{self.concrete}/_mget", body, _source=field)
            rows += found["docs"]
        if any("error" in row for row in rows):
            raise PnyxError(f"{escaped(self.path)}: some documents cannot be read")
        return rows

    def decoded(self, line: str) -> Evidence:
        """Return a record as it was loaded."""
        try:
            return record_codec.decode(line.encode())
        except (InputError, KeyError, TypeError, ValueError) as error:
            raise IndexFolderError(
                "holds a record that is not understood", path=self.path
            ) from error

    # Features ------------------------------------------------------------------------------------

    def feature_info(self, name: str) -> FeatureInfo | None:
        """See `Engine`."""
        if name == "passages":
            passages = self.meta.get("statistics", {}).get("passages", 0)
            return FeatureInfo(passages, "pnyx index") if passages else None
        known = self.meta.get("features", {}).get(name)
        if known is None:
            return None
        return FeatureInfo(known["documents"], str(known.get("embedder", known.get("model"))))

    def _needs(self, name: str) -> FeatureInfo:
        known = self.feature_info(name)
        if known is None:
            raise InputError(f"the index has no {name}: {_HOW[name]}", path=self.path)
        if known.documents != len(self):
            found = f"the index has {name} of {known.documents} of its {len(self)} documents"
            raise InputError(f"{found}: {_HOW[name]}", path=self.path)
        return known

    def _values(self, keys: Sequence[str], name: str) -> list[Any]:
        """Return a feature's field of documents, in their order; None for unknown."""
        field = schema.FEATURES[name]
        found: dict[str, Any] = {}
        distinct = list(dict.fromkeys(keys))
        for start in range(0, len(distinct), _AT_ONCE):
            some = distinct[start : start + _AT_ONCE]
            body: Query = {"query": {"ids": {"values": some}}, "size": len(some), "_source": False}
            for row in self._ranking.search(body | {"docvalue_fields": [field]})["hits"]["hits"]:
                found[row["_id"]] = row.get("fields", {}).get(field, [None])[0]
        return self._each(found, keys)

    def _each(self, found: Mapping[str, T], keys: Sequence[str]) -> list[T]:
        for key in keys:
            if key not in found:
                raise InputError(f"has no document {shorten(key, 60)!r}", path=self.path)
        return [found[key] for key in keys]

    def _of(self, ids: Sequence[str], name: str) -> list[Any]:
        self._needs(name)
        return self._values([schema.key_of(doc_id) for doc_id in ids], name)

    def _vectors_of(self, keys: Sequence[str]) -> NDArray[np.float32]:
        rows = list(map(schema.decoded, self._values(keys, "vectors")))
        return np.stack(rows) if rows else np.zeros((0, 0), dtype=np.float32)

    def vectors(self, ids: Sequence[str]) -> NDArray[np.float32]:
        """See `Engine`."""
        self._needs("vectors")
        return self._vectors_of([schema.key_of(doc_id) for doc_id in ids])

    def quality(self, ids: Sequence[str]) -> NDArray[np.float32]:
        """See `Engine`."""
        known = self._of(ids, "quality")
        return np.array([np.nan if value is None else value for value in known], dtype=np.float32)

    def quality_shares(self, ids: Sequence[str]) -> NDArray[np.float64]:
        """See `Engine`."""
        own = self.quality(ids).astype(np.float64)
        values = np.unique(own[~np.isnan(own)]).tolist()
        shares = {}
        if values:
            ranges = [{"key": str(at), "to": value} for at, value in enumerate(values)]
            below = {"range": {"field": "quality", "keyed": True, "ranges": ranges}}
            aggregated = {"below": below, "all": {"value_count": {"field": "quality"}}}
            found = self._ranking.search({"size": 0, "aggs": aggregated})["aggregations"]
            documents = max(1, found["all"]["value"])
            buckets = found["below"]["buckets"]
            shares = {v: buckets[str(at)]["doc_count"] / documents for at, v in enumerate(values)}
        return np.array([shares.get(value, np.nan) for value in own.tolist()])

    @cached_property
    def clusters(self) -> Clusters:
        """The topics; which document is on which is known to the cluster alone."""
        path = f"/{schema.topics_of(self.concrete)}/_search"
        body: Query = {"sort": ["number"], "size": 10_000, "query": EVERY}
        answer = self.cluster.ask("POST", path, body, allow_partial_search_results="false")
        self.cluster.whole(answer)
        rows = [hit["_source"] for hit in answer["hits"]["hits"]]
        meta = self.meta["features"]["clusters"]
        if len(rows) != meta["k"]:
            raise IndexFolderError("has lost some of its topics", path=self.path)
        read = [json.loads(row["label"]) for row in rows]
        labels = [ClusterLabel(label, tuple(terms), size) for label, terms, size in read]
        centroids = np.stack([schema.decoded_centroid(row["centroid"]) for row in rows])
        nobody = np.zeros(0, dtype=np.uint32)
        return Clusters(nobody, centroids, labels, meta["space"], meta["embedder"], dict(meta))

    def topics(self, ids: Sequence[str]) -> list[Topic | None]:
        """See `Engine`."""
        found: list[Topic | None] = []
        for number in self._of(ids, "clusters"):
            if number is None:
                found.append(None)
                continue
            label = self.clusters.labels[int(number)]
            found.append(Topic(int(number), label.label, tuple(label.terms)))
        return found

    def on_topics(self, asked: TopicQuery) -> tuple[list[str], list[str]]:
        """See `Engine`."""
        if (problems := why_not_used(self, asked)) is not None:
            return [], problems
        near = np.flatnonzero(self.clusters.cosines(asked.vector) >= asked.least).tolist()
        words = self._ranking.words(asked.text, "dirichlet", {})
        own: Query = {"filter": [{"terms": {"cluster": near}}]}
        own |= {"should": [] if words is None else [words]}
        ids: dict[int, str] = {}
        numbers, scores = self._ranking.top({"bool": own}, asked.count, ids)
        return [hit.doc_id for hit in self._hits(numbers, scores, ids)], []

    def compile(self) -> None:
        """Do nothing: the cluster keeps its scripts compiled."""


_NOTHING: Final[RankedList] = (np.zeros(0, dtype=np.int64), np.zeros(0))
