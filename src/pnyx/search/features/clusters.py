"""Topics of an index: k-means over its embedded conclusions and premises (Touché 3.2).

Equal conclusions are embedded once and weigh as often as they occur
(docs/explain/decisions/touche.md).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pnyx.core.errors import InputError, shorten
from pnyx.search.engine import Engine, Topic, TopicQuery
from pnyx.search.features.access import Feature, put_feature
from pnyx.search.features.topic_points import (
    SPACES,
    Advance,
    ClusterLabel,
    Space,
    TopicSource,
    Vectors,
    by_size,
    distinct_points,
    join_spaces,
    k_means_engine,
    label_clusters,
    nearest_centroids,
    points_of,
    read_conclusions,
)
from pnyx.search.features.vectors import document_vectors
from pnyx.search.lexical.index import WordIndex
from pnyx.search.lexical.manifest import damaged

if TYPE_CHECKING:
    from pnyx.models.embed.embedder import Embedder

CLUSTERS = "clusters"
"""Name of the feature."""

DEFAULT_CLUSTERS = 300
"""The paper's k, for 387,740 arguments."""

DEFAULT_SPACE: Space = "text"
"""Chosen on development topics of five sets, tested on others: docs/explain/decisions/touche.md."""

NO_CLUSTER = 0xFFFFFFFF
"""Cluster of a document without any text; it is never boosted."""

