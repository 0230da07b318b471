"""What measuring runs against perspectives gives: means over topics with bounds, and `--json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from pnyx.measure.base import Bootstrap, Measured, Result
from pnyx.measure.bootstrap import column_means
from pnyx.measure.comparisons import Comparison, method_rows
from pnyx.measure.perspective_corrected import Corrected
from pnyx.measure.perspective_table import Bounded
from pnyx.measure.significance import Test
from pnyx.measure.weighted import Floats, numbers

__all__ = [
    "PERSPECTIVE_TOPICS",
    "CoverageMean",
    "MeasuredCoverage",
    "PerspectiveCoverage",
    "PerspectiveTopics",
    "UnionCoverage",
    "means_of",
    "values_of",
]

PerspectiveTopics: TypeAlias = Literal["perspectives", "run", "both"]
"""Which questions a run is measured on: all that have perspectives; those of them that the run has;
those that every run has."""

PERSPECTIVE_TOPICS: tuple[PerspectiveTopics, ...] = get_args(PerspectiveTopics)


@dataclass(frozen=True, slots=True)
class CoverageMean:
    """A mean over topics.

    Attributes:
        measured: over the topics that have a value. `scored` counts them, `asked` all topics that
            the measure applies to. Of topics left out for unscored pairs more would be low than
            high as a rule, since one yes can settle what takes many a no: it is biased upward, and
            where many are open, trust the bounds.
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


@dataclass(frozen=True, slots=True)
class MeasuredCoverage:
    """One run.

    Attributes:
        name: as it was given.
        tags: in its file, as a rule one.
        measures: name -> mean over the questions.
        per_topic: question -> name -> value; without those that do not apply to it.
        pairs: `asked`, `scored`, `unscored` and `reasons` of the pairs of perspective and document
            down to the greatest depth that is measured.
        absent: questions among them that the run does not have; they count as empty rankings.
        without_perspectives: questions of the run that have none; they are not measured.
        rearranged: questions whose rank column says another order than the scores.
        corrected: name -> the mean with the judge's errors taken into account; empty without
            labelled pairs.
    """

    name: str
    tags: tuple[str, ...]
    measures: Mapping[str, CoverageMean]
    per_topic: Mapping[str, Mapping[str, Bounded]]
    pairs: Mapping[str, Any]
    absent: tuple[str, ...]
    without_perspectives: tuple[str, ...]
    rearranged: tuple[str, ...]
    corrected: Mapping[str, Corrected] = field(default_factory=dict)

    def row(self) -> dict[str, Any]:
        """Return the object of `--json` for this run (docs/measures.md)."""
        return {
            "run": self.name,
            "tags": list(self.tags),
            "topics": {
                "measured": len(self.per_topic),
                "absent": list(self.absent),
                "without_perspectives": list(self.without_perspectives),
                "rearranged": list(self.rearranged),
            },
            "pairs": dict(self.pairs),
            "measures": {name: mean.row() for name, mean in self.measures.items()},
            "corrected": {name: one.row() for name, one in self.corrected.items()},
            "per_group": {
                topic: {name: _topic_row(value) for name, value in values.items()}
                for topic, values in self.per_topic.items()
            },
        }


def _topic_row(value: Bounded) -> dict[str, Any]:
    scored = int(value.value is not None)
    bounds = {"least": value.least, "most": value.most}
    return {"value": value.value, "low": None, "high": None, "scored": scored, "asked": 1,
            "open": int(value.open), "bounds": bounds}  # fmt: skip


@dataclass(frozen=True, slots=True)
class UnionCoverage:
    """What the first documents of all runs cover together: the corpus, as far as it was found.

    Attributes:
        depth: how many of each run count.
        measures: `MRecall`, whether they cover all perspectives of a question (BERDS, Table 6), and
            `MinCover`, how few of them do; means over the questions.
        pairs: as in `MeasuredCoverage`.
    """

    depth: int
    measures: Mapping[str, CoverageMean]
    pairs: Mapping[str, Any]

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        measures = {name: mean.row() for name, mean in self.measures.items()}
        return {"depth": self.depth, "pairs": dict(self.pairs), "measures": measures}


