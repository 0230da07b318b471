"""Assessments of items by judges and people, one by one, as the columns of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from pnyx.audit.checks.check_rows import NumberedRow, TableRows

Side: TypeAlias = Literal["judge", "human"]


@dataclass(frozen=True, slots=True)
class Assessment:
    """What one judge or person says of one item.

    Attributes:
        name: what was assessed: a metric, a criterion.
        side: who said it.
        value: the verdict or label; None where there is none.
        source: which judge or person, if the file says so.
        reason: why there is no value.
    """

    name: str
    side: Side
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


_Names = dict[tuple[str, str], dict[str, str]]
"""Side and what was assessed -> judge or person -> column."""


def assessed_table(items: Sequence[AssessedItem], source: str, overall: str = "") -> TableRows:
    """Make a column of each judge and person; the last of several assessments counts.

    A judge's column is named after what was assessed, with the judge if there are several; a
    person's has "human" before it. Labels belong to the verdicts on the same thing; labels of one
    thing that no judge assessed belong to `overall`, or to all verdicts.
    """
    names: _Names = {}
    for item in items:
        for one in item.assessments:
            names.setdefault((one.side, one.name), {})[one.source] = ""
    for (side, name), sources in names.items():
        column = name if side == "judge" else f"human {name}".replace("human human", "human")
        for who in sources:
            sources[who] = f"{column} ({who or 'unnamed'})" if len(sources) > 1 else column
    has_groups = any(item.group for item in items)
    first = ("id", "group") if has_groups else ("id",)
    taken = dict.fromkeys((*first, *(c for sources in names.values() for c in sources.values())))
    rows: list[NumberedRow] = []
    columns = dict(taken)
    for item in items:
        cells: dict[str, Any] = dict(zip(first, (item.id, item.group), strict=False))
        for one in item.assessments:
            column = names[one.side, one.name][one.source]
            value = f"error: {one.reason}" if one.value is None and one.reason else one.value
            if value is not None or column not in cells:
                cells[column] = value
        for name, cell in item.cells.items():
            if cell not in (None, "", [], {}):
                cells[f"{name} (data)" if name in taken else name] = cell
        columns.update(dict.fromkeys(cells))
        rows.append((item.line, cells))
    judges = {name: said for (side, name), said in names.items() if side == "judge"}
    judges = {overall: judges[overall]} if overall in judges else judges
    roles: dict[str, tuple[str, ...]] = {role: (role,) for role in first}
    roles["judge"] = tuple(column for said in judges.values() for column in said.values())
    return TableRows(tuple(columns), rows, source, roles=roles, pairs=_pairs(names, judges))


def _pairs(names: _Names, overall: Mapping[str, Mapping[str, str]]) -> dict[str, tuple[str, ...]]:
    people = {name: tuple(said.values()) for (side, name), said in names.items() if side == "human"}
    pairs = {
        column: people[name]
        for (side, name), said in names.items()
        if side == "judge" and name in people
        for column in said.values()
    }
    if pairs or len(people) != 1:
        return pairs
    (labels,) = people.values()
    return {column: labels for said in overall.values() for column in said.values()}
