"""Topics of several sets in two halves: one to choose on, one to report on.

Topics that are nearly the same question, in whatever set, stand in the same half, and so do debates
that share an argument: what was chosen on a question must not be reported on its twin.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

import numpy as np
from effectiveness_sets import Collection

from pnyx.models.embedding import Embedder

__all__ = ["DEVELOPMENT", "TEST", "halves"]

DEVELOPMENT, TEST = "development", "test"

NEAR = 0.7
"""Cosine from which two topics count as one question: "Ban X", "Should X be banned?"."""

_FORMULA = re.compile(
    r"^\W*(this house|we)\s+(would|believes?( that)?|supports?|regrets?|thinks?)\s+", re.IGNORECASE
)

Key = tuple[str, str]
"""Set and topic."""


def halves(collections: Sequence[Collection], embedder: Embedder) -> dict[str, dict[str, str]]:
    """Return the half of each topic, by set.

    Groups of topics are taken in the order of a hash, largest first; each goes to the half that
    lacks most of the sets it touches, so both halves of each set are about equally large.

    Args:
        collections: the sets.
        embedder: tells which topics are nearly the same.
    """
    texts = {(c.name, q.id): _FORMULA.sub("", q.text) for c in collections for q in c.questions}
    keys = list(texts)
    place = {key: n for n, key in enumerate(keys)}
    links = _near(embedder.encode(list(texts.values())))
    links += [(place[a], place[b]) for c in collections for a, b in _sharing(c)]
    out: dict[str, dict[str, str]] = {c.name: {} for c in collections}
    balance: dict[str, int] = defaultdict(int)  # set -> development less test
    for group in sorted(_groups(len(keys), links), key=lambda g: (-len(g), _hash(keys[g[0]]))):
        sizes: dict[str, int] = defaultdict(int)
        for n in group:
            sizes[keys[n][0]] += 1
        lacking = sum(balance[name] * size for name, size in sizes.items())
        tie = _hash(keys[group[0]]) % 2 == 0
        first = lacking < 0 or (lacking == 0 and tie)
        for name, size in sizes.items():
            balance[name] += size if first else -size
        for n in group:
            name, topic = keys[n]
            out[name][topic] = DEVELOPMENT if first else TEST
    return out


def _near(vectors: np.ndarray) -> list[tuple[int, int]]:
    close = np.triu(vectors @ vectors.T >= NEAR, 1)
    return [(int(a), int(b)) for a, b in np.argwhere(close)]


def _sharing(collection: Collection) -> Iterable[tuple[Key, Key]]:
    """Yield pairs of debates that share a document; sets with graded pools share by design."""
    first: dict[str, str] = {}
    for q in collection.qrels.get("sides", ()):
        known = first.setdefault(q.doc_id, q.topic_id)
        if known != q.topic_id:
            yield (collection.name, known), (collection.name, q.topic_id)


def _groups(count: int, links: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Return the connected components, each in order."""
    parent = list(range(count))

    def root(n: int) -> int:
        while parent[n] != n:
            parent[n] = parent[parent[n]]
            n = parent[n]
        return n

    for a, b in links:
        parent[max(root(a), root(b))] = min(root(a), root(b))
    found: Mapping[int, list[int]] = defaultdict(list)
    for n in range(count):
        found[root(n)].append(n)
    return list(found.values())


def _hash(key: Key) -> int:
    return int.from_bytes(blake2b("/".join(key).encode(), digest_size=8).digest(), "big")
