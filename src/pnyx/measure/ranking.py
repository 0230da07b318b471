"""How good the top of a ranking is: precision at k and coverage of perspectives at k."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pnyx.measure.base import Measured
from pnyx.measure.intervals import wilson

__all__ = ["perspective_coverage", "precision_at"]


def precision_at(
    runs: Mapping[str, Sequence[str]], relevant: Mapping[str, Collection[str]], k: int
) -> Measured:
    """Return the share of relevant documents among the first k of each topic, all topics pooled.

    Args:
        runs: topic -> document ids, best first. Topics without a ranking count as k misses.
        relevant: topic -> ids of its relevant documents; these are the topics that are measured.
        k: depth, at least 1; the denominator is k for each topic, as in trec_eval's P_k.

    Returns:
        A share in [0, 1] with Wilson's 95 % interval, which takes the k x topics places as
        independent; every place counts as scored. None where there is no topic.

    Raises:
        ValueError: k is below 1.
    """
    _check_depth(k)
    hits = sum(
        sum(doc in good for doc in runs.get(topic, ())[:k]) for topic, good in relevant.items()
    )
    asked = k * len(relevant)
    if asked == 0:
        return Measured(None, 0, 0)
    return Measured(hits / asked, asked, asked, *wilson(hits, asked))


def perspective_coverage(
    runs: Mapping[str, Sequence[str]],
    supports: Mapping[str, Mapping[str, Collection[str]]],
    k: int,
) -> Measured:
    """Return the share of perspectives that a document in the first k supports (subtopic recall).

    Args:
        runs: topic -> document ids, best first.
        supports: topic -> perspective id -> ids of the documents that support it; every
            perspective counts, also one that no document supports.
        k: depth, at least 1.

    Returns:
        A share in [0, 1], perspectives of all topics pooled, with Wilson's 95 % interval. None
        where there is no perspective.

    Raises:
        ValueError: k is below 1.
    """
    _check_depth(k)
    covered = [
        any(doc in documents for doc in runs.get(topic, ())[:k])
        for topic, perspectives in supports.items()
        for documents in perspectives.values()
    ]
    if not covered:
        return Measured(None, 0, 0)
    return Measured(
        sum(covered) / len(covered), len(covered), len(covered), *wilson(sum(covered), len(covered))
    )


def _check_depth(k: int) -> None:
    if k < 1:
        raise ValueError(f"the depth is {k}, expected at least 1")
