"""Results of measuring runs against perspectives: means over topics with bounds, and `--json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from pnyx.measure.core.base import Bootstrap, Measured, plain, row_of
from pnyx.measure.core.intervals import UNIT, column_means
from pnyx.measure.core.significance import Compared
from pnyx.measure.core.weighted import Floats, numbers
from pnyx.measure.perspectives.corrected import Corrected
from pnyx.measure.perspectives.table import Bounded

PerspectiveTopics: TypeAlias = Literal["perspectives", "run", "both"]
"""Which questions a run is measured on: all that have perspectives; those of them that the run has;
those that every run has."""


@dataclass(frozen=True, slots=True)
class CoverageMean:
    """A mean over topics, and its bounds with unscored pairs read against and for the ranking.

    One yes can settle what takes many a no, so the mean is biased upward where many are `open`.
    """

    measured: Measured
    open: int = 0
    least: float | None = None
    most: float | None = None
    low: float | None = None  # of the interval of `least`
    high: float | None = None  # of the interval of `most`

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        bounds = row_of(self, "least most low high")
        return {**self.measured.row(), "open": self.open, "bounds": bounds}


@dataclass(frozen=True, slots=True)
class MeasuredCoverage:
    """One run; `pairs` counts pairs of document and perspective down to the greatest depth."""

    name: str
    tags: tuple[str, ...]
    measures: Mapping[str, CoverageMean]
    per_topic: Mapping[str, Mapping[str, Bounded]]
    pairs: Mapping[str, Any]
    absent: tuple[str, ...]  # measured as an empty ranking
    without_perspectives: tuple[str, ...]  # not measured
    rearranged: tuple[str, ...]  # their rank column disagrees with the scores
    corrected: Mapping[str, Corrected] = field(default_factory=dict)

    def row(self) -> dict[str, Any]:
        """Return the object of `--json` for this run (docs/measures.md)."""
        topics = row_of(self, "absent without_perspectives rearranged")
        return {
            "run": self.name,
            "tags": list(self.tags),
            "topics": {"measured": len(self.per_topic), **topics},
            **row_of(self, "pairs measures corrected"),
            "per_group": plain(self.per_topic),
        }


@dataclass(frozen=True, slots=True)
class UnionCoverage:
    """What the first documents of all runs cover together (BERDS, Table 6)."""

    depth: int
    measures: Mapping[str, CoverageMean]
    pairs: Mapping[str, Any]

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        return row_of(self, "depth pairs measures")


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class PerspectiveCoverage(Compared):
    """Runs measured against perspectives.

    `questions` counts those that have perspectives; `union` is of all runs, None where no depth was
    asked for; `correction` is what corrected values rest on, None without labelled pairs;
    `comparisons` are of each other run with the baseline, if any, measure by measure.
    """

    runs: tuple[MeasuredCoverage, ...]
    topics_of: PerspectiveTopics
    questions: int
    perspectives: int
    judge: str
    union: UnionCoverage | None
    correction: Mapping[str, Any] | None

    @property
    def unscored(self) -> int:
        """How many pairs are unscored, over all runs."""
        union = self.union.pairs["unscored"] if self.union else 0
        return union + sum(int(run.pairs["unscored"]) for run in self.runs)

    def rows(self) -> list[dict[str, Any]]:
        """Return the mean of each measure, run by run, with its bounds."""
        return [
            {"run": run.name, "measure": n, **m.measured.row(), **row_of(m, "open least most")}
            for run in self.runs for n, m in run.measures.items()
        ]  # fmt: skip

    def row(self) -> dict[str, Any]:
        """Return the object of `--json` (docs/measures.md); one run also stands at the top."""
        return {
            "task": "perspectives",
            "judge": self.judge,
            **self._runs_row(),
            **row_of(self, "topics_of questions perspectives union correction"),
            **self._methods_row(),
        }


def values_of(values: Sequence[Bounded | None], end: str = "value") -> Floats:
    """Return the values, or one of their bounds, as an array, NaN where there is none."""
    return numbers([None if one is None else getattr(one, end) for one in values])


def means_of(
    values: Mapping[str, Sequence[Bounded | None]],
    conditional: frozenset[str],
    bootstrap: Bootstrap,
) -> dict[str, CoverageMean]:
    """Return each measure's mean over topics; `conditional` ones lack bounds if topics are open."""
    if not values:
        return {}
    ends = ("value", "least", "most")
    columns = [values_of(of_topics, end) for of_topics in values.values() for end in ends]
    means = column_means(np.stack(columns, axis=1), bootstrap, UNIT)
    found = {}
    for place, (name, of_topics) in enumerate(values.items()):
        value, least, most = means[3 * place : 3 * place + 3]
        applies = [one for one in of_topics if one is not None]
        opens = [one for one in applies if one.open]
        mean = CoverageMean(replace(value, asked=len(applies)), len(opens))
        if not (opens and name in conditional):
            if least.value is not None and all(one.least is not None for one in opens):
                mean = replace(mean, least=least.value, low=least.low)
            if most.value is not None and all(one.most is not None for one in opens):
                mean = replace(mean, most=most.value, high=most.high)
        found[name] = mean
    return found
