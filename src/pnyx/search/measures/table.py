"""The table of runs: run x topic x measure, with the number of items behind each value.

Whatever measures runs (retrieval, reports, perspectives, leaderboards, the benchmark of BERDS)
fills it; it computes means over topics, their intervals and comparisons of two runs. Topics are in
one order (`topic_order`), so that the same values have the same intervals everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, compress
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np

from pnyx.core.tabular import Result
from pnyx.formats.questions import topic_order
from pnyx.stats.base import BOOTSTRAP, TEST, Bootstrap, Measured, plain
from pnyx.stats.intervals import UNIT, Range, column_means
from pnyx.stats.significance import FLIPS, ONE_SIDED, SIGNIFICANT, Comparison, Test, differ, family
from pnyx.stats.weighted_measures import Floats, numbers

RunPair: TypeAlias = tuple[str, str, str]
"""A run, the one it is compared with, and the measure."""


class Cell(Protocol):
    """The value of a run on a topic by a measure; None if it is unscored or undefined."""

    @property
    def value(self) -> float | None: ...  # noqa: D102
    @property
    def scored(self) -> int: ...  # noqa: D102
    @property
    def asked(self) -> int: ...  # noqa: D102


class Metric(NamedTuple):
    """One value of the table, with the names of ir_measures, its run and its number of items."""

    run: str
    query_id: str
    measure: str
    value: float | None
    scored: int
    total: int


C_co = TypeVar("C_co", bound=Cell, covariant=True)


class RunTable(Generic[C_co]):
    """Values: run -> topic, in order -> measure; absent topics and cells are ignored."""

    def __init__(self, cells: Mapping[str, Mapping[str, Mapping[str, C_co]]]) -> None:
        self.cells = {
            run: {topic: topics[topic] for topic in sorted(topics, key=topic_order)}
            for run, topics in cells.items()
        }

    def __iter__(self) -> Iterator[Metric]:
        for run, topics in self.cells.items():
            for topic, values in topics.items():
                for measure, cell in values.items():
                    yield Metric(run, topic, measure, cell.value, cell.scored, cell.asked)

    def having(self, measure: str) -> dict[str, list[str]]:
        """Return the runs that have cells of a measure, and on which topics."""
        cells = {
            run: [topic for topic, values in topics.items() if measure in values]
            for run, topics in self.cells.items()
        }
        return {run: topics for run, topics in cells.items() if topics}

    def column(self, run: str, measure: str, topics: Iterable[str]) -> Floats:
        """Return a run's values (topics,) by a measure, NaN if there is none."""
        row = self.cells.get(run, {})
        cells = (row.get(topic, {}).get(measure) for topic in topics)
        return numbers([None if cell is None else cell.value for cell in cells])

    def means(
        self,
        run: str,
        measures: Sequence[str],
        bootstrap: Bootstrap = BOOTSTRAP,
        ranges: Sequence[Range | None] | None = None,
    ) -> dict[str, Measured]:
        """Return each measure's mean and interval over the run's topics that have a value."""
        topics = self.cells[run]
        table = np.stack([self.column(run, name, topics) for name in measures], axis=1)
        means = column_means(table, bootstrap, UNIT if ranges is None else list(ranges))
        counts = [sum(name in values for values in topics.values()) for name in measures]
        return {
            name: replace(mean, asked=count)
            for name, mean, count in zip(measures, means, counts, strict=True)
        }

    def compare(
        self,
        pairs: Sequence[RunPair],
        test: Test = TEST,
        bootstrap: Bootstrap = BOOTSTRAP,
        margin: float | None = None,
    ) -> tuple[Comparison, ...]:
        """Test pairs as one family (Holm-Bonferroni), over topics where both have a value."""
        columns: dict[RunPair, Floats] = {}
        grouped: dict[tuple[str, ...], list[RunPair]] = {}
        for run, other, name in pairs:
            topics = list(self.cells[run])
            values = self.column(run, name, topics) - self.column(other, name, topics)
            has = np.isfinite(values)
            columns[run, other, name] = values[has]
            shared = tuple(compress(topics, has))
            grouped.setdefault(shared, []).append((run, other, name))
        tested: dict[RunPair, Comparison] = {}
        for same in grouped.values():
            table = np.stack([columns[pair] for pair in same], axis=1)
            tested.update(zip(same, differ(table, test, bootstrap, margin), strict=True))
        named = (
            replace(tested[run, other, name], run=run, other=other, measure=name)
            for run, other, name in pairs
        )
        return family(list(named))


def against(runs: Iterable[str], baseline: str | None, measures: Sequence[str]) -> list[RunPair]:
    """Return each other run with the baseline, measure by measure; empty without one."""
    others = [run for run in runs if baseline is not None and run != baseline]
    return [(run, str(baseline), name) for run in others for name in measures]


def each_pair(ranked: Sequence[str], baseline: str | None, measure: str) -> list[RunPair]:
    """Return each run with each below it, or with the baseline."""
    if baseline is not None:
        return against(ranked, baseline, [measure])
    return [(run, other, measure) for run, other in combinations(ranked, 2)]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class ComparedRuns(Result):
    """Measured runs and their comparisons, each of a run with another or with the `baseline`."""

    runs: tuple[Any, ...]
    comparisons: tuple[Comparison, ...]
    baseline: str | None
    test: Test
    bootstrap: Bootstrap

    @property
    def table(self) -> RunTable[Cell]:
        """Each run's value on each topic by each measure."""
        return RunTable({run.name: run.per_topic for run in self.runs})

    @property
    def undefined(self) -> int:
        """How many values of single topics are undefined."""
        return sum(m.asked - m.scored for run in self.runs for m in run.measures.values())

    def rows(self) -> list[dict[str, Any]]:
        """Return the mean of each measure, run by run."""
        return [
            {"run": run.name, "measure": name, **mean.row()}
            for run in self.runs
            for name, mean in run.measures.items()
        ]

    def _runs_row(self) -> dict[str, Any]:
        """Return the runs for `--json`; a single one is also at the top level."""
        runs = plain(self.runs)
        top = {key: runs[0][key] for key in ("measures", "per_group")} if len(runs) == 1 else {}
        return {**top, "runs": runs}

    def _methods_row(self, name: str = "measure", topics: str = "topics") -> dict[str, Any]:
        """Return the comparisons for `--json`, the test and the kind of intervals."""
        compared, random = self.comparisons, self.test != "t"
        test = {
            "method": f"paired {self.test}",
            "correction": "Holm-Bonferroni",
            "comparisons": sum(c.p_holm is not None for c in compared),
            "level": SIGNIFICANT,
            **({"level_against_margin": ONE_SIDED} if any(c.against for c in compared) else {}),
            **({"patterns": FLIPS, "seed": self.bootstrap.seed} if random else {}),
        }
        return {
            "baseline": self.baseline,
            "comparisons": [c.row(name, topics) for c in compared],
            "test": None if self.baseline is None and name == "measure" else test,
            "interval": self.bootstrap.row(f"bootstrap over {topics}"),
        }
