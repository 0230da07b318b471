"""Assessments of items by judges and people, one by one, as the columns of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Assessment:
    """What one judge or person says of one item.

    Attributes:
        name: what was assessed: a metric, a criterion.
        side: who said it.
        source: which judge or person, if the file says so.
        value: the verdict or label; None where there is none.
        reason: why there is no value.
    """

    name: str
    side: Literal["judge", "human"]
    value: Any
    source: str = ""
    reason: str = ""


@dataclass(slots=True)
class AssessedItem:
    """An item with its assessments and further cells."""

    id: str
    line: int
    cells: dict[str, Any] = field(default_factory=dict)
    group: str = ""
    assessments: list[Assessment] = field(default_factory=list)


@dataclass(slots=True)
class AssessedTable:
    """Columns and rows of assessments.

    Attributes:
        columns: names of the columns.
        rows: line and cells of each item.
        pairs: column of verdicts -> columns of labels of the same thing.
        has_groups: whether items have groups, in the column "group".
    """

    columns: tuple[str, ...]
    rows: list[tuple[int, Mapping[str, Any]]]
    pairs: dict[str, tuple[str, ...]]
    has_groups: bool


def assessed_table(items: Iterable[AssessedItem], overall: str = "") -> AssessedTable:
    """Make a column of each judge and person; the last of several assessments counts.

    A judge's column is named after what was assessed, with the judge if there are several; a
    person's has "human" before it. Labels belong to the verdicts on the same thing; labels of one
    thing that no judge assessed belong to `overall`, or to all verdicts.
    """
    items = list(items)
    sources: dict[tuple[str, str], dict[str, None]] = {}
    for item in items:
        for one in item.assessments:
            sources.setdefault((one.side, one.name), {})[one.source] = None
    names = {
        (side, name, source): _column(side, name, source, len(known) > 1)
        for (side, name), known in sources.items()
        for source in known
    }
    rows: list[tuple[int, Mapping[str, Any]]] = []
    further: dict[str, None] = {}
    has_groups = any(item.group for item in items)
    for item in items:
        cells: dict[str, Any] = {"id": item.id}
        if has_groups:
            cells["group"] = item.group
        for one in item.assessments:
            column = names[one.side, one.name, one.source]
            value = one.value if one.value is not None or not one.reason else f"error: {one.reason}"
            if value is not None or column not in cells:
                cells[column] = value
        own = {*names.values(), *cells}
        more = {
            f"{name} (data)" if name in own else name: cell for name, cell in item.cells.items()
        }
        further.update(dict.fromkeys(more))
        rows.append((item.line, {**cells, **more}))
    first = ("id", "group") if has_groups else ("id",)
    columns = tuple(dict.fromkeys((*first, *names.values(), *further)))
    return AssessedTable(columns, rows, _pairs(sources, names, overall), has_groups)


def _column(side: str, name: str, source: str, several: bool) -> str:
    column = name if side == "judge" else f"human {name}".replace("human human", "human")
    return f"{column} ({source or 'unnamed'})" if several else column


def _pairs(
    sources: Mapping[tuple[str, str], Mapping[str, None]],
    names: Mapping[tuple[str, str, str], str],
    overall: str,
) -> dict[str, tuple[str, ...]]:
    people = [name for side, name in sources if side == "human"]
    judges = [name for side, name in sources if side == "judge"]
    alike = [name for name in judges if name in people]
    if not alike and len(people) == 1:
        alike = [overall] if overall in judges else judges
    pairs: dict[str, tuple[str, ...]] = {}
    for judge in alike:
        person = judge if judge in people else people[0]
        labels = tuple(names["human", person, source] for source in sources["human", person])
        for source in sources["judge", judge]:
            pairs[names["judge", judge, source]] = labels
    return pairs
