"""An index in OpenSearch, open for searching: an `Engine`, like an index folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from pnyx.core.errors import IndexFolderError, InputError, PnyxError, escaped
from pnyx.core.records import Evidence
from pnyx.search.engine import FeatureInfo, Hit, Remembering, Topic, TopicQuery, open_again
from pnyx.search.features.clusters import Clusters, topic_factors, why_not_used
from pnyx.search.features.vectors import check_made_by
from pnyx.search.opensearch import schema
from pnyx.search.opensearch.aliases import behind, check_version, forget
from pnyx.search.opensearch.answers import read_shares
from pnyx.search.opensearch.client import Cluster, ClusterAddress
from pnyx.search.opensearch.documents import StoredDocuments
from pnyx.search.opensearch.ranking import EVERY, Query, RemoteRanking, scored
from pnyx.search.opensearch.stored_topics import read_topics
from pnyx.search.plan import AUTO, PARAMETERS, Scoring, check_parameter
from pnyx.search.ranking.fusion import RankedList
from pnyx.search.ranking.scores import depth_of_parts, fuse, moved_question

if TYPE_CHECKING:
    from pnyx.models.embed.embedder import Embedder

_HOW: Final = {
    "vectors": "pnyx index --update INDEX --vectors",
    "quality": "pnyx index --update INDEX --quality",
    "clusters": "pnyx index --update INDEX --clusters",
}


class RemoteIndex(Remembering):
    """An index in a cluster as it was when opened; thread-safe.

    Once another index has replaced it, its methods raise IndexFolderError; open it again.
    """

    def __init__(self, cluster: Cluster, concrete: str, meta: Mapping[str, Any]) -> None:
        self.cluster, self.concrete, self.meta = cluster, concrete, meta
        self.path = str(cluster.address)
        self._ranking = RemoteRanking(cluster, concrete, meta)
        self.stored = StoredDocuments(cluster, concrete, meta)
        self.tokenizer = self._ranking.tokenizer
        super().__init__()

    @classmethod
    def open(cls, where: str | ClusterAddress) -> Self:
        """Open the index at an address.

        Raises IndexFolderError if there is none, or it is not one of Pnyx's; PnyxError if
        the cluster cannot be reached, is too old, or has lost shards of it.
        """
        address = where if isinstance(where, ClusterAddress) else ClusterAddress.parse(where)
        cluster = Cluster(address, lambda: forget(str(address)))
        check_version(cluster)
        concrete, described = behind(cluster)
        meta = schema.meta_of(described, str(address))
        if not meta.get("complete"):
            raise IndexFolderError("is not completely loaded", path=str(address))
        health = cluster.ask("GET", f"/_cluster/health/{concrete}")
        status = health.field("status")
        if status.text() == "red":
            problem = (
                f"is red: only {health.field('active_shards').integer()} shards of it are available"
            )
            raise PnyxError(f"{escaped(str(address))}: {problem}")
        if status.value not in ("green", "yellow"):
            raise status.wrong("green, yellow or red")
        return cls(cluster, concrete, meta)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle its address and identity; another process opens its own connection."""
        return open_again, (type(self).open, self.path, self.known_by)

    @property
    def name(self) -> str:
        """See `Engine`."""
        return f"index {self.cluster.address.name}"

    @property
    def known_by(self) -> Any:
        """The identity of its documents, as JSON."""
        return self.meta["content"]

    def __len__(self) -> int:
        return self.stored.count

    # Ranking -------------------------------------------------------------------------------------

    def retrieve(
        self, text: str, scoring: Scoring, k: int, embedder: Embedder | None = None
    ) -> list[Hit]:
        """See `Engine`."""
        if scoring.model == AUTO:
            raise ValueError("auto is not a model: choose_scoring must choose one first")
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
        if query is None:
            return _NOTHING
        matching = len(self) if scoring.flat else None
        return self._ranking.top(query, k, ids, matching=matching)

    def _fused(
        self, text: str, scoring: Scoring, k: int, embedder: Embedder | None, ids: dict[int, str]
    ) -> RankedList:
        rankings, fetched_ids = self._parts(text, scoring, k, embedder)
        ids.update(fetched_ids)
        return fuse(scoring, rankings, k)

    def _parts(
        self, text: str, scoring: Scoring, k: int, embedder: Embedder | None
    ) -> tuple[list[RankedList], dict[int, str]]:
        """Return the rankings that a hybrid fuses, and the keys of their documents."""
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
        """Return the question's vector; None without words, whose neighbours are arbitrary."""
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
        parameters = {"flat": scoring.flat, "topics": wc > 0, "factors": factors, "wq": wq}
        return scored(query, schema.BOOSTED, parameters)

    def _factors(self, text: str, wc: float, embedder: Embedder | None) -> list[float]:
        """Return the factor of a document's score for each topic."""
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
        records = self.stored.records(hashed)
        names = {key: record.id for key, record in zip(hashed, records, strict=True)}
        return [names.get(key, key) for key in keys]

    # Parts of a score ----------------------------------------------------------------------------

    def term_scores(
        self, text: str, ids: Sequence[str], model: str, **parameters: float
    ) -> list[dict[str, float]]:
        """See `Explainable`."""
        keys = list(map(schema.key_of, ids))
        scores = self._ranking.term_scores(text, keys, model, parameters)
        for key in keys:
            if key not in scores:
                raise self.stored.unknown(key)
        return [scores[key] for key in keys]

    def cosines(
        self, text: str, ids: Sequence[str], embedder: Embedder | None
    ) -> NDArray[np.float64]:
        """See `Explainable`."""
        question = self._question(text, embedder)
        if question is None or not ids:
            return np.zeros(len(ids))
        similarities: NDArray[np.float64] = self.vectors(ids).astype(np.float64) @ question
        return similarities

    def boosts(
        self, text: str, ids: Sequence[str], wc: float, wq: float, embedder: Embedder | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """See `Explainable`."""
        topics, quality = np.ones(len(ids)), np.zeros(len(ids), dtype=np.float32)
        if wc > 0:
            factors = self._factors(text, wc, embedder)
            clusters = self._of(ids, "clusters")
            topics = np.array([1.0 if topic is None else factors[int(topic)] for topic in clusters])
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
        return self.stored.contains(schema.key_of(doc_id))

    def fetch(self, ids: Sequence[str]) -> list[Evidence]:
        """See `Engine`."""
        return self.stored.records([schema.key_of(doc_id) for doc_id in ids])

    def document(self, doc_id: str) -> Evidence:
        """Return the record with this id, as it was loaded; KeyError if there is none."""
        if doc_id not in self:
            raise KeyError(doc_id)
        return self.fetch([doc_id])[0]

    def documents_at(self, numbers: Sequence[int]) -> Iterator[Evidence]:
        """Return the records with these 0-based numbers, in the order asked."""
        return self.stored.records_at(numbers)

    def vectors_at(self, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the unit vectors of documents by number; shape (documents, dimensions)."""
        return self.stored.vectors_at(numbers.tolist())

    def numbers(self, ids: Sequence[str]) -> NDArray[np.int64]:
        """Return the numbers of documents by id; InputError for an unknown one."""
        return self.stored.numbers([schema.key_of(doc_id) for doc_id in ids])

    def documents(self) -> Iterator[Evidence]:
        """Return every record in the order of loading."""
        return (record for record, _ in self.stored.rows())

    # Features ------------------------------------------------------------------------------------

    def feature_info(self, name: str) -> FeatureInfo | None:
        """See `Engine`."""
        if name == "passages":
            passages = self.meta.get("statistics", {}).get("passages", 0)
            return FeatureInfo(passages, "pnyx index") if passages else None
        feature = self.meta.get("features", {}).get(name)
        if feature is None:
            return None
        return FeatureInfo(feature["documents"], str(feature.get("embedder", feature.get("model"))))

    def _needs(self, name: str) -> FeatureInfo:
        info = self.feature_info(name)
        if info is None:
            raise InputError(f"the index has no {name}: {_HOW[name]}", path=self.path)
        if info.documents != len(self):
            problem = f"the index has {name} of {info.documents} of its {len(self)} documents"
            raise InputError(f"{problem}: {_HOW[name]}", path=self.path)
        return info

    def _of(self, ids: Sequence[str], name: str) -> list[Any]:
        self._needs(name)
        return self.stored.values([schema.key_of(doc_id) for doc_id in ids], name)

    def _vectors_of(self, keys: Sequence[str]) -> NDArray[np.float32]:
        rows = self.stored.values(keys, "vectors")
        return np.stack(rows) if rows else np.zeros((0, 0), dtype=np.float32)

    def vectors(self, ids: Sequence[str]) -> NDArray[np.float32]:
        """See `Engine`."""
        self._needs("vectors")
        return self._vectors_of([schema.key_of(doc_id) for doc_id in ids])

    def quality(self, ids: Sequence[str]) -> NDArray[np.float32]:
        """See `Engine`."""
        values = self._of(ids, "quality")
        return np.array([np.nan if value is None else value for value in values], dtype=np.float32)

    def quality_shares(self, ids: Sequence[str]) -> NDArray[np.float64]:
        """See `Engine`."""
        qualities = self.quality(ids).astype(np.float64)
        values = np.unique(qualities[~np.isnan(qualities)]).tolist()
        shares: dict[float, float] = {}
        if values:
            ranges = [{"key": str(at), "to": value} for at, value in enumerate(values)]
            below = {"range": {"field": "quality", "keyed": True, "ranges": ranges}}
            aggregated = {"below": below, "all": {"value_count": {"field": "quality"}}}
            answer = self.cluster.search(self.concrete, {"size": 0, "aggs": aggregated})
            shares = dict(zip(values, read_shares(answer, len(values), len(self)), strict=True))
        return np.array([shares.get(value, np.nan) for value in qualities.tolist()])

    @cached_property
    def clusters(self) -> Clusters:
        """The topics; only the cluster knows which document is on which."""
        return read_topics(self.cluster, self.concrete, self.meta["features"]["clusters"])

    def topics(self, ids: Sequence[str]) -> list[Topic | None]:
        """See `Engine`."""
        topics: list[Topic | None] = []
        for number in self._of(ids, "clusters"):
            if number is None:
                topics.append(None)
                continue
            label = self.clusters.labels[int(number)]
            topics.append(Topic(int(number), label.label, tuple(label.terms)))
        return topics

    def on_topics(self, query: TopicQuery) -> tuple[list[str], list[str]]:
        """See `Engine`."""
        if (problems := why_not_used(self, query)) is not None:
            return [], problems
        near = np.flatnonzero(self.clusters.cosines(query.vector) >= query.least).tolist()
        words = self._ranking.words(query.text, "dirichlet", {})
        clauses: Query = {"filter": [{"terms": {"cluster": near}}]}
        clauses |= {"should": [] if words is None else [words]}
        ids: dict[int, str] = {}
        numbers, scores = self._ranking.top({"bool": clauses}, query.count, ids)
        return [hit.doc_id for hit in self._hits(numbers, scores, ids)], []

    def compile(self) -> None:
        """Do nothing: the cluster caches compiled scripts."""


_NOTHING: Final[RankedList] = (np.zeros(0, dtype=np.int64), np.zeros(0))
