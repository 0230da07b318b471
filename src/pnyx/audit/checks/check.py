"""Can this judge be trusted? One table of verdicts and labels, measured, decided and explained."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from pnyx.audit.checks.alternative import MIN_ANNOTATORS, alternative_annotator_test
from pnyx.audit.checks.bars import canonical_bars
from pnyx.audit.checks.biases import measure_biases
from pnyx.audit.checks.comparison import choose_among, compare_with_earlier
from pnyx.audit.checks.items import Answer, CheckItem, CheckItems
from pnyx.audit.checks.labelled_rows import join_items, labels_of, pair_clusters, settled_label
from pnyx.audit.checks.result import CheckedJudge, CheckedTable, Disagreement, GroupAccuracy
from pnyx.core.errors import InputError, shorten
from pnyx.judging.answers import Answers
from pnyx.judging.measures.agreement import Agreement, measure_agreement
from pnyx.judging.measures.ground_truth import LabelledVerdicts
from pnyx.judging.measures.group_figures import MIN_GROUP_LABELS
from pnyx.judging.measures.pairs import PairColumns
from pnyx.judging.measures.raters import Compared, measure_raters
from pnyx.judging.measures.rates import corrected_rate
from pnyx.judging.measures.registry import MEASURES
from pnyx.judging.verdicts import Verdict
from pnyx.stats.base import BOOTSTRAP, Bootstrap, Measured
from pnyx.stats.intervals import cluster_mean, share_of

MAX_PAIRED = 8
"""Maximum people, or files of labels, to compare pairwise: 28 pairs."""

_TOGETHER = "all people"


def compare_people(items: CheckItems, bootstrap: Bootstrap) -> list[Compared]:
    """Compare people with each other and each judge with each of them, as `measure_raters` does.

    Of labels in several files, the files take the place of people: a file's majority (of ratings
    its mean) is compared with the others', and the people of each file with each other.

    Returns:
        First all people at once, then the judges with each, each with each, and the people within
        each file; empty if no item has two labels. Of more than `MAX_PAIRED`, only all at once.
    """
    rows = {person: _labels(items, person) for person in items.people}
    if not any(sum(item.labels.get(p) is not None for p in rows) > 1 for item in items.items):
        return []
    every = [row for some in rows.values() for row in some]
    together = measure_raters(None, [every], names=[_TOGETHER], bootstrap=bootstrap).compared
    files = items.files or {person: (person,) for person in rows}
    sides = {name: [row for p in of for row in rows[p]] for name, of in files.items()}
    if len(sides) > MAX_PAIRED:
        return list(together)
    named: dict[str, Any] = {"names": list(sides), "bootstrap": bootstrap}
    judged = [
        compared
        for judge in items.judges
        for name, side in sides.items()
        for compared in _with_judge(items, judge, name, side, bootstrap)
    ]
    return [*together, *judged, *measure_raters(None, list(sides.values()), **named).compared]


def _with_judge(
    items: CheckItems, judge: str, name: str, labels: Sequence[Verdict], bootstrap: Bootstrap
) -> list[Compared]:
    """Compare a judge with a side."""
    labelled = {label.key for label in labels}
    answers = [
        _verdict(item, item.verdicts.get(judge), judge=judge)
        for item in items.items
        if (item.id, item.dimension) in labelled
    ]
    compared = measure_raters(answers, [labels], names=[name], bootstrap=bootstrap).compared
    return [comparison for comparison in compared if comparison.kind == "human-judge"]


def _labels(items: CheckItems, person: str) -> list[Verdict]:
    return [
        _verdict(item, label, annotator=person)
        for item in items.items
        if (label := item.labels.get(person)) is not None
    ]


def _verdict(item: CheckItem, value: Answer, *, judge: str = "", annotator: str = "") -> Verdict:
    return Verdict(
        id=item.id,
        value=value,
        unscored="" if value is not None else "no verdict",
        judge=judge,
        annotator=annotator,
        group=item.group,
        dimension=item.dimension,
        line=item.line,
    )


Names: TypeAlias = str | Sequence[str]
"""One name, or several."""

DRIFT_MARGIN = 0.1
"""How much worse than in an earlier check a figure may be, as for `pnyx audit card --against`."""


@dataclass(frozen=True, slots=True, repr=False)
class Check(CheckedTable):
    """Judges checked against people's labels in one table; `print()` shows a summary in words."""

    def __repr__(self) -> str:
        from pnyx.audit.checks.summary import summary_text

        return summary_text(self)

    __str__ = __repr__


