"""Specs of indexes, searches and arguments. Light: nothing here loads numpy or a model."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from typing import Any, Final, Literal

from pnyx.core.errors import OptionError
from pnyx.core.spec import Spec, file_opt, opt
from pnyx.formats.text_types import Address, FileName, ModelName, Words
from pnyx.search.plan import CERTAINTY, FEATURES, PARAMETERS, Listwise, Scoring, SearchPlan

_SHOWN: Final = {name: f"{parameter.default:g}" for name, parameter in PARAMETERS.items()}
_LISTWISE: Final = ("--rerank by --llm", lambda spec: spec.rerank and not spec.judges_each)


class ScoringSpec(
    Spec,
    heading="Ranking",
    settings="mu k1 b wc wq flat lexical fusion dense_weight feedback embedder",
):
    """What ranks, with its parameters; see `pnyx.search.ranking.scores.Scoring`."""

    model: Literal["auto", "dirichlet", "bm25", "touche", "dense", "hybrid"] = opt("auto")
    mu: float | None = opt(None, "Dirichlet prior, in tokens.", default_text=_SHOWN["mu"])
    k1: float | None = opt(None, "BM25 saturation.", default_text=_SHOWN["k1"])
    b: float | None = opt(None, "BM25 length normalisation.", default_text=_SHOWN["b"])
    wc: float | None = opt(None, "Touché: weight of the topic.", default_text=_SHOWN["wc"])
    wq: float | None = opt(None, "Touché: weight of quality.", default_text=_SHOWN["wq"])
    flat: bool = opt(False, "Touché: rank by topic and quality only (R fixed to 1).")
    lexical: Literal["dirichlet", "bm25", "touche"] | None = opt(
        None, "Lexical model in hybrid.", default_text=Scoring().lexical, needs="model=hybrid"
    )
    fusion: Literal["minmax", "zscore", "rrf"] | None = opt(
        None,
        "How hybrid fuses: by scores or ranks.",
        default_text=Scoring().fusion,
        needs="model=hybrid",
    )
    dense_weight: float | None = opt(
        None,
        "Weight of the dense scores, with fusion minmax or zscore.",
        within="[0, 1]",
        default_text=f"{Scoring().dense_weight:g}",
        needs=(
            "--model hybrid and fusion=minmax or zscore",
            lambda spec: spec.model == "hybrid" and spec.fusion != "rrf",
        ),
    )
    feedback: int | None = opt(
        None,
        "Move the question's vector towards this many of the best documents; 0 for none.",
        low=0,
        default_text=f"{Scoring().feedback}",
        needs=("--model hybrid", lambda spec: spec.model == "hybrid" or not spec.feedback),
    )
    embedder: ModelName | None = opt(
        None,
        "Embedder of the index: minilm-int8 (packaged) or http://HOST:PORT/v1#MODEL.",
        metavar="SPEC",
        default_text="minilm-int8",
    )


class StageSpec(
    Spec,
    heading="After ranking",
    rare="pointwise depth certainty diversify perspectives topic",
    settings="window step lam count",
):
    """The stages after ranking; see `pnyx.search.pipeline.SearchPlan`."""

    rerank: bool = opt(
        False, "Rerank: listwise with --llm, otherwise pointwise with the packaged judge."
    )
    pointwise: bool = opt(False, "With --rerank and --llm: rerank pointwise.", needs="rerank")
    threshold: float | None = opt(
        None,
        "Judge the best --depth documents, and keep those relevant with at least this probability.",
        metavar="P",
    )
    window: int | None = opt(
        None, "Documents per request.", low=2, default_text=f"{Listwise().window}", needs=_LISTWISE
    )
    step: int | None = opt(
        None, "Stride of the window.", low=1, default_text=f"{Listwise().step}", needs=_LISTWISE
    )
    diversify: Literal["mmr", "perspectives"] | None = opt(
        None, "Show every side: maximal marginal relevance, or a search for each perspective."
    )
    lam: float | None = opt(
        None,
        "mmr: weight of relevance, 0 to 1.",
        "--lambda",
        default_text=f"{SearchPlan().lam:g}",
        needs="diversify=mmr",
    )
    perspectives: FileName | None = file_opt(
        None, default_text="--llm, else the index", needs="diversify=perspectives"
    )
    count: int | None = opt(
        None,
        "Maximum perspectives.",
        within="[1, 50]",
        default_text="8; all of the file",
        needs="diversify=perspectives",
    )
    depth: int | None = opt(
        None,
        low=1,
        default_text=f"{SearchPlan().depth}",
        needs=(
            "--rerank, --threshold, --diversify or --stance",
            lambda spec: spec.judged or spec.diversify or spec.stance,
        ),
    )
    stance: Literal["pro", "con"] | None = opt(None)
    certainty: float | None = opt(None, default_text=f"{CERTAINTY:g}", needs="stance")
    topic: tuple[Words, ...] = opt(
        (),
        "Topic of the corpus whose labels count, whatever its words; not:TOPIC if its pro is "
        "this question's con.",
        metavar="TOPIC",
        default_text="topics that ask the same",
    )

    @property
    def judged(self) -> bool:
        """Whether documents are reranked or filtered by a threshold."""
        return self.rerank or self.threshold is not None

    @property
    def judges_each(self) -> bool:
        """Whether each document is judged individually even if a language model is named."""
        return self.pointwise or self.threshold is not None

    @property
    def asks_model(self) -> bool:
        """Whether the search itself asks a language model."""
        views = self.diversify == "perspectives" and self.perspectives is None
        return bool(self.judged or self.stance or views)


class SearchSpec(StageSpec, ScoringSpec):
    """A whole search."""


class ClusterSpec(Spec, heading="Features", rare="shards replicas"):
    """How an index is distributed in an OpenSearch cluster."""

    shards: int | None = opt(None, "Parts of a new index in OpenSearch.", low=1, default_text="1")
    replicas: int | None = opt(
        None, "Further copies of each part, each on another node.", low=0, default_text="0"
    )


class FeatureSpec(
    Spec,
    heading="Features",
    rare="assign ann quality_model cluster_count space seed embedder engine",
):
    """The features that an index gets in addition to words: quality, topics, vectors."""

    lexical: bool = opt(False, "", "--words-only")
    quality: bool = opt(
        False,
        "Predict how good an argument each document is (docs/explain/model-cards/quality.md). A "
        "new index always has it.",
    )
    clusters: bool = opt(
        False, "Cluster topics by k-means over embedded texts, replacing earlier clusters."
    )
    assign: bool = opt(False, "Assign added documents to the nearest existing topic.")
    vectors: bool = opt(
        False, "Embed documents, for hybrid and dense search; a new index has them anyway."
    )
    ann: bool = opt(False, "Build a graph of the vectors, for a million documents or more.")
    quality_model: FileName | None = file_opt(
        None, "Your own model.", metavar="FOLDER", default_text="packaged", needs="quality"
    )
    cluster_count: int | None = opt(
        None,
        "Number of --clusters.",
        metavar="K",
        low=1,
        default_text="300, fewer on small corpora",
        needs="clusters",
    )
    space: Literal["text", "conclusion", "dual"] | None = opt(
        None,
        "With --clusters: whole texts (free after --vectors), conclusions only (faster than "
        "embedding texts), or conclusions and premises.",
        default_text="text",
        needs="clusters",
    )
    seed: int | None = opt(None, within="[0, 4294967295]", default_text="0", needs="clusters")
    embedder: ModelName | None = opt(
        None,
        "Embedder: minilm-int8 (packaged) or http://HOST:PORT/v1#MODEL.",
        metavar="SPEC",
        default_text="minilm-int8",
        needs=("--clusters, --assign or --vectors", lambda spec: spec.embeds),
    )
    engine: Address | None = opt(
        None,
        "Where the packaged encoder and quality model run: ray (each core of this machine), or "
        "a cluster at ray://HOST:10001 or HOST:PORT.",
        metavar="ENGINE",
        needs=(
            "vectors of the packaged embedder, or quality by the packaged model",
            lambda spec: (
                not spec.embedder if spec.embeds else spec.quality and not spec.quality_model
            ),
        ),
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

    def of_new_index(self) -> FeatureSpec:
        """Return these options with the defaults of a new index."""
        every_feature: dict[str, Any] = dict.fromkeys(FEATURES, True)
        return self if self.lexical else replace(self, **every_feature)

    def of_grown_index(self, existing: Container[str]) -> FeatureSpec:
        """Return these options with the features of an index, for added documents."""
        if self.lexical:
            return self
        fields: dict[str, Any] = {name: True for name in FEATURES if name in existing}
        if "vectors_ann" in existing:
            fields["ann"] = True
        if "clusters" in existing and not self.clusters:
            fields["assign"] = True
        return replace(self, **fields)

    def check(self) -> None:
        """Reject options that exclude each other or have no effect."""
        self.check_needs()
        if self.clusters and self.assign:
            raise OptionError("--clusters and --assign exclude each other")
