"""The public names of this room, each with its home."""

from .rubrics import DraftedRubric, draft_rubric

__all__ = [
    "DraftedRubric",
    "draft_rubric",
]
