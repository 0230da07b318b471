"""The texts that are clustered, k-means, and readable descriptions of the clusters."""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from pnyx.core.errors import InputError, MissingExtra, shorten
from pnyx.core.records import Argument, Evidence
from pnyx.formats.text.segment import split_sentences
from pnyx.formats.text.tokens import Tokenizer
from pnyx.search.features.vectors import VECTORS
from pnyx.search.lexical.record_codec import searched_text

if TYPE_CHECKING:
    from pnyx.models.embed.embedder import Embedder
    from pnyx.search.engine import Readable

Space: TypeAlias = Literal["text", "conclusion", "dual"]

SPACES: tuple[Space, ...] = get_args(Space)

Advance: TypeAlias = Callable[[int], None]
"""Called with the number of texts embedded so far."""

_MAX_CONCLUSION = 1_000
_MAX_PREMISE = 8_000
_TEXTS_AT_ONCE = 512


@dataclass(frozen=True, slots=True)
class TopicSource:
    """Where topics are found: an index, and its unit vectors (n, d) by n numbers of documents.

    `vectors` is called only if the index has vectors of all documents.
    """

    index: Readable
    vectors: Callable[[Counts], Vectors]


def conclusion_of(record: Evidence) -> str:
    """Return a document's conclusion or title, else its first sentence; 1,000 characters."""
    text = " ".join(record.title[: 4 * _MAX_CONCLUSION].split())
    if not text:
        text = next(iter(split_sentences(record.text[: 4 * _MAX_CONCLUSION])), "")
        text = " ".join(text.split())
    return text[:_MAX_CONCLUSION]


def premise_of(record: Evidence) -> str:
    """Return a document's reasons: its premises, or else its text."""
    premises = record.premises if isinstance(record, Argument) else ()
    text = "\n".join(p.text for p in premises) if premises else record.text
    return text[:_MAX_PREMISE].strip()


class DistinctConclusions(NamedTuple):
    """The distinct conclusions, and the index of each document's (-1 for none)."""

    distinct: list[str]
    which: NDArray[np.int64]


def read_conclusions(index: Readable, first: int) -> DistinctConclusions:
    """Read the conclusions of documents `first` and later."""
    numbers: dict[str, int] = {}
    which = np.full(len(index) - first, -1, dtype=np.int64)
    for row, record in enumerate(index.documents_at(range(first, len(index)))):
        text = conclusion_of(record)
        if text:
            which[row] = numbers.setdefault(text, len(numbers))
    return DistinctConclusions(list(numbers), which)


def points_of(
    source: TopicSource,
    first: int,
    texts: DistinctConclusions,
    embedder: Embedder,
    space: Space,
    on_progress: Advance | None,
) -> tuple[Vectors, NDArray[np.int64]]:
    """Embed documents from `first` on; return unit vectors, and each document's row or -1."""
    having = np.flatnonzero(texts.which >= 0)
    rows = np.full(len(texts.which), -1, dtype=np.int64)
    rows[having] = np.arange(len(having))
    if space == "text":
        return _whole_texts(source, first + having, embedder, on_progress), rows
    conclusions = _embed(embedder, texts.distinct, 0, on_progress)
    if space == "conclusion":
        return conclusions, texts.which
    out = np.empty((len(having), 2 * conclusions.shape[1]), dtype=np.float32)
    for start in range(0, len(having), _TEXTS_AT_ONCE):
        places = having[start : start + _TEXTS_AT_ONCE]
        documents = source.index.documents_at((first + places).tolist())
        conclusion_rows = texts.which[places]
        # A document without premises uses its conclusion in the premises' space.
        premise_texts = [
            premise_of(document) or texts.distinct[row]
            for document, row in zip(documents, conclusion_rows.tolist(), strict=True)
        ]
        premises = _embed(embedder, premise_texts, len(texts.distinct) + start, on_progress)
        out[start : start + len(places)] = join_spaces(conclusions[conclusion_rows], premises)
    return out, rows


