"""How much relevant information there is for each question (DIRAS, section 5, Fig. 5).

From a judge's probabilities alone: no labels are needed, and the result is as good as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pnyx.judge.verdicts import Source, read_annotations
from pnyx.measure.base import Result

__all__ = ["Amount", "Amounts", "measure_amount"]


@dataclass(frozen=True, slots=True)
class Amount:
    """How much of what was judged is relevant to a question, by the judge's probabilities.

    Attributes:
        documents: scored pairs.
        unscored: pairs without a verdict, which are only counted.
        expected: the sum of the probabilities: how many relevant documents are to be expected,
            if the probabilities are calibrated.
        mean: `expected` by document, in [0, 1]: what DIRAS, Fig. 5 shows; None without documents.
        reaching: threshold -> how many documents have at least that probability.
    """

    documents: int
    unscored: int
    expected: float
    mean: float | None
    reaching: Mapping[float, int]

    def row(self) -> dict[str, Any]:
        """Return it for JSON."""
        counts = [
            {"threshold": t, "count": n, "share": n / self.documents if self.documents else None}
            for t, n in self.reaching.items()
        ]
        return {
            "documents": self.documents,
            "unscored": self.unscored,
            "expected": self.expected,
            "mean": self.mean,
            "reaching": counts,
        }


class Amounts(Result, dict[str, Amount]):
    """Question -> amount, the greatest mean first, questions with nothing scored last."""

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each question, with a column for each threshold."""
        names = ("documents", "unscored", "expected", "mean")
        return [{"question": question, **{n: getattr(one, n) for n in names},
                 **{f"from {t:g}": n for t, n in one.reaching.items()}}
                for question, one in self.items()]  # fmt: skip


def measure_amount(annotations: Source, at: Sequence[float] = (0.5, 0.7, 0.9)) -> Amounts:
    """Return the amount of relevant information of each question; nobody's labels are needed.

    Args:
        annotations: a judge's: a file, what `read_annotations` yields or `pnyx.ask` returned.
        at: thresholds, each above 0 and at most 1.
    """
    found: dict[str, list[float]] = {}
    unscored: dict[str, int] = {}
    for one in read_annotations(annotations):
        values = found.setdefault(one.question_id, [])
        if one.probability is None:
            unscored[one.question_id] = unscored.get(one.question_id, 0) + 1
        else:
            values.append(one.probability)
    amounts = {}
    for question, values in found.items():
        seen = np.asarray(values)
        amounts[question] = Amount(
            len(values),
            unscored.get(question, 0),
            float(seen.sum()),
            float(seen.mean()) if values else None,
            {t: int((seen >= t).sum()) for t in at},
        )
    return Amounts(sorted(amounts.items(), key=_place))


def _place(item: tuple[str, Amount]) -> tuple[bool, float, str]:
    question, amount = item
    return amount.mean is None, -(amount.mean or 0.0), question
