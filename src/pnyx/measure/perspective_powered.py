"""Prediction-powered means: some of the measured questions are labelled by people themselves.

The judge's values on all questions, plus their difference to people's on the labelled ones
(Angelopoulos et al., Science 382, 2023), weighted so that the variance is least
(PPI++, Angelopoulos, Duchi and Zrnic 2023). It assumes nothing about the judge, and only that the
labelled questions were picked at random from the measured ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pnyx.measure.base import BOOTSTRAP
from pnyx.measure.gold import Pair
from pnyx.measure.intervals import log_odds_interval
from pnyx.measure.perspective_table import Table
from pnyx.measure.weighted import Floats

__all__ = ["Labels", "place_of", "powered"]


def place_of(pair: Pair) -> tuple[str, str, str]:
    """Return question, document and perspective of a pair; empty where they are not named."""
    one = pair.verdict
    document = one.doc_id or str(one.extra.get("text_id") or "")
    return one.question_id or one.group or one.id, document, one.perspective_id


class Labels:
    """People's verdicts on pairs of questions that are measured.

    Args:
        labelled: pairs; those of other questions do not matter.
    """

    def __init__(self, labelled: Sequence[Pair]) -> None:
        self._truth = {place_of(one): one.gold.yes for one in labelled}

    def values(
        self, tables: Sequence[Table], k: int, measure: Callable[[Table, int], Any]
    ) -> tuple[Floats, Floats]:
        """Return the judge's value of each question, and people's.

        Args:
            tables: questions without an unscored pair in the first k documents.
            k: how many documents count.
            measure: of a table.

        Returns:
            Both (questions,); people's is NaN where a pair of the first k documents has no label.
            Questions without documents are left out of both.
        """
        some = [table for table in tables if table.documents]
        judged = [measure(table, k).value for table in some]
        return np.array(judged, dtype=np.float64), np.array(
            [self._value(table, k, measure) for table in some], dtype=np.float64
        )

    def _value(self, table: Table, k: int, measure: Callable[[Table, int], Any]) -> float:
        said = [
            [self._truth.get((table.topic, doc, view)) for view in table.perspectives]
            for doc in table.documents[:k]
        ]
        if any(truth is None for row in said for truth in row):
            return np.nan
        yes = table.yes.copy()
        yes[:k] = said
        return float(measure(replace(table, yes=yes), k).value)


def powered(
    people: Floats, judged: Floats, weight: float, confidence: float = BOOTSTRAP.confidence
) -> tuple[float, float, float]:
    """Return the prediction-powered mean of shares, and its interval.

    The interval is symmetric in log-odds and takes Student's t. To be of use where people say the
    same of all labelled questions it adds two, one of 0 and one of 1, as Agresti and Coull do (Am.
    Stat. 52, 1998); these count for the interval and not for the estimate.

    Args:
        people: (questions,), in [0, 1], NaN where people did not label; at least two are not.
        judged: (questions,), in [0, 1].
        weight: of each of the two that are added: what one question counts in documents, 1 where
            it is covered or not, 1 / k where it is a share of k documents.
        confidence: of the interval.
    """
    known = np.isfinite(people)
    count, others = int(known.sum()), int((~known).sum())
    said, there, rest = people[known], judged[known], judged[~known]
    share = _tuned(said, there, judged, count, others)
    value = float(said.mean())
    unlabelled = 0.0
    if others:
        value += share * float(rest.mean() - there.mean())
        unlabelled = share**2 * (float(rest.var(ddof=1)) / others if others > 1 else 0.25)
    value = min(1.0, max(0.0, value))
    errors = said - share * there
    total = count + 2 * weight
    middle = (count * value + weight) / total
    squares = float(((errors - errors.mean()) ** 2).sum())
    squares += weight * (value**2 + (1 - value) ** 2)
    variance = squares / (total - 1) / total + unlabelled
    spread = variance / (middle * (1 - middle)) ** 2
    low, high = log_odds_interval(middle, spread, total - 1, confidence)
    return value, min(low, value), max(high, value)


def _tuned(said: Floats, there: Floats, judged: Floats, count: int, others: int) -> float:
    """Return how much of the judge's values makes the variance least, in [0, 1]."""
    spread = float(judged.var(ddof=1))
    if not others or not spread:
        return 0.0
    together = float(np.cov(said, there)[0, 1])
    return min(1.0, max(0.0, together / (spread * (1 + count / others))))
