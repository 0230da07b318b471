"""The topics of an index in a cluster: an index of their own, `NAME-v000001-topics`."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pnyx.core.errors import IndexFolderError, PnyxError, escaped, shorten
from pnyx.search.features.clusters import Clusters
from pnyx.search.features.topic_points import ClusterLabel
from pnyx.search.opensearch.answers import SearchHit, check_acknowledged, read_bulk
from pnyx.search.opensearch.client import Cluster

_MOST: Final = 10_000
"""Topics in one answer, the usual limit of a cluster."""


def topics_of(concrete: str) -> str:
    """Return the name of the index that holds the topics of another."""
    return f"{concrete}-topics"


def put_topics(cluster: Cluster, concrete: str, topics: Clusters, replicas: int) -> None:
    """Store the topics of an index, replacing those of an unfinished load."""
    name = topics_of(concrete)
    if (answer := cluster.exists("DELETE", f"/{name}")) is not None:
        check_acknowledged(answer)
    unsearched = {"type": "keyword", "index": False, "doc_values": False}
    fields = {"number": {"type": "integer"}, "label": unsearched, "centroid": unsearched}
    body = {
        "settings": {"number_of_shards": 1, "number_of_replicas": replicas},
        "mappings": {"dynamic": "strict", "properties": fields},
    }
    check_acknowledged(cluster.ask("PUT", f"/{name}", body))
    rows: list[dict[str, Any]] = []
    for number, label in enumerate(topics.labels):
        centroid = np.ascontiguousarray(topics.centroids[number], dtype="<f4").tobytes()
        rows += [{"index": {"_id": str(number)}}]
        rows += [
            {
                "number": number,
                "label": json.dumps(list(asdict(label).values())),
                "centroid": base64.b64encode(centroid).decode(),
            }
        ]
    answer = cluster.lines(f"/{name}/_bulk", rows, refresh="true")
    for result in read_bulk(answer, "index", [str(number) for number in range(len(topics))]):
        if result.error:
            problem = f"the topics could not be stored ({shorten(result.error, 60)}), start again"
            raise PnyxError(f"{escaped(str(cluster.address))}: {problem}")


def read_topics(cluster: Cluster, concrete: str, meta: Mapping[str, Any]) -> Clusters:
    """Return the topics of an index; only the cluster knows which document is on which."""
    path = str(cluster.address)
    body = {"sort": ["number"], "size": _MOST, "query": {"match_all": {}}}
    hits = cluster.hits(topics_of(concrete), body)
    if len(hits) != meta["k"]:
        raise IndexFolderError("has lost some of its topics", path=path)
    topics = [_topic(hit, number) for number, hit in enumerate(hits)]
    centroids = [centroid for _, centroid in topics]
    if len({centroid.shape for centroid in centroids}) != 1:
        raise IndexFolderError("has topics of different dimensions", path=path)
    labels = [label for label, _ in topics]
    nobody = np.zeros(0, dtype=np.uint32)
    space, embedder = meta["space"], meta["embedder"]
    return Clusters(nobody, np.stack(centroids), labels, space, embedder, dict(meta))


def _topic(hit: SearchHit, number: int) -> tuple[ClusterLabel, NDArray[np.float32]]:
    """Read a topic as it was stored."""
    hit.source("number").integer(number, number)
    text, terms, size = hit.source("label").parsed().elements(3)
    words = tuple(term.text() for term in terms.elements())
    centroid = hit.source("centroid")
    try:
        content = base64.b64decode(centroid.text(), validate=True)
        vector = np.frombuffer(content, dtype="<f4").astype(np.float32)
    except ValueError:
        vector = np.zeros(0, np.float32)
    if not len(vector) or not np.isfinite(vector).all():
        raise centroid.wrong("finite numbers of 32 bits in base64")
    return ClusterLabel(text.text(), words, size.integer()), vector
