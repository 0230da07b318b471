"""Pnyx: find all sides of a contentious question, argue each with evidence, measure the trust.

The names below are the public interface; each is imported when it is first used, so that
`import pnyx` stays light.

    import pnyx

    pnyx.build_index(pnyx.read_evidence("arguments.jsonl"), "my.index")
    case = pnyx.argue(
        pnyx.Index.open("my.index"),
        pnyx.Question("q1", "Should voting be compulsory?"),
        judge=pnyx.EncoderJudge(),
        writer=pnyx.ExtractiveWriter(),
    )
    print(pnyx.render_markdown(case))
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pnyx._version import __version__

if TYPE_CHECKING:
    from pnyx.annotate.applying import Applied, apply_judge
    from pnyx.annotate.definitions import DraftedDefinition, draft_definitions
    from pnyx.annotate.distil import Distillation, Distilled, distil
    from pnyx.annotate.grades import write_graded_qrels
    from pnyx.annotate.labelled import LabelledPair, read_labelled
    from pnyx.annotate.pairs import PairSource, pairs_of_corpus, pairs_of_items, pairs_of_run
    from pnyx.annotate.review_files import read_review, write_review
    from pnyx.annotate.reviewing import Disagreement, draw_disagreements
    from pnyx.annotate.sampling import PairSample, SampledPair, sample_pairs
    from pnyx.annotate.students.cross import CrossTrainer
    from pnyx.annotate.students.late import LateTrainer
    from pnyx.annotate.students.lexical import LexicalTrainer
    from pnyx.annotate.students.logistic import LogisticTrainer
    from pnyx.annotate.students.lora import LoraTrainer
    from pnyx.corpora import (
        read_evidence,
        read_qrels,
        read_questions,
        read_responses,
        read_run,
        write_qrels,
        write_responses,
        write_run,
    )
    from pnyx.corpora.bundled import load_example
    from pnyx.errors import IndexFolderError, InputError, MissingExtra, ModelError, PnyxError
    from pnyx.judge.answers import Judged, Provenance, Unscored
    from pnyx.judge.asking import Asking
    from pnyx.judge.base import Judge, ask
    from pnyx.judge.cascade import Cascade, cascade_from
    from pnyx.judge.combine import combine, self_agreement
    from pnyx.judge.completions import StoredModel
    from pnyx.judge.encoder import EncoderJudge
    from pnyx.judge.labels import HumanLabels
    from pnyx.judge.llm import LlmJudge
    from pnyx.judge.lookup import Lookup
    from pnyx.judge.panel import Panel, Repeats
    from pnyx.judge.questions import Preference, Ranking, Rating, Support
    from pnyx.judge.recalibration import (
        Recalibrated,
        Recalibration,
        read_calibration,
        write_calibration,
    )
    from pnyx.judge.store import Store
    from pnyx.judge.students.files import Student, read_student
    from pnyx.judge.students.judge import StudentJudge, open_student
    from pnyx.judge.sure import Sure, choose_thresholds
    from pnyx.measure.agreement import Agreement, measure_agreement
    from pnyx.measure.amount import Amount, measure_amount
    from pnyx.measure.annotations import (
        Annotation,
        read_annotations,
        truth_of_labels,
        truth_of_qrels,
    )
    from pnyx.measure.base import Measured
    from pnyx.measure.calibration_error import ReliabilityBin, reliability
    from pnyx.measure.correlation import kendall_tau_b
    from pnyx.measure.gold import join_labels
    from pnyx.measure.ranked import ndcg, ranking_average_precision
    from pnyx.measure.retrieval import Retrieval, measure_retrieval
    from pnyx.measure.retrievers import Retrievers, measure_retrievers
    from pnyx.measure.reviewed import Reviewed, measure_review
    from pnyx.measure.sentences import citation_precision, sentence_precision
    from pnyx.measure.thresholds import Thresholds, measure_thresholds
    from pnyx.models.chat import ChatEndpoint, endpoint_from
    from pnyx.models.embedding import Embedder, embedder_from
    from pnyx.models.encoder import Encoder, load_encoder
    from pnyx.models.ledger import Ledger
    from pnyx.models.local import LocalModel, open_local
    from pnyx.models.pool import EndpointPool
    from pnyx.models.prices import Price, price_of, read_prices
    from pnyx.records import (
        Argument,
        Citation,
        Document,
        Perspective,
        Premise,
        Qrel,
        Question,
        Response,
        RunEntry,
        Sentence,
    )
    from pnyx.search.clusters import (
        Clusters,
        Facet,
        cluster_documents,
        cluster_new_documents,
        clusters_of,
        facets,
    )
    from pnyx.search.dense import build_ann, dense_rank
    from pnyx.search.diversify import mmr, round_robin
    from pnyx.search.fusion import fuse_rrf, fuse_weighted
    from pnyx.search.index import Hit, Index, add_to_index, build_index, verify_index
    from pnyx.search.perspectives import (
        FilePerspectives,
        LlmPerspectives,
        perspectives_of,
        search_perspectives,
    )
    from pnyx.search.perspectives_index import IndexPerspectives
    from pnyx.search.pipeline import Found, Searcher, SearchPlan
    from pnyx.search.pointwise import rerank_pointwise
    from pnyx.search.quality import QualityModel, score_documents
    from pnyx.search.rerank import Listwise, rerank, rerank_many
    from pnyx.search.scoring import Scoring, rank_documents
    from pnyx.search.touche import touche_rank, touche_scores
    from pnyx.search.vectors import embed_documents, embed_question
    from pnyx.view.markdown import render_markdown
    from pnyx.view.report import render_html
    from pnyx.write.argue import Plan, argue
    from pnyx.write.case import ArguedSide, Case, verdict_rows
    from pnyx.write.extractive import ExtractiveWriter
    from pnyx.write.generate import LlmWriter

_HOMES = {
    "pnyx.annotate.applying": ("Applied", "apply_judge"),
    "pnyx.annotate.definitions": ("DraftedDefinition", "draft_definitions"),
    "pnyx.annotate.distil": ("Distillation", "Distilled", "distil"),
    "pnyx.annotate.labelled": ("LabelledPair", "read_labelled"),
    "pnyx.annotate.grades": ("write_graded_qrels",),
    "pnyx.annotate.pairs": ("PairSource", "pairs_of_corpus", "pairs_of_items", "pairs_of_run"),
    "pnyx.annotate.review_files": (
        "read_review",
        "write_review",
    ),
    "pnyx.annotate.reviewing": (
        "Disagreement",
        "draw_disagreements",
    ),
    "pnyx.annotate.sampling": ("PairSample", "SampledPair", "sample_pairs"),
    "pnyx.annotate.students.cross": ("CrossTrainer",),
    "pnyx.annotate.students.late": ("LateTrainer",),
    "pnyx.annotate.students.lexical": ("LexicalTrainer",),
    "pnyx.annotate.students.logistic": ("LogisticTrainer",),
    "pnyx.annotate.students.lora": ("LoraTrainer",),
    "pnyx.corpora": (
        "read_evidence",
        "read_qrels",
        "read_questions",
        "read_responses",
        "read_run",
        "write_qrels",
        "write_responses",
        "write_run",
    ),
    "pnyx.corpora.bundled": ("load_example",),
    "pnyx.errors": ("IndexFolderError", "InputError", "MissingExtra", "ModelError", "PnyxError"),
    "pnyx.judge.answers": ("Judged", "Provenance", "Unscored"),
    "pnyx.judge.asking": ("Asking",),
    "pnyx.judge.base": ("Judge", "ask"),
    "pnyx.judge.cascade": ("Cascade", "cascade_from"),
    "pnyx.judge.combine": ("combine", "self_agreement"),
    "pnyx.judge.completions": ("StoredModel",),
    "pnyx.judge.encoder": ("EncoderJudge",),
    "pnyx.judge.labels": ("HumanLabels",),
    "pnyx.judge.llm": ("LlmJudge",),
    "pnyx.judge.lookup": ("Lookup",),
    "pnyx.judge.panel": ("Panel", "Repeats"),
    "pnyx.judge.questions": ("Preference", "Ranking", "Rating", "Support"),
    "pnyx.judge.recalibration": (
        "Recalibrated",
        "Recalibration",
        "read_calibration",
        "write_calibration",
    ),
    "pnyx.judge.store": ("Store",),
    "pnyx.judge.students.files": ("Student", "read_student"),
    "pnyx.judge.students.judge": ("StudentJudge", "open_student"),
    "pnyx.judge.sure": ("Sure", "choose_thresholds"),
    "pnyx.measure.agreement": ("Agreement", "measure_agreement"),
    "pnyx.measure.annotations": (
        "Annotation",
        "read_annotations",
        "truth_of_labels",
        "truth_of_qrels",
    ),
    "pnyx.measure.reviewed": (
        "Reviewed",
        "measure_review",
    ),
    "pnyx.measure.amount": (
        "Amount",
        "measure_amount",
    ),
    "pnyx.measure.thresholds": (
        "Thresholds",
        "measure_thresholds",
    ),
    "pnyx.measure.base": ("Measured",),
    "pnyx.measure.calibration_error": ("ReliabilityBin", "reliability"),
    "pnyx.measure.correlation": ("kendall_tau_b",),
    "pnyx.measure.gold": ("join_labels",),
    "pnyx.measure.ranked": ("ndcg", "ranking_average_precision"),
    "pnyx.measure.retrieval": ("Retrieval", "measure_retrieval"),
    "pnyx.measure.retrievers": ("Retrievers", "measure_retrievers"),
    "pnyx.measure.sentences": ("citation_precision", "sentence_precision"),
    "pnyx.models.chat": ("ChatEndpoint", "endpoint_from"),
    "pnyx.models.local": ("LocalModel", "open_local"),
    "pnyx.models.embedding": ("Embedder", "embedder_from"),
    "pnyx.models.encoder": ("Encoder", "load_encoder"),
    "pnyx.models.ledger": ("Ledger",),
    "pnyx.models.pool": ("EndpointPool",),
    "pnyx.models.prices": ("Price", "price_of", "read_prices"),
    "pnyx.records": (
        "Argument",
        "Citation",
        "Document",
        "Perspective",
        "Premise",
        "Qrel",
        "Question",
        "Response",
        "RunEntry",
        "Sentence",
    ),
    "pnyx.search.clusters": (
        "Clusters",
        "Facet",
        "cluster_documents",
        "cluster_new_documents",
        "clusters_of",
        "facets",
    ),
    "pnyx.search.diversify": ("mmr", "round_robin"),
    "pnyx.search.dense": ("build_ann", "dense_rank"),
    "pnyx.search.fusion": ("fuse_rrf", "fuse_weighted"),
    "pnyx.search.index": ("Hit", "Index", "add_to_index", "build_index", "verify_index"),
    "pnyx.search.perspectives": (
        "FilePerspectives",
        "LlmPerspectives",
        "perspectives_of",
        "search_perspectives",
    ),
    "pnyx.search.perspectives_index": ("IndexPerspectives",),
    "pnyx.search.pipeline": ("Found", "SearchPlan", "Searcher"),
    "pnyx.search.pointwise": ("rerank_pointwise",),
    "pnyx.search.quality": ("QualityModel", "score_documents"),
    "pnyx.search.rerank": ("Listwise", "rerank", "rerank_many"),
    "pnyx.search.scoring": ("Scoring", "rank_documents"),
    "pnyx.search.touche": ("touche_rank", "touche_scores"),
    "pnyx.search.vectors": ("embed_documents", "embed_question"),
    "pnyx.view.markdown": ("render_markdown",),
    "pnyx.view.report": ("render_html",),
    "pnyx.write.argue": ("Plan", "argue"),
    "pnyx.write.case": ("ArguedSide", "Case", "verdict_rows"),
    "pnyx.write.extractive": ("ExtractiveWriter",),
    "pnyx.write.generate": ("LlmWriter",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Agreement",
    "Amount",
    "Annotation",
    "Applied",
    "ArguedSide",
    "Argument",
    "Asking",
    "Cascade",
    "Case",
    "ChatEndpoint",
    "Citation",
    "Clusters",
    "CrossTrainer",
    "Disagreement",
    "Distillation",
    "Distilled",
    "Document",
    "DraftedDefinition",
    "Embedder",
    "Encoder",
    "EncoderJudge",
    "EndpointPool",
    "ExtractiveWriter",
    "Facet",
    "FilePerspectives",
    "Found",
    "Hit",
    "HumanLabels",
    "Index",
    "IndexFolderError",
    "IndexPerspectives",
    "InputError",
    "Judge",
    "Judged",
    "LabelledPair",
    "LateTrainer",
    "Ledger",
    "LexicalTrainer",
    "Listwise",
    "LlmJudge",
    "LlmPerspectives",
    "LlmWriter",
    "LocalModel",
    "LogisticTrainer",
    "Lookup",
    "LoraTrainer",
    "Measured",
    "MissingExtra",
    "ModelError",
    "PairSample",
    "PairSource",
    "Panel",
    "Perspective",
    "Plan",
    "PnyxError",
    "Preference",
    "Premise",
    "Price",
    "Provenance",
    "Qrel",
    "QualityModel",
    "Question",
    "Ranking",
    "Rating",
    "Recalibrated",
    "Recalibration",
    "ReliabilityBin",
    "Repeats",
    "Response",
    "Retrieval",
    "Retrievers",
    "Reviewed",
    "RunEntry",
    "SampledPair",
    "Scoring",
    "SearchPlan",
    "Searcher",
    "Sentence",
    "Store",
    "StoredModel",
    "Student",
    "StudentJudge",
    "Support",
    "Sure",
    "Thresholds",
    "Unscored",
    "__version__",
    "add_to_index",
    "apply_judge",
    "argue",
    "ask",
    "build_ann",
    "build_index",
    "cascade_from",
    "choose_thresholds",
    "citation_precision",
    "cluster_documents",
    "cluster_new_documents",
    "clusters_of",
    "combine",
    "dense_rank",
    "distil",
    "draft_definitions",
    "draw_disagreements",
    "embed_documents",
    "embed_question",
    "embedder_from",
    "endpoint_from",
    "facets",
    "fuse_rrf",
    "fuse_weighted",
    "join_labels",
    "kendall_tau_b",
    "load_encoder",
    "load_example",
    "measure_agreement",
    "measure_amount",
    "measure_retrieval",
    "measure_retrievers",
    "measure_review",
    "measure_thresholds",
    "mmr",
    "ndcg",
    "open_local",
    "open_student",
    "pairs_of_corpus",
    "pairs_of_items",
    "pairs_of_run",
    "perspectives_of",
    "price_of",
    "rank_documents",
    "ranking_average_precision",
    "read_annotations",
    "read_calibration",
    "read_evidence",
    "read_labelled",
    "read_prices",
    "read_qrels",
    "read_questions",
    "read_responses",
    "read_review",
    "read_run",
    "read_student",
    "reliability",
    "render_html",
    "render_markdown",
    "rerank",
    "rerank_many",
    "rerank_pointwise",
    "round_robin",
    "sample_pairs",
    "score_documents",
    "search_perspectives",
    "self_agreement",
    "sentence_precision",
    "touche_rank",
    "touche_scores",
    "truth_of_labels",
    "truth_of_qrels",
    "verdict_rows",
    "verify_index",
    "write_calibration",
    "write_graded_qrels",
    "write_qrels",
    "write_responses",
    "write_review",
    "write_run",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562)."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'pnyx' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
