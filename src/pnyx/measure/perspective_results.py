"""What measuring runs against perspectives gives, and its form in `--json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from pnyx.measure.comparisons import method_rows
from pnyx.measure.perspective_corrected import Corrected
from pnyx.measure.perspective_means import CoverageMean
from pnyx.measure.perspective_table import Bounded
from pnyx.measure.retrieval import Comparison
from pnyx.measure.significance import Test

__all__ = [
    "PERSPECTIVE_TOPICS",
    "MeasuredCoverage",
    "PerspectiveCoverage",
    "PerspectiveTopics",
    "UnionCoverage",
]

PerspectiveTopics: TypeAlias = Literal["perspectives", "run", "both"]
"""Which questions a run is measured on: all that have perspectives; those of them that the run has;
those that every run has."""

PERSPECTIVE_TOPICS: tuple[PerspectiveTopics, ...] = get_args(PerspectiveTopics)


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


@dataclass(frozen=True, slots=True)
class PerspectiveCoverage:
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
        draws: of the bootstrap.
        seed: of all that is drawn.
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
    draws: int
    seed: int

    @property
    def unscored(self) -> int:
        """How many pairs are unscored, over all runs."""
        union = self.union.pairs["unscored"] if self.union else 0
        return union + sum(int(run.pairs["unscored"]) for run in self.runs)

    def row(self) -> dict[str, Any]:
        """Return the object of `--json` (docs/measures.md); one run also stands at the top."""
        runs = [run.row() for run in self.runs]
        top = {key: runs[0][key] for key in ("measures", "per_group")} if len(runs) == 1 else {}
        methods = method_rows("topics", self.comparisons, self.test, self.draws, self.seed)
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
