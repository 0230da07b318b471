"""Measures corrected for the judge's errors with people's labels of some measured questions.

Prediction-powered inference (`pnyx.judging.measures.ppi`) combines people's values on the labelled
questions with the judge's values on the others, as far as these make the estimate more precise. It
assumes nothing about the judge; the labelled questions must be a random sample of the measured ones
(docs/explain/decisions/perspective-measures.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pnyx.core.errors import InputError, shorten
from pnyx.judging.measures.ground_truth import LabelledVerdicts
from pnyx.judging.measures.pairs import Pair
from pnyx.judging.measures.ppi import prediction_powered
from pnyx.perspectives.measures.table import PerspectiveMeasureAt, TopicTable
from pnyx.stats.base import BOOTSTRAP, Bootstrap, Measured, row_of
from pnyx.stats.intervals import UNIT

FEWEST = 8  # With fewer labelled questions nothing is corrected: the intervals would not hold.

FEW = 30  # With fewer, a warning: the intervals are wide and depend on single questions.


@dataclass(frozen=True, slots=True)
class Corrected(Measured):
    """A mean over questions, corrected with the `labelled` of them; None if these are too few."""

    labelled: int = 0

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        return row_of(self, "value low high scored asked labelled")


class Correction:
    """Estimates people's verdicts from labels of some questions and the judge's verdicts on all."""

    def __init__(
        self, labelled: LabelledVerdicts, judge: str, bootstrap: Bootstrap = BOOTSTRAP
    ) -> None:
        self._pairs = [pair for pair in labelled.pairs if pair.verdict.value is not None]
        if not self._pairs:
            raise InputError("holds no scored answer with a label")
        if judge != labelled.judge:
            theirs, ours = shorten(judge, 60), shorten(labelled.judge, 60)
            raise InputError(
                f"the labelled pairs were answered by {ours!r}, the verdicts are of {theirs!r}: "
                "expected the same judge"
            )
        self._labelled, self._bootstrap = labelled, bootstrap
        self._truth = {place_of(pair): pair.gold.yes for pair in self._pairs}

    def row(self) -> dict[str, Any]:
        """Return the basis of the estimates, for `--json`."""
        return {
            "judge": self._labelled.judge,
            "pairs": len(self._pairs),
            "unscored": len(self._labelled.pairs) - len(self._pairs),
            "yes": sum(bool(pair.gold.yes) for pair in self._pairs),
            "questions": len({question for question, _, _ in self._truth}),
            "fewest_questions": FEWEST,
            "few_questions": FEW,
        }

    def mean(self, tables: Sequence[TopicTable], at: PerspectiveMeasureAt) -> Corrected | None:
        """Return the mean that people's verdicts would give; None if the measure has none."""
        if at.measure.name not in ("MRecall", "Precision"):
            return None
        # One answer of people decides a part of precision, but all of recall.
        unit = 1 / at.k if at.measure.name == "Precision" else None
        closed = [table for table in tables if not table.unscored[: at.k].any()]
        some = [table for table in closed if table.documents]
        judged = np.array([_value(table, at) for table in some], dtype=np.float64)
        people = np.array([self._people(table, at) for table in some], dtype=np.float64)
        labelled = np.isfinite(people)
        count = int(labelled.sum())
        if count < FEWEST:
            return Corrected(None, len(closed), len(tables), labelled=count)
        level = self._bootstrap.confidence
        estimate = prediction_powered(
            people[labelled],
            judged[labelled],
            judged[~labelled],
            level,
            unit,
            None if unit else UNIT,
        )
        # For a question without documents, the value is known.
        value, low, high = (
            float(end or 0.0) * len(some) / len(closed)
            for end in (estimate.corrected.value, estimate.corrected.low, estimate.corrected.high)
        )
        if not self._bootstrap.draws:
            return Corrected(value, len(closed), len(tables), labelled=count)
        return Corrected(value, len(closed), len(tables), low, high, labelled=count)

    def _people(self, table: TopicTable, at: PerspectiveMeasureAt) -> float:
        """Return people's value; NaN if a pair of the first documents has no label."""
        labels = [
            [self._truth.get((table.topic, doc, view)) for view in table.perspectives]
            for doc in table.documents[: at.k]
        ]
        if any(truth is None for row in labels for truth in row):
            return np.nan
        yes = table.yes.copy()
        yes[: at.k] = labels
        return _value(replace(table, yes=yes), at)


def _value(table: TopicTable, at: PerspectiveMeasureAt) -> float:
    bounded = at.of(table)
    return np.nan if bounded is None or bounded.value is None else bounded.value


def place_of(pair: Pair) -> tuple[str, str, str]:
    """Return question, document and perspective of a pair; empty strings if it names none."""
    verdict = pair.verdict
    document = verdict.doc_id or str(verdict.extra.get("text_id") or "")
    return verdict.question_id or verdict.group or verdict.id, document, verdict.perspective_id
