"""Runs measured against qrels: per topic, mean with an interval, and against a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from pnyx.measure.core.base import BOOTSTRAP, Bootstrap, Measured, plain
from pnyx.measure.core.intervals import UNIT, column_means
from pnyx.measure.core.significance import Compared, Comparison, Test, differ, family
from pnyx.measure.core.weighted import Floats, numbers
from pnyx.measure.runs.irmeasures import DEFAULT_DIVERSITY, DEFAULT_MEASURES, Scorer, parse_measures
from pnyx.measure.runs.rankings import Qrels, Run, judgements_of, rankings_of, topics_measured

TopicsOf: TypeAlias = Literal["qrels", "run", "both"]
"""Which topics a run is measured on: all of the qrels (`trec_eval -c`); those of the qrels that the
run has (`trec_eval`); those of the qrels that every run has."""


_UNBOUNDED = ("Num", "BPM", "INSQ", "INST", "SDCG", "alpha_DCG", "NRBP")
"""Measures that count documents, or are not brought to [0, 1]."""


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """One run: `rearranged` are topics whose rank column disagrees with the scores."""

    name: str
    tags: tuple[str, ...]
    measures: Mapping[str, Measured]
    per_topic: Mapping[str, Mapping[str, float | None]]
    absent: tuple[str, ...]  # measured as an empty ranking
    unjudged: tuple[str, ...]  # not measured
    rearranged: tuple[str, ...]
    judged_documents: int  # 0 means that qrels and run are of other documents

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
            "measures": plain(self.measures),
            "per_group": {
                topic: {n: Measured(v, int(v is not None), 1).row() for n, v in values.items()}
                for topic, values in self.per_topic.items()
            },
        }


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Retrieval(Compared):
    """Runs measured against qrels, each with its `measures` and values `per_topic`.

    `without_relevant` topics have no relevant document; they count, mostly as 0. `comparisons` are
    of each other run with the baseline, if any, measure by measure.
    """

    runs: tuple[MeasuredRun, ...]
    topics_of: TopicsOf
    without_relevant: tuple[str, ...]

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
        return {
            "task": "retrieval",
            **self._runs_row(),
            "topics_of": self.topics_of,
            "topics_without_relevant": list(self.without_relevant),
            **self._methods_row(),
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
        qrels: a qrels file, or what `pnyx.read_qrels` yields. Measures without subtopics take the
            best grade that a document has for any.
        measures: in the notation of ir-measures; by default nDCG@10, P@10, AP and R@100, with
            diversity qrels also alpha_nDCG@10, ERR_IA@10 and StRecall@10.
        topics_of: which topics count.
        baseline: name of the run that the others are compared with.
        test: of the differences to the baseline, over topics; two-sided, corrected by
            Holm-Bonferroni over all runs and measures.
        margin: also test, one-sided, that a run is not lower than the baseline by so much or more;
            in the measure's units, chosen before the runs are looked at.
        bootstrap: over topics; its seed is also that of the randomisation test.

    Raises:
        InputError: a measure cannot be computed from these qrels, a run shares no topic with them,
            or a run or the qrels contradict themselves.
        MissingExtra: the extra `retrieval` is not installed.
        ValueError: no run, no run of the baseline's name, or a margin that is not above 0.
    """
    check_runs(runs, baseline)
    parsed = parse_measures(measures or DEFAULT_MEASURES)
    judgements = judgements_of(qrels)
    if not measures and judgements.diverse:
        parsed |= parse_measures(DEFAULT_DIVERSITY)
    ranges = [None if name.startswith(_UNBOUNDED) else UNIT for name in parsed]
    scorer, judged = Scorer(parsed, judgements), judgements.by_topic
    ranked = {name: rankings_of(entries) for name, entries in runs.items()}
    topics = topics_measured(ranked, judged, topics_of, "qrels")
    measured, tables = [], {}
    for name, own in ranked.items():
        scored = scorer.score(own.by_topic)
        values = {topic: scored[topic] for topic in topics[name]}
        tables[name] = np.stack([numbers([v[m] for m in parsed]) for v in values.values()])
        known = [(t, docs) for t, docs in own.by_topic.items() if t in judged]
        run = MeasuredRun(
            name,
            own.tags,
            dict(zip(parsed, column_means(tables[name], bootstrap, ranges), strict=True)),
            values,
            tuple(t for t in values if t not in own.by_topic),
            tuple(t for t in own.by_topic if t not in judged),
            own.rearranged,
            sum(doc in judged[t] for t, docs in known for doc in docs),
        )
        measured.append(run)
    comparisons: tuple[Comparison, ...] = ()
    if baseline is not None:
        comparisons = compare_runs(tables, topics, list(parsed), baseline, test, bootstrap, margin)
    return Retrieval(
        runs=tuple(measured),
        topics_of=topics_of,
        without_relevant=judgements.without_relevant,
        comparisons=comparisons,
        baseline=baseline,
        test=test,
        bootstrap=bootstrap,
    )


def check_runs(runs: Mapping[str, Run], baseline: str | None) -> None:
    """Refuse to measure nothing, or against a baseline that is not there."""
    if not runs or (baseline is not None and baseline not in runs):
        raise ValueError(f"found the runs {', '.join(runs)}, expected one, and the baseline")


def compare_runs(
    tables: Mapping[str, Floats],
    topics: Mapping[str, Sequence[str]],
    names: Sequence[str],
    baseline: str,
    test: Test,
    bootstrap: Bootstrap,
    margin: float | None = None,
) -> tuple[Comparison, ...]:
    """Test differences to the baseline by tables (topics, measures) of runs, as one family."""
    theirs = {topic: place for place, topic in enumerate(topics[baseline])}
    found = []
    for run, table in tables.items():
        if run == baseline:
            continue
        shared = [(n, theirs[topic]) for n, topic in enumerate(topics[run]) if topic in theirs]
        mine, other = [a for a, _ in shared], [b for _, b in shared]
        tested = differ(table[mine] - tables[baseline][other], test, bootstrap, margin)
        found += [(run, baseline, name, one) for name, one in zip(names, tested, strict=True)]
    return family(found)
