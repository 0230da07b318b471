"""The public names, each with its home."""

from .debates.benchmark import BuiltDebates, DebatesPlan, build_debates
from .debates.page import read_debate_page
from .drafts.draft import Drafted, draft_questions
from .drafts.files import read_drafts, write_drafts
from .drafts.filters import Filtered, filter_drafts
from .drafts.sources import (
    ArgumentPair,
    DebateClaim,
    SurveyQuestion,
    read_argument_pairs,
    read_claims,
    read_survey,
)

__all__ = [
    "ArgumentPair",
    "BuiltDebates",
    "DebateClaim",
    "DebatesPlan",
    "Drafted",
    "Filtered",
    "SurveyQuestion",
    "build_debates",
    "draft_questions",
    "filter_drafts",
    "read_argument_pairs",
    "read_claims",
    "read_debate_page",
    "read_drafts",
    "read_survey",
    "write_drafts",
]