def _whole_texts(
    source: TopicSource, numbers: NDArray[np.int64], embedder: Embedder, on_progress: Advance | None
) -> Vectors:
    """Return the vectors of documents: from the index if it has them, else computed now."""
    index = source.index
    if index.feature_info(VECTORS) == (len(index), embedder.name):
        return source.vectors(numbers)
    parts: list[Vectors] = [np.zeros((0, embedder.dimensions), dtype=np.float32)]
    for start in range(0, len(numbers), _TEXTS_AT_ONCE):
        places = numbers[start : start + _TEXTS_AT_ONCE].tolist()
        texts = list(map(searched_text, index.documents_at(places)))
        parts.append(_embed(embedder, texts, start, on_progress))
    return np.concatenate(parts)


def _embed(
    embedder: Embedder, texts: Sequence[str], done: int, on_progress: Advance | None
) -> Vectors:
    parts: list[Vectors] = []
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        part = texts[start : start + _TEXTS_AT_ONCE]
        vectors = embedder.encode(part)
        if vectors.shape[:1] != (len(part),) or not np.isfinite(vectors).all():
            raise InputError(f"the embedder {shorten(embedder.name, 60)} gave no usable vectors")
        parts.append(vectors)
        if on_progress is not None:
            on_progress(done + start + len(part))
    return np.concatenate(parts) if parts else np.zeros((0, 0), dtype=np.float32)


def join_spaces(conclusions: Vectors, premises: Vectors) -> Vectors:
    """Return unit vectors of the product space: the cosine there is the mean of the two."""
    joined: Vectors = np.concatenate([conclusions, premises], axis=1) * np.float32(0.5**0.5)
    return joined


# k-means ---------------------------------------------------------------------------


MINI_BATCH_ABOVE = 20_000
"""Above this number of distinct points, k-means uses samples: all would take minutes."""

_FEW = 2_000
"""Up to this number of distinct points, take the best of four starts, which is cheap there."""

_ROWS_AT_ONCE = 16_384

Vectors: TypeAlias = NDArray[np.float32]
Counts: TypeAlias = NDArray[np.int64]
Means: TypeAlias = Callable[[Vectors, Counts, int, int], tuple[Vectors, str]]


def k_means_engine() -> Means:
    """Return k-means: (points, weights, k, seed) to (unit centroids, engine's name)."""
    try:
        import sklearn
        from sklearn.cluster import KMeans, MiniBatchKMeans
    except ImportError as error:
        raise MissingExtra("clustering", "clusters") from error

    def means(points: Vectors, weights: Counts, k: int, seed: int) -> tuple[Vectors, str]:
        if len(points) > MINI_BATCH_ABOVE:
            model = MiniBatchKMeans(k, random_state=seed, batch_size=4096, n_init=3)
        else:
            model = KMeans(k, random_state=seed, n_init=4 if len(points) <= _FEW else 1)
        centers = model.fit(points, sample_weight=weights).cluster_centers_
        engine = f"scikit-learn {sklearn.__version__} {type(model).__name__}"
        # A centre of exactly zero has no direction; it is kept, and no point is nearest to it.
        lengths = np.maximum(np.linalg.norm(centers, axis=1, keepdims=True), 1e-12)
        return (centers / lengths).astype(np.float32), engine

    return means


def distinct_points(points: Vectors, rows: Counts) -> tuple[Vectors, Counts, Counts]:
    """Merge equal points (an embedder may ignore case): points, their counts, each row's point."""
    seen: dict[bytes, int] = {}
    hashed = (hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in points)
    merged = np.array([seen.setdefault(digest, len(seen)) for digest in hashed])
    _, firsts = np.unique(merged, return_index=True)
    out = np.where(rows >= 0, merged[rows], -1)
    return points[firsts], np.bincount(out[out >= 0], minlength=len(firsts)), out


