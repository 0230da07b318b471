"""Annotations as TREC qrels: verdicts, or probabilities cut into grades."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

from pnyx.core.errors import InputError, shorten
from pnyx.core.files import atomic_text
from pnyx.core.records import Qrel
from pnyx.formats import write_qrels
from pnyx.judging.verdicts import UnscoredPairs, Verdict


def check_thresholds(thresholds: Sequence[float]) -> None:
    """Raise InputError unless thresholds rise and lie in (0, 1]."""
    shown = ",".join(f"{t:g}" for t in thresholds)
    if not thresholds or not all(0 < t <= 1 for t in thresholds):
        raise InputError(f"thresholds: found {shown or 'none'}, expected above 0, at most 1")
    if any(a >= b for a, b in pairwise(thresholds)):
        raise InputError(f"thresholds: found {shown}, expected rising ones")


def write_graded_qrels(
    path: str | Path,
    annotations: Iterable[Verdict],
    thresholds: Sequence[float] | None = None,
    unscored: UnscoredPairs | None = None,
) -> dict[int, int]:
    """Write annotations as TREC qrels, topic by topic; return how many lines have each grade.

    A pair's grade is the judge's verdict, 1 or 0. With thresholds it is how many of them the
    probability reaches: 0.3 and 0.7 give the grades 0, 1 and 2; a verdict without a probability
    counts as 1 or 0.

    Args:
        path: the file; `-` for standard output.
        annotations: each with question and document.
        thresholds: rising, each above 0 and at most 1; None for the verdicts.
        unscored: policy for pairs without a verdict; by default they get no line, and with
            thresholds there is no file.

    Raises:
        InputError: a pair is unscored under `error`, or all are and get no line; one lacks
            question or document, or comes twice; nothing is written.
    """
    policy = unscored or ("skip" if thresholds is None else "error")
    if thresholds is not None:
        check_thresholds(thresholds)
    topics, missing = _graded(annotations, thresholds, policy)
    found = Counter(grade for _, grades in topics.values() for grade in grades)
    if missing and not found:
        raise InputError(f"all {missing} pairs are unscored, so no qrels are written")
    if missing and policy == "error":
        raise InputError(
            f"{missing} pairs are unscored, so no qrels are written: say what they count as with "
            "--unscored skip or zero"
        )
    for topic, (documents, _) in topics.items():
        if len(set(documents)) < len(documents):
            (twice, _), *_ = Counter(documents).most_common(1)
            shown = f"{shorten(topic, 40)!r} and document {shorten(twice, 40)!r}"
            raise InputError(f"topic {shown} come twice, which qrels cannot say")
    qrels = (
        Qrel(topic, document, grade)
        for topic, (documents, grades) in topics.items()
        for document, grade in zip(documents, grades, strict=True)
    )
    with atomic_text(path) as stream:
        write_qrels(stream, qrels)
    return {grade: found[grade] for grade in range(len(thresholds or (1,)) + 1)}


_Topics: TypeAlias = dict[str, tuple[list[str], "array[int]"]]
"""Topic -> documents and their grades."""


def _graded(
    annotations: Iterable[Verdict], thresholds: Sequence[float] | None, policy: UnscoredPairs
) -> tuple[_Topics, int]:
    names: dict[str, str] = {}
    topics: _Topics = {}
    missing = 0
    for annotation in annotations:
        if not (annotation.question_id and annotation.doc_id):
            shown = shorten(annotation.id, 40)
            raise InputError(f"pair {shown!r} has no question_id or doc_id, which qrels need")
        missing += annotation.value is None
        if annotation.value is None and policy != "zero":
            continue
        grade = int(bool(annotation.value))
        if thresholds is not None:
            grade = sum((annotation.probability or 0.0) >= t for t in thresholds)
        documents, grades = topics.setdefault(annotation.question_id, ([], array("L")))
        documents.append(names.setdefault(annotation.doc_id, annotation.doc_id))
        grades.append(grade)
    return topics, missing
