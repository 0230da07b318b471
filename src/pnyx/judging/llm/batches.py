"""The number of items per call of a language model."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def split_evenly(items: Sequence[T], most: int) -> list[list[T]]:
    """Return the items in as few lists of at most `most` as possible, of nearly equal lengths."""
    count = -(-len(items) // most)
    bounds = [-(-len(items) * n // max(1, count)) for n in range(count + 1)]
    return [list(items[low:high]) for low, high in itertools.pairwise(bounds)]