def nearest_centroids(points: Vectors, centroids: Vectors) -> tuple[Counts, NDArray[np.float64]]:
    """Return the nearest centroid of each point and the cosine to it."""
    nearest = np.zeros(len(points), dtype=np.int64)
    cosines = np.zeros(len(points))
    for start in range(0, len(points), _ROWS_AT_ONCE):
        stop = start + _ROWS_AT_ONCE
        products = points[start:stop] @ centroids.T
        nearest[start:stop] = products.argmax(axis=1)
        cosines[start:stop] = products.max(axis=1)
    return nearest, cosines


def by_size(centroids: Vectors, nearest: Counts, weights: Counts) -> tuple[Vectors, Counts]:
    """Number clusters from the largest to the smallest; drop empty ones."""
    sizes = np.bincount(nearest, weights=weights, minlength=len(centroids))
    order = np.argsort(-sizes, kind="stable")[: int((sizes > 0).sum())]
    numbers = np.zeros(len(centroids), dtype=np.int64)
    numbers[order] = np.arange(len(order))
    return centroids[order], numbers[nearest]


# What a cluster is about -------------------------------------------------------------------


_TERMS, _MAX_LABEL = 5, 200


@dataclass(frozen=True, slots=True)
class ClusterLabel:
    """A typical conclusion (hostile text), distinctive words, and the size when it was made."""

    label: str
    terms: tuple[str, ...]
    documents: int


def label_clusters(
    texts: Sequence[str],
    which: NDArray[np.int64],
    cluster: NDArray[np.uint32],
    likeness: NDArray[np.float64],
    k: int,
    tokenizer: Tokenizer,
) -> list[ClusterLabel]:
    """Describe each of `k` clusters by its conclusion nearest to the centroid, and its terms.

    `which` gives each document's conclusion among `texts` (-1 for none), `cluster` its cluster (`k`
    or more for none), `likeness` the cosine to its centroid.
    """
    members = np.flatnonzero((which >= 0) & (cluster < k))
    # Most typical first within each cluster; ties in document order.
    ordered = members[np.lexsort((-likeness[members], cluster[members]))]
    conclusions: list[dict[str, None]] = [{} for _ in range(k)]
    for number, text in zip(cluster[ordered].tolist(), which[ordered].tolist(), strict=True):
        conclusions[number].setdefault(texts[text])
    counts = np.bincount(cluster[members], minlength=k).tolist()
    terms = _terms(conclusions, tokenizer)
    return [
        ClusterLabel(_shortened(next(iter(conclusion), "")), best, count)
        for conclusion, best, count in zip(conclusions, terms, counts, strict=True)
    ]


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_LABEL else text[: _MAX_LABEL - 1].rstrip() + "…"


def _terms(clusters: Sequence[Iterable[str]], tokenizer: Tokenizer) -> list[tuple[str, ...]]:
    """Choose terms by class-based tf-idf (Grootendorst 2022, BERTopic, Eq. 2) of conclusions."""
    stems: dict[str, str | None] = {}
    surfaces: defaultdict[str, Counter[str]] = defaultdict(Counter)
    inside = [Counter(_stems(texts, tokenizer, stems, surfaces)) for texts in clusters]
    overall: Counter[str] = Counter()
    clusters_with: Counter[str] = Counter()
    for counted in inside:
        overall.update(counted)
        clusters_with.update(counted.keys())
    # Words shared by a quarter of the topics (should, how, make) distinguish none.
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
        words = [min((-n, word) for word, n in surfaces[term].items())[1] for term in best]
        out.append(tuple(words))
    return out


def _stems(
    texts: Iterable[str],
    tokenizer: Tokenizer,
    stems: dict[str, str | None],
    surfaces: defaultdict[str, Counter[str]],
) -> Iterable[str]:
    """Yield the stems of texts; count in `surfaces` the words of each stem."""
    for text in texts:
        for word in tokenizer.words(text):
            if word not in stems:
                stems[word] = tokenizer.term(word) if _is_term(word) else None
            stem = stems[word]
            if stem is not None:
                surfaces[stem][word.removesuffix("'s").removesuffix("’s")] += 1
                yield stem


def _is_term(word: str) -> bool:
    return len(word) > 1 and any(map(str.isalpha, word))
