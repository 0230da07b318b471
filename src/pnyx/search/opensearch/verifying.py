"""Reading all of an index in a cluster, to find what is damaged."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import numpy as np

from pnyx.errors import IndexFolderError
from pnyx.search.engine import EngineType
from pnyx.search.features.vectors import VECTORS
from pnyx.search.opensearch import schema
from pnyx.search.opensearch.index import RemoteIndex
from pnyx.search.opensearch.naming import remote_state
from pnyx.search.opensearch.ranking import EVERY


def verify(index: RemoteIndex) -> None:
    """Read every document with its features, and the topics; IndexFolderError for damage."""
    statistics, features = index.meta["statistics"], index.meta["features"]
    topics = len(index.clusters) if "clusters" in features else 0
    found: Counter[str] = Counter()
    number = 0
    for number, row in enumerate(index.pages(0, *schema.FEATURES.values()), start=1):
        _hold(index, row["_source"]["number"] == number - 1, f"document {number} is not there")
        try:
            sound = _is_sound(index, row, topics)
        except (KeyError, TypeError, ValueError):
            sound = False
        _hold(index, sound, f"document {number} is not as it was loaded")
        found.update(row.get("fields", {}).keys())
    words = index.cluster.count(index.concrete, {"exists": {"field": "terms"}})
    counts = [
        ("documents", number, len(index)),
        ("documents", index.cluster.count(index.concrete, EVERY), len(index)),
        ("documents with words", words, statistics["documents_with_terms"]),
    ]
    for name in (VECTORS, "clusters"):
        known = features.get(name, {"documents": 0})
        expected = known["documents"] - known.get("without", 0)
        counts.append((f"documents with {name}", found[schema.FEATURES[name]], expected))
    for what, there, expected in counts:
        _hold(index, there == expected, f"{there} {what}, expected {expected}")


def _is_sound(index: RemoteIndex, row: Any, topics: int) -> bool:
    line, own = row["_source"]["record"], row.get("fields", {})
    if schema.key_of(index.decoded(line).id) != row["_id"]:
        return False
    if schema.digest_of(f"{line}\n".encode()) != row["_source"]["digest"]:
        return False
    if "vector" in own:
        vector = schema.decoded(own["vector"][0])
        shape = (index.meta["features"][VECTORS]["dimensions"],)
        if vector.shape != shape or not np.isfinite(vector).all():
            return False
    return bool(0.0 <= own.get("quality", [0])[0] <= 1.0 and own.get("cluster", [-1])[0] < topics)


def _hold(index: RemoteIndex, sound: bool, problem: str) -> None:
    if not sound:
        raise IndexFolderError(f"is damaged: {problem}", path=index.path)


OPENSEARCH: Final = EngineType(RemoteIndex.open, remote_state, verify)
