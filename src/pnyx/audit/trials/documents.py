"""Scores of single documents in a trial with noise, compared with their labels (Table 7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pnyx.audit.trials.answer_values import TrialAnswer
from pnyx.audit.trials.trial_answers import Sheet, Summary
from pnyx.audit.trials.trial_items import Cell, labels_of
from pnyx.judging.questions import Rating
from pnyx.stats.intervals import SIGNED, UNIT, cluster_mean


def documents_by_level(sheet: Sheet, cells: Sequence[Cell], levels: Sequence[float]) -> Summary:
    """Return for each level how single documents are scored; empty if none are.

    `separation`: probability that one of the item's own documents scores above a replacement. For
    labelled documents: true precision (replacements are irrelevant), predicted precision (the mean
    score) and their difference.
    """
    if not any(answer.documents for answer in sheet.answers):
        return {}
    labelled = any(label is not None for item in sheet.posed.items for label in labels_of(item))
    rows = []
    for cell, level in zip(cells, levels, strict=True):
        values, _ = sheet.column(cell, _own_above)
        mixed, _ = sheet.column(cell, _is_mixed)
        separation = sheet.mean(values, int(np.nansum(mixed)), bounds=UNIT)
        row: Summary = {"level": level, "separation": separation}
        rows.append(row | (_precision(sheet, cell) if labelled else {}))
    return {"documents": rows}


def _precision(sheet: Sheet, cell: Cell) -> Summary:
    rows: list[tuple[int, float, float]] = []
    for index, item in enumerate(sheet.posed.items):
        answered = sheet.answer(cell, index)
        if answered is None:
            continue
        question, answer = answered
        scores = _shares(question, answer)
        for number, label in enumerate(labels_of(item)):
            if label is not None:
                true = float(label and number not in question.extra["replaced"])
                rows.append((int(sheet.clusters[index]), true, scores[number]))
    clusters = np.array([cluster for cluster, _, _ in rows], dtype=np.intp)
    predicted = np.array([score for _, _, score in rows], dtype=np.float64)
    labels = np.where(np.isfinite(predicted), np.array([true for _, true, _ in rows]), np.nan)
    return {
        name: cluster_mean(values, clusters, sheet.bootstrap, bounds=bounds)
        for name, values, bounds in (
            ("true", labels, UNIT),
            ("predicted", predicted, UNIT),
            ("error", predicted - labels, SIGNED),
        )
    }


def _shares(question: Rating, answer: TrialAnswer) -> list[float]:
    """Return the score of each document as a share of the scale; NaN if it has none."""
    low, high = question.scale
    scores = answer.documents or [None] * len(question.documents)
    return [np.nan if score is None else (score - low) / (high - low) for score in scores]


def _own_above(question: Any, answer: TrialAnswer) -> float | None:
    return share_above(_shares(question, answer), question.extra["replaced"])


def _is_mixed(question: Any, _: TrialAnswer) -> float:
    """Return 1 for a question with both original and replaced documents, else 0."""
    return float(0 < len(question.extra["replaced"]) < len(question.documents))


def share_above(scores: Sequence[float], out: Sequence[int]) -> float | None:
    """Return the share of pairs in which an original scores above one in `out`, ties as half."""
    kept_scores = [x for n, x in enumerate(scores) if n not in out and np.isfinite(x)]
    gone = [scores[n] for n in out if np.isfinite(scores[n])]
    wins = sum((score > other) + (score == other) / 2 for score in kept_scores for other in gone)
    return wins / (len(kept_scores) * len(gone)) if kept_scores and gone else None
