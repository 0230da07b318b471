"""The systems of `effectiveness.py`: their indexes and rankings."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from effectiveness_sets import Collection

from pnyx.core.records import Question, RunEntry
from pnyx.judging.students.surface_quality import QualityModel
from pnyx.models.embed.embedder import Embedder
from pnyx.search.build import build_index
from pnyx.search.document_quality import score_documents
from pnyx.search.features.access import put_feature, read_feature
from pnyx.search.features.clusters import DEFAULT_SPACE, cluster_documents
from pnyx.search.features.topic_points import Space
from pnyx.search.features.vectors import document_vectors, embed_documents, embed_question
from pnyx.search.index import Index
from pnyx.search.perspectives import perspectives_of, search_perspectives
from pnyx.search.perspectives_index import IndexPerspectives
from pnyx.search.plan import PARAMETERS, Scoring
from pnyx.search.ranking.dense import dense_rank
from pnyx.search.ranking.diversify import mmr, of_best
from pnyx.search.ranking.fusion import RankedList
from pnyx.search.ranking.scores import rank_documents, touche_rank

BASELINE = "Dirichlet"
DEFAULT = f"Touché {PARAMETERS['wc'].default:g}/{PARAMETERS['wq'].default:g} (default)"

HYBRID = f"hybrid (default: {Scoring().fusion}, {Scoring().dense_weight:g} on dense)"

PAPER = ((10.0, 5.0, False), (10.0, 10.0, False), (5.0, 10.0, False), (0.1, 5.0, True),
         (0.01, 5.0, True))  # fmt: skip
"""Table 1 of the paper: wC, wQ, and whether R is fixed to 1."""

LAMBDA = 0.75
"""Lambda of MMR: the smallest value that BERDS chose on its development data (Table 8)."""

OTHER_SPACES: Mapping[Space, str] = {
    "conclusion": "conclusions (as in the paper)",
    "dual": "conclusions and premises",
}
"""Texts from which topics are made, in addition to the default."""

RERANKED = 100
"""Number of documents that MMR reorders, as in BERDS."""

System = Callable[[Question, int], np.ndarray]
"""(question, k) -> document numbers, best first."""


@dataclass(frozen=True)
class Prepared:
    """A collection with its indexes.

    Attributes:
        collection: the collection.
        index: its index with vectors, quality, and clusters of whole texts (the default).
        spaces: the same with other clusters, by the name of the space.
        quality: predicted quality, by document number.
        clusters: number of clusters in `index`.
    """

    collection: Collection
    index: Index
    spaces: Mapping[str, Index]
    quality: np.ndarray
    clusters: int


def prepare(collection: Collection, work: Path, embedder: Embedder) -> Prepared:
    """Build the indexes of a collection, or reuse those of an earlier run."""
    folder = work / collection.name
    if not folder.exists():
        build_index(collection.records, folder)
    index = Index.open(folder)
    expected = [record.id for record in collection.records]
    if index.doc_ids(np.arange(len(index))) != expected:
        raise SystemExit(f"{folder} holds other documents: remove it")
    _quality(collection, index)
    embed_documents(folder, embedder)
    clustered = read_feature(folder, Index.open(folder).manifest, "clusters")
    if clustered is None or clustered.meta["space"] != DEFAULT_SPACE:
        cluster_documents(folder, embedder)
    spaces = {}
    for space in OTHER_SPACES:
        other = work / f"{collection.name}-{space}"
        if not other.exists():
            temporary = work / f"{collection.name}-copy"
            shutil.copytree(folder, temporary, dirs_exist_ok=True)
            cluster_documents(temporary, embedder, space=space)
            temporary.rename(other)
        spaces[space] = Index.open(other)
    index = Index.open(folder)
    quality = index.feature("quality", "").array("values")
    clusters = index.feature("clusters", "").array("centroids")
    return Prepared(collection, index, spaces, quality, len(clusters))


def _quality(collection: Collection, index: Index) -> None:
    if collection.predict is None:
        score_documents(index.path, QualityModel.load())
        return
    feature = read_feature(index.path, index.manifest, "quality")
    if feature is None or feature.meta.get("model") != collection.predicted_by:
        values = {"values": collection.predict().astype(np.float32)}
        meta = {"model": collection.predicted_by}
        put_feature(index.path, "quality", values, documents=len(index), meta=meta)


def systems(prepared: Prepared, embedder: Embedder) -> dict[str, System]:
    """Return all systems by name."""
    index = prepared.index

    def lexical(model: str) -> Callable[[Question, int], RankedList]:
        return lambda question, k: index.rank(question.text, model, k)

    def dense(question: Question, k: int) -> RankedList:
        return dense_rank(index, embed_question(index, embedder, question.text), k)

    def touche(wc: float, wq: float, flat: bool = False, on: Index = index) -> System:
        return lambda question, k: touche_rank(
            on, question.text, embedder, k, wc=wc, wq=wq, flat=flat
        )[0]

    def hybrid(scoring: Scoring) -> System:
        return lambda question, k: rank_documents(index, question.text, scoring, k, embedder)[0]

    def diversified(first: Callable[[Question, int], RankedList]) -> System:
        def run(question: Question, k: int) -> np.ndarray:
            numbers, scores = first(question, k)
            vectors = document_vectors(index).rows[numbers[:RERANKED]]
            order = mmr(of_best(scores[:RERANKED].tolist()), vectors, RERANKED, LAMBDA)
            return np.concatenate([numbers[order], numbers[RERANKED:]])

        return run

    by_name: dict[str, System] = {
        "BM25": lambda question, k: lexical("bm25")(question, k)[0],
        BASELINE: lambda question, k: lexical("dirichlet")(question, k)[0],
    }
    for wc, wq, flat in PAPER:
        name = f"Touché {wc:g}/{wq:g}" + (", R = 1" if flat else "")
        by_name[DEFAULT if name == DEFAULT.removesuffix(" (default)") else name] = touche(
            wc, wq, flat
        )
    return by_name | {
        "Touché 10/0 (topic only)": touche(10.0, 0.0),
        "Touché 0/5 (quality only)": touche(0.0, 5.0),
        **{
            f"Touché 10/5, topics of {what}": touche(10.0, 5.0, on=prepared.spaces[space])
            for space, what in OTHER_SPACES.items()
        },
        "dense (MiniLM)": lambda question, k: dense(question, k)[0],
        HYBRID: hybrid(Scoring("hybrid")),
        "hybrid, reciprocal ranks": hybrid(Scoring("hybrid", fusion="rrf")),
        "hybrid with BM25": hybrid(Scoring("hybrid", lexical="bm25")),
        "MMR of Dirichlet": diversified(lexical("dirichlet")),
        "MMR of dense": diversified(dense),
        "perspectives": _perspectives(index),
    }


def _perspectives(index: Index) -> System:
    """Search for each perspective in the index, or for the question if there are none."""
    source = IndexPerspectives(index)

    def run(question: Question, k: int) -> np.ndarray:
        perspectives = perspectives_of(question, source).perspectives
        if not perspectives:
            return index.rank(question.text, "dirichlet", k)[0]
        hits = search_perspectives(
            lambda text, depth: index.search(text, k=depth), question, perspectives, k
        )
        return index.numbers([hit.hit.doc_id for hit in hits])

    return run


def rankings(prepared: Prepared, embedder: Embedder, depth: int) -> dict[str, list[RunEntry]]:
    """Rank the documents of every question by every system; scores are ranks, without ties."""
    runs = {}
    for name, system in systems(prepared, embedder).items():
        runs[name] = [
            RunEntry(question.id, doc, rank, -float(rank), "pnyx")
            for question in prepared.collection.questions
            for rank, doc in enumerate(prepared.index.doc_ids(system(question, depth)), start=1)
        ]
    return runs


def within_pools(
    runs: Mapping[str, list[RunEntry]], collection: Collection
) -> dict[str, list[RunEntry]]:
    """Restrict each ranking to the documents judged for its topic."""
    judged = {(q.topic_id, q.doc_id) for q in collection.qrels["relevance"]}
    return {
        name: [e for e in entries if (e.topic_id, e.doc_id) in judged]
        for name, entries in runs.items()
    }
