"""Assessments of items by judges and people, one by one, as the columns of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from pnyx.audit.checks.check_rows import NumberedRow, TableRows

Side: TypeAlias = Literal["judge", "human"]


@dataclass(frozen=True, slots=True)
class Assessment:
    """The verdict of a judge, or the label of a person, on one item.

    Attributes:
        name: what was assessed: a metric, a criterion.
        side: whether a judge or a person assessed it.
        value: the verdict or label; None if there is none.
        source: name of the judge or person, if the file has it.
        reason: why the value is missing.
    """

    name: str
    side: Side
    value: Any
    source: str = ""
    reason: str = ""

    @property
    def cell(self) -> Any:
        """The value as a cell of a table; a missing one as an error with its reason."""
        return f"error: {self.reason}" if self.value is None and self.reason else self.value


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
        for assessment in item.assessments:
            names.setdefault((assessment.side, assessment.name), {})[assessment.source] = ""
    for (side, name), sources in names.items():
        column = name if side == "judge" else f"human {name}".replace("human human", "human")
        for source_name in sources:
            several = f"{column} ({source_name or 'unnamed'})"
            sources[source_name] = several if len(sources) > 1 else column
    has_groups = any(item.group for item in items)
    first = ("id", "group") if has_groups else ("id",)
    taken = dict.fromkeys((*first, *(c for sources in names.values() for c in sources.values())))
    rows: list[NumberedRow] = []
    columns = dict(taken)
    for item in items:
        cells: dict[str, Any] = dict(zip(first, (item.id, item.group), strict=False))
        for assessment in item.assessments:
            column = names[assessment.side, assessment.name][assessment.source]
            if assessment.cell is not None or column not in cells:
                cells[column] = assessment.cell
        for name, cell in item.cells.items():
            if cell not in (None, "", [], {}):
                cells[f"{name} (data)" if name in taken else name] = cell
        columns.update(dict.fromkeys(cells))
        rows.append((item.line, cells))
    judges = {name: sources for (side, name), sources in names.items() if side == "judge"}
    judges = {overall: judges[overall]} if overall in judges else judges
    roles: dict[str, tuple[str, ...]] = {role: (role,) for role in first}
    roles["judge"] = tuple(column for sources in judges.values() for column in sources.values())
    return TableRows(tuple(columns), rows, source, roles=roles, pairs=_pairs(names, judges))


def _pairs(names: _Names, judges: Mapping[str, Mapping[str, str]]) -> dict[str, tuple[str, ...]]:
    people = {
        name: tuple(sources.values()) for (side, name), sources in names.items() if side == "human"
    }
    pairs = {
        column: people[name]
        for (side, name), sources in names.items()
        if side == "judge" and name in people
        for column in sources.values()
    }
    if pairs or len(people) != 1:
        return pairs
    (labels,) = people.values()
    return {column: labels for sources in judges.values() for column in sources.values()}
