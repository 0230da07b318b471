"""The public names of this room, each with its home."""

from .drafting import Drafted, draft_questions
from .filtering import Filtered, filter_drafts

__all__ = [
    "Drafted",
    "Filtered",
    "draft_questions",
    "filter_drafts",
]
