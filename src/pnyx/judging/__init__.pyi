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
from .encoder import EncoderJudge
from .llm.judge import LlmJudge
from .llm.requests import Asking
from .lookup import HumanLabels, Lookup
from .measures.agreement import Agreement, measure_agreement
from .measures.binary import ReliabilityBin, reliability
from .measures.documents import join_documents
from .measures.ground_truth import LabelledVerdicts, join_labels, truth_of_labels, truth_of_qrels
from .measures.ppi import PredictionPowered, prediction_powered
from .measures.raters import RaterAgreement, measure_raters
from .measures.rates import CorrectedRate, corrected_rate
from .measures.responses import citation_precision, sentence_precision
from .measures.summary import AnswerSummary, summarise_answers
from .measures.thresholds import Amount, Thresholds, measure_amount, measure_thresholds
from .measures.trials import Decline, measure_decline
from .panel import Cascade, Panel, Repeats, cascade_from
from .perspectives import ask_perspectives
from .questions import PairSource, Preference, Ranking, Rating, Support
from .runs.pairs import pairs_of_corpus, pairs_of_items, pairs_of_run
from .runs.results import Applied, apply_judge
from .store.completions import StoredModel
from .store.store import Store
from .students.judge import PackagedJudge, load_perspective_student
from .students.lexical import LexicalTrainer
from .students.student import Student, StudentJudge, StudentKind, open_student, read_student
from .students.trainer import Trained, Trainer, TrainingExample
from .tasks import read_items
from .verdicts import Verdict, read_annotations
from .votes import combine

__all__ = [
    "Agreement",
    "Amount",
    "AnswerSummary",
    "Applied",
    "Asking",
    "Cascade",
    "ConfidenceRegions",
    "CorrectedRate",
    "Decline",
    "EncoderJudge",
    "HumanLabels",
    "Judge",
    "Judged",
    "LabelledVerdicts",
    "LexicalTrainer",
    "LlmJudge",
    "Lookup",
    "PackagedJudge",
    "PairSource",
    "Panel",
    "PredictionPowered",
    "Preference",
    "Provenance",
    "Ranking",
    "RaterAgreement",
    "Rating",
    "Recalibrated",
    "Recalibration",
    "ReliabilityBin",
    "Repeats",
    "Store",
    "StoredModel",
    "Student",
    "StudentJudge",
    "StudentKind",
    "Support",
    "Thresholds",
    "Trained",
    "Trainer",
    "TrainingExample",
    "Unscored",
    "Verdict",
    "apply_judge",
    "ask",
    "ask_async",
    "ask_perspectives",
    "cascade_from",
    "choose_thresholds",
    "citation_precision",
    "combine",
    "corrected_rate",
    "join_documents",
    "join_labels",
    "load_perspective_student",
    "measure_agreement",
    "measure_amount",
    "measure_decline",
    "measure_raters",
    "measure_thresholds",
    "open_student",
    "pairs_of_corpus",
    "pairs_of_items",
    "pairs_of_run",
    "prediction_powered",
    "read_annotations",
    "read_calibration",
    "read_items",
    "read_student",
    "reliability",
    "sentence_precision",
    "summarise_answers",
    "truth_of_labels",
    "truth_of_qrels",
    "write_calibration",
]
