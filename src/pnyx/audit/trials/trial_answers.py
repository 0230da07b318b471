"""The answers to a trial's questions by cell and item, and statistics on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from pnyx.audit.trials.answer_values import TrialAnswer
from pnyx.audit.trials.trial_items import Cell, Stress, TrialQuestions, group_of
from pnyx.judging.measures.trials import Decline, Index, measure_decline, numbered
from pnyx.judging.questions import Rating
from pnyx.stats.base import Bootstrap, Measured
from pnyx.stats.intervals import Range, cluster_mean
from pnyx.stats.weighted_measures import Floats

Outcome: TypeAlias = Literal["passed", "failed", "unclear", "unscored"]

Summary: TypeAlias = dict[str, Any]
"""Outcome, primary (the name of the measure that decides), measures, problems and plot data."""


class Sheet:
    """The answers of a trial by cell and item."""

    def __init__(
        self, posed: TrialQuestions, answers: Sequence[TrialAnswer], stress: Stress
    ) -> None:
        self.posed, self.stress = posed, stress
        self.bootstrap = Bootstrap(stress.draws, stress.seed)
        self.kind = type(posed.items[0])
        self.answers = answers
        names = [("group", group_of(i)) if group_of(i) else ("item", i.id) for i in posed.items]
        self.clusters: Index = numbered([f"{kind} {name}" for kind, name in names])
        self.by_group = any(kind == "group" for kind, _ in names)
        self._used = {index for uses in posed.uses.values() for index, _ in uses}
        self.at = {cell: dict(uses) for cell, uses in posed.uses.items()}

    def answer(self, cell: Cell, item: int) -> tuple[Any, TrialAnswer] | None:
        """Return question and answer of an item in a cell; None if it was not asked there."""
        index = self.at.get(cell, {}).get(item)
        return None if index is None else (self.posed.questions[index], self.answers[index])

    def column(
        self, cell: Cell, score: Callable[[Any, TrialAnswer], float | None]
    ) -> tuple[Floats, np.ndarray]:
        """Return the scores of all items in a cell, NaN for none, and whether each was asked."""
        values = np.full(len(self.posed.items), np.nan)
        was_asked = np.zeros(len(values), dtype=np.bool_)
        for item in range(len(values)):
            answered = self.answer(cell, item)
            if answered is not None:
                was_asked[item] = True
                value = score(*answered)
                values[item] = np.nan if value is None else value
        return values, was_asked

    def decline(
        self, cells: Sequence[Cell], levels: Sequence[float], score: Callable[..., float | None]
    ) -> Decline:
        """Return how a score falls from cell to cell."""
        columns = [self.column(cell, score) for cell in cells]
        table = np.stack([values for values, _ in columns], axis=1)
        was_asked = np.stack([was for _, was in columns], axis=1)
        return measure_decline(levels, table, was_asked, self.clusters, self.bootstrap)

    def mean(
        self, values: Floats, total: int | None = None, bounds: Range | None = None
    ) -> Measured:
        """Return the mean of items' values with its interval."""
        used = len(self._used) if total is None else total
        return cluster_mean(values, self.clusters, self.bootstrap, used, bounds)

    def overall(self, columns: Sequence[Floats]) -> Floats:
        """Return each item's mean over the columns in which it has a value; NaN without any."""
        table = np.stack(columns, axis=1)
        counts = np.isfinite(table).sum(axis=1)
        return np.where(counts > 0, np.nansum(table, axis=1) / np.maximum(counts, 1), np.nan)

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The dimensions on which every item is rated; none for other kinds of items."""
        if self.kind is not Rating:
            return ()
        each = [i.dimensions for i in self.posed.items if isinstance(i, Rating)]
        return tuple(name for name in each[0] if all(name in names for names in each))