_MAKE = "pnyx index --update INDEX --clusters"
_PER_CLUSTER = 10
_LONGEST = 1.01
"""A length below that of any centroid, which are unit vectors."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """The topics of an index.

    Attributes:
        cluster: of each document, 0 to k - 1 or `NO_CLUSTER`; uint32 (documents,).
        centroids: unit vectors, (k, d); in the dual space (k, 2 d), conclusions before premises.
        labels: what each is about, for people.
        space: the texts that were clustered.
        embedder: its name; questions need the same embedder.
        meta: k, seed, engine, inertia (sum of squared distances), documents only assigned later.
    """

    cluster: NDArray[np.uint32]
    centroids: Vectors
    labels: Sequence[ClusterLabel]
    space: Space
    embedder: str
    meta: dict[str, Any]

    def __len__(self) -> int:
        return len(self.centroids)

    def cosines(self, question: Vectors) -> NDArray[np.float64]:
        """Return C of Touché's Eq. 1, in [0, 1], for each cluster and a question's vector (d,)."""
        point = join_spaces(question[None], question[None])[0] if self.space == "dual" else question
        if point.shape != self.centroids.shape[1:]:
            problem = f"{shorten(self.embedder, 40)} now gives {len(question)} numbers per text"
            raise InputError(f"{problem}, unlike when the clusters were made: {_MAKE}")
        cosines: NDArray[np.float32] = self.centroids @ point.astype(np.float32)
        return np.clip(cosines.astype(np.float64), 0.0, 1.0)

    def topics(self, numbers: NDArray[np.int64]) -> list[Topic | None]:
        """Return the topics of documents by number, None for those without."""
        clusters = self.cluster[numbers].tolist()
        labels = {n: self.labels[n] for n in set(clusters) if n != NO_CLUSTER}
        topics = {n: Topic(n, label.label, label.terms) for n, label in labels.items()}
        return [topics.get(cluster) for cluster in clusters]


@dataclass(frozen=True, slots=True)
class Facet:
    """A topic in a result list, and how many of the documents are on it."""

    cluster: int
    label: str
    terms: tuple[str, ...]
    count: int


def default_k(distinct: int) -> int:
    """Return the number of clusters for `distinct` conclusions: one for ten, 1 to 300."""
    return max(1, min(DEFAULT_CLUSTERS, distinct // _PER_CLUSTER))


def cluster_documents(
    path: str | Path,
    embedder: Embedder,
    *,
    k: int | None = None,
    space: Space = DEFAULT_SPACE,
    seed: int = 0,
    on_progress: Advance | None = None,
) -> Clusters:
    """Find the topics of an index by k-means and store them in it, replacing earlier ones.

    Args:
        path: the index folder.
        embedder: turns texts into unit vectors.
        k: how many; by default one for ten distinct conclusions, 1 to 300.
        space: `text` (title and text), `conclusion` as in the paper (less work, worse topics), or
            `dual`: conclusion and premises side by side (docs/explain/decisions/touche.md).
        seed: of k-means, 0 to 2^32 - 1; the same seed gives the same clusters.
        on_progress: called with the number of texts embedded so far.

    Raises InputError for a bad k, space or seed or documents without any text, MissingExtra without
    scikit-learn, IndexFolderError and PnyxError as `build_index` and `Index.open` do.
    """
    index = WordIndex.open(path)
    return _put(index, find_clusters(_source(index), embedder, k, space, seed, on_progress))


def find_clusters(
    source: TopicSource,
    embedder: Embedder,
    k: int | None = None,
    space: Space = DEFAULT_SPACE,
    seed: int = 0,
    on_progress: Advance | None = None,
) -> Clusters:
    """Find the topics of an index without storing them; see `cluster_documents`."""
    if k is not None and k < 1:
        raise InputError(f"k is {k}, expected at least 1")
    if space not in SPACES:
        raise InputError(f"space is {shorten(space, 40)!r}, expected one of: {', '.join(SPACES)}")
    if not 0 <= seed < 2**32:
        raise InputError(f"seed is {seed}, expected 0 to 4294967295")
    means = k_means_engine()  # first, so that a missing library fails before minutes of embedding
    index = source.index
    texts = read_conclusions(index, 0)
    points, rows = points_of(source, 0, texts, embedder, space, on_progress)
    if not len(points):
        problem = "no document has a conclusion, title or text to cluster by"
        raise InputError(problem, path=index.path)
    distinct, weights, distinct_rows = distinct_points(points, rows)
    cluster_count = default_k(len(distinct)) if k is None else k
    if cluster_count > len(distinct):
        raise InputError(f"k is {cluster_count}, expected at most {len(distinct)} (distinct texts)")
    centroids, engine = means(distinct, weights, cluster_count, seed)
    nearest, cosines = nearest_centroids(distinct, centroids)
    centroids, nearest = by_size(centroids, nearest, weights)
    cluster, likeness = _spread(nearest, distinct_rows), _spread(cosines, distinct_rows)
    labels = label_clusters(
        texts.distinct, texts.which, cluster, likeness, len(centroids), index.tokenizer
    )
    inertia = float((2.0 - 2.0 * likeness[distinct_rows >= 0]).sum())
    without = int((distinct_rows < 0).sum())
    meta: dict[str, Any] = {"embedder": embedder.name, "space": space, "k": len(centroids)}
    meta |= {"seed": seed, "engine": engine, "distinct": len(distinct), "inertia": inertia}
    meta |= {"without": without, "assigned": 0}
    return Clusters(cluster, centroids, tuple(labels), space, embedder.name, meta)


def cluster_new_documents(
    path: str | Path, embedder: Embedder, *, on_progress: Advance | None = None
) -> Clusters:
    """Assign documents that were added later to the nearest of the existing clusters.

    Centroids and labels stay; `meta["assigned"]` counts such documents. Raises what
    `cluster_documents` does, and InputError for no clusters or those of another embedder.
    """
    index = WordIndex.open(path)
    feature = index.known(CLUSTERS)
    existing = None if feature is None else index.once(CLUSTERS, lambda: _opened(feature))
    updated = assign_clusters(_source(index), existing, embedder, on_progress)
    return updated if updated is existing else _put(index, updated)


def assign_clusters(
    source: TopicSource,
    existing: Clusters | None,
    embedder: Embedder,
    on_progress: Advance | None = None,
) -> Clusters:
    """Extend topics of the first documents to the whole index, without storing them."""
    index = source.index
    if existing is None:
        raise InputError(f"the index has no clusters: {_MAKE}", path=index.path)
    check_embedder(existing, embedder.name, index.path)
    first = len(existing.cluster)
    if first == len(index):
        return existing
    texts = read_conclusions(index, first)
    points, rows = points_of(source, first, texts, embedder, existing.space, on_progress)
    nearest, _ = nearest_centroids(points, existing.centroids)
    meta = existing.meta | {
        "assigned": existing.meta.get("assigned", 0) + len(index) - first,
        "without": existing.meta.get("without", 0) + int((rows < 0).sum()),
    }
    return replace(
        existing, cluster=np.concatenate([existing.cluster, _spread(nearest, rows)]), meta=meta
    )


def _source(index: WordIndex) -> TopicSource:
    def vectors(numbers: NDArray[np.int64]) -> Vectors:
        return document_vectors(index).rows[numbers].astype(np.float32)

    return TopicSource(index, vectors)


def _put(index: WordIndex, clusters: Clusters) -> Clusters:
    data = json.dumps(list(map(asdict, clusters.labels)), ensure_ascii=False)
    coded: NDArray[Any] = np.frombuffer(data.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    arrays = {"cluster": clusters.cluster, "centroids": clusters.centroids, "labels": coded}
    put_feature(index.path, CLUSTERS, arrays, documents=len(clusters.cluster), meta=clusters.meta)
    return clusters


def clusters_of(index: WordIndex) -> Clusters:
    """Return the topics of an index.

    Raises InputError if it has none, or documents were added after it got them.
    """
    feature = index.feature(CLUSTERS, _MAKE)
    return index.once(CLUSTERS, lambda: _opened(feature))


def facets(engine: Engine, ids: Sequence[str]) -> list[Facet]:
    """Return the topics of listed documents, the most frequent first; some documents have none.

    Raises InputError if there are no clusters, or not for all documents.
    """
    counts = Counter(topic for topic in engine.topics(ids) if topic is not None)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0].number))
    return [Facet(*topic, count) for topic, count in ordered]


def why_not_used(engine: Engine, query: TopicQuery) -> list[str] | None:
    """Return why documents on a question's topics cannot be found; None if they can."""
    info = engine.feature_info(CLUSTERS)
    if info is None:
        return []
    if info.made_by != query.embedder:
        name = f"{shorten(info.made_by, 60)} and not with {query.embedder}"
        return [f"the topic clusters, made with {name}, are not used"]
    if info.documents != len(engine):
        return ["the topic clusters are not used: documents were added after they were made"]
    return None


