"""Loading an index in a cluster: streamed, resumable, visible to searches only when complete.

What is loaded goes into an index of its own, `NAME-v000001`, and `NAME` is an alias that is
switched once all documents are there. An index is never changed after that: adding to one clones it
(its files are linked, not copied), new features make a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pnyx.core.records import Evidence
from pnyx.search.document_quality import document_quality
from pnyx.search.features.clusters import NO_CLUSTER, Clusters, clusters_of
from pnyx.search.features.vectors import VECTORS, document_vectors
from pnyx.search.hits import has_all
from pnyx.search.index import Index
from pnyx.search.opensearch import schema
from pnyx.search.opensearch.index import RemoteIndex
from pnyx.search.opensearch.loader import Carried, Loading
from pnyx.search.opensearch.loader import LoadPlan as LoadPlan
from pnyx.search.opensearch.loader import LoadStats as LoadStats


def load(
    records: Iterable[Evidence],
    where: str,
    plan: LoadPlan | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> LoadStats:
    """Load records into a new index; `where` is its address.

    An interrupted or killed load resumes when it is given the same records again.

    Raises InputError for no records, an id that occurs twice or an index that exists already;
    PnyxError if the cluster cannot be used.
    """
    plan = plan or LoadPlan()
    work = Loading(where)
    work.begin(plan)
    return work.run(((record, {}) for record in records), plan, on_progress)


def copy(
    folder: str,
    where: str,
    plan: LoadPlan,
    on_progress: Callable[[int], None] | None = None,
    *,
    words_only: bool = False,
) -> LoadStats:
    """Load an index folder with its topics, vectors and quality; `plan` makes what is missing."""
    index = Index.open(folder)
    plan = replace(plan, fields=tuple(index.manifest["fields"][2:]))
    plan = replace(plan, language=str(index.tokenizer.to_manifest()["language"]))
    work = Loading(where)
    features = {
        name: {"documents": len(index), **feature.meta}
        for name in ("quality", VECTORS, "clusters")
        if not words_only and has_all(index, name) and (feature := index.known(name)) is not None
    }
    work.begin(plan, features, clusters_of(index) if "clusters" in features else None)
    return work.run(_carried(index, features), plan, on_progress)


def _carried(index: Index, features: Mapping[str, Any]) -> Iterator[Carried]:
    quality = document_quality(index) if "quality" in features else None
    rows = document_vectors(index).rows if VECTORS in features else None
    cluster = clusters_of(index).cluster if "clusters" in features else None
    for number, record in enumerate(index.documents()):
        values: dict[str, Any] = {}
        if quality is not None and not np.isnan(quality[number]):
            values["quality"] = float(quality[number])
        if rows is not None:
            values["vector"] = schema.coded(rows[number])
        if cluster is not None and cluster[number] != NO_CLUSTER:
            values["cluster"] = int(cluster[number])
        yield record, values


def add(
    records: Iterable[Evidence],
    where: str,
    plan: LoadPlan,
    on_progress: Callable[[int], None] | None = None,
) -> LoadStats:
    """Add records to an index, whose tokenizer and fields they get; `plan` makes their features.

    Searches see the old index until all are there. Raises what `load` does.
    """
    work = Loading(where)
    work.begin_adding(plan)
    return work.run(((record, {}) for record in records), plan, on_progress)


def update(
    where: str,
    plan: LoadPlan,
    on_progress: Callable[[int], None] | None = None,
    topics: Callable[[RemoteIndex], Clusters] | None = None,
) -> LoadStats:
    """Give every document of an index the features that are missing or by another model.

    `topics` finds the topics of all documents of the index.
    """
    work = Loading(where)
    old = RemoteIndex.open(work.address)
    features = {
        name: meta for name, meta in old.meta["features"].items() if not _remade(name, meta, plan)
    }
    shards, replicas = work.settings(old.concrete)
    plan = replace(
        plan,
        replace=True,
        language=str(old.meta["tokenizer"]["language"]),
        fields=tuple(old.meta["fields"]),
        shards=shards,
        replicas=replicas,
    )
    clusters = old.clusters if "clusters" in features else None
    fields = {schema.FEATURES[name] for name in features}
    new: NDArray[np.uint32] | None = None
    if topics is not None:
        clusters = topics(old)
        features["clusters"], new = {**clusters.meta, "documents": len(old)}, clusters.cluster
        fields -= {"cluster"}
    work.begin(plan, features, clusters)
    return work.run(_updated(old, fields, new), plan, on_progress)


def _updated(
    old: RemoteIndex, fields: Container[str], cluster: NDArray[np.uint32] | None
) -> Iterator[Carried]:
    for number, (record, stored_values) in enumerate(old.stored.rows()):
        values = {name: value for name, value in stored_values.items() if name in fields}
        if "vector" in values:
            values["vector"] = schema.coded(values["vector"])
        if cluster is not None and cluster[number] != NO_CLUSTER:
            values["cluster"] = int(cluster[number])
        yield record, values


def topics_so_far(index: RemoteIndex) -> Clusters | None:
    """Return the topics of an index, and the topic of each document that has one."""
    feature = index.meta["features"].get("clusters")
    if feature is None:
        return None
    topics = index.stored.topics(feature["documents"])
    numbers = [NO_CLUSTER if topic is None else topic for topic in topics]
    return replace(index.clusters, cluster=np.array(numbers, dtype=np.uint32))


def _remade(name: str, feature: Mapping[str, Any], plan: LoadPlan) -> bool:
    if name == "quality":
        return plan.quality is not None and plan.quality.name != feature.get("model")
    return (
        name == VECTORS and plan.embedder is not None and plan.embedder.name != feature["embedder"]
    )
