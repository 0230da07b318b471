"""The public names of this room, each with its home."""

from .pairs import PairSource, pairs_of_corpus, pairs_of_items, pairs_of_run
from .results import Applied, apply_judge

__all__ = [
    "Applied",
    "PairSource",
    "apply_judge",
    "pairs_of_corpus",
    "pairs_of_items",
    "pairs_of_run",
]
