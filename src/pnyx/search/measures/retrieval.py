"""Runs measured against qrels: per topic, mean with an interval, and against a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pnyx.formats.runs.rankings import (
    Judgements,
    Qrels,
    Rankings,
    judgements_of,
    rankings_of,
    topics_measured,
)
from pnyx.formats.runs.sources import Run, Runs, named_runs
from pnyx.search.measures.irmeasures import (
    DEFAULT_DIVERSITY,
    DEFAULT_MEASURES,
    RunScorer,
    parse_measures,
)
from pnyx.search.measures.table import ComparedRuns, RunTable, against
from pnyx.stats.base import BOOTSTRAP, TEST, Bootstrap, Measured, plain, row_of
from pnyx.stats.intervals import UNIT
from pnyx.stats.significance import Test

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
    per_topic: Mapping[str, Mapping[str, Measured]]
    absent: tuple[str, ...]  # measured as an empty ranking
    unjudged: tuple[str, ...]  # not measured
    rearranged: tuple[str, ...]
    judged_documents: int  # 0: qrels and run are of different collections

    def row(self) -> dict[str, Any]:
        """Return the object of `--json` for this run (docs/reference/measures.md)."""
        return {
            "run": self.name,
            "tags": list(self.tags),
            "topics": {
                "measured": len(self.per_topic),
                **row_of(self, "absent unjudged rearranged"),
            },
            "measures": plain(self.measures),
            "per_group": plain(self.per_topic),
        }


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Retrieval(ComparedRuns):
    """Runs measured against qrels, each with its `measures` and values `per_topic`.

    `without_relevant` topics have no relevant document; they count, mostly as 0. `comparisons` are
    of each other run with the baseline, if any, measure by measure.
    """

    runs: tuple[MeasuredRun, ...]
    topics_of: TopicsOf
    without_relevant: tuple[str, ...]

    def row(self) -> dict[str, Any]:
        """Return the object of `--json`; a single run is also at top level."""
        return {
            "task": "retrieval",
            **self._runs_row(),
            "topics_of": self.topics_of,
            "topics_without_relevant": list(self.without_relevant),
            **self._methods_row(),
        }


def measure_retrieval(
    runs: Runs,
    qrels: Qrels,
    measures: Sequence[str] = (),
    *,
    topics_of: TopicsOf = "qrels",
    baseline: str | None = None,
    test: Test = TEST,
    margin: float | None = None,
    bootstrap: Bootstrap = BOOTSTRAP,
) -> Retrieval:
    """Measure runs against qrels.

    Args:
        runs: name -> run, or a list of run files. A run is a file, what `pnyx.read_run` yields, a
            data frame (qid, docno, score) or topic -> document -> score (pytrec_eval, ranx).
        qrels: a qrels file, what `pnyx.read_qrels` yields, a data frame (qid, docno, label) or
            topic -> document -> grade. Measures without subtopics take the best grade that a
            document has for any.
        measures: in the notation of ir-measures; by default nDCG@10, P@10, AP and R@100, with
            diversity qrels also alpha_nDCG@10, ERR_IA@10 and StRecall@10.
        topics_of: which topics count.
        baseline: name of the run that the others are compared with.
        test: of the differences to the baseline, over topics; two-sided, corrected by
            Holm-Bonferroni over all runs and measures.
        margin: also test, one-sided, that a run is not lower than the baseline by this
            much or more; in the measure's units, chosen before the runs are looked at.
        bootstrap: over topics; its seed is also that of the randomisation test.

    Raises:
        InputError: a measure cannot be computed from these qrels, a run shares no topic with them,
            or a run or the qrels are inconsistent.
        MissingExtra: the extra `retrieval` is not installed.
        ValueError: no run, no run of the baseline's name, or a margin that is not above 0.
    """
    runs = named_runs(runs)
    check_runs(runs, baseline)
    parsed = parse_measures(measures or DEFAULT_MEASURES)
    judgements = judgements_of(qrels)
    if not measures and judgements.diverse:
        parsed |= parse_measures(DEFAULT_DIVERSITY)
    ranked = {name: rankings_of(entries) for name, entries in runs.items()}
    topics = topics_measured(ranked, judgements.by_topic, topics_of, "qrels")
    scorer = RunScorer(parsed, judgements)
    table = RunTable({name: _cells(scorer, run, topics[name]) for name, run in ranked.items()})
    ranges = [None if name.startswith(_UNBOUNDED) else UNIT for name in parsed]
    pairs = against(runs, baseline, list(parsed))
    return Retrieval(
        runs=tuple(
            _run(
                name,
                run,
                judgements,
                table.means(name, list(parsed), bootstrap, ranges),
                table.cells[name],
            )
            for name, run in ranked.items()
        ),
        topics_of=topics_of,
        without_relevant=judgements.without_relevant,
        comparisons=table.compare(pairs, test, bootstrap, margin),
        baseline=baseline,
        test=test,
        bootstrap=bootstrap,
    )


def _cells(
    scorer: RunScorer, rankings: Rankings, topics: Sequence[str]
) -> dict[str, dict[str, Measured]]:
    scored = scorer.score(rankings.by_topic)
    return {
        topic: {name: Measured(v, int(v is not None), 1) for name, v in scored[topic].items()}
        for topic in topics
    }


def _run(
    name: str,
    rankings: Rankings,
    judgements: Judgements,
    means: Mapping[str, Measured],
    cells: Mapping[str, Mapping[str, Measured]],
) -> MeasuredRun:
    judged = judgements.by_topic
    return MeasuredRun(
        name,
        rankings.tags,
        means,
        cells,
        tuple(topic for topic in cells if topic not in rankings.by_topic),
        tuple(topic for topic in rankings.by_topic if topic not in judged),
        rankings.rearranged,
        sum(doc in judged.get(t, ()) for t, docs in rankings.by_topic.items() for doc in docs),
    )


def check_runs(runs: Mapping[str, Run], baseline: str | None) -> None:
    """Reject an empty list of runs, or a baseline that is not among them."""
    if not runs or (baseline is not None and baseline not in runs):
        raise ValueError(f"found the runs {', '.join(runs)}, expected one, and the baseline")
