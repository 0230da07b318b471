"""The public names of this room, each with its home."""

from .creating import DraftedBank, NuggetSource, create_banks, rate_banks
from .extracting import extract_banks
from .merging import MergedBanks, merge_banks
from .rubrics import DraftedRubric, draft_rubric
from .sources import sources_of

__all__ = [
    "DraftedBank",
    "DraftedRubric",
    "MergedBanks",
    "NuggetSource",
    "create_banks",
    "draft_rubric",
    "extract_banks",
    "merge_banks",
    "rate_banks",
    "sources_of",
]
