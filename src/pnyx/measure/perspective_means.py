"""Means over topics of values that unscored pairs may leave open: the value, and its bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from pnyx.measure.base import Measured
from pnyx.measure.bootstrap import mean_intervals
from pnyx.measure.columns import numbers
from pnyx.measure.perspective_table import Bounded
from pnyx.measure.weighted import Floats

__all__ = ["CoverageMean", "means_of", "values_of"]

Values: TypeAlias = Mapping[str, Sequence[Bounded | None]]
"""Measure -> the value of each topic, in the same order; None where it does not apply."""


@dataclass(frozen=True, slots=True)
class CoverageMean:
    """A mean over topics.

    Attributes:
        measured: over the topics that have a value. `scored` counts them, `asked` all topics that
            the measure applies to. More of the topics left out for unscored pairs would be low than
            high, since one yes can settle what takes many a no: it is biased upward, and
            if many are open only the bounds can be trusted.
        open: topics without a value because of unscored pairs; others may have none by the
            measure's definition.
        least: the mean over all topics with every unscored pair read against the ranking; None
            where there is no such bound.
        most: with every unscored pair read in its favour.
        low: lower end of the 95 % interval of `least`.
        high: upper end of that of `most`.
    """

    measured: Measured
    open: int = 0
    least: float | None = None
    most: float | None = None
    low: float | None = None
    high: float | None = None

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        bounds = {name: getattr(self, name) for name in ("least", "most", "low", "high")}
        return {**self.measured.row(), "open": self.open, "bounds": bounds}


def values_of(values: Sequence[Bounded | None]) -> Floats:
    """Return the values as an array, NaN where there is none."""
    return numbers([None if one is None else one.value for one in values])


def means_of(
    values: Values, conditional: frozenset[str], draws: int, seed: int
) -> dict[str, CoverageMean]:
    """Return each measure's mean over topics.

    Args:
        values: of each measure, on the same topics.
        conditional: measures that are not defined for every topic: while a topic is open, so is
            whether it counts, and their means have no bounds.
        draws: of the bootstrap over topics; 0 for no intervals.
        seed: of the bootstrap.
    """
    if not values:
        return {}
    columns = [column for of_topics in values.values() for column in _columns(of_topics)]
    bounds = mean_intervals(np.stack(columns, axis=1), draws, seed)
    found = {}
    for place, (name, of_topics) in enumerate(values.items()):
        value, least, most = columns[3 * place : 3 * place + 3]
        defined = value[np.isfinite(value)]
        mean = float(defined.mean()) if len(defined) else None
        asked = sum(one is not None for one in of_topics)
        measured = Measured(mean, len(defined), asked, *bounds[3 * place])
        opened = sum(one is not None and one.open for one in of_topics)
        if opened and name in conditional:
            found[name] = CoverageMean(measured, opened)
            continue
        low, high = bounds[3 * place + 1][0], bounds[3 * place + 2][1]
        (least_mean, low), (most_mean, high) = (
            _bound(column, of_topics, end) for column, end in ((least, low), (most, high))
        )
        found[name] = CoverageMean(measured, opened, least_mean, most_mean, low, high)
    return found


def _columns(of_topics: Sequence[Bounded | None]) -> tuple[Floats, Floats, Floats]:
    """Return values, lower and upper bounds, (topics,) each; NaN where there is none."""
    least = numbers([None if one is None else one.least for one in of_topics])
    most = numbers([None if one is None else one.most for one in of_topics])
    return values_of(of_topics), least, most


def _bound(
    column: Floats, of_topics: Sequence[Bounded | None], end: float | None
) -> tuple[float | None, float | None]:
    """Return the mean of the bounds and the interval's end; None where an open topic has none."""
    unlimited = any(
        one is not None and one.open and not np.isfinite(bound)
        for one, bound in zip(of_topics, column, strict=True)
    )
    defined = column[np.isfinite(column)]
    if unlimited or not len(defined):
        return None, None
    return float(defined.mean()), end
