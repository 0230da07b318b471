"""Do the results show every side? Runs against perspectives (BERDS, Chen and Choi 2024)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from pnyx.core.errors import InputError
from pnyx.core.records import Qrel
from pnyx.formats.perspectives import Questions
from pnyx.formats.runs.rankings import (
    Rankings,
    judgements_of,
    rankings_of,
    topics_measured,
)
from pnyx.formats.runs.sources import Run, Runs, named_runs
from pnyx.judging.measures.agreement import counts_of
from pnyx.judging.measures.ground_truth import LabelledVerdicts, join_labels
from pnyx.judging.verdicts import Source, UnscoredPairs
from pnyx.perspectives.measures.correction import Correction
from pnyx.perspectives.measures.results import (
    MeasuredCoverage,
    PerspectiveCoverage,
    PerspectiveTopics,
    UnionCoverage,
    means_of,
)
from pnyx.perspectives.measures.table import (
    PERSPECTIVE_MEASURES,
    SIDED,
    Bounded,
    PerspectiveMeasureAt,
    TopicTable,
    minimum_cover,
    mrecall,
    opposed,
    parse_perspective_measure,
    table_of,
)
from pnyx.perspectives.measures.verdicts import Verdicts, qrels_of_verdicts, read_verdicts
from pnyx.search.measures.irmeasures import RunScorer, parse_measures
from pnyx.search.measures.retrieval import check_runs
from pnyx.search.measures.table import RunTable, against
from pnyx.stats.base import BOOTSTRAP, TEST, Bootstrap
from pnyx.stats.significance import Test

PERSPECTIVE_DEPTHS = (5,)

Cells: TypeAlias = dict[str, dict[str, Bounded]]
"""Topic -> measure defined for it -> value."""


def measure_perspectives(
    runs: Runs,
    perspectives: Questions,
    verdicts: Verdicts | Source,
    measures: Sequence[str] = (),
    *,
    depths: Sequence[int] = PERSPECTIVE_DEPTHS,
    union_depth: int | None = None,
    labelled: LabelledVerdicts | Source | None = None,
    topics_of: PerspectiveTopics = "perspectives",
    baseline: str | None = None,
    test: Test = TEST,
    bootstrap: Bootstrap = BOOTSTRAP,
) -> PerspectiveCoverage:
    """Measure whether runs cover the perspectives on their questions.

    Args:
        runs: as for `measure_retrieval`; read once.
        perspectives: the result of `by_question`.
        verdicts: which document supports which perspective: the result of `pnyx.ask`, or a source
            as for `read_verdicts`.
        measures: by notation (`MRecall@5`, `CoverDepth@100`), also diversity measures of
            ir-measures (`alpha_nDCG@10`). By default MRecall and Precision at each of `depths`, and
            which side is covered, for questions with two opposite perspectives.
        depths: of the default measures.
        union_depth: also measure how deep each run must be read to cover everything (Table 5), and
            how much the first `union_depth` documents of all runs cover together (Table 6).
        labelled: pairs that the same judge answered and people labelled (as for `join_labels`), for
            some of the measured questions, picked at random: adds MRecall and Precision corrected
            for the judge's errors.
        topics_of: which questions to measure.
        baseline: name of the run with which the others are compared, on `measures` or by default on
            MRecall and Precision.
        test: of the differences over questions; two-sided, corrected by Holm-Bonferroni over all.
        bootstrap: over questions; its seed is used for everything random.

    Raises:
        InputError: a measure is unknown or cannot be computed, a run has no question with
            perspectives or contradicts itself, no verdict is on a pair of the runs, or the labelled
            pairs were answered by another judge.
        MissingExtra: a measure of ir-measures needs the extra `retrieval`.
        ValueError: there are no runs, no perspectives, or no run with the baseline's name.
    """
    if not perspectives:
        raise ValueError("found no perspectives, expected one or more")
    runs = named_runs(runs)
    check_runs(runs, baseline)
    verdicts = read_verdicts(verdicts)
    chosen = _ChosenMeasures(measures, depths, union_depth, perspectives)
    ranked = {name: rankings_of(entries) for name, entries in runs.items()}
    topics = topics_measured(ranked, perspectives, topics_of, "perspectives")
    judged = {
        name: [
            table_of(t, run.by_topic.get(t, ())[: chosen.depth], perspectives[t], verdicts)
            for t in topics[name]
        ]
        for name, run in ranked.items()
    }
    _check_pairs([table for tables in judged.values() for table in tables], verdicts)
    cells = _cells(chosen, judged, verdicts)
    correction = _correction(labelled, verdicts.judge, bootstrap)
    table = RunTable(cells)
    union = None
    if union_depth is not None:
        union = _union(ranked, topics, perspectives, verdicts, union_depth, bootstrap)
    return PerspectiveCoverage(
        runs=tuple(
            _measured(name, run, perspectives, judged[name], cells[name], chosen, correction,
                      bootstrap)
            for name, run in ranked.items()
        ),
        topics_of=topics_of,
        questions=len(perspectives),
        perspectives=sum(map(len, perspectives.values())),
        judge=verdicts.judge,
        union=union,
        correction=None if correction is None else correction.row(),
        comparisons=table.compare(against(runs, baseline, chosen.compared), test, bootstrap),
        baseline=baseline,
        test=test,
        bootstrap=bootstrap,
    )  # fmt: skip


def perspective_qrels(
    runs: Iterable[Run],
    perspectives: Questions,
    verdicts: Verdicts,
    depth: int,
    unscored: UnscoredPairs = "error",
) -> list[Qrel]:
    """Return verdicts as TREC diversity qrels, with perspectives as subtopics.

    Args:
        runs: each as yielded by `pnyx.read_run`.
        perspectives: the result of `by_question`.
        verdicts: which document supports which perspective.
        depth: number of documents of each run; pairs with a verdict are always included.
        unscored: how pairs without a verdict are treated.

    Raises:
        InputError: a pair is unscored, and `unscored` is `error`; a run contradicts itself.
    """
    pooled: dict[str, dict[str, None]] = {question: {} for question in perspectives}
    for entries in runs:
        for question, documents in rankings_of(entries).by_topic.items():
            if question in pooled:
                pooled[question].update(dict.fromkeys(documents[:depth]))
    for question, doc_id, _ in verdicts.pairs:
        if question in pooled:
            pooled[question][doc_id] = None
    pairs = (
        (question, doc_id, perspective.id)
        for question, documents in pooled.items()
        for doc_id in documents
        for perspective in perspectives[question]
    )
    return list(qrels_of_verdicts(verdicts, pairs, unscored))


class _ChosenMeasures:
    """The measures to compute, our own and those of ir-measures, by notation."""

    def __init__(
        self,
        measures: Sequence[str],
        depths: Sequence[int],
        union_depth: int | None,
        perspectives: Questions,
    ) -> None:
        self.own: dict[str, PerspectiveMeasureAt] = {}
        others = [name for name in measures if not self._take(parse_perspective_measure(name))]
        self.diverse = parse_measures(others) if others else {}
        for name, measure in self.diverse.items():
            if type(measure.params.get("cutoff")) is not int:
                raise InputError(f"--measure {name}: expected a depth, as in {name}@10")
        for name in () if measures else ("MRecall", "Precision"):
            for k in depths:
                self._take(PERSPECTIVE_MEASURES[name] @ k)
        self.compared = [*self.own, *self.diverse]
        if not measures and any(
            opposed(p.stance for p in perspective) for perspective in perspectives.values()
        ):
            for k in depths:
                for name in SIDED:
                    self._take(PERSPECTIVE_MEASURES[name] @ k)
        for name in ("MRecall", "CoverDepth", "MinCover") if union_depth is not None else ():
            self._take(PERSPECTIVE_MEASURES[name] @ int(union_depth or 0))
        cutoffs = [measure.params["cutoff"] for measure in self.diverse.values()]
        self.depth = max([*(at.k for at in self.own.values()), *cutoffs])
        # These measures may be undefined for a topic although all its pairs are scored.
        self.conditional = frozenset(n for n, at in self.own.items() if not at.measure.always)

    def _take(self, measure: PerspectiveMeasureAt | None) -> bool:
        if measure is not None:
            self.own[repr(measure)] = measure
        return measure is not None


def _correction(
    labelled: LabelledVerdicts | Source | None, judge: str, bootstrap: Bootstrap
) -> Correction | None:
    """Return the correction of a judge's errors, if pairs were labelled."""
    if labelled is None:
        return None
    if not isinstance(labelled, LabelledVerdicts):
        labelled = join_labels(labelled, task="support", judge=judge)
    return Correction(labelled, judge, bootstrap)


