"""Rows with the verdicts and labels of one item each, also from long tables and two tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from pnyx.audit.checks.answer_words import cell_text, read_cell
from pnyx.audit.checks.check_rows import TableRows
from pnyx.audit.checks.table_layout import Layout
from pnyx.core.errors import InputError, shorten
from pnyx.formats.cells import plain_id
from pnyx.formats.label_words import ADJUDICATED


@dataclass(slots=True)
class WideRow:
    """One item: its cells of verdicts, labels and probabilities by judge and person."""

    id: str
    group: str
    line: int
    verdicts: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, Any] = field(default_factory=dict)
    probabilities: dict[str, Any] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    dimension: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """The item and, if items have ratings on several dimensions, the dimension."""
        return self.id, self.dimension


@dataclass(slots=True)
class WideTable:
    """The items of a table, and who judged and labelled them."""

    rows: list[WideRow]
    judges: tuple[str, ...]
    people: tuple[str, ...]
    notes: list[str]


def wide_table(table: TableRows, layout: Layout) -> WideTable:
    """Return a row for each item.

    Rows are merged if a column names the judge or the person of each row: by their id or, without
    ids, by all other cells. InputError: merged rows have different verdicts of one judge.
    """
    merges = bool(layout.judge.names or layout.human.names)
    judges, people = dict[str, None](), dict[str, None]()
    rows: list[WideRow] = []
    by_key: dict[Any, WideRow] = {}
    replaced = 0
    for line, cells in table.rows:
        row = _wide_row(line, cells, layout, table)
        if row is None:
            continue
        judges.update(dict.fromkeys(row.verdicts))
        people.update(dict.fromkeys(row.labels))
        key = _key(row, cells, layout) if merges else None
        first = None if key is None else by_key.setdefault(key, row)
        if first is None or first is row:
            rows.append(row)
        else:
            replaced += _merge(first, row, table.source)
    if not rows:
        raise InputError("no row is of the judges and people named", path=table.source)
    notes = []
    if replaced:
        later = "1 label was" if replaced == 1 else f"{replaced:,} labels were"
        notes.append(f"{later} replaced by a later one of the same person on the same item")
    return WideTable(rows, tuple(judges), tuple(people), notes)


def _wide_row(
    line: int, cells: Mapping[str, Any], layout: Layout, table: TableRows
) -> WideRow | None:
    judge, person = (
        cell_text(cells.get(side.names)).strip() if side.names else ""
        for side in (layout.judge, layout.human)
    )
    if layout.judge.only and judge not in layout.judge.only:
        return None
    row = WideRow(_id_text(cells.get(layout.id)), _id_text(cells.get(layout.group)), line)
    row.dimension = cell_text(cells.get(layout.dimension)).strip() if layout.dimension else ""
    for number, column in enumerate(layout.judge.columns):
        name = judge or column
        row.verdicts[name] = cells.get(column)
        if number < len(layout.probabilities):
            row.probabilities[name] = cells.get(layout.probabilities[number])
        if layout.reason and (reason := cell_text(cells.get(layout.reason)).strip()):
            row.reasons[name] = reason
    if not layout.human.only or person in layout.human.only:
        row.labels = {person or column: cells.get(column) for column in layout.human.columns}
    row.texts = {
        name: cell_text(cells[name])
        for name in table.columns
        if name not in layout.used and cells.get(name) not in (None, "", [], {})
    }
    return row


def _id_text(cell: object) -> str:
    """Return an id as text; 7.0, as data frames have it, is 7."""
    return cell_text(plain_id(cell)).strip()


def _key(row: WideRow, cells: Mapping[str, Any], layout: Layout) -> Any:
    if layout.id:
        return row.key if row.id else None
    varying = {layout.judge.names, layout.human.names}
    varying |= {*layout.judge.columns, *layout.probabilities} if layout.judge.names else set()
    varying |= set(layout.human.columns) if layout.human.names else set()
    return tuple((name, cell_text(cell)) for name, cell in cells.items() if name not in varying)


def _merge(first: WideRow, row: WideRow, source: str) -> int:
    """Add the cells of a further row of an item; return how many labels were replaced."""
    for judge, cell in row.verdicts.items():
        before = first.verdicts.get(judge)
        if _is_blank(before):
            first.verdicts[judge] = cell
        elif not _is_blank(cell) and read_cell(cell).word != read_cell(before).word:
            both = f"{shorten(cell_text(before), 30)!r} and {shorten(cell_text(cell), 30)!r}"
            item = shorten(row.id or f"line {first.line}", 40)
            problem = f"{item}: found the verdicts {both} of {shorten(judge, 40)} on one item"
            raise InputError(problem, path=source, line=row.line)
    replaced = 0
    for person, cell in row.labels.items():
        before = first.labels.get(person)
        if not _is_blank(cell):
            replaced += not _is_blank(before) and read_cell(before).word != read_cell(cell).word
            first.labels[person] = cell
        else:
            first.labels.setdefault(person, cell)
    for name, cell in row.probabilities.items():
        if _is_blank(first.probabilities.get(name)):
            first.probabilities[name] = cell
    first.reasons = {**row.reasons, **first.reasons}
    first.texts = {**row.texts, **first.texts}
    first.group = first.group or row.group
    return replaced


def _is_blank(cell: object) -> bool:
    return read_cell(cell).blank


def join_labels_by_id(
    verdicts: WideTable, labelled: WideTable, source: str, id_column: str, file: str = ""
) -> None:
    """Add the labels of a second table to the rows of verdicts with the same id.

    Its people are named after the `file`, if it is one of several, and after their column.
    """
    if not id_column:
        raise InputError("labels are joined by id: name its column with --id-column", path=source)
    names = _names_in(file, labelled.people)
    by_key: dict[tuple[str, str], dict[str, Any]] = {}
    with_id = [row for row in labelled.rows if row.id]
    for row in with_id:
        labels = by_key.setdefault(row.key, {})
        for person, cell in row.labels.items():
            if names[person] not in labels or not _is_blank(cell):
                labels[names[person]] = cell
    rest = len(by_key.keys() - {row.key for row in verdicts.rows})
    if rest == len(by_key):
        ids = f"verdicts: {_first_ids(row.key for row in verdicts.rows)}"
        problem = f"no verdict has the id of a label ({ids}; labels: {_first_ids(by_key)})"
        raise InputError(problem, path=source)
    for row in verdicts.rows:
        row.labels |= by_key.get(row.key, {})
    verdicts.people = tuple(dict.fromkeys((*verdicts.people, *names.values())))
    verdicts.notes += labelled.notes
    if missing := len(labelled.rows) - len(with_id):
        verdicts.notes.append(f"{_rows(missing)} a label without an id, which is left out")
    if rest:
        verdicts.notes.append(
            f"{rest:,} of {len(by_key):,} labelled ids have no verdict and are left out"
        )


def _names_in(file: str, people: tuple[str, ...]) -> dict[str, str]:
    """Return the names in the whole table of the people of a file."""
    if not file:
        return {person: person for person in people}
    long = {person: file if len(people) == 1 else f"{file}: {person}" for person in people}
    return long | ({ADJUDICATED: ADJUDICATED} if ADJUDICATED in people else {})


def _first_ids(keys: Iterable[tuple[str, str]]) -> str:
    """Return the first ids, each with its dimension, if it has one."""
    names = (" ".join(filter(None, key)) for key in keys)
    return ", ".join(repr(shorten(name, 30)) for name in islice(names, 2))


def apply_adjudication(table: WideTable) -> None:
    """Drop the other labels of items with an adjudicated one."""
    if ADJUDICATED not in table.people:
        return
    others = tuple(person for person in table.people if person != ADJUDICATED)
    decided = 0
    for row in table.rows:
        label = row.labels.get(ADJUDICATED)
        if not _is_blank(label):
            decided += 1
            row.labels = {ADJUDICATED: label}
    if decided and others:
        items = "1 item has" if decided == 1 else f"{decided:,} items have"
        table.notes.append(f"{items} an adjudicated label, which counts alone")


def group_by_id(table: WideTable, id_column: str) -> str:
    """Group rows by id if ids are repeated; return the column of groups, or nothing.

    Several verdicts on one item are not independent of each other.
    """
    ids = [row.key for row in table.rows if row.id]
    distinct = len(set(ids))
    if not id_column or distinct == len(ids):
        return ""
    for row in table.rows:
        row.group = row.id
    table.notes.append(
        f"{shorten(id_column, 40)}: {len(ids):,} rows have {distinct:,} different ids; rows of one "
        "id count as one group (another: --group COLUMN)"
    )
    return id_column


def unique_ids(table: WideTable, id_column: str, *, grouped: bool = False) -> None:
    """Number the rows without an id by their line, and those with a repeated id.

    A note says so, except for rows that are `grouped` by id: `group_by_id` has noted these.
    """
    seen: dict[tuple[str, str], int] = {}
    missing = repeated = 0
    taken = {row.id for row in table.rows}  # in any dimension
    for row in table.rows:
        if not row.id:
            missing += 1
            row.id = str(row.line)
            while row.id in taken:
                row.id = f"line {row.id}"
            taken.add(row.id)
            continue
        count = seen[row.key] = seen.get(row.key, 0) + 1
        if count > 1:
            repeated += 1
            name = row.id
            while (again := f"{name} ({count})") in taken:
                count += 1
            seen[name, row.dimension] = count
            row.id = again
            taken.add(again)
    column = shorten(id_column, 40)
    if missing and id_column:
        table.notes.append(f"{column}: {_rows(missing)} no id; the line counts as the id")
    if repeated and not grouped:
        table.notes.append(f"{column}: {_rows(repeated)} an id that occurs before; it was numbered")


def _rows(count: int) -> str:
    return "1 row has" if count == 1 else f"{count:,} rows have"
