"""Results of measuring runs against perspectives: means over topics with bounds, and `--json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from pnyx.perspectives.measures.correction import Corrected
from pnyx.perspectives.measures.table import Bounded
from pnyx.search.measures.table import ComparedRuns, RunTable
from pnyx.stats.base import Bootstrap, Measured, plain, row_of

PerspectiveTopics: TypeAlias = Literal["perspectives", "run", "both"]
"""Questions to measure a run on: all that have perspectives; those of them in the run; or those in
every run."""


@dataclass(frozen=True, slots=True)
class CoverageMean(Measured):
    """A mean over topics; its bounds count unscored pairs against and for the ranking."""

    open: int = 0  # topics without a value; many of them bias the mean upward
    least: float | None = None
    most: float | None = None
    bounds_low: float | None = None  # lower end of the interval of `least`
    bounds_high: float | None = None  # upper end of that of `most`

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        ends = (self.least, self.most, self.bounds_low, self.bounds_high)
        bounds = dict(zip(("least", "most", "low", "high"), ends, strict=True))
        return {**Measured.row(self), "open": self.open, "bounds": bounds}


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
    judged: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Topic -> (number of its pairs with a verdict, number of its pairs)."""

    def row(self) -> dict[str, Any]:
        """Return the object of `--json` for this run (docs/reference/measures.md)."""
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
class PerspectiveCoverage(ComparedRuns):
    """Runs measured against perspectives.

    `questions` counts those that have perspectives; `union` covers all runs, None if no depth was
    requested; `correction` is the basis of corrected values, None without labelled pairs;
    `comparisons` compare each other run with the baseline, if any, measure by measure.
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
            {"run": run.name, "measure": n, **Measured.row(m), **row_of(m, "open least most")}
            for run in self.runs for n, m in run.measures.items()
        ]  # fmt: skip

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`; a single run is also at top level."""
        return {
            "task": "perspectives",
            "judge": self.judge,
            **self._runs_row(),
            **row_of(self, "topics_of questions perspectives union correction"),
            **self._methods_row(),
        }


def means_of(
    cells: Mapping[str, Mapping[str, Bounded]],
    names: Sequence[str],
    conditional: frozenset[str],
    bootstrap: Bootstrap,
) -> dict[str, CoverageMean]:
    """Return each measure's mean over topics; `conditional` ones: no bounds if topics are open."""

    def end(name: str) -> RunTable[Measured]:
        ends = {t: {n: _end(b, name) for n, b in of.items()} for t, of in cells.items()}
        return RunTable({"": ends})

    if not names or not cells:
        return {}
    values, least, most = (
        end(name).means("", names, bootstrap) for name in ("value", "least", "most")
    )
    means = {}
    for name in names:
        opens = [of[name] for of in cells.values() if name in of and of[name].open]
        bounded = not (opens and name in conditional)
        low = least[name] if bounded and all(b.least is not None for b in opens) else _NONE
        high = most[name] if bounded and all(b.most is not None for b in opens) else _NONE
        m = values[name]
        mean = m.value, m.scored, m.asked, m.low, m.high, m.no_interval
        bounds = low.value, high.value, low.low, high.high
        means[name] = CoverageMean(*mean, len(opens), *bounds)
    return means


_NONE = Measured(None, 0, 0)


def _end(bounded: Bounded, name: str) -> Measured:
    value = getattr(bounded, name)
    return Measured(value, int(value is not None), 1)
