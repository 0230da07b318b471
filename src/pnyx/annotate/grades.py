"""Annotations as TREC qrels: probabilities cut into grades."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from pnyx.corpora import write_qrels
from pnyx.errors import InputError, shorten
from pnyx.files import atomic_text
from pnyx.measure.annotations import Annotation
from pnyx.records import Qrel

__all__ = ["UNSCORED", "Policy", "check_thresholds", "write_graded_qrels"]

Policy: TypeAlias = Literal["error", "skip", "zero"]
UNSCORED: tuple[str, ...] = get_args(Policy)
"""What becomes of pairs without a verdict: no file, no line in it, or grade 0."""


def check_thresholds(thresholds: Sequence[float]) -> None:
    """Check thresholds on a probability.

    Raises:
        InputError: there is none, one is not in (0, 1], or they do not rise.
    """
    shown = ",".join(f"{t:g}" for t in thresholds)
    if not thresholds or not all(0 < t <= 1 for t in thresholds):
        raise InputError(f"thresholds: found {shown or 'none'}, expected above 0, at most 1")
    if any(a >= b for a, b in pairwise(thresholds)):
        raise InputError(f"thresholds: found {shown}, expected rising ones")


def write_graded_qrels(
    path: str | Path,
    annotations: Iterable[Annotation],
    thresholds: Sequence[float] = (0.5,),
    unscored: Policy = "error",
) -> dict[int, int]:
    """Write annotations as TREC qrels, topic by topic.

    A pair's grade is how many of the thresholds its probability reaches: 0.3 and 0.7 give the
    grades 0, 1 and 2. A verdict without a probability counts as 1 or 0.

    Args:
        path: the file; `-` for standard output.
        annotations: each with question and document.
        thresholds: rising, each above 0 and at most 1.
        unscored: what becomes of pairs without a verdict.

    Returns:
        Grade -> how many lines have it.

    Raises:
        InputError: a pair is unscored under `error`, lacks question or document, or comes twice;
            nothing is written.
    """
    check_thresholds(thresholds)
    names: dict[str, str] = {}
    topics: dict[str, tuple[list[str], bytearray]] = {}
    missing = 0
    for one in annotations:
        if not (one.question_id and one.doc_id):
            shown = shorten(one.id, 40)
            raise InputError(f"pair {shown!r} lacks question_id or doc_id, which qrels need")
        if one.probability is None:
            missing += 1
            if unscored == "skip":
                continue
        reached = sum((one.probability or 0.0) >= t for t in thresholds)
        documents, grades = topics.setdefault(one.question_id, ([], bytearray()))
        documents.append(names.setdefault(one.doc_id, one.doc_id))
        grades.append(reached)
    if missing and unscored == "error":
        raise InputError(
            f"{missing} pairs are unscored, so no qrels are written: say what they count as with "
            "--unscored skip or zero"
        )
    with atomic_text(path) as stream:
        write_qrels(stream, _qrels(topics))
    found = Counter(grade for _, grades in topics.values() for grade in grades)
    return {grade: found[grade] for grade in range(len(thresholds) + 1)}


def _qrels(topics: dict[str, tuple[list[str], bytearray]]) -> Iterator[Qrel]:
    for topic, (documents, grades) in topics.items():
        if len(set(documents)) < len(documents):
            (twice, _), *_ = Counter(documents).most_common(1)
            shown = f"{shorten(topic, 40)!r} and document {shorten(twice, 40)!r}"
            raise InputError(f"topic {shown} come twice, which qrels cannot say")
        for document, grade in zip(documents, grades, strict=True):
            yield Qrel(topic, document, grade)
