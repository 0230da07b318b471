"""The public names of this room, each with its home."""

from .build import add_to_index, build_index
from .document_quality import QualityModel, score_documents
from .engine import Hit
from .explain import Explanation, explain
from .features.clusters import (
    Clusters,
    Facet,
    cluster_documents,
    cluster_new_documents,
    clusters_of,
    facets,
)
from .features.vectors import embed_documents, embed_question
from .hits import SearchHits
from .index import Index
from .measures.correlation import RetrieverCorrelation, measure_correlation
from .measures.retrieval import Retrieval, measure_retrieval
from .open_engine import verify_index
from .parameter_search import Tuned, Tuning, tune
from .perspectives import FilePerspectives, LlmPerspectives, perspectives_of, search_perspectives
from .perspectives_index import IndexPerspectives
from .pipeline import Searcher
from .plan import Listwise, Scoring, SearchPlan
from .quality_models import read_quality_model
from .ranking.dense import build_ann, dense_rank
from .ranking.diversify import mmr, round_robin
from .ranking.fusion import fuse_rrf, fuse_weighted
from .ranking.rerank import rerank_many, rerank_pointwise
from .ranking.scores import rank_documents, touche_rank, touche_scores

__all__ = [
    "Clusters",
    "Explanation",
    "Facet",
    "FilePerspectives",
    "Hit",
    "Index",
    "IndexPerspectives",
    "Listwise",
    "LlmPerspectives",
    "QualityModel",
    "Retrieval",
    "RetrieverCorrelation",
    "Scoring",
    "SearchHits",
    "SearchPlan",
    "Searcher",
    "Tuned",
    "Tuning",
    "add_to_index",
    "build_ann",
    "build_index",
    "cluster_documents",
    "cluster_new_documents",
    "clusters_of",
    "dense_rank",
    "embed_documents",
    "embed_question",
    "explain",
    "facets",
    "fuse_rrf",
    "fuse_weighted",
    "measure_correlation",
    "measure_retrieval",
    "mmr",
    "perspectives_of",
    "rank_documents",
    "read_quality_model",
    "rerank_many",
    "rerank_pointwise",
    "round_robin",
    "score_documents",
    "search_perspectives",
    "touche_rank",
    "touche_scores",
    "tune",
    "verify_index",
]
