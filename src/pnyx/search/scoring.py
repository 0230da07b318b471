"""How documents are scored: every `--model` of the search behind one door.

rank_documents(index, "Should voting be compulsory?", Scoring("touche"), 10, embedder)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from pnyx.errors import InputError, shorten
from pnyx.search.dense import dense_rank
from pnyx.search.fusion import Normalisation, RankedList, fuse_rrf, fuse_weighted
from pnyx.search.index import DEFAULT_MODEL, Index
from pnyx.search.models import MODELS
from pnyx.search.touche import DEFAULT_WC, touche_rank
from pnyx.search.vectors import embed_question

if TYPE_CHECKING:
    from pnyx.models.embedding import Embedder

__all__ = ["FUSIONS", "LEXICAL", "SCORINGS", "Scoring", "rank_documents"]

LEXICAL: Final = (*MODELS, "touche")
"""Models that rank by the words of the question."""

SCORINGS: Final = (*LEXICAL, "dense", "hybrid")
"""Every model."""

FUSIONS: Final = ("rrf", "minmax", "zscore")
"""How a hybrid makes two rankings one."""

_FUSED_FROM: Final = 1000
"""Depth of the rankings that a hybrid fuses: a document that one of them leaves out counts as its
lowest, so they go well beyond what is asked for."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """A model with its parameters.

    Attributes:
        model: one of `SCORINGS`. `touche` is Dirichlet boosted by topic and quality, `dense` the
            cosine of vectors, `hybrid` both kinds fused.
        parameters: the model's own: `mu` (Dirichlet, Touché), `k1` and `b` (BM25), `wc` and `wq`
            (Touché); those of `lexical` in a hybrid.
        flat: Touché with R fixed to 1.
        lexical: what a hybrid fuses with the dense ranking, one of `LEXICAL`.
        fusion: of `FUSIONS`: reciprocal ranks, or scores made comparable.
        dense_weight: of the dense scores in `minmax` and `zscore`, 0 to 1; the others have the
            rest.

    Raises:
        InputError: none of these, or a parameter that the model does not have. What a parameter may
            be is checked when something is ranked.
    """

    model: str = DEFAULT_MODEL
    parameters: Mapping[str, float] = field(default_factory=dict)
    flat: bool = False
    lexical: str = "dirichlet"
    fusion: str = "rrf"
    dense_weight: float = 0.5

    def __post_init__(self) -> None:
        for what, name, known in (
            ("model", self.model, SCORINGS),
            ("lexical model", self.lexical, LEXICAL),
            ("fusion", self.fusion, FUSIONS),
        ):
            if name not in known:
                shown = shorten(name, 40)
                raise InputError(f"unknown {what} {shown!r}, expected one of: {', '.join(known)}")
        if not 0.0 <= self.dense_weight <= 1.0:
            raise InputError(
                f"the weight of the dense ranking is {self.dense_weight:g}, "
                "expected a number from 0 to 1"
            )
        self._check_parameters()

    def _check_parameters(self) -> None:
        known = _parameters(self.by_words) if self.by_words else ()
        for name in self.parameters:
            if name not in known:
                found = f"model {self.model} has no parameter {shorten(name, 40)!r}"
                raise InputError(f"{found}, expected: {', '.join(known) or 'none'}")
        if self.flat and self.by_words != "touche":
            raise InputError(f"model {self.model} has no relevance score to fix at 1")

    @property
    def by_words(self) -> str:
        """The lexical model that takes part; empty if none does."""
        return {"dense": "", "hybrid": self.lexical}.get(self.model, self.model)

    @property
    def embeds(self) -> bool:
        """Whether the question is embedded."""
        topics = self.by_words == "touche" and self.parameters.get("wc", DEFAULT_WC) != 0.0
        return topics or self.model in ("dense", "hybrid")

    def __str__(self) -> str:
        parts = [self.model]
        if self.model == "hybrid":
            parts = [f"hybrid of {self.lexical} and dense ({self.fusion})"]
        if self.flat:
            parts.append("R fixed to 1")
        parts += [f"{name} {value:g}" for name, value in self.parameters.items()]
        return ", ".join(parts)


def _parameters(name: str) -> tuple[str, ...]:
    if name == "touche":
        return ("mu", "wc", "wq")
    return tuple(f.name for f in dataclasses.fields(MODELS[name]))


def rank_documents(
    index: Index, text: str, scoring: Scoring, k: int, embedder: Embedder | None = None
) -> RankedList:
    """Rank the documents of an index for a question.

    Args:
        index: with what the model needs: clusters and quality for `touche`, vectors for `dense`.
        text: the question, plain text.
        scoring: the model.
        k: how many documents at most, at least 1.
        embedder: that of the clusters or vectors; needed where `scoring.embeds`.

    Returns:
        Numbers int64 and scores float64, best first, ties in document order.

    Raises:
        InputError: a value out of range, an index without what the model needs (the line names
            the command that adds it), or another embedder than the index was made with.
        IndexFolderError: a part of the index is damaged.
        ModelError: the embedder cannot be used.
    """
    if scoring.model == "dense":
        return _dense(index, text, k, embedder)
    if scoring.model != "hybrid":
        return _lexical(index, text, scoring, k, embedder)
    deep = max(k, _FUSED_FROM)
    both = [
        _lexical(index, text, scoring, deep, embedder),
        _dense(index, text, deep, embedder),
    ]
    if scoring.fusion == "rrf":
        return fuse_rrf(both, k=k)
    weights = [1.0 - scoring.dense_weight, scoring.dense_weight]
    return fuse_weighted(both, weights, k, cast("Normalisation", scoring.fusion))


def _lexical(
    index: Index, text: str, scoring: Scoring, k: int, embedder: Embedder | None
) -> RankedList:
    if scoring.by_words != "touche":
        return index.rank(text, scoring.by_words, k, boosts=None, **scoring.parameters)
    return touche_rank(index, text, embedder, k, flat=scoring.flat, **scoring.parameters)


def _dense(index: Index, text: str, k: int, embedder: Embedder | None) -> RankedList:
    if embedder is None:
        raise InputError("a dense ranking needs an embedder, to compare question and documents")
    if not text.split():  # the vector of nothing is near to some documents by chance
        import numpy as np

        return np.zeros(0, dtype=np.int64), np.zeros(0)
    return dense_rank(index, embed_question(index, embedder, text), k)