def _check_pairs(every: Sequence[TopicTable], verdicts: Verdicts) -> None:
    """Reject verdicts on other pairs, with which every value would be undecided."""
    if not any(table.documents for table in every) or verdicts.other.value is not None:
        return
    if all(set(t.reasons) <= {verdicts.other.unscored} and t.unscored.all() for t in every):
        first = next(t for t in every if t.documents)
        pair = f"{first.topic!r}, {first.documents[0]!r}, {first.perspectives[0]!r}"
        some = next(iter([*verdicts.pairs, *verdicts.by_id]), "none")
        raise InputError(
            f"no verdict is on a pair of the runs (question, document, perspective: the first is "
            f"{pair}; verdicts are on {some!r})"
        )


def _cells(
    chosen: _ChosenMeasures, judged: Mapping[str, Sequence[TopicTable]], verdicts: Verdicts
) -> dict[str, Cells]:
    """Return each run's values; an ungraded pair counts as no, an unscored topic has no value."""
    scorer = _scorer(chosen, judged, verdicts) if chosen.diverse else None
    cells: dict[str, Cells] = {}
    for name, tables in judged.items():
        scores = scorer.score({t.topic: t.documents for t in tables}) if scorer else {}
        for table in tables:
            values = {notation: at.of(table) for notation, at in chosen.own.items()}
            for notation, measure in chosen.diverse.items():
                closed = not table.unscored[: measure.params["cutoff"]].any()
                is_scored = closed and table.topic in scores
                score = scores[table.topic][notation] if is_scored else None
                values[notation] = Bounded(score, score) if is_scored else Bounded(0.0, None)
            of_topics = cells.setdefault(name, {})
            of_topics[table.topic] = {n: value for n, value in values.items() if value is not None}
    return cells


