"""Agreement of people with each other, and of judges with each person, in a checked table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pnyx.audit.checks.items import Answer, CheckItem, CheckItems
from pnyx.judging.measures.raters import Compared, measure_raters
from pnyx.judging.verdicts import Verdict
from pnyx.stats.base import Bootstrap

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
