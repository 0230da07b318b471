"""Do the results show every side? Runs against perspectives (BERDS, Chen and Choi 2024).

`perspective_table` defines the measures, `perspective_registry` names them, and
`docs/decisions/perspective-measures.md` says what the paper leaves open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from pnyx.errors import InputError
from pnyx.judge.verdicts import Source
from pnyx.measure.base import BOOTSTRAP, Bootstrap
from pnyx.measure.comparisons import Comparison
from pnyx.measure.gold import Joined, join_labels
from pnyx.measure.perspective_corrected import Corrected, Correction
from pnyx.measure.perspective_diversity import diversity_values, parse_diversity_measures
from pnyx.measure.perspective_registry import (
    PERSPECTIVE_MEASURES,
    SIDED,
    PerspectiveMeasureAt,
    parse_perspective_measure,
)
from pnyx.measure.perspective_results import (
    MeasuredCoverage,
    PerspectiveCoverage,
    PerspectiveTopics,
    UnionCoverage,
    means_of,
    values_of,
)
from pnyx.measure.perspective_table import (
    Bounded,
    Table,
    minimum_cover,
    mrecall,
    opposed,
    table_of,
)
from pnyx.measure.perspective_verdicts import (
    UnscoredPairs,
    Verdicts,
    qrels_of_verdicts,
    read_verdicts,
)
from pnyx.measure.rankings import Rankings, Run, rankings_of, topic_order, topics_measured
from pnyx.measure.retrieval import compare_runs
from pnyx.measure.significance import Test
from pnyx.measure.weighted import Floats
from pnyx.records import Perspective, Qrel

__all__ = [
    "PERSPECTIVE_DEPTHS",
    "Questions",
    "by_question",
    "measure_perspectives",
    "perspective_qrels",
]

PERSPECTIVE_DEPTHS = (5,)
"""BERDS, Table 3."""

Questions: TypeAlias = Mapping[str, Sequence[Perspective]]
"""Question -> its perspectives, at least one."""


def by_question(
    perspectives: Iterable[Perspective], *, sides_by_order: bool = False
) -> dict[str, list[Perspective]]:
    """Return the perspectives of each question, questions in order.

    Args:
        perspectives: of any number of questions.
        sides_by_order: where a question has two perspectives and neither has a side, the first
            supports it and the second opposes it. That is how BERDS made them: a statement of
            the question, then its negation (Tables 9, 10 and 12).
    """
    found: dict[str, list[Perspective]] = {}
    for one in perspectives:
        found.setdefault(one.question_id, []).append(one)
    if sides_by_order:
        for question, own in found.items():
            if [one.stance for one in own] == [None, None]:
                found[question] = [replace(own[0], stance="pro"), replace(own[1], stance="con")]
    return {question: found[question] for question in sorted(found, key=topic_order)}


def measure_perspectives(
    runs: Mapping[str, Run],
    perspectives: Questions,
    verdicts: Verdicts | Source,
    measures: Sequence[str] = (),
    *,
    depths: Sequence[int] = PERSPECTIVE_DEPTHS,
    union_depth: int | None = None,
    labelled: Joined | Source | None = None,
    shift: float = 0.0,
    topics_of: PerspectiveTopics = "perspectives",
    baseline: str | None = None,
    test: Test = "randomisation",
    bootstrap: Bootstrap = BOOTSTRAP,
) -> PerspectiveCoverage:
    """Measure whether runs cover the perspectives on their questions.

    Args:
        runs: name -> a run file, or what `pnyx.read_run` yields; read once.
        perspectives: what `by_question` returns.
        verdicts: which document supports which perspective: what `pnyx.ask` returned, or a source
            as for `read_verdicts`.
        measures: by their notation (`PERSPECTIVE_MEASURES`, e.g. `CoverDepth@100`), or diversity
            measures of ir-measures (`alpha_nDCG@10`, `ERR_IA@10`, `StRecall@10`). By default
            MRecall and Precision at each of `depths`, and where questions have two opposite
            perspectives, which side is covered.
        depths: of the default measures.
        union_depth: also measure how deep each run must be read to cover everything (Table 5), and
            what so many documents of each run cover together (Table 6).
        labelled: pairs that the same judge answered and people labelled (`join_labels`, or answers
            with a field `label`): MRecall and Precision are then also given with the judge's
            errors taken into account (`Correction`).
        shift: how far the judge's log-odds may be off where the labelled questions come from
            elsewhere: a standard deviation, 0.7 for odds that are twice or half as high.
        topics_of: which questions count.
        baseline: the run that the others are compared with, by its name, on MRecall and Precision
            or on all of `measures`.
        test: of the differences over questions; two-sided, corrected by Holm-Bonferroni over all.
        bootstrap: over questions; its seed is that of all that is drawn.

    Raises:
        InputError: a measure is none or cannot be computed, a run has no question with
            perspectives or contradicts itself, no verdict is on a pair of the runs, or the
            labelled pairs were answered by another judge.
        MissingExtra: the t-test, or a measure of ir-measures, needs the extra `retrieval`.
        ValueError: no run, no perspectives, or no run of the baseline's name; a shift below 0.
    """
    if not runs or not perspectives or (baseline is not None and baseline not in runs):
        raise ValueError(f"found the runs {', '.join(runs)}, expected one, and the baseline")
    verdicts = read_verdicts(verdicts)
    chosen = _Chosen(measures, depths, union_depth, perspectives)
    ranked = {name: rankings_of(entries) for name, entries in runs.items()}
    topics = topics_measured(ranked, perspectives, topics_of, "perspectives")
    tables = {
        name: [
            table_of(t, own.by_topic.get(t, ())[: chosen.depth], perspectives[t], verdicts)
            for t in topics[name]
        ]
        for name, own in ranked.items()
    }
    _check_pairs(tables, verdicts)
    values = _values(chosen, tables, verdicts)
    measured = tuple(
        _measured(name, ranked[name], perspectives, tables[name], values[name], chosen, bootstrap)
        for name in ranked
    )
    correction = None
    if labelled is not None:
        if not isinstance(labelled, Joined):
            labelled = join_labels(labelled, task="support", judge=verdicts.judge)
        every = [table for own in tables.values() for table in own]
        fitted = Correction(labelled, every, shift=shift, bootstrap=bootstrap)
        fitted.check_judge(verdicts.judge)
        measured = tuple(
            replace(run, corrected=_corrected(chosen, tables[run.name], fitted)) for run in measured
        )
        correction = fitted.row()
    comparisons: tuple[Comparison, ...] = ()
    if baseline is not None:
        columns = _columns(values, chosen)
        comparisons = compare_runs(columns, topics, chosen.compared, baseline, test, bootstrap)
    union = None
    if union_depth is not None:
        union = _union(ranked, topics, perspectives, verdicts, union_depth, bootstrap)
    return PerspectiveCoverage(
        measured, topics_of, len(perspectives), sum(map(len, perspectives.values())),
        verdicts.judge, union, correction, comparisons, baseline, test, bootstrap,
    )  # fmt: skip


def perspective_qrels(
    runs: Iterable[Run],
    perspectives: Questions,
    verdicts: Verdicts,
    depth: int,
    unscored: UnscoredPairs = "error",
) -> list[Qrel]:
    """Return verdicts as TREC diversity qrels, of which a perspective is a subtopic.

    Args:
        runs: each what `pnyx.read_run` yields.
        perspectives: what `by_question` returns.
        verdicts: which document supports which perspective.
        depth: so many documents of each run, and whatever else has a verdict.
        unscored: what becomes of pairs without one.

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
        (question, doc_id, one.id)
        for question, documents in pooled.items()
        for doc_id in documents
        for one in perspectives[question]
    )
    return list(qrels_of_verdicts(verdicts, pairs, unscored))


