"""Reading a whole index in a cluster to detect damage."""

from __future__ import annotations

from collections import Counter
from typing import Final

from pnyx.core.errors import IndexFolderError
from pnyx.search.engine import EngineType
from pnyx.search.features.vectors import VECTORS
from pnyx.search.opensearch import schema
from pnyx.search.opensearch.aliases import remote_state
from pnyx.search.opensearch.index import RemoteIndex
from pnyx.search.opensearch.ranking import EVERY
from pnyx.search.opensearch.stored_topics import read_topics


def verify(index: RemoteIndex) -> None:
    """Read every document with its features, and the topics; IndexFolderError for damage."""
    statistics, features = index.meta["statistics"], index.meta["features"]
    if "clusters" in features:
        read_topics(index.cluster, index.concrete, features["clusters"])
    values: Counter[str] = Counter()
    for _, row in index.stored.rows():  # raises for missing or changed documents
        values.update(row.keys())
    words = index.cluster.count(index.concrete, {"exists": {"field": "terms"}})
    counts = [
        ("documents", index.cluster.count(index.concrete, EVERY), len(index)),
        ("documents with words", words, statistics["documents_with_terms"]),
        ("documents with quality", values["quality"], statistics["documents_with_quality"]),
    ]
    for name in (VECTORS, "clusters"):
        feature = features.get(name, {"documents": 0})
        expected = feature["documents"] - feature.get("without", 0)
        counts.append((f"documents with {name}", values[schema.FEATURES[name]], expected))
    for what, there, expected in counts:
        if there != expected:
            problem = f"is damaged: {there} {what}, expected {expected}"
            raise IndexFolderError(problem, path=index.path)


OPENSEARCH: Final = EngineType(RemoteIndex.open, remote_state, verify)