def check(
    source: Any,
    labels: Any = None,
    *,
    judge: Names = (),
    human: Names = (),
    group: str | None = None,
    id: str | None = None,  # noqa: A002 - the column's usual name
    probability: Names = (),
    yes: Names = (),
    no: Names = (),
    bars: Mapping[str, float] | None = None,
    cost: Names = (),
    against: str | Path | Mapping[str, Any] | None = None,
    margin: float | None = None,
    bootstrap: Bootstrap = BOOTSTRAP,
) -> Check:
    """Check judges against people's labels in one table: can they be trusted?

    Args:
        source: a table (file, data frame, list of dicts, results folder), what `pnyx.ask`
            returned, `CheckItems`; with `labels` also id -> verdict, or a list of verdicts.
        labels: people's labels, where the table has none, joined by id: a file, several as a list
            of `Path`, id -> label, or a list of labels.
        judge: columns of verdicts; by default guessed by their names.
        human: columns of people's labels; of several people the majority counts, of ratings the
            mean.
        group: the column of what clusters the items, such as their question.
        id: the column of ids.
        probability: columns of probabilities of yes, one for each judge, in their order.
        yes: the values that mean yes; needed unless they are usual words for it.
        no: the values that mean no.
        bars: measure -> what a judge must reach; see `Check.decide`.
        cost: columns of what an answer cost in US dollars, one for each judge, to choose one judge.
        against: an earlier check (JSON of `pnyx check --out`) to compare with.
        margin: accuracy that may be lost when a cheaper judge is chosen (0.02), and by how much a
            figure may be worse than in the earlier check (0.1).
        bootstrap: how intervals are drawn, over groups.

    Returns:
        The numbers, intervals included, equal those of `pnyx measure` on the same answers.

    Raises:
        InputError: the table cannot be understood, no row has verdict and label, a bar names a
            measure that the table does not allow, or costs or a margin would change nothing.
    """
    items = _items_of(
        source, judge=judge, human=human, group=group, id=id, probability=probability,
        yes=yes, no=no, labels=labels,
    )  # fmt: skip
    joined: dict[str, LabelledVerdicts] = {}
    for name in items.judges:
        pairs = join_items(items, name)  # in the order in which `pnyx measure` has them
        joined[name] = replace(pairs, pairs=PairColumns.of(pairs.pairs).by_id())
    judges = [_checked(items, name, joined[name], bootstrap) for name in items.judges]
    cost = [cost] if isinstance(cost, str) else cost
    checked = Check(
        items,
        judges,
        compare_people(items, bootstrap),
        max(pairs.tied for pairs in joined.values()),
        canonical_bars(bars or {}),
        bootstrap,
        choose_among(items, joined, cost, margin, bootstrap),
    )
    if margin is not None and against is None and checked.choice is None:
        problem = "a margin requires an earlier check, or several judges of yes and no"
        raise InputError(problem, path=items.source)
    checked.decide()  # A bar that the table does not allow is refused here, not at its first use
    if against is None:
        return checked
    allowed = DRIFT_MARGIN if margin is None else margin
    return replace(checked, drift=compare_with_earlier(against, checked.row(), allowed, bootstrap))


def _items_of(source: Any, **columns: Any) -> CheckItems:
    if isinstance(source, Answers):
        source = source.rows()
    if not isinstance(source, CheckItems | Iterable | Path):
        name = shorten(type(source).__name__, 40)
        expected = "expected a file, a data frame, a list of dicts, or two dicts"
        raise InputError(f"found {name}, {expected}")
    if not isinstance(source, CheckItems):
        from pnyx.audit.checks.columns import read_check_items

        return read_check_items(source, **columns)
    if chosen := [name for name, value in columns.items() if value]:
        raise InputError(f"{', '.join(chosen)}: CheckItems name their columns already")
    return source


def _checked(
    items: CheckItems, name: str, joined: LabelledVerdicts, bootstrap: Bootstrap
) -> CheckedJudge:
    agreement = measure_agreement(joined, bootstrap=bootstrap)
    figures = {
        measure: measured
        for measure, measured in agreement.measures.items()
        if measured.scored or not measured.asked or _of_verdicts(measure, agreement)
    }
    rate, groups = None, list[GroupAccuracy]()
    if items.kind == "yes-no":
        rate = corrected_rate(joined, bootstrap=bootstrap)
        figures |= {"sensitivity": rate.sensitivity, "specificity": rate.specificity}
        figures |= _predictive_values(joined, bootstrap)
        groups = _groups(agreement)
    several = len(items.people) >= MIN_ANNOTATORS
    return CheckedJudge(
        name,
        figures,
        agreement,
        rate,
        _disagreements(items, name),
        groups,
        measure_biases(items, name, bootstrap=bootstrap),
        alternative_annotator_test(items, name) if several else None,
    )


def _of_verdicts(measure: str, agreement: Agreement) -> bool:
    """Return whether a measure needs no probabilities: it is listed even if all is unscored."""
    inputs = MEASURES[measure].inputs if measure in MEASURES else {}
    columns = inputs.get(agreement.joined.task)
    return columns is not None and columns[1] == "value"


def _predictive_values(joined: LabelledVerdicts, bootstrap: Bootstrap) -> dict[str, Measured]:
    """Return how often people agree with the judge's yes, and with its no."""
    pairs = PairColumns.of(joined.pairs)
    labels, values = pairs.labels(lambda gold: gold.yes), pairs.value()
    clusters = pair_clusters(pairs)
    yes, no = values == 1, values == 0
    return {
        "precision": cluster_mean(labels[yes], clusters[yes], bootstrap),
        "npv": cluster_mean(1 - labels[no], clusters[no], bootstrap),
    }


def _groups(agreement: Agreement) -> list[GroupAccuracy]:
    """Return how many verdicts are right in each group."""
    groups = []
    for name, measures in agreement.per_group.items():
        figure = measures["accuracy"]
        right = round((figure.value or 0.0) * figure.scored)
        accuracy = Measured(None, figure.scored, figure.asked)
        if figure.scored >= MIN_GROUP_LABELS:
            accuracy = share_of(right, figure.scored, figure.asked)
        groups.append(GroupAccuracy(name, right, accuracy))
    return groups


def _disagreements(items: CheckItems, judge: str) -> list[Disagreement]:
    rows = []
    for item in items.items:
        verdict = item.verdicts.get(judge)
        label = settled_label(labels_of(item, items.people), items)
        if verdict is None or label is None or verdict == label:
            continue
        stated = item.probabilities.get(judge)
        confidence = None if stated is None else stated if verdict else 1 - stated
        rows.append(Disagreement(item, verdict, label, confidence))

    def order(row: Disagreement) -> tuple[float, int]:
        if items.kind == "rating":
            return -abs(float(row.verdict or 0) - float(row.label or 0)), row.item.line
        return (math.inf if row.confidence is None else -row.confidence), row.item.line

    return sorted(rows, key=order)