class _Chosen:
    """Which measures are computed.

    Attributes:
        own: notation -> measure of a table.
        diverse: notation -> measure of ir-measures.
        compared: the notations that runs are compared on.
        depth: how many documents of a ranking count at most.
    """

    def __init__(
        self,
        measures: Sequence[str],
        depths: Sequence[int],
        union_depth: int | None,
        perspectives: Questions,
    ) -> None:
        self.own: dict[str, PerspectiveMeasureAt] = {}
        others = [name for name in measures if not self._take(parse_perspective_measure(name))]
        self.diverse = parse_diversity_measures(others)
        if not measures:
            for name in ("MRecall", "Precision"):
                for k in depths:
                    self._take(PERSPECTIVE_MEASURES[name] @ k)
        self.compared = [*self.own, *self.diverse]
        if not measures and any(
            opposed(one.stance for one in own) for own in perspectives.values()
        ):
            for k in depths:
                for name in SIDED:
                    self._take(PERSPECTIVE_MEASURES[name] @ k)
        for name in ("MRecall", "CoverDepth", "MinCover") if union_depth is not None else ():
            self._take(PERSPECTIVE_MEASURES[name] @ int(union_depth or 0))
        cutoffs = [one.params["cutoff"] for one in self.diverse.values()]
        self.depth = max([*(one.k for one in self.own.values()), *cutoffs])

    def _take(self, measure: PerspectiveMeasureAt | None) -> bool:
        if measure is not None:
            self.own[repr(measure)] = measure
        return measure is not None

    @property
    def conditional(self) -> frozenset[str]:
        """Those that a topic may have no value of though all its pairs are scored."""
        return frozenset(name for name, one in self.own.items() if not one.measure.always)


