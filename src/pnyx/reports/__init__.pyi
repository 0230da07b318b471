"""The public names of this room, each with its home."""

from .leaderboards.agreement import LeaderboardAgreement, LeaderboardsCompared, compare_leaderboards
from .leaderboards.correction import CorrectedLeaderboard, correct_leaderboard, system_differences
from .measures.registry import ReportMeasure, measure_report
from .measures.report_measures import MeasuredReports, Reports, measure_reports
from .nuggets.claims import extract_banks
from .nuggets.merge import MergedBanks, merge_banks
from .nuggets.model_banks import DraftedBank, NuggetSource, create_banks, rate_banks
from .nuggets.sources import sources_of
from .tree.plan import ReportPlan, Weights
from .tree.report_reader import read_judged_reports
from .tree.walk import judge_reports
from .writing.extractive import ExtractiveReporter
from .writing.generate import LlmReporter
from .writing.report import Report, report_many

__all__ = [
    "CorrectedLeaderboard",
    "DraftedBank",
    "ExtractiveReporter",
    "LeaderboardAgreement",
    "LeaderboardsCompared",
    "LlmReporter",
    "MeasuredReports",
    "MergedBanks",
    "NuggetSource",
    "Report",
    "ReportMeasure",
    "ReportPlan",
    "Reports",
    "Weights",
    "compare_leaderboards",
    "correct_leaderboard",
    "create_banks",
    "extract_banks",
    "judge_reports",
    "measure_report",
    "measure_reports",
    "merge_banks",
    "rate_banks",
    "read_judged_reports",
    "report_many",
    "sources_of",
    "system_differences",
]
