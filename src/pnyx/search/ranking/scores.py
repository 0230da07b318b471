"""Scoring documents: the interface to every `--model` of the search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from pnyx.core.errors import InputError, count_of, shorten
from pnyx.models.embed.embedder import PACKAGED
from pnyx.search.document_quality import document_quality
from pnyx.search.engine import Engine
from pnyx.search.features.vectors import EMBED_FIRST, VECTORS, document_vectors, embed_question
from pnyx.search.lexical.index import WordIndex
from pnyx.search.lexical.kernels import Boosts, best
from pnyx.search.plan import AUTO, PARAMETERS, Scoring, check_least, check_parameter
from pnyx.search.ranking.dense import dense_rank
from pnyx.search.ranking.fusion import Normalisation, RankedList, fuse_rrf, fuse_weighted
from pnyx.search.ranking.models import Floats

if TYPE_CHECKING:
    from pnyx.models.embed.embedder import Embedder
    from pnyx.search.features.clusters import Clusters

_FUSED_FROM: Final = 1000
"""Depth of the rankings that a hybrid fuses: a document missing from one of them gets its lowest
score, so they go well beyond the number of documents requested."""


class ScoringChoice(NamedTuple):
    """The model that `auto` selects; `note` says why existing vectors are not used."""

    scoring: Scoring
    note: str = ""


def choose_scoring(
    engine: Engine, scoring: Scoring | None = None, embedder: str = PACKAGED
) -> ScoringChoice:
    """Return an engine's best model if `auto`: a hybrid, or its lexical part without vectors."""
    requested = scoring or Scoring()
    if requested.model != AUTO:
        return ScoringChoice(requested)
    lexical = replace(requested, model=requested.lexical)
    vectors = engine.feature_info(VECTORS)
    if vectors is None:
        return ScoringChoice(lexical)
    if vectors.documents != len(engine):
        missing = len(engine) - vectors.documents
        have = "has" if missing == 1 else "have"
        without = f"{count_of(missing, 'document')} {have} no vector yet"
        return ScoringChoice(lexical, f"{without}: {EMBED_FIRST}")
    if vectors.made_by != embedder:
        made_by = shorten(vectors.made_by, 60)
        return ScoringChoice(lexical, f"they are by {made_by}: name it with --set embedder=SPEC")
    return ScoringChoice(replace(requested, model="hybrid"))


def rank_documents(
    index: WordIndex, text: str, scoring: Scoring, k: int, embedder: Embedder | None = None
) -> RankedList:
    """Rank the documents of an index for a question, plain text.

    The index needs clusters and quality for `touche`, vectors for `dense`, and `embedder`, where
    `scoring.embeds`, is that of those. `auto` is not a model here: `choose_scoring` replaces it.
    Returns at most `k` (at least 1) numbers int64 and scores float64, best first, ties in document
    order.

    Raises:
        InputError: a value out of range, another embedder than the index was made with, or an index
            without what the model needs (the message names the command that adds it).
        IndexFolderError: a part of the index is damaged.
        ModelError: the embedder cannot be used.
        ValueError: the model is `auto`.
    """
    if scoring.model == AUTO:
        raise ValueError("auto is not a model: choose_scoring must choose one first")
    if scoring.parts:
        return fuse(scoring, rank_parts(index, text, scoring, k, embedder), k)
    if scoring.model == "dense":
        return _by_vector(index, question_vector(index, text, embedder), k)
    if scoring.model == "touche":
        return touche_rank(index, text, embedder, k, flat=scoring.flat, **scoring.parameters)
    return index.rank(text, scoring.model, k, boosts=None, **scoring.parameters)


def rank_parts(
    index: WordIndex, text: str, scoring: Scoring, k: int, embedder: Embedder | None
) -> list[RankedList]:
    """Return the rankings that a hybrid fuses, lexical before dense."""
    deep = depth_of_parts(k)

    def rank() -> list[RankedList]:
        question = question_vector(index, text, embedder)
        lexical = rank_documents(index, text, scoring.parts[0], deep, embedder)
        rankings = [lexical, _by_vector(index, question, deep)]
        return with_feedback(index, scoring, rankings, question, k)

    by = "" if embedder is None else embedder.name
    return index.lately(("parts", text, repr(scoring), deep, by), rank)


