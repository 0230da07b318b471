"""The public names, each with its home; `__init__.py` imports one when it is first used."""

from ._version import __version__
from .annotate.definitions import DraftedDefinition, draft_definitions
from .annotate.distil import Distillation, Distilled, distil
from .annotate.grades import write_graded_qrels
from .annotate.labelled import LabelledPair, read_labelled
from .annotate.reviewing import (
    Disagreement,
    draw_disagreements,
    read_review,
    write_review,
)
from .annotate.sampling import PairSample, SampledPair, sample_pairs
from .audit.perspective_bench import Benched, BenchJudge, BenchSearch, bench_perspectives
from .audit.perspective_plan import PerspectiveBench
from .audit.tuning import Tuned, Tuning, tune
from .corpora import (
    read_evidence,
    read_qrels,
    read_questions,
    read_responses,
    read_run,
    write_qrels,
    write_responses,
    write_run,
)
from .corpora.bundled import load_example
from .corpora.draft_sources import (
    ArgumentPair,
    DebateClaim,
    SurveyQuestion,
    read_argument_pairs,
    read_claims,
    read_survey,
)
from .corpora.drafts import read_drafts, write_drafts
from .corpora.perspectives import read_perspectives, write_perspectives
from .corpora.rated import RatedText, read_rated
from .corpora.search_results import QuestionResults, SearchResult, read_search_results
from .corpora.segment import split_evidence
from .drafts.drafting import Drafted, draft_questions
from .drafts.filtering import Filtered, filter_drafts
from .errors import IndexFolderError, InputError, MissingExtra, ModelError, PnyxError
from .judge.answers import Judged, Provenance, Unscored
from .judge.base import Judge, ask
from .judge.combine import combine, self_agreement
from .judge.completions import StoredModel
from .judge.encoder import EncoderJudge
from .judge.llm import Asking, LlmJudge
from .judge.lookup import HumanLabels, Lookup
from .judge.panel import Cascade, Panel, Repeats, cascade_from
from .judge.perspectives import ask_perspectives
from .judge.questions import Preference, Ranking, Rating, Support
from .judge.recalibration import (
    Recalibrated,
    Recalibration,
    read_calibration,
    write_calibration,
)
from .judge.store import Store
from .judge.sure import Sure, choose_thresholds
from .judge.tasks import read_items
from .judge.verdicts import Verdict, read_annotations
from .measure.agreement import Agreement, measure_agreement
from .measure.base import Bootstrap, Measured
from .measure.binary import ReliabilityBin, reliability
from .measure.correlation import kendall_tau_b
from .measure.gold import Joined, join_labels, truth_of_labels, truth_of_qrels
from .measure.perspective_irmeasures import MRecall
from .measure.perspective_leaning import Leaning, measure_leaning, side_questions
from .measure.perspective_results import PerspectiveCoverage
from .measure.perspective_verdicts import Verdicts, read_verdicts
from .measure.perspectives import by_question, measure_perspectives, perspective_qrels
from .measure.ranked import ndcg, ranking_average_precision
from .measure.retrieval import Retrieval, measure_retrieval
from .measure.retrievers import Retrievers, measure_retrievers
from .measure.reviewed import Reviewed, measure_review
from .measure.sentences import citation_precision, sentence_precision
from .measure.thresholds import Amount, Thresholds, measure_amount, measure_thresholds
from .models.chat import ChatEndpoint, endpoint_from
from .models.embedding import Embedder, embedder_from
from .models.encoder import Encoder, load_encoder
from .models.ledger import Ledger
from .models.local import LocalModel, open_local
from .models.pool import EndpointPool
from .models.prices import Price, price_of, read_prices
from .records import (
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
from .runs.pairs import PairSource, pairs_of_corpus, pairs_of_items, pairs_of_run
from .runs.results import Applied, apply_judge
from .search.build import add_to_index, build_index
from .search.clusters import (
    Clusters,
    Facet,
    cluster_documents,
    cluster_new_documents,
    clusters_of,
    facets,
)
from .search.dense import build_ann, dense_rank
from .search.diversify import mmr, round_robin
from .search.fusion import fuse_rrf, fuse_weighted
from .search.index import Hit, Index, verify_index
from .search.perspectives import (
    FilePerspectives,
    LlmPerspectives,
    perspectives_of,
    search_perspectives,
)
from .search.perspectives_index import IndexPerspectives
from .search.pipeline import Found, Searcher, SearchPlan
from .search.quality import QualityModel, score_documents
from .search.quality_files import read_quality_model
from .search.quality_making import make_quality_model
from .search.rerank import Listwise, rerank, rerank_many, rerank_pointwise
from .search.scoring import Scoring, rank_documents, touche_rank, touche_scores
from .search.vectors import embed_documents, embed_question
from .students.files import Student, read_student
from .students.judge import PackagedJudge, StudentJudge, load_perspective_student, open_student
from .students.train.combined import CombinedTrainer
from .students.train.late import LateTrainer
from .students.train.lora import LoraTrainer
from .students.train.regression import LexicalTrainer, LogisticTrainer
from .view.markdown import render_markdown
from .view.report import render_html
from .web.corpus import WebCorpus, WebPlan, build_web_corpus
from .web.fetch import FetchLimits
from .web.search import SearchApi, SearchFailedError, Serper
from .write.argue import Plan, argue
from .write.case import ArguedSide, Case, verdict_rows
from .write.extractive import ExtractiveWriter
from .write.generate import LlmWriter

__all__ = [
    "Agreement",
    "Amount",
    "Applied",
    "ArguedSide",
    "Argument",
    "ArgumentPair",
    "Asking",
    "BenchJudge",
    "BenchSearch",
    "Benched",
    "Bootstrap",
    "Cascade",
    "Case",
    "ChatEndpoint",
    "Citation",
    "Clusters",
    "CombinedTrainer",
    "DebateClaim",
    "Disagreement",
    "Distillation",
    "Distilled",
    "Document",
    "Drafted",
    "DraftedDefinition",
    "Embedder",
    "Encoder",
    "EncoderJudge",
    "EndpointPool",
    "ExtractiveWriter",
    "Facet",
    "FetchLimits",
    "FilePerspectives",
    "Filtered",
    "Found",
    "Hit",
    "HumanLabels",
    "Index",
    "IndexFolderError",
    "IndexPerspectives",
    "InputError",
    "Joined",
    "Judge",
    "Judged",
    "LabelledPair",
    "LateTrainer",
    "Leaning",
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
    "MRecall",
    "Measured",
    "MissingExtra",
    "ModelError",
    "PackagedJudge",
    "PairSample",
    "PairSource",
    "Panel",
    "Perspective",
    "PerspectiveBench",
    "PerspectiveCoverage",
    "Plan",
    "PnyxError",
    "Preference",
    "Premise",
    "Price",
    "Provenance",
    "Qrel",
    "QualityModel",
    "Question",
    "QuestionResults",
    "Ranking",
    "RatedText",
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
    "SearchApi",
    "SearchFailedError",
    "SearchPlan",
    "SearchResult",
    "Searcher",
    "Sentence",
    "Serper",
    "Store",
    "StoredModel",
    "Student",
    "StudentJudge",
    "Support",
    "Sure",
    "SurveyQuestion",
    "Thresholds",
    "Tuned",
    "Tuning",
    "Unscored",
    "Verdict",
    "Verdicts",
    "WebCorpus",
    "WebPlan",
    "__version__",
    "add_to_index",
    "apply_judge",
    "argue",
    "ask",
    "ask_perspectives",
    "bench_perspectives",
    "build_ann",
    "build_index",
    "build_web_corpus",
    "by_question",
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
    "draft_questions",
    "draw_disagreements",
    "embed_documents",
    "embed_question",
    "embedder_from",
    "endpoint_from",
    "facets",
    "filter_drafts",
    "fuse_rrf",
    "fuse_weighted",
    "join_labels",
    "kendall_tau_b",
    "load_encoder",
    "load_example",
    "load_perspective_student",
    "make_quality_model",
    "measure_agreement",
    "measure_amount",
    "measure_leaning",
    "measure_perspectives",
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
    "perspective_qrels",
    "perspectives_of",
    "price_of",
    "rank_documents",
    "ranking_average_precision",
    "read_annotations",
    "read_argument_pairs",
    "read_calibration",
    "read_claims",
    "read_drafts",
    "read_evidence",
    "read_items",
    "read_labelled",
    "read_perspectives",
    "read_prices",
    "read_qrels",
    "read_quality_model",
    "read_questions",
    "read_rated",
    "read_responses",
    "read_review",
    "read_run",
    "read_search_results",
    "read_student",
    "read_survey",
    "read_verdicts",
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
    "side_questions",
    "split_evidence",
    "touche_rank",
    "touche_scores",
    "truth_of_labels",
    "truth_of_qrels",
    "tune",
    "verdict_rows",
    "verify_index",
    "write_calibration",
    "write_drafts",
    "write_graded_qrels",
    "write_perspectives",
    "write_qrels",
    "write_responses",
    "write_review",
    "write_run",
]
