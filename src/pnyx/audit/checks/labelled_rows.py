"""The rows of a checked table in the form that the measures take."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from pnyx.audit.checks.items import Answer, CheckItem, CheckItems
from pnyx.core.errors import InputError, shorten
from pnyx.judging.labels import consensus
from pnyx.judging.measures.ground_truth import LabelledVerdicts
from pnyx.judging.measures.pairs import Gold, Pair, PairColumns
from pnyx.judging.verdicts import Verdict
from pnyx.stats.weighted_measures import Index


def join_items(items: CheckItems, judge: str, people: Sequence[str] = ()) -> LabelledVerdicts:
    """Join one judge's verdicts with people's labels, as `measure_agreement` takes them.

    Of several people the majority counts, of ratings the mean. Items without a majority count as
    `tied`; they are also in `unlabelled`, but not in `answers_without_label`.

    Args:
        items: the table.
        judge: a column of verdicts.
        people: columns of labels that count; by default all.

    Raises:
        InputError: the table has no such judge, or no item has a label.
    """
    check_judge(items, judge)
    pairs: list[Pair] = []
    unlabelled = Counter[tuple[str, Any]]()
    tied = 0
    for item in items.items:
        votes = labels_of(item, people or items.people)
        label = settled_label(votes, items)
        if label is None:
            tied += bool(votes)
            unlabelled[item.group, item.verdicts.get(judge)] += 1
            continue
        pairs.append(Pair(_verdict(item, judge, items), _gold(label, item, items)))
    if not pairs:
        raise InputError("no row has a label that is not tied", path=items.source)
    return LabelledVerdicts(
        "support" if items.kind == "yes-no" else "quality",
        judge,
        tuple(pairs),
        answers_without_label=unlabelled.total() - tied,
        tied=tied,
        unlabelled=unlabelled,
    )


def check_judge(items: CheckItems, judge: str) -> None:
    """Raise InputError if the table has no such column of verdicts."""
    if judge not in items.judges:
        columns = shorten(", ".join(items.judges), 200)
        raise InputError(
            f"no column of verdicts is called {shorten(judge, 40)!r}: expected {columns}",
            path=items.source,
        )


def labels_of(item: CheckItem, people: Sequence[str]) -> list[bool | float]:
    """Return the labels of those of these people who labelled the item."""
    labels = (item.labels.get(person) for person in people)
    return [label for label in labels if label is not None]


def settled_label(votes: Sequence[bool | float], items: CheckItems) -> Answer:
    """Return the label of several people: the majority, or the mean of ratings; None if tied."""
    if items.kind == "yes-no":
        return consensus(votes)
    return math.fsum(votes) / len(votes) if votes else None


def cluster_numbers(items: Sequence[CheckItem]) -> Index:
    """Return the number of each item's group, (items,); an item without one is alone."""
    numbers: dict[tuple[str, str], int] = {}
    keys = ((item.group, "") if item.group else ("", item.id) for item in items)
    return np.fromiter((numbers.setdefault(key, len(numbers)) for key in keys), np.intp)


def pair_clusters(pairs: PairColumns) -> Index:
    """Return the number of each pair's group, (pairs,); a pair without one is alone."""
    names = [group or f"\0{key}" for group, key in zip(pairs.groups, pairs.ids, strict=True)]
    return np.unique(np.array(names), return_inverse=True)[1].astype(np.intp)


def _verdict(item: CheckItem, judge: str, items: CheckItems) -> Verdict:
    value = item.verdicts.get(judge)
    if value is not None:
        value = bool(value) if items.kind == "yes-no" else float(value)
    return Verdict(
        id=item.id,
        value=value,
        probability=None if value is None else item.probabilities.get(judge),
        unscored="" if value is not None else item.unscored.get(judge) or "no verdict",
        judge=judge,
        group=item.group,
        dimension=item.dimension,
        line=item.line,
    )


def _gold(label: bool | float, item: CheckItem, items: CheckItems) -> Gold:
    if items.kind == "yes-no":
        return Gold(yes=bool(label), group=item.group)
    return Gold(rating=float(label), group=item.group)
