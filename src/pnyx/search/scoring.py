"""How documents are scored: every `--model` of the search behind one door."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, cast

from pnyx.errors import InputError, shorten
from pnyx.models.embedding import PACKAGED
from pnyx.search.dense import dense_rank
from pnyx.search.engine import Engine
from pnyx.search.fusion import Normalisation, RankedList, fuse_rrf, fuse_weighted
from pnyx.search.index import Index
from pnyx.search.plan import AUTO, Scoring
from pnyx.search.touche import touche_rank
from pnyx.search.vectors import EMBED_FIRST, VECTORS, embed_question

if TYPE_CHECKING:
    from pnyx.models.embedding import Embedder

__all__ = ["Chosen", "Scoring", "choose_scoring", "depth_of_parts", "fuse_parts", "rank_documents"]

_FUSED_FROM: Final = 1000
"""Depth of the rankings that a hybrid fuses: a document that one of them leaves out counts as its
lowest, so they go well beyond what is asked for."""


# What an index can do ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Chosen:
    """What `auto` stands for; `note` says why vectors that the index has are not used."""

    scoring: Scoring
    note: str = ""


def choose_scoring(
    engine: Engine, scoring: Scoring | None = None, embedder: str = PACKAGED
) -> Chosen:
    """Return the best model for an engine: a hybrid, or its lexical part where it has no vectors.

    A model other than `auto` is returned as it is; `embedder` names what would embed the questions.
    Both were chosen on development topics (docs/decisions/hybrid.md).
    """
    asked = scoring or Scoring()
    if asked.model != AUTO:
        return Chosen(asked)
    lexical = replace(asked, model=asked.lexical)
    vectors = engine.feature_info(VECTORS)
    if vectors is None:
        return Chosen(lexical)
    if vectors.documents != len(engine):
        without = f"{len(engine) - vectors.documents} documents have no vector yet"
        return Chosen(lexical, f"{without}: {EMBED_FIRST}")
    if vectors.made_by != embedder:
        made_by = shorten(vectors.made_by, 60)
        return Chosen(lexical, f"they are by {made_by}: name it by --embedder")
    return Chosen(replace(asked, model="hybrid"))


# Ranking -----------------------------------------------------------------------------------------


def rank_documents(
    index: Index, text: str, scoring: Scoring, k: int, embedder: Embedder | None = None
) -> RankedList:
    """Rank the documents of an index for a question.

    Args:
        index: with what the model needs: clusters and quality for `touche`, vectors for `dense`.
        text: the question, plain text.
        scoring: the model; not `auto`, which `choose_scoring` replaces.
        k: how many documents at most, at least 1.
        embedder: that of the clusters or vectors; needed where `scoring.embeds`.

    Returns:
        Numbers int64 and scores float64, best first, ties in document order.

    Raises:
        InputError: a value out of range, another embedder than the index was made with, or an index
            without what the model needs (the line names the command that adds it).
        IndexFolderError: a part of the index is damaged.
        ModelError: the embedder cannot be used.
        ValueError: the model is `auto`.
    """
    if scoring.model == AUTO:
        raise ValueError("auto names no model before choose_scoring has chosen one")
    if parts := scoring.parts:
        rankings = [
            rank_documents(index, text, part, depth_of_parts(k), embedder) for part in parts
        ]
        return fuse_parts(scoring, rankings, k)
    if scoring.model == "dense":
        return _dense(index, text, k, embedder)
    if scoring.model == "touche":
        return touche_rank(index, text, embedder, k, flat=scoring.flat, **scoring.parameters)
    return index.rank(text, scoring.model, k, boosts=None, **scoring.parameters)


def depth_of_parts(k: int) -> int:
    """Return how many documents of each part are fused where `k` are wanted."""
    return max(k, _FUSED_FROM)


def fuse_parts(scoring: Scoring, rankings: Sequence[RankedList], k: int) -> RankedList:
    """Fuse the rankings of a model's parts, each as deep as `depth_of_parts` says."""
    if scoring.fusion == "rrf":
        return fuse_rrf(rankings, k=k)
    weights = [1.0 - scoring.dense_weight, scoring.dense_weight]
    return fuse_weighted(rankings, weights, k, cast("Normalisation", scoring.fusion))


def _dense(index: Index, text: str, k: int, embedder: Embedder | None) -> RankedList:
    if embedder is None:
        raise InputError("a dense ranking needs an embedder, to compare question and documents")
    if not text.split():  # the vector of nothing is near to some documents by chance
        import numpy as np

        return np.zeros(0, dtype=np.int64), np.zeros(0)
    return dense_rank(index, embed_question(index, embedder, text), k)
