"""How documents are scored: every `--model` of the search behind one door.

rank_documents(index, "Should voting be compulsory?", Scoring("touche"), 10, embedder)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, cast

from pnyx.errors import InputError, shorten
from pnyx.models.embedding import PACKAGED
from pnyx.search.dense import dense_rank
from pnyx.search.features import read_feature
from pnyx.search.fusion import Normalisation, RankedList, fuse_rrf, fuse_weighted
from pnyx.search.index import Index
from pnyx.search.models import MODELS
from pnyx.search.touche import DEFAULT_WC, touche_rank
from pnyx.search.vectors import EMBED_FIRST, VECTORS, embed_question

if TYPE_CHECKING:
    from pnyx.models.embedding import Embedder

__all__ = [
    "AUTO",
    "DEFAULT_DENSE_WEIGHT",
    "FUSIONS",
    "LEXICAL",
    "SCORINGS",
    "Chosen",
    "Scoring",
    "choose_scoring",
    "depth_of_parts",
    "fuse_parts",
    "parameters_of",
    "rank_documents",
]

AUTO: Final = "auto"
"""The model that stands for the best that an index can do; see `choose_scoring`."""

LEXICAL: Final = (*MODELS, "touche")
"""Models that rank by the words of the question."""

SCORINGS: Final = (AUTO, *LEXICAL, "dense", "hybrid")
"""Every model."""

FUSIONS: Final = ("minmax", "zscore", "rrf")
"""How a hybrid makes two rankings one."""

DEFAULT_DENSE_WEIGHT: Final = 0.6
"""Chosen, with partner and fusion, on development topics of six sets (docs/decisions/hybrid.md)."""

_FUSED_FROM: Final = 1000
"""Depth of the rankings that a hybrid fuses: a document that one of them leaves out counts as its
lowest, so they go well beyond what is asked for."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """A model with its parameters.

    Attributes:
        model: one of `SCORINGS`. `touche` is Dirichlet boosted by topic and quality, `dense` the
            cosine of vectors, `hybrid` both kinds fused, `auto` a hybrid or, where an index has no
            vectors, its lexical part (`choose_scoring`).
        parameters: the model's own: `mu` (Dirichlet, Touché), `k1` and `b` (BM25), `wc` and `wq`
            (Touché); those of `lexical` in a hybrid.
        flat: Touché with R fixed to 1.
        lexical: what a hybrid fuses with the dense ranking, one of `LEXICAL`.
        fusion: of `FUSIONS`: scores made comparable, or reciprocal ranks.
        dense_weight: of the dense scores in `minmax` and `zscore`, 0 to 1; the others have the
            rest.

    Raises:
        InputError: none of these, or a parameter that the model does not have. What a parameter may
            be is checked when something is ranked.
    """

    model: str = AUTO
    parameters: Mapping[str, float] = field(default_factory=dict)
    flat: bool = False
    lexical: str = "dirichlet"
    fusion: str = "minmax"
    dense_weight: float = DEFAULT_DENSE_WEIGHT

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
        known = parameters_of(self.by_words)
        for name in self.parameters:
            if name not in known:
                found = f"model {self.model} has no parameter {shorten(name, 40)!r}"
                raise InputError(f"{found}, expected: {', '.join(known) or 'none'}")
        if self.flat and self.by_words != "touche":
            raise InputError(f"model {self.model} has no relevance score to fix at 1")

    @property
    def by_words(self) -> str:
        """The lexical model that takes part; empty if none does."""
        fused = self.lexical
        return {AUTO: fused, "dense": "", "hybrid": fused}.get(self.model, self.model)

    @property
    def embeds(self) -> bool:
        """Whether the question is embedded; of `auto`, whether it may be."""
        topics = self.by_words == "touche" and self.parameters.get("wc", DEFAULT_WC) != 0.0
        return topics or self.model in (AUTO, "dense", "hybrid")

    @property
    def parts(self) -> tuple[Scoring, ...]:
        """The models whose rankings are fused, the dense one last; none but of a hybrid."""
        if self.model != "hybrid":
            return ()
        return Scoring(self.lexical, self.parameters, flat=self.flat), Scoring("dense")

    def __str__(self) -> str:
        parts = [self.model]
        if self.model == "hybrid":
            how = self.fusion
            if how != "rrf":
                how += f", weight {self.dense_weight:g} on dense"
            parts = [f"hybrid of {self.lexical} and dense ({how})"]
        if self.flat:
            parts.append("R fixed to 1")
        parts += [f"{name} {value:g}" for name, value in self.parameters.items()]
        return ", ".join(parts)


def parameters_of(name: str) -> tuple[str, ...]:
    """Return the names of a lexical model's parameters; none for other models."""
    if name == "touche":
        return ("mu", "wc", "wq")
    return tuple(f.name for f in dataclasses.fields(MODELS[name])) if name in MODELS else ()


# What an index can do ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Chosen:
    """What `auto` stands for.

    Attributes:
        scoring: the model.
        note: why vectors that the index has are not used; empty if they are, or there are none.
    """

    scoring: Scoring
    note: str = ""


def choose_scoring(
    index: Index, scoring: Scoring | None = None, embedder: str = PACKAGED
) -> Chosen:
    """Return the best model for an index: a hybrid, or its lexical part where it has no vectors.

    Both were chosen on development topics and are reported on others (docs/decisions/hybrid.md).

    Args:
        index: what is to be searched.
        scoring: a model; other than `auto` it is returned as it is.
        embedder: name of what would embed the questions.
    """
    asked = scoring or Scoring()
    if asked.model != AUTO:
        return Chosen(asked)
    lexical = replace(asked, model=asked.lexical)
    feature = read_feature(index.path, index.manifest, VECTORS)
    if feature is None:
        return Chosen(lexical)
    made_by = str(feature.meta.get("embedder"))
    if feature.documents != len(index):
        without = f"{len(index) - feature.documents} documents have no vector yet"
        return Chosen(lexical, f"{without}: {EMBED_FIRST}")
    if made_by != embedder:
        return Chosen(lexical, f"they are by {shorten(made_by, 60)}: name it by --embedder")
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
        InputError: a value out of range, an index without what the model needs (the line names
            the command that adds it), or another embedder than the index was made with.
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
    """Fuse the rankings of a model's parts.

    Args:
        scoring: a model with `parts`.
        rankings: one for each part, as deep as `depth_of_parts` says.
        k: how many documents at most, at least 1.
    """
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
