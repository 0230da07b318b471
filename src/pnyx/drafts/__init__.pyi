"""The public names of this room, each with its home."""

from .debates.building import BuiltDebates, DebatesPlan, build_debates
from .drafting import Drafted, draft_questions
from .filtering import Filtered, filter_drafts

__all__ = [
    "BuiltDebates",
    "DebatesPlan",
    "Drafted",
    "Filtered",
    "build_debates",
    "draft_questions",
    "filter_drafts",
]