def rank_on_topics(index: WordIndex, query: TopicQuery) -> NDArray[np.int64]:
    """Return the best documents on a question's topics, even without a matching word."""
    clusters = clusters_of(index)
    near = np.flatnonzero(clusters.cosines(query.vector) >= query.least)
    members = np.flatnonzero(np.isin(clusters.cluster, near))
    scores = index.score_all(query.text)[members]
    best: NDArray[np.int64] = members[np.argsort(-scores, kind="stable")[: query.count]]
    return best


def topic_factors(
    clusters: Clusters, text: str, wc: float, embedder: Embedder | None, path: str | Path
) -> NDArray[np.float64]:
    """Return 1 + wC C of Touché's Eq. 1 of each topic for a question."""
    if embedder is None:
        raise InputError("wc is positive, which needs an embedder, to compare question and topics")
    check_embedder(clusters, embedder.name, path)
    return 1.0 + wc * clusters.cosines(embedder.encode([text])[0])


def check_embedder(clusters: Clusters, name: str, path: str | Path) -> None:
    """Reject an embedder whose vectors cannot be compared with the centroids."""
    if clusters.embedder != name:
        embedder = shorten(clusters.embedder, 60)
        problem = f"the index's clusters were made with the embedder {embedder}"
        advice = f"use that one, or cluster again with this one: {_MAKE}"
        raise InputError(f"{problem}, not with {shorten(name, 60)}: {advice}", path=path)


def _opened(feature: Feature) -> Clusters:
    cluster, centroids = feature.array("cluster"), feature.array("centroids")
    meta, k = dict(feature.meta), len(centroids)
    sound = (
        cluster.shape == (feature.documents,)
        and cluster.dtype == np.uint32
        and centroids.ndim == 2
        and centroids.dtype == np.float32
        and bool((np.linalg.norm(centroids.astype(np.float64), axis=1) < _LONGEST).all())
        and bool(((cluster < k) | (cluster == NO_CLUSTER)).all())
        and meta.get("space") in SPACES
        and isinstance(meta.get("embedder"), str)
        and all(isinstance(meta.get(name, 0), int) for name in ("assigned", "without"))
    )
    try:
        rows = json.loads(feature.array("labels").tobytes())
        json.dumps(rows, ensure_ascii=False).encode()  # lone surrogates cannot be displayed
        labels = tuple(
            ClusterLabel(str(row["label"]), tuple(map(str, row["terms"])), int(row["documents"]))
            for row in rows
        )
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
        labels = ()
    if not sound or len(labels) != k:
        raise damaged(feature.file.folder, "feature clusters is not understood")
    return Clusters(cluster, centroids, tuple(labels), meta["space"], meta["embedder"], meta)


def _spread(values: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """Return each document's cluster from its point's, uint32, `NO_CLUSTER` for none."""
    if values.dtype == np.float64:
        return np.where(rows >= 0, values[rows], 0.0)
    return np.where(rows >= 0, values[rows], NO_CLUSTER).astype(np.uint32)
