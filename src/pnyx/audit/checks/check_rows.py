"""The rows of a table that a check reads, and what is known about its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

NumberedRow = tuple[int, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class TableRows:
    """The rows of a table.

    Attributes:
        columns: names of the columns, in order.
        rows: line in the file (or number of the row, from 1) and cells of each row.
        source: the file as the user named it, or what the table is.
        notes: what was assumed or left out, a line each.
        roles: role ("id", "group", ...) -> columns, if the format defines them.
        pairs: column of verdicts -> columns of labels of the same thing, if the format pairs them.
        missing: what to do if the format can hold labels of people and the file has none.
    """

    columns: tuple[str, ...]
    rows: Sequence[NumberedRow]
    source: str
    notes: tuple[str, ...] = ()
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pairs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    missing: str = ""
