"""Runs measured against qrels: per topic, mean with an interval, and against a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from pnyx.measure.base import Measured
from pnyx.measure.bootstrap import mean_intervals
from pnyx.measure.comparisons import (
    DRAWS,
    SIGNIFICANT,
    AgainstMargin,
    Compared,
    differ,
    family,
    method_rows,
)
from pnyx.measure.irmeasures import (
    DEFAULT_DIVERSITY,
    DEFAULT_MEASURES,
    Scorer,
    parse_measures,
)
from pnyx.measure.rankings import (
    Judgements,
    Rankings,
    judgements_of,
    rankings_of,
    topics_measured,
)
from pnyx.measure.significance import PairedTest, Test
from pnyx.measure.weighted import Floats
from pnyx.records import Qrel, RunEntry

__all__ = [
    "DRAWS",
    "SIGNIFICANT",
    "TOPICS_OF",
    "Comparison",
    "MeasuredRun",
    "Retrieval",
    "TopicsOf",
    "compare_runs",
    "measure_retrieval",
]

TopicsOf: TypeAlias = Literal["qrels", "run", "both"]
"""Which topics a run is measured on: all of the qrels (`trec_eval -c`); those of the qrels that
the run has (`trec_eval`); those of the qrels that every run has."""

TOPICS_OF: tuple[TopicsOf, ...] = get_args(TopicsOf)


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """One run.

    Attributes:
        name: as it was given.
        tags: in its file, as a rule one.
        measures: name -> mean over the topics, with its interval.
        per_topic: topic -> name -> value, None where the measure is not defined.
        absent: topics among them that the run does not have; they count as an empty ranking.
        unjudged: topics of the run without qrels; they are not measured.
        rearranged: topics whose rank column says another order than the scores.
        judged_documents: how many of its documents have a judgement; 0 means other documents.
    """

    name: str
    tags: tuple[str, ...]
    measures: Mapping[str, Measured]
    per_topic: Mapping[str, Mapping[str, float | None]]
    absent: tuple[str, ...]
    unjudged: tuple[str, ...]
    rearranged: tuple[str, ...]
    judged_documents: int

    def row(self) -> dict[str, Any]:
        """Return the object of `--json` for this run (docs/measures.md)."""
        return {
            "run": self.name,
            "tags": list(self.tags),
            "topics": {
                "measured": len(self.per_topic),
                "absent": list(self.absent),
                "unjudged": list(self.unjudged),
                "rearranged": list(self.rearranged),
            },
            "measures": {name: m.row() for name, m in self.measures.items()},
            "per_group": {
                topic: {n: Measured(v, int(v is not None), 1).row() for n, v in values.items()}
                for topic, values in self.per_topic.items()
            },
        }


@dataclass(frozen=True, slots=True)
class Comparison(Compared):
    """A run against the baseline on one measure.

    Attributes:
        run: its name.
        measure: which.
        test: over the topics that both have a value for; the difference is run less baseline.
        low: lower end of the 95 % interval of the difference, None where there is none.
        high: upper end.
        p_holm: p, corrected for all comparisons of the same call; None where p is.
        against: the tests against a margin; None without one.
    """

    run: str
    measure: str
    test: PairedTest
    low: float | None
    high: float | None
    p_holm: float | None
    against: AgainstMargin | None = None

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        return {"run": self.run, "measure": self.measure, **self.figures("topics")}


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Runs measured against qrels.

    Attributes:
        runs: in the order given.
        topics_of: which topics they are measured on.
        without_relevant: topics of the qrels of which no document is relevant; they count, and
            most measures are 0 there for every run.
        comparisons: each other run against the baseline, measure by measure.
        baseline: its name; None without one.
        test: of the comparisons.
        draws: of the bootstrap.
        seed: of the bootstrap and of the randomisation test.
    """

    runs: tuple[MeasuredRun, ...]
    topics_of: TopicsOf
    without_relevant: tuple[str, ...]
    comparisons: tuple[Comparison, ...]
    baseline: str | None
    test: Test
    draws: int
    seed: int

    @property
    def undefined(self) -> int:
        """How many values of single topics are not defined."""
        return sum(m.asked - m.scored for run in self.runs for m in run.measures.values())

    def row(self) -> dict[str, Any]:
        """Return the object of `--json` (docs/measures.md); one run also stands at the top."""
        runs = [run.row() for run in self.runs]
        top = {key: runs[0][key] for key in ("measures", "per_group")} if len(runs) == 1 else {}
        methods = method_rows("topics", self.comparisons, self.test, self.draws, self.seed)
        return {
            "task": "retrieval",
            **top,
            "runs": runs,
            "topics_of": self.topics_of,
            "topics_without_relevant": list(self.without_relevant),
            "baseline": self.baseline,
            "comparisons": [c.row() for c in self.comparisons],
            **methods,
            **({"test": None} if self.baseline is None else {}),
        }


