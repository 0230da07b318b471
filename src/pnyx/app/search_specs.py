"""Specs of indexes, searches and arguments. Light: nothing here loads numpy or a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from pnyx.app.spec import Spec, opt
from pnyx.errors import OptionError
from pnyx.search.plan import CERTAINTY, PARAMETERS, Listwise, Scoring, SearchPlan
from pnyx.write.plan import CONTEXT, POINTS, Plan

__all__ = ["ArgueSpec", "FeatureSpec", "ScoringSpec", "SearchSpec", "StageSpec"]

_SHOWN: Final = {name: f"{one.default:g}" for name, one in PARAMETERS.items()}
_HYBRID: Final = ("--model hybrid", lambda spec: spec.model == "hybrid")
_MMR: Final = ("--diversify mmr", lambda spec: spec.diversify == "mmr")
_VIEWS: Final = ("--diversify perspectives", lambda spec: spec.diversify == "perspectives")
_LISTWISE: Final = ("--rerank by --llm", lambda spec: spec.rerank and not spec.judges_each)


@dataclass(frozen=True, kw_only=True)
class ScoringSpec(Spec):
    """What ranks, with its parameters; see `pnyx.search.scoring.Scoring`."""

    heading: ClassVar[str] = "Ranking"

    model: Literal["auto", "dirichlet", "bm25", "touche", "dense", "hybrid"] = opt(
        "auto",
        "Ranking model. touche needs an index with --clusters --quality, dense and hybrid one with "
        "--vectors; auto is hybrid where the index has vectors, else dirichlet.",
    )
    mu: float | None = opt(None, "Dirichlet prior, in tokens.", shown=_SHOWN["mu"], rare=True)
    k1: float | None = opt(None, "BM25 saturation.", shown=_SHOWN["k1"], rare=True)
    b: float | None = opt(None, "BM25 length normalisation.", shown=_SHOWN["b"], rare=True)
    wc: float | None = opt(None, "Touché: weight of the topic.", shown=_SHOWN["wc"], rare=True)
    wq: float | None = opt(None, "Touché: weight of quality.", shown=_SHOWN["wq"], rare=True)
    flat: bool = opt(False, "Touché: rank by topic and quality only (R fixed to 1).", rare=True)
    lexical: Literal["dirichlet", "bm25", "touche"] | None = opt(
        None,
        "Lexical model that hybrid fuses with the dense ranking.",
        shown=Scoring().lexical,
        needs=_HYBRID,
        rare=True,
    )
    fusion: Literal["minmax", "zscore", "rrf"] | None = opt(
        None,
        "How hybrid fuses: normalised scores or reciprocal ranks.",
        shown=Scoring().fusion,
        needs=_HYBRID,
        rare=True,
    )
    dense_weight: float | None = opt(
        None,
        "Weight of the dense scores, with --fusion minmax or zscore.",
        low=0,
        high=1,
        shown=f"{Scoring().dense_weight:g}",
        needs=(
            "--model hybrid and --fusion minmax or zscore",
            lambda spec: spec.model == "hybrid" and spec.fusion != "rrf",
        ),
        rare=True,
    )
    embedder: str | None = opt(
        None,
        "Embedder of the index: minilm-int8 (packaged) or http://HOST:PORT/v1#MODEL.",
        metavar="SPEC",
        shown="minilm-int8",
        rare=True,
    )


@dataclass(frozen=True, kw_only=True)
class StageSpec(Spec):
    """What is done after ranking; see `pnyx.search.pipeline.SearchPlan`."""

    heading: ClassVar[str] = "After ranking"

    rerank: bool = opt(
        False, "Rerank: listwise by --llm; without it by the packaged judge, one by one."
    )
    pointwise: bool = opt(
        False,
        "With --rerank and --llm: judge documents one by one.",
        needs=("--rerank", lambda spec: spec.rerank),
        rare=True,
    )
    threshold: float | None = opt(
        None,
        "Keep documents that are relevant with at least this probability, most probable first, in "
        "place of a number of documents: each of the best --depth is judged.",
        metavar="P",
    )
    window: int | None = opt(
        None,
        "Documents that the model orders at once.",
        low=2,
        shown=f"{Listwise().window}",
        needs=_LISTWISE,
        rare=True,
    )
    step: int | None = opt(
        None, "Stride of the window.", low=1, shown=f"{Listwise().step}", needs=_LISTWISE, rare=True
    )
    diversify: Literal["mmr", "perspectives"] | None = opt(
        None, "Show every side: maximal marginal relevance, or a search for each perspective."
    )
    lam: float | None = opt(
        None,
        "mmr: relevance against novelty, 0 to 1.",
        "--lambda",
        shown=f"{SearchPlan().lam:g}",
        needs=_MMR,
        rare=True,
    )
    perspectives: str | None = opt(
        None,
        "File of perspectives.",
        metavar="FILE",
        raw=True,
        shown="from --llm, else from the index",
        needs=_VIEWS,
    )
    count: int | None = opt(
        None,
        "Perspectives, at most.",
        low=1,
        high=50,
        shown="8; all of the file",
        needs=_VIEWS,
        rare=True,
    )
    depth: int | None = opt(
        None,
        "How many of the best documents are reranked, filtered by --threshold, "
        "diversified or assigned to a side.",
        low=1,
        shown=f"{SearchPlan().depth}",
        needs=(
            "--rerank, --threshold, --diversify or --stance",
            lambda spec: spec.judged or spec.diversify or spec.stance,
        ),
        rare=True,
    )
    stance: Literal["pro", "con"] | None = opt(
        None, "Put the documents on this side of the question first."
    )
    certainty: float | None = opt(
        None,
        "Least probability with which a judge tells a side.",
        shown=f"{CERTAINTY:g}",
        needs=("--stance", lambda spec: spec.stance is not None),
        rare=True,
    )

    @property
    def judged(self) -> bool:
        """Whether documents are reranked or held to a threshold."""
        return self.rerank or self.threshold is not None

    @property
    def judges_each(self) -> bool:
        """Whether each document is judged by itself even where a language model is named."""
        return self.pointwise or self.threshold is not None

    @property
    def asks_model(self) -> bool:
        """Whether the search itself has anything to ask a language model."""
        views = self.diversify == "perspectives" and self.perspectives is None
        return bool(self.judged or self.stance or views)


@dataclass(frozen=True, kw_only=True)
class SearchSpec(StageSpec, ScoringSpec):
    """A whole search."""


@dataclass(frozen=True, kw_only=True)
class ArgueSpec(Spec):
    """How both sides are argued; see `pnyx.write.argue.Plan`."""

    heading: ClassVar[str] = "Argument"

    stance: Literal["pro", "con", "both"] = opt("both", "Which side to argue.")
    points: int = opt(POINTS, "Conclusions to write for each side.", low=1)
    retrieve: int = opt(
        Plan().retrieve, "Documents to retrieve and assign to a side.", "--retrieve", "-k", low=1
    )
    per_side: int = opt(Plan().per_side, "Documents handed to the writer for each side.", low=1)
    certainty: float = opt(
        CERTAINTY,
        "Minimum probability for assigning a document to a side.",
        low=0.5,
        high=1.0,
        rare=True,
    )
    definition: str = opt("", "What makes a passage relevant, in words.")
    writer: Literal["extractive", "llm"] | None = opt(
        None, "Who writes.", shown="llm with --llm, else extractive", rare=True
    )
    context: int = opt(
        CONTEXT,
        "Tokens of documents shown to the language model for each side.",
        low=100,
        rare=True,
    )
    examples: str | None = opt(
        None,
        "JSONL of worked examples shown to the language model (few-shot).",
        metavar="FILE",
        raw=True,
        rare=True,
    )


@dataclass(frozen=True, kw_only=True)
class FeatureSpec(Spec):
    """What an index is to know of each document beside its words: quality, topics, vectors."""

    heading: ClassVar[str] = "Features"

    quality: bool = opt(
        False, "Predict how good an argument each document is (docs/model-cards/quality.md)."
    )
    clusters: bool = opt(
        False, "Find the topics: k-means over embedded texts. Replaces former topics."
    )
    assign: bool = opt(
        False, "Assign documents that were added to the nearest of the existing topics."
    )
    vectors: bool = opt(
        False, "Embed every document that is not embedded yet, for dense and hybrid search."
    )
    ann: bool = opt(False, "Build a graph of the vectors, for a million documents or more.")
    quality_model: str | None = opt(
        None,
        "With --quality: a model of pnyx quality train.",
        metavar="FOLDER",
        raw=True,
        shown="the packaged one",
        needs=("--quality", lambda spec: spec.quality),
        rare=True,
    )
    cluster_count: int | None = opt(
        None,
        "With --clusters: how many.",
        metavar="K",
        low=1,
        shown="300, fewer on small corpora",
        needs=("--clusters", lambda spec: spec.clusters),
        rare=True,
    )
    space: Literal["text", "conclusion", "dual"] | None = opt(
        None,
        "With --clusters: whole texts, at no cost after --vectors; conclusions alone, quicker than "
        "embedding texts; or premises beside conclusions.",
        shown="text",
        needs=("--clusters", lambda spec: spec.clusters),
        rare=True,
    )
    seed: int | None = opt(
        None,
        "With --clusters: random seed.",
        low=0,
        high=2**32 - 1,
        shown="0",
        needs=("--clusters", lambda spec: spec.clusters),
        rare=True,
    )
    embedder: str | None = opt(
        None,
        "For topics and vectors: minilm-int8 (packaged) or http://HOST:PORT/v1#MODEL.",
        metavar="SPEC",
        shown="minilm-int8",
        needs=("--clusters, --assign or --vectors", lambda spec: spec.embeds),
        rare=True,
    )

    @property
    def embeds(self) -> bool:
        """Whether texts are embedded."""
        return self.clusters or self.assign or self.vectors

    @property
    def named(self) -> tuple[str, ...]:
        """The features to make, in the order in which they are made: topics may use the vectors."""
        names = ("quality", "vectors", "ann", "clusters", "assign")
        return tuple(name for name in names if getattr(self, name))

    def check(self) -> None:
        """Refuse choices that exclude each other or would change nothing.

        Raises:
            OptionError: there are such.
        """
        self.check_needs()
        if self.clusters and self.assign:
            raise OptionError("--clusters and --assign exclude each other")
