"""What a topic cluster is about, for people: a typical conclusion, and words that set it apart.

Terms are weighted by class-based tf-idf (Grootendorst 2022, BERTopic, Eq. 2) over each cluster's
distinct conclusions.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pnyx.corpora.tokens import Tokenizer

__all__ = ["ClusterLabel", "label_clusters"]

_TERMS = 5
_MAX_LABEL = 200


@dataclass(frozen=True, slots=True)
class ClusterLabel:
    """A typical conclusion (hostile text), distinctive words, and the size when it was made."""

    label: str
    terms: tuple[str, ...]
    documents: int

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        return {"label": self.label, "terms": list(self.terms), "documents": self.documents}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> ClusterLabel:
        """Return what `to_json` gave, or raise KeyError, TypeError or ValueError."""
        return cls(str(row["label"]), tuple(map(str, row["terms"])), int(row["documents"]))


def label_clusters(
    texts: Sequence[str],
    which: NDArray[np.int64],
    cluster: NDArray[np.uint32],
    likeness: NDArray[np.float64],
    k: int,
    tokenizer: Tokenizer,
) -> list[ClusterLabel]:
    """Describe each of `k` clusters.

    `which` gives each document's conclusion among `texts` (-1 for none), `cluster` its cluster (`k`
    or more for none), `likeness` the cosine to its centroid.
    """
    members = np.flatnonzero((which >= 0) & (cluster < k))
    # Most typical first within each cluster; ties in document order.
    ordered = members[np.lexsort((-likeness[members], cluster[members]))]
    conclusions: list[dict[int, None]] = [{} for _ in range(k)]
    for number, text in zip(cluster[ordered].tolist(), which[ordered].tolist(), strict=True):
        conclusions[number].setdefault(text)
    counts = np.bincount(cluster[members], minlength=k).tolist()
    terms = _terms([[texts[at] for at in own] for own in conclusions], tokenizer)
    return [
        ClusterLabel(_cut(texts[next(iter(own))]) if own else "", best, count)
        for own, best, count in zip(conclusions, terms, counts, strict=True)
    ]


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_LABEL else text[: _MAX_LABEL - 1].rstrip() + "…"


def _terms(clusters: Sequence[Sequence[str]], tokenizer: Tokenizer) -> list[tuple[str, ...]]:
    stems: dict[str, str | None] = {}
    surfaces: defaultdict[str, Counter[str]] = defaultdict(Counter)
    inside = [Counter(_stems(texts, tokenizer, stems, surfaces)) for texts in clusters]
    overall: Counter[str] = Counter()
    clusters_with: Counter[str] = Counter()
    for counted in inside:
        overall.update(counted)
        clusters_with.update(counted.keys())
    # Words that a quarter of the topics share (should, how, make) set none apart.
    common = max(2, len(clusters) // 4)
    mean = overall.total() / max(1, len(clusters))
    out = []
    for counted in inside:
        weights = {
            t: tf * math.log1p(mean / overall[t])
            for t, tf in counted.items()
            if clusters_with[t] <= common
        }
        best = sorted(weights, key=lambda term: (-weights[term], term))[:_TERMS]
        out.append(tuple(_commonest(surfaces[term]) for term in best))
    return out


def _stems(
    texts: Iterable[str],
    tokenizer: Tokenizer,
    stems: dict[str, str | None],
    surfaces: defaultdict[str, Counter[str]],
) -> Iterable[str]:
    """Yield the stems of texts; count in `surfaces` which words each stands for."""
    for text in texts:
        for word in tokenizer.words(text):
            if word not in stems:
                stems[word] = tokenizer.term(word) if _tells(word) else None
            stem = stems[word]
            if stem is not None:
                surfaces[stem][word.removesuffix("'s").removesuffix("’s")] += 1
                yield stem


def _tells(word: str) -> bool:
    return len(word) > 1 and any(map(str.isalpha, word))


def _commonest(words: Counter[str]) -> str:
    return min(words, key=lambda word: (-words[word], word))
