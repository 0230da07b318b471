"""The public names, each with its home; `__init__.py` imports one when it is first used.

The rooms, `pnyx.search`, `pnyx.judging` and so on, have more.
"""

from . import (
    audit,
    cases,
    collection,
    core,
    formats,
    judging,
    models,
    perspectives,
    quality,
    relevance,
    reports,
    search,
    stats,
)
from ._version import __version__
from .audit.checks.check import check
from .cases.extractive import ExtractiveWriter
from .cases.generate import LlmWriter
from .cases.page.markdown import render_markdown
from .cases.page.report import render_html
from .collection.argue_documents import argue
from .collection.documents import Collection, open  # noqa: A004
from .core.errors import InputError, PnyxError
from .core.records import Argument, Document, Perspective, Question, Response
from .formats.reading import read_evidence, read_qrels, read_questions, read_run
from .judging.answers import Judged, Unscored
from .judging.base import Judge, ask
from .judging.llm.judge import LlmJudge
from .judging.lookup import HumanLabels, Lookup
from .judging.measures.agreement import measure_agreement
from .judging.measures.ppi import prediction_powered
from .judging.measures.rates import corrected_rate
from .judging.panel import Cascade, Panel
from .judging.questions import Preference, Ranking, Rating, Support
from .judging.store.completions import StoredModel
from .judging.store.store import Store
from .judging.students.judge import PackagedJudge
from .judging.tasks import read_items
from .models.chat.open_endpoint import endpoint_from
from .perspectives.measures.coverage import measure_perspectives
from .search.build import add_to_index, build_index
from .search.index import Index
from .search.measures.correlation import measure_correlation
from .search.measures.retrieval import measure_retrieval
from .search.pipeline import Searcher
from .search.plan import SearchPlan

__all__ = [
    "Argument",
    "Cascade",
    "Collection",
    "Document",
    "ExtractiveWriter",
    "HumanLabels",
    "Index",
    "InputError",
    "Judge",
    "Judged",
    "LlmJudge",
    "LlmWriter",
    "Lookup",
    "PackagedJudge",
    "Panel",
    "Perspective",
    "PnyxError",
    "Preference",
    "Question",
    "Ranking",
    "Rating",
    "Response",
    "SearchPlan",
    "Searcher",
    "Store",
    "StoredModel",
    "Support",
    "Unscored",
    "__version__",
    "add_to_index",
    "argue",
    "ask",
    "audit",
    "build_index",
    "cases",
    "check",
    "collection",
    "core",
    "corrected_rate",
    "endpoint_from",
    "formats",
    "judging",
    "measure_agreement",
    "measure_correlation",
    "measure_perspectives",
    "measure_retrieval",
    "models",
    "open",
    "perspectives",
    "prediction_powered",
    "quality",
    "read_evidence",
    "read_items",
    "read_qrels",
    "read_questions",
    "read_run",
    "relevance",
    "render_html",
    "render_markdown",
    "reports",
    "search",
    "stats",
]