def _scorer(
    chosen: _ChosenMeasures, judged: Mapping[str, Sequence[TopicTable]], verdicts: Verdicts
) -> RunScorer:
    every = [table for tables in judged.values() for table in tables]
    perspectives_of = {table.topic: set(table.perspectives) for table in every}
    pool = dict.fromkeys(p for p in verdicts.pairs if p[2] in perspectives_of.get(p[0], ()))
    for t in every:
        pool |= dict.fromkeys((t.topic, d, p) for d in t.documents for p in t.perspectives)
    qrels = list(qrels_of_verdicts(verdicts, pool, "skip"))
    if not qrels:
        raise InputError("diversity measures need scored pairs; no pair of the runs is scored")
    return RunScorer(chosen.diverse, judgements_of(qrels))


def _measured(
    name: str,
    rankings: Rankings,
    perspectives: Questions,
    tables: Sequence[TopicTable],
    cells: Cells,
    chosen: _ChosenMeasures,
    correction: Correction | None,
    bootstrap: Bootstrap,
) -> MeasuredCoverage:
    corrected = {
        notation: mean
        for notation, at in chosen.own.items()
        if correction is not None and (mean := correction.mean(tables, at)) is not None
    }
    names = [*chosen.own, *chosen.diverse]
    return MeasuredCoverage(
        name,
        rankings.tags,
        means_of(cells, names, chosen.conditional, bootstrap),
        cells,
        _pairs(tables),
        tuple(topic for topic in cells if topic not in rankings.by_topic),
        tuple(topic for topic in rankings.by_topic if topic not in perspectives),
        rankings.rearranged,
        corrected,
        {t.topic: (int((~t.unscored).sum()), t.unscored.size) for t in tables},
    )


def _pairs(tables: Sequence[TopicTable]) -> dict[str, Any]:
    return counts_of(sum(t.yes.size for t in tables), [r for t in tables for r in t.reasons])


def _union(
    ranked: Mapping[str, Rankings],
    topics: Mapping[str, Sequence[str]],
    perspectives: Questions,
    verdicts: Verdicts,
    depth: int,
    bootstrap: Bootstrap,
) -> UnionCoverage:
    tables = []
    for topic in dict.fromkeys(topic for of_run in topics.values() for topic in of_run):
        documents = dict.fromkeys(
            doc for run in ranked.values() for doc in run.by_topic.get(topic, ())[:depth]
        )
        tables.append(table_of(topic, tuple(documents), perspectives[topic], verdicts))
    # A union of documents has no order: its depth is its size.
    cells = {
        t.topic: {"MRecall": mrecall(t, k), "MinCover": minimum_cover(t, k)}
        for t in tables
        if (k := max(1, len(t.documents)))
    }
    means = means_of(cells, ["MRecall", "MinCover"], frozenset({"MinCover"}), bootstrap)
    return UnionCoverage(depth, means, _pairs(tables))