def measure_retrieval(
    runs: Mapping[str, Iterable[RunEntry]],
    qrels: Iterable[Qrel],
    measures: Sequence[str] = (),
    *,
    topics_of: TopicsOf = "qrels",
    baseline: str | None = None,
    test: Test = "t",
    margin: float | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Retrieval:
    """Measure runs against qrels.

    Args:
        runs: name -> what `pnyx.read_run` yields; read once.
        qrels: what `pnyx.read_qrels` yields. Measures that know no subtopics take the best grade
            that a document has for any.
        measures: in the notation of ir-measures; by default nDCG@10, P@10, AP and R@100, with
            diversity qrels also alpha_nDCG@10, ERR_IA@10 and StRecall@10.
        topics_of: which topics count.
        baseline: the run that the others are compared with, by its name.
        test: of the differences to the baseline, over topics; always two-sided and corrected by
            Holm-Bonferroni over all runs and measures.
        margin: also test, one-sided, that a run is not lower than the baseline by so much or more;
            in the units of the measure, and chosen before the runs are looked at.
        draws: of the bootstrap over topics; 0 for no intervals.
        seed: of the bootstrap and of the randomisation test.

    Raises:
        InputError: a measure cannot be computed from these qrels, a run shares no topic with
            them, or a run or the qrels contradict themselves.
        MissingExtra: the extra `retrieval` is not installed.
        ValueError: no run, or no run of the baseline's name; a margin that is not above 0.
    """
    if not runs or (baseline is not None and baseline not in runs):
        raise ValueError(f"found the runs {', '.join(runs)}, expected one, and the baseline")
    parsed = parse_measures(measures or DEFAULT_MEASURES)
    judgements = judgements_of(qrels)
    if not measures and judgements.diverse:
        parsed |= parse_measures(DEFAULT_DIVERSITY)
    scorer = Scorer(parsed, judgements)
    ranked = {name: rankings_of(entries) for name, entries in runs.items()}
    topics = topics_measured(ranked, judgements.by_topic, topics_of, "qrels")
    scored = {name: scorer.score(rankings.by_topic) for name, rankings in ranked.items()}
    tables = {name: _table(scored[name], topics[name], list(parsed)) for name in ranked}
    measured = tuple(
        _measured(
            name,
            ranked[name],
            judgements,
            {topic: scored[name][topic] for topic in topics[name]},
            _means(list(parsed), tables[name], draws, seed),
        )
        for name in ranked
    )
    comparisons: tuple[Comparison, ...] = ()
    if baseline is not None:
        comparisons = compare_runs(
            tables, topics, list(parsed), baseline, test, draws, seed, margin
        )
    empty = judgements.without_relevant
    return Retrieval(measured, topics_of, empty, comparisons, baseline, test, draws, seed)


def _table(
    scored: Mapping[str, Mapping[str, float | None]], topics: Sequence[str], names: Sequence[str]
) -> Floats:
    """Return a run's values, (topics, measures); NaN where a measure is not defined."""
    rows = [[_nan(scored[topic][name]) for name in names] for topic in topics]
    return np.array(rows, dtype=np.float64)


def _measured(
    name: str,
    rankings: Rankings,
    judgements: Judgements,
    values: Mapping[str, Mapping[str, float | None]],
    means: Mapping[str, Measured],
) -> MeasuredRun:
    judged = judgements.by_topic
    return MeasuredRun(
        name,
        rankings.tags,
        means,
        values,
        tuple(t for t in values if t not in rankings.by_topic),
        tuple(t for t in rankings.by_topic if t not in judged),
        rankings.rearranged,
        sum(d in judged[t] for t, docs in rankings.by_topic.items() if t in judged for d in docs),
    )


def _means(names: Sequence[str], table: Floats, draws: int, seed: int) -> dict[str, Measured]:
    """Return the mean of each measure over the topics, table (topics, measures)."""
    bounds = mean_intervals(table, draws, seed)
    means = {}
    for place, name in enumerate(names):
        defined = table[np.isfinite(table[:, place]), place]
        value = float(defined.mean()) if len(defined) else None
        means[name] = Measured(value, len(defined), len(table), *bounds[place])
    return means


def _differences(
    table: Floats, topics: Sequence[str], baseline: Floats, baseline_topics: Sequence[str]
) -> Floats:
    """Return run less baseline on the topics of both, (topics, measures)."""
    theirs = {topic: place for place, topic in enumerate(baseline_topics)}
    pairs = [(place, theirs[topic]) for place, topic in enumerate(topics) if topic in theirs]
    mine, other = [a for a, _ in pairs], [b for _, b in pairs]
    difference: Floats = table[mine] - baseline[other]
    return difference


def compare_runs(
    tables: Mapping[str, Floats],
    topics: Mapping[str, Sequence[str]],
    names: Sequence[str],
    baseline: str,
    test: Test,
    draws: int,
    seed: int,
    margin: float | None = None,
) -> tuple[Comparison, ...]:
    """Test each run's differences to the baseline, measure by measure, as one family.

    Args:
        tables: run -> values, (topics, measures); NaN where there is none.
        topics: run -> the topics of its table.
        names: of the measures.
        baseline: the run that the others are compared with.
        test: of the differences over the topics of both.
        draws: of the bootstrap over topics.
        seed: of the bootstrap and of the randomisation test.
        margin: also test against it.
    """
    pairs = {
        name: _differences(table, topics[name], tables[baseline], topics[baseline])
        for name, table in tables.items()
        if name != baseline
    }
    return family(
        Comparison,
        (
            (run, name, tested)
            for run, differences in pairs.items()
            for name, tested in zip(
                names, differ(differences, test, draws, seed, margin), strict=True
            )
        ),
    )


def _nan(value: float | None) -> float:
    return np.nan if value is None else value
