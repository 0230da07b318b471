"""The public names of this room, each with its home."""

from .debates.building import BuiltDebates, DebatesPlan, build_debates
from .drafting import Drafted, draft_questions
from .filtering import Filtered, filter_drafts
from .nuggets.creating import DraftedBank, NuggetSource, create_banks, rate_banks
from .nuggets.extracting import extract_banks
from .nuggets.merging import MergedBanks, merge_banks
from .nuggets.sources import sources_of

__all__ = [
    "BuiltDebates",
    "DebatesPlan",
    "Drafted",
    "DraftedBank",
    "Filtered",
    "MergedBanks",
    "NuggetSource",
    "build_debates",
    "create_banks",
    "draft_questions",
    "extract_banks",
    "filter_drafts",
    "merge_banks",
    "rate_banks",
    "sources_of",
]
