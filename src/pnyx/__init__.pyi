"""The public names, each with its home; `__init__.py` imports one when it is first used.

The rooms, `pnyx.search`, `pnyx.judge` and so on, have more.
"""

from . import (
    annotate,
    app,
    audit,
    corpora,
    drafts,
    errors,
    judge,
    measure,
    models,
    records,
    runs,
    search,
    students,
    view,
    web,
    write,
)
from ._version import __version__
from .app.argue_documents import argue
from .app.collection import Collection, open  # noqa: A004
from .audit.checks.check import check
from .corpora import read_evidence, read_qrels, read_questions, read_run
from .errors import InputError, PnyxError
from .judge.answers import Judged, Unscored
from .judge.base import Judge, ask
from .judge.combining.panel import Cascade, Panel
from .judge.llm.judge import LlmJudge
from .judge.lookup import HumanLabels, Lookup
from .judge.questions import Preference, Ranking, Rating, Support
from .judge.store.completions import StoredModel
from .judge.store.store import Store
from .judge.tasks import read_items
from .measure.answers.agreement import measure_agreement
from .measure.perspectives.coverage import measure_perspectives
from .measure.runs.correlation import measure_correlation
from .measure.runs.retrieval import measure_retrieval
from .models.chat.opening import endpoint_from
from .records import Argument, Document, Perspective, Question, Response
from .search.build import add_to_index, build_index
from .search.index import Index
from .search.pipeline import Searcher
from .search.plan import SearchPlan
from .students.judge import PackagedJudge
from .view.markdown import render_markdown
from .view.report import render_html
from .write.extractive import ExtractiveWriter
from .write.generate import LlmWriter

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
    "annotate",
    "app",
    "argue",
    "ask",
    "audit",
    "build_index",
    "check",
    "corpora",
    "drafts",
    "endpoint_from",
    "errors",
    "judge",
    "measure",
    "measure_agreement",
    "measure_correlation",
    "measure_perspectives",
    "measure_retrieval",
    "models",
    "open",
    "read_evidence",
    "read_items",
    "read_qrels",
    "read_questions",
    "read_run",
    "records",
    "render_html",
    "render_markdown",
    "runs",
    "search",
    "students",
    "view",
    "web",
    "write",
]