def depth_of_parts(k: int) -> int:
    """Return how many documents of each part are fused for `k` results."""
    check_least("k", k, 1)
    return max(k, _FUSED_FROM)


def fuse_parts(
    index: WordIndex,
    scoring: Scoring,
    rankings: Sequence[RankedList],
    question: NDArray[np.float32] | None,
    k: int,
) -> RankedList:
    """Fuse the rankings of a hybrid's parts, each as deep as `depth_of_parts` says."""
    return fuse(scoring, with_feedback(index, scoring, rankings, question, k), k)


def with_feedback(
    index: WordIndex,
    scoring: Scoring,
    rankings: Sequence[RankedList],
    question: NDArray[np.float32] | None,
    k: int,
) -> list[RankedList]:
    """Return the rankings that a hybrid fuses.

    With feedback the question's vector (None for an empty question) is moved to the mean of the
    best documents, weighted by the squares of their scores, and the dense part is ranked again
    (Rocchio, "Relevance feedback in information retrieval", 1971).
    """
    if question is None or not scoring.feedback:
        return list(rankings)

    def rows(numbers: NDArray[np.int64]) -> Floats:
        return document_vectors(index).rows[numbers].astype(np.float64)

    unit = moved_question(scoring, rankings, question, rows)
    return [*rankings[:-1], dense_rank(index, unit, depth_of_parts(k))]


def moved_question(
    scoring: Scoring,
    rankings: Sequence[RankedList],
    question: NDArray[np.float32],
    rows: Callable[[NDArray[np.int64]], Floats],
) -> NDArray[np.float32]:
    """Return the question's vector moved as `with_feedback` says; `rows` are of numbers."""
    numbers, scores = fuse(scoring, rankings, scoring.feedback)
    centre = scores**2 @ rows(numbers)
    moved = question + centre / max(float(np.linalg.norm(centre)), 1e-12)
    unit: NDArray[np.float32] = (moved / np.linalg.norm(moved)).astype(np.float32)
    return unit


def question_vector(
    index: WordIndex, text: str, embedder: Embedder | None
) -> NDArray[np.float32] | None:
    """Return the question's vector; None without words, whose neighbours are arbitrary."""
    if embedder is None:
        raise InputError("a dense ranking needs an embedder, to compare question and documents")
    return embed_question(index, embedder, text) if text.split() else None


def _by_vector(index: WordIndex, question: NDArray[np.float32] | None, k: int) -> RankedList:
    if question is None:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    return dense_rank(index, question, k)


def fuse(scoring: Scoring, rankings: Sequence[RankedList], k: int) -> RankedList:
    """Fuse the given rankings of a hybrid's parts."""
    if scoring.fusion == "rrf":
        return fuse_rrf(rankings, k=k)
    return fuse_weighted(
        rankings, weights_of_parts(scoring), k, cast("Normalisation", scoring.fusion)
    )


def weights_of_parts(scoring: Scoring) -> list[float]:
    """Return the weights of a hybrid's parts when their scores are fused."""
    return [1.0 - scoring.dense_weight, scoring.dense_weight]


# The Touché model ---------------------------------------------------------------------------------
#
#     S(q, d) = R(q, d) (1 + wC C(q, d)) (1 + wQ Q(d))
#
# R is Dirichlet-smoothed query likelihood, C the cosine of the question to the centroid of the
# document's topic cluster, clipped to [0, 1], and Q the document's predicted quality in [0, 1]
# (Gienapp 2021, Eq. 1). Every document of the index is scored; it does not rerank a top list.

_SHIFT = 4
"""Bits of quality in a document's code, enough for a tight bound: with 300 clusters the table of
bounds has 19 KB, which fits the L1 cache."""

_LAST_STEP = (1 << _SHIFT) - 1
_QUALITIES = np.arange(1 << _SHIFT) / _LAST_STEP


