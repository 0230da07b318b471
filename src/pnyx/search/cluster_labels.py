"""What a topic cluster is about, for people: a typical conclusion, and words that set it apart.

The label is the conclusion nearest to the centroid. The terms are weighed over each cluster's
distinct conclusions by class-based tf-idf (Grootendorst 2022, BERTopic, Eq. 2): tf in the cluster
times log(1 + A / f), with A the mean number of words a cluster and f the term's frequency in all.
Terms that a quarter of the clusters share are left out.
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
    """What one cluster is about.

    Attributes:
        label: its most typical conclusion, at most 200 characters; from a document, so hostile.
        terms: up to five words that set it apart, the strongest first.
        documents: how many documents it had when the clusters were made.
    """

    label: str
    terms: tuple[str, ...]
    documents: int

    def to_json(self) -> dict[str, Any]:
        """Return it as an object for JSON."""
        return {"label": self.label, "terms": list(self.terms), "documents": self.documents}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> ClusterLabel:
        """Return what `to_json` gave.

        Raises:
            KeyError, TypeError, ValueError: it is something else.
        """
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

    Args:
        texts: distinct conclusions.
        which: of each document, its conclusion among `texts`, -1 for none.
        cluster: of each document; at least `k` where it has none.
        likeness: of each document, the cosine to its centroid.
        k: how many clusters.
        tokenizer: the index's own: its stop words are left out, its stems tell words apart.
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
    """Yield the stems of texts; remember which words each stands for."""
    for text in texts:
        for word in tokenizer.words(text):
            if word not in stems:
                stems[word] = tokenizer.term(word) if _tells(word) else None
            stem = stems[word]
            if stem is not None:
                surfaces[stem][word.removesuffix("'s").removesuffix("’s")] += 1
                yield stem


def _tells(word: str) -> bool:
    """Single letters and bare numbers do not describe a topic."""
    return len(word) > 1 and any(map(str.isalpha, word))


def _commonest(words: Counter[str]) -> str:
    return min(words, key=lambda word: (-words[word], word))