@dataclass(frozen=True, slots=True, repr=False)
class PerspectiveCoverage(Result):
    """Runs measured against perspectives.

    Attributes:
        runs: in the order given.
        topics_of: which questions they are measured on.
        questions: how many have perspectives.
        perspectives: how many these have.
        judge: whose verdicts.
        union: of all runs; None where no depth was asked for.
        correction: what the corrected values rest on; None without labelled pairs.
        comparisons: each other run against the baseline, measure by measure.
        baseline: its name; None without one.
        test: of the comparisons.
        bootstrap: how intervals, and all else that is drawn, were drawn.
    """

    runs: tuple[MeasuredCoverage, ...]
    topics_of: PerspectiveTopics
    questions: int
    perspectives: int
    judge: str
    union: UnionCoverage | None
    correction: Mapping[str, Any] | None
    comparisons: tuple[Comparison, ...]
    baseline: str | None
    test: Test
    bootstrap: Bootstrap

    @property
    def unscored(self) -> int:
        """How many pairs are unscored, over all runs."""
        union = self.union.pairs["unscored"] if self.union else 0
        return union + sum(int(run.pairs["unscored"]) for run in self.runs)

    def rows(self) -> list[dict[str, Any]]:
        """Return the mean of each measure, run by run, with its bounds."""
        return [
            {"run": run.name, "measure": name, **mean.measured.row(), "open": mean.open,
             "least": mean.least, "most": mean.most}
            for run in self.runs for name, mean in run.measures.items()
        ]  # fmt: skip

    def row(self) -> dict[str, Any]:
        """Return the object of `--json` (docs/measures.md); one run also stands at the top."""
        runs = [run.row() for run in self.runs]
        top = {key: runs[0][key] for key in ("measures", "per_group")} if len(runs) == 1 else {}
        methods = method_rows("topics", self.comparisons, self.test, self.bootstrap)
        return {
            "task": "perspectives",
            "judge": self.judge,
            **top,
            "runs": runs,
            "topics_of": self.topics_of,
            "questions": self.questions,
            "perspectives": self.perspectives,
            "union": None if self.union is None else self.union.row(),
            "correction": None if self.correction is None else dict(self.correction),
            "baseline": self.baseline,
            "comparisons": [c.row() for c in self.comparisons],
            **methods,
            **({"test": None} if self.baseline is None else {}),
        }


def values_of(values: Sequence[Bounded | None]) -> Floats:
    """Return the values as an array, NaN where there is none."""
    return numbers([None if one is None else one.value for one in values])


def means_of(
    values: Mapping[str, Sequence[Bounded | None]],
    conditional: frozenset[str],
    bootstrap: Bootstrap,
) -> dict[str, CoverageMean]:
    """Return each measure's mean over topics.

    Args:
        values: measure -> the value of each topic, in the same order; None where it does not apply.
        conditional: measures that are not defined for every topic: while a topic is open, so is
            whether it counts, and their means have no bounds.
        bootstrap: over topics.
    """
    if not values:
        return {}
    columns = [column for of_topics in values.values() for column in _columns(of_topics)]
    means = column_means(np.stack(columns, axis=1), bootstrap)
    found = {}
    for place, (name, of_topics) in enumerate(values.items()):
        value, least, most = means[3 * place : 3 * place + 3]
        asked = sum(one is not None for one in of_topics)
        opened = sum(one is not None and one.open for one in of_topics)
        found[name] = CoverageMean(replace(value, asked=asked), opened)
        if opened and name in conditional:
            continue
        opens = [one for one in of_topics if one is not None and one.open]
        if least.value is not None and all(one.least is not None for one in opens):
            found[name] = replace(found[name], least=least.value, low=least.low)
        if most.value is not None and all(one.most is not None for one in opens):
            found[name] = replace(found[name], most=most.value, high=most.high)
    return found


def _columns(of_topics: Sequence[Bounded | None]) -> tuple[Floats, Floats, Floats]:
    """Return values, lower and upper bounds, (topics,) each; NaN where there is none."""
    least = numbers([None if one is None else one.least for one in of_topics])
    most = numbers([None if one is None else one.most for one in of_topics])
    return values_of(of_topics), least, most