def _check_pairs(tables: Mapping[str, Sequence[Table]], verdicts: Verdicts) -> None:
    """Refuse verdicts on other pairs: every measure would say that all is open."""
    every = [table for own in tables.values() for table in own]
    if not any(table.documents for table in every) or verdicts.other.value is not None:
        return
    if all(set(t.reasons) <= {verdicts.other.unscored} and t.unscored.all() for t in every):
        asked = next(t for t in every if t.documents)
        place = f"{asked.topic!r}, {asked.documents[0]!r}, {asked.perspectives[0]!r}"
        some = next(iter([*verdicts.pairs, *verdicts.by_id]), "none")
        raise InputError(
            f"no verdict is on a pair of the runs (question, document, perspective: the first is "
            f"{place}; verdicts are on {some!r})"
        )


def _values(
    chosen: _Chosen, tables: Mapping[str, Sequence[Table]], verdicts: Verdicts
) -> dict[str, dict[str, list[Bounded | None]]]:
    """Return run -> measure -> the value of each topic."""
    diverse = diversity_values(chosen.diverse, tables, verdicts)
    return {
        name: {
            **{notation: [one.of(t) for t in own] for notation, one in chosen.own.items()},
            **diverse[name],
        }
        for name, own in tables.items()
    }


def _columns(
    values: Mapping[str, Mapping[str, Sequence[Bounded | None]]], chosen: _Chosen
) -> dict[str, Floats]:
    """Return run -> float64 (topics, measures) of what runs are compared on."""
    return {
        name: np.stack([values_of(own[n]) for n in chosen.compared], axis=1)
        for name, own in values.items()
    }


def _measured(
    name: str,
    rankings: Rankings,
    perspectives: Questions,
    tables: Sequence[Table],
    values: Mapping[str, Sequence[Bounded | None]],
    chosen: _Chosen,
    bootstrap: Bootstrap,
) -> MeasuredCoverage:
    topics = [table.topic for table in tables]
    per_topic = {
        topic: {n: own[place] for n, own in values.items() if own[place] is not None}
        for place, topic in enumerate(topics)
    }
    return MeasuredCoverage(
        name,
        rankings.tags,
        means_of(values, chosen.conditional, bootstrap),
        per_topic,  # type: ignore[arg-type]  # None is left out
        _pairs(tables),
        tuple(t for t in topics if t not in rankings.by_topic),
        tuple(t for t in rankings.by_topic if t not in perspectives),
        rankings.rearranged,
    )


def _pairs(tables: Iterable[Table]) -> dict[str, Any]:
    asked, reasons = 0, Counter[str]()
    for table in tables:
        asked += table.yes.size
        reasons.update(reason.partition(":")[0] for reason in table.reasons)
    return {
        "asked": asked,
        "scored": asked - reasons.total(),
        "unscored": reasons.total(),
        "reasons": dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
    }


def _corrected(
    chosen: _Chosen, tables: Sequence[Table], correction: Correction
) -> dict[str, Corrected]:
    found = {}
    for notation, one in chosen.own.items():
        if one.measure.name == "MRecall":
            found[notation] = correction.mrecall(tables, one.k)
        elif one.measure.name == "Precision":
            found[notation] = correction.precision(tables, one.k)
    return found


def _union(
    ranked: Mapping[str, Rankings],
    topics: Mapping[str, Sequence[str]],
    perspectives: Questions,
    verdicts: Verdicts,
    depth: int,
    bootstrap: Bootstrap,
) -> UnionCoverage:
    tables = []
    for topic in dict.fromkeys(topic for own in topics.values() for topic in own):
        documents = dict.fromkeys(
            doc for own in ranked.values() for doc in own.by_topic.get(topic, ())[:depth]
        )
        tables.append(table_of(topic, tuple(documents), perspectives[topic], verdicts))
    # A set of documents is read whole: its depth is its size.
    sizes = [max(1, len(table.documents)) for table in tables]
    values = {
        "MRecall": [mrecall(table, k) for table, k in zip(tables, sizes, strict=True)],
        "MinCover": [minimum_cover(table, k) for table, k in zip(tables, sizes, strict=True)],
    }
    means = means_of(values, frozenset({"MinCover"}), bootstrap)
    return UnionCoverage(depth, means, _pairs(tables))
