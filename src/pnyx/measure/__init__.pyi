"""The public names of this room, each with its home."""

from .answers.agreement import Agreement, measure_agreement
from .answers.alpha import krippendorff_alpha
from .answers.binary import ReliabilityBin, reliability
from .answers.correlation import kendall_tau_b
from .answers.documents import join_documents
from .answers.raters import RaterAgreement, measure_raters
from .answers.rates import CorrectedRate, corrected_rate
from .answers.summary import AnswerSummary, summarise_answers
from .answers.thresholds import Amount, Thresholds, measure_amount, measure_thresholds
from .answers.trials import Decline, measure_decline
from .core.base import Bootstrap, Measured
from .core.ground_truth import LabelledVerdicts, join_labels, truth_of_labels, truth_of_qrels
from .core.intervals import cluster_mean
from .core.ppi import PredictionPowered, prediction_powered
from .leaderboards.agreement import (
    LeaderboardAgreement,
    LeaderboardsCompared,
    compare_leaderboards,
)
from .leaderboards.corrected import (
    CorrectedLeaderboard,
    correct_leaderboard,
    system_differences,
)
from .perspectives.coverage import by_question, measure_perspectives, perspective_qrels
from .perspectives.leaning import Leaning, measure_leaning, side_questions
from .perspectives.mrecall import MRecall
from .perspectives.results import PerspectiveCoverage
from .perspectives.table import PerspectiveMeasure
from .perspectives.verdicts import Verdicts, read_verdicts
from .reports.measuring import MeasuredReports, Reports, measure_reports
from .reports.registry import ReportMeasure, measure_report
from .reports.responses import citation_precision, sentence_precision
from .runs.correlation import RetrieverCorrelation, measure_correlation
from .runs.ranked import ndcg, ranking_average_precision
from .runs.retrieval import Retrieval, measure_retrieval

__all__ = [
    "Agreement",
    "Amount",
    "AnswerSummary",
    "Bootstrap",
    "CorrectedLeaderboard",
    "CorrectedRate",
    "Decline",
    "LabelledVerdicts",
    "LeaderboardAgreement",
    "LeaderboardsCompared",
    "Leaning",
    "MRecall",
    "Measured",
    "MeasuredReports",
    "PerspectiveCoverage",
    "PerspectiveMeasure",
    "PredictionPowered",
    "RaterAgreement",
    "ReliabilityBin",
    "ReportMeasure",
    "Reports",
    "Retrieval",
    "RetrieverCorrelation",
    "Thresholds",
    "Verdicts",
    "by_question",
    "citation_precision",
    "cluster_mean",
    "compare_leaderboards",
    "correct_leaderboard",
    "corrected_rate",
    "join_documents",
    "join_labels",
    "kendall_tau_b",
    "krippendorff_alpha",
    "measure_agreement",
    "measure_amount",
    "measure_correlation",
    "measure_decline",
    "measure_leaning",
    "measure_perspectives",
    "measure_raters",
    "measure_report",
    "measure_reports",
    "measure_retrieval",
    "measure_thresholds",
    "ndcg",
    "perspective_qrels",
    "prediction_powered",
    "ranking_average_precision",
    "read_verdicts",
    "reliability",
    "sentence_precision",
    "side_questions",
    "summarise_answers",
    "system_differences",
    "truth_of_labels",
    "truth_of_qrels",
]