def touche_rank(
    index: WordIndex,
    question: str,
    embedder: Embedder | None,
    k: int = 10,
    *,
    wc: float = PARAMETERS["wc"].default,
    wq: float = PARAMETERS["wq"].default,
    mu: float = PARAMETERS["mu"].default,
    flat: bool = False,
) -> RankedList:
    """Return numbers and scores of the best `k` documents, best first, ties in document order.

    The index has clusters, made with `embedder`, where `wc` is positive, and quality where `wq` is;
    both weights are 0 to 1e6. A document of unknown quality is not boosted. `mu` is of the
    Dirichlet prior. `flat` fixes R at 1: all documents are ranked, by topic and quality alone (the
    paper's last two runs); otherwise only those with a word of the question.

    Raises:
        InputError: a number out of range, an embedder other than that of the clusters, or an index
            without what a weight requires (the message names the command).
        IndexFolderError: a part of the index is damaged.
        ModelError: the embedder cannot be used.
    """
    check_least("k", k, 1)
    boosts = touche_boosts(index, question, embedder, wc, wq)
    if not flat:
        return index.rank(question, "dirichlet", k, boosts=boosts, mu=mu)
    scores = _flat(index, boosts)
    numbers = best(scores, k)
    return numbers, scores[numbers]


def touche_scores(
    index: WordIndex,
    question: str,
    embedder: Embedder | None,
    *,
    wc: float = PARAMETERS["wc"].default,
    wq: float = PARAMETERS["wq"].default,
    mu: float = PARAMETERS["mu"].default,
    flat: bool = False,
) -> Floats:
    """Return the score of every document, by number; float64 (documents,); see `touche_rank`.

    A document without any word of the question scores -0.0 (unless `flat`).
    """
    boosts = touche_boosts(index, question, embedder, wc, wq)
    if flat:
        return _flat(index, boosts)
    scores = index.score_all(question, "dirichlet", mu=mu)
    return scores if boosts is None else boosts.apply(scores)


def _flat(index: WordIndex, boosts: Boosts | None) -> Floats:
    ones = np.ones(len(index))
    return ones if boosts is None else boosts.apply(ones)


def touche_boosts(
    index: WordIndex, question: str, embedder: Embedder | None, wc: float, wq: float
) -> Boosts | None:
    """Return the factors of R for all documents; None if both weights are 0."""
    from pnyx.search.features.clusters import topic_factors

    check_parameter("wc", wc)
    check_parameter("wq", wq)
    if wc == 0.0 and wq == 0.0:
        return None
    parts = (wc > 0.0, wq > 0.0)
    clusters, codes, quality = index.once(("touche", parts), lambda: _prepare(index, *parts))
    factors = np.ones(1)
    if clusters is not None:
        factors = np.append(topic_factors(clusters, question, wc, embedder, index.path), 1.0)
    # A margin of a few ulps covers the rounding to float32 and of the exact product.
    steps = ((1.0 + 2**-21) * (1.0 + wq * _QUALITIES)).astype(np.float32)
    bounds = np.multiply.outer(factors.astype(np.float32), steps).reshape(-1)
    return Boosts(codes, _SHIFT, bounds, factors, quality, float(wq))


def _prepare(
    index: WordIndex, topics: bool, quality: bool
) -> tuple[Clusters | None, NDArray[np.uint16] | NDArray[np.uint32], NDArray[np.float32]]:
    """Return the clusters, and the code and quality of all documents, ready to be weighted."""
    from pnyx.search.features.clusters import clusters_of

    topic_clusters = clusters_of(index) if topics else None
    rows = 0 if topic_clusters is None else len(topic_clusters)
    clusters = np.zeros(len(index), dtype=np.uint32)
    if topic_clusters is not None:
        clusters = np.minimum(topic_clusters.cluster, np.uint32(rows))
    values = np.zeros(len(index), dtype=np.float32)
    if quality:
        values = np.nan_to_num(document_quality(index), nan=0.0)
    steps = np.ceil(values.astype(np.float64) * _LAST_STEP).astype(np.uint32)
    codes = (clusters << np.uint32(_SHIFT)) + steps
    small = (rows + 1) << _SHIFT <= 1 << 16
    return topic_clusters, codes.astype(np.uint16) if small else codes, values
