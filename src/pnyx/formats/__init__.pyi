"""The public names of this room, each with its home."""

from .base import Format, Options
from .bundled_example import load_example
from .conqret import ConqretTopic, read_conqret
from .debates import debate_arguments, read_debates, write_debates
from .documents.evidence import write_jsonl
from .format_table import FORMATS
from .perspectives import by_question, read_perspectives, write_perspectives
from .rated_texts import RatedText, read_rated
from .reading import (
    check,
    faults,
    read_evidence,
    read_items,
    read_qrels,
    read_questions,
    read_responses,
    read_run,
)
from .recognition import find_format, sniff
from .reports.judged_report import JudgedReport
from .reports.leaderboard_layouts import averaged, settled
from .reports.leaderboards import Leaderboard, read_leaderboard, write_leaderboard
from .reports.nugget_layouts import nugget_bank_row, parse_nugget_bank
from .reports.nuggets import read_nugget_banks
from .reports.responses import response_row, response_writer, write_responses
from .runs.search_results import QuestionResults, SearchResult, read_search_results
from .runs.trec import write_qrels, write_run
from .text.segment import split_evidence
from .tracks.checks import check_requests, check_run
from .tracks.requests import ReportRequest, read_requests
from .tracks.rules import Finding, TrackRules, track_rules

__all__ = [
    "FORMATS",
    "ConqretTopic",
    "Finding",
    "Format",
    "JudgedReport",
    "Leaderboard",
    "Options",
    "QuestionResults",
    "RatedText",
    "ReportRequest",
    "SearchResult",
    "TrackRules",
    "averaged",
    "by_question",
    "check",
    "check_requests",
    "check_run",
    "debate_arguments",
    "faults",
    "find_format",
    "load_example",
    "nugget_bank_row",
    "parse_nugget_bank",
    "read_conqret",
    "read_debates",
    "read_evidence",
    "read_items",
    "read_leaderboard",
    "read_nugget_banks",
    "read_perspectives",
    "read_qrels",
    "read_questions",
    "read_rated",
    "read_requests",
    "read_responses",
    "read_run",
    "read_search_results",
    "response_row",
    "response_writer",
    "settled",
    "sniff",
    "split_evidence",
    "track_rules",
    "write_debates",
    "write_jsonl",
    "write_leaderboard",
    "write_perspectives",
    "write_qrels",
    "write_responses",
    "write_run",
]
