"""The public names of this room, each with its home."""

from .answers import Judged, Provenance, Unscored
from .base import Judge, ask, ask_async
from .calibration.recalibration import (
    Recalibrated,
    Recalibration,
    read_calibration,
    write_calibration,
)
from .calibration.selective import ConfidenceRegions, choose_thresholds
from .combining.panel import Cascade, Panel, Repeats, cascade_from
from .combining.votes import combine, self_agreement
from .encoder import EncoderJudge
from .llm.judge import Asking, LlmJudge
from .lookup import HumanLabels, Lookup
from .perspectives import ask_perspectives
from .questions import Preference, Ranking, Rating, Support
from .reports.judging import judge_reports
from .reports.plan import ReportPlan, Weights
from .reports.reading import read_judged_reports
from .reports.records import JudgedReport
from .store.completions import StoredModel
from .store.store import Store
from .tasks import read_items
from .verdicts import Verdict, read_annotations

__all__ = [
    "Asking",
    "Cascade",
    "ConfidenceRegions",
    "EncoderJudge",
    "HumanLabels",
    "Judge",
    "Judged",
    "JudgedReport",
    "LlmJudge",
    "Lookup",
    "Panel",
    "Preference",
    "Provenance",
    "Ranking",
    "Rating",
    "Recalibrated",
    "Recalibration",
    "Repeats",
    "ReportPlan",
    "Store",
    "StoredModel",
    "Support",
    "Unscored",
    "Verdict",
    "Weights",
    "ask",
    "ask_async",
    "ask_perspectives",
    "cascade_from",
    "choose_thresholds",
    "combine",
    "judge_reports",
    "read_annotations",
    "read_calibration",
    "read_items",
    "read_judged_reports",
    "self_agreement",
    "write_calibration",
]
