"""The public names of this room, each with its home."""

from .convert import banks_of, leaderboard_of, nugget_banks_of, qrels_of, question_of, response_of
from .judge import PnyxJudge
from .settings import Settings, workflow_path

__all__ = [
    "PnyxJudge",
    "Settings",
    "banks_of",
    "leaderboard_of",
    "nugget_banks_of",
    "qrels_of",
    "question_of",
    "response_of",
    "workflow_path",
]
