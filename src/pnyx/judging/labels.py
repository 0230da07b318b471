"""Human labels: which of them count, and how several are combined."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from pnyx.formats.label_words import ADJUDICATED
from pnyx.judging.verdicts import Verdict
from pnyx.judging.votes import most_frequent

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


def counted_labels(
    labels: Iterable[Verdict], take: Callable[[Verdict], T]
) -> dict[tuple[str, str], list[T]]:
    """Return `take` of each label that counts; an `adjudicated` label counts alone."""
    first, several = counted((v.key, v.annotator == ADJUDICATED, take(v)) for v in labels)
    return {key: several.get(key) or [label] for key, label in first.items()}


def counted(labels: Iterable[tuple[K, bool, T]]) -> tuple[dict[K, T], dict[K, list[T]]]:
    """Return the first valid label of each key, and all labels of the keys with several.

    Each label has a key, and a flag for the one that decides.
    """
    first, several, decided = dict[K, T](), dict[K, list[T]](), set[K]()
    for key, decides, label in labels:
        if decides:
            decided.add(key)
            first[key] = label
            several.pop(key, None)
        elif key not in first:
            first[key] = label
        elif key not in decided:
            several.setdefault(key, [first[key]]).append(label)
    return first, several


def consensus(votes: Sequence[T]) -> T | None:
    """Return the majority of the labels of one item; None without a majority or labels."""
    winners = most_frequent(votes)[0] if len(votes) > 1 else votes
    return winners[0] if len(winners) == 1 else None
