"""Runs measured against qrels: per topic, mean with an interval, and against a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from pnyx.measure.base import BOOTSTRAP, Bootstrap, Measured, Result
from pnyx.measure.bootstrap import column_means
from pnyx.measure.comparisons import Comparison, differ, family, method_rows
from pnyx.measure.irmeasures import (
    DEFAULT_DIVERSITY,
    DEFAULT_MEASURES,
    Scorer,
    parse_measures,
)
from pnyx.measure.rankings import (
    Judgements,
    Qrels,
    Rankings,
    Run,
    judgements_of,
    rankings_of,
    topics_measured,
)
from pnyx.measure.significance import Test
from pnyx.measure.weighted import Floats, numbers

__all__ = [
    "TOPICS_OF",
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


@dataclass(frozen=True, slots=True, repr=False)
class Retrieval(Result):
    """Runs measured against qrels.

    Attributes:
        runs: in the order given.
        topics_of: which topics they are measured on.
        without_relevant: topics of the qrels of which no document is relevant; they count, and
            most measures are 0 there for every run.
        comparisons: each other run against the baseline, measure by measure.
        baseline: its name; None without one.
        test: of the comparisons.
        bootstrap: how intervals, and signs of the randomisation test, were drawn.
    """

    runs: tuple[MeasuredRun, ...]
    topics_of: TopicsOf
    without_relevant: tuple[str, ...]
    comparisons: tuple[Comparison, ...]
    baseline: str | None
    test: Test
    bootstrap: Bootstrap

    @property
    def undefined(self) -> int:
        """How many values of single topics are not defined."""
        return sum(m.asked - m.scored for run in self.runs for m in run.measures.values())

    def rows(self) -> list[dict[str, Any]]:
        """Return the mean of each measure, run by run."""
        return [{"run": run.name, "measure": n, **m.row()}
                for run in self.runs for n, m in run.measures.items()]  # fmt: skip

    def row(self) -> dict[str, Any]:
        """Return the object of `--json` (docs/measures.md); one run also stands at the top."""
        runs = [run.row() for run in self.runs]
        top = {key: runs[0][key] for key in ("measures", "per_group")} if len(runs) == 1 else {}
        methods = method_rows("topics", self.comparisons, self.test, self.bootstrap)
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
    runs: Mapping[str, Run],
    qrels: Qrels,
    measures: Sequence[str] = (),
    *,
    topics_of: TopicsOf = "qrels",
    baseline: str | None = None,
    test: Test = "t",
    margin: float | None = None,
    bootstrap: Bootstrap = BOOTSTRAP,
) -> Retrieval:
    """Measure runs against qrels.

    Args:
        runs: name -> a run file, or what `pnyx.read_run` yields; read once.
        qrels: a qrels file, or what `pnyx.read_qrels` yields. Measures that know no subtopics take
            the best grade that a document has for any.
        measures: in the notation of ir-measures; by default nDCG@10, P@10, AP and R@100, with
            diversity qrels also alpha_nDCG@10, ERR_IA@10 and StRecall@10.
        topics_of: which topics count.
        baseline: the run that the others are compared with, by its name.
        test: of the differences to the baseline, over topics; always two-sided and corrected by
            Holm-Bonferroni over all runs and measures.
        margin: also test, one-sided, that a run is not lower than the baseline by so much or more;
            in the units of the measure, and chosen before the runs are looked at.
        bootstrap: over topics; its seed is also that of the randomisation test.

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
            dict(zip(parsed, column_means(tables[name], bootstrap), strict=True)),
        )
        for name in ranked
    )
    comparisons: tuple[Comparison, ...] = ()
    if baseline is not None:
        comparisons = compare_runs(tables, topics, list(parsed), baseline, test, bootstrap, margin)
    empty = judgements.without_relevant
    return Retrieval(measured, topics_of, empty, comparisons, baseline, test, bootstrap)


def _table(
    scored: Mapping[str, Mapping[str, float | None]], topics: Sequence[str], names: Sequence[str]
) -> Floats:
    """Return a run's values, (topics, measures); NaN where a measure is not defined."""
    return np.stack([numbers([scored[topic][name] for name in names]) for topic in topics])


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
    bootstrap: Bootstrap,
    margin: float | None = None,
) -> tuple[Comparison, ...]:
    """Test each run's differences to the baseline, measure by measure, as one family.

    Args:
        tables: run -> values, (topics, measures); NaN where there is none.
        topics: run -> the topics of its table.
        names: of the measures.
        baseline: the run that the others are compared with.
        test: of the differences over the topics of both.
        bootstrap: over topics.
        margin: also test against it.
    """
    pairs = {
        name: _differences(table, topics[name], tables[baseline], topics[baseline])
        for name, table in tables.items()
        if name != baseline
    }
    return family(
        (run, baseline, name, tested)
        for run, found in pairs.items()
        for name, tested in zip(names, differ(found, test, bootstrap, margin), strict=True)
    )
