"""People's labels: which of them count, and how several become one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from pnyx.corpora.benchmarks.label_words import ADJUDICATED
from pnyx.judge.combining.votes import most_frequent
from pnyx.judge.verdicts import Verdict

T = TypeVar("T")


def counted_labels(
    labels: Iterable[Verdict], take: Callable[[Verdict], T]
) -> dict[tuple[str, str], list[T]]:
    """Return what `take` makes of each label that counts; an `adjudicated` one counts alone."""
    counted: dict[tuple[str, str], list[T]] = {}
    decided: set[tuple[str, str]] = set()
    for label in labels:
        taken = take(label)
        if label.annotator == ADJUDICATED:
            decided.add(label.key)
            counted[label.key] = [taken]
        elif label.key not in decided:
            counted.setdefault(label.key, []).append(taken)
    return counted


def consensus(votes: Sequence[T]) -> T | None:
    """Return what most of those who label one thing say; None where none is ahead, or none says."""
    winners = most_frequent(votes)[0] if len(votes) > 1 else votes
    return winners[0] if len(winners) == 1 else None
