"""Results that print as a short summary and provide all rows as a data frame."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, ClassVar, Final, NamedTuple
from unicodedata import combining, east_asian_width

from pnyx.core.errors import PnyxError, shorten

MOST_LINES: Final = 25
"""Lines of a printed result."""

MOST_ROWS: Final = 20
"""Rows of a result that are printed, fewer if its heading is long."""

MOST_COLUMNS: Final = 100
"""Width of a printed result, in columns of a terminal."""

_LONGEST_CELL: Final = 60
_NARROWEST: Final = 16  # text columns are cut to this width before whole columns are left out
_GAP: Final = "  "


class Result:
    """Base of results: rows, a data frame, a table in a notebook.

    `print` and notebooks show the values over all items, in at most 25 lines of at most 100
    columns; `to_frame()` has every row.
    """

    __slots__ = ()
    PARTS: ClassVar[tuple[str, ...]] = ("group", "dimension")
    """Row fields that refer to only a part of the items."""

    def rows(self) -> list[dict[str, Any]]:
        """Return one flat object for each measured value."""
        raise NotImplementedError

    def to_frame(self) -> Any:
        """Return `rows()` as a data frame (pandas, else polars); PnyxError without either."""
        for name, arguments in (("pandas", {}), ("polars", {"infer_schema_length": None})):
            try:
                library = importlib.import_module(name)
            except ImportError:
                continue
            return library.DataFrame(self.rows(), **arguments)
        raise PnyxError("a data frame needs pandas or polars: pip install pandas")

    def _heading(self) -> list[str]:
        """Return the lines above the table."""
        return [type(self).__name__]

    def _ending(self) -> list[str]:
        """Return the lines below the table."""
        return []

    def _main_rows(self, rows: Sequence[dict[str, Any]]) -> Sequence[Mapping[str, Any]]:
        """Return the rows of the summary, most important first."""
        whole = [row for row in rows if not any(row.get(name) for name in self.PARTS)]
        return whole or rows

    def _table(self, most: int = MOST_ROWS) -> _Table:
        rows = self.rows()
        return _table_of(self._main_rows(rows)[:most], len(rows))

    def __repr__(self) -> str:
        above, below = self._heading(), self._ending()
        # Two lines are reserved for the column names and for the line about omitted rows.
        table = self._table(min(MOST_ROWS, MOST_LINES - 2 - len(above) - len(below)))
        columns = table.fitting()
        widths = [max(map(width_of, column)) for column in columns]
        lines = [
            _GAP.join(map(_padded, row, widths)).rstrip() for row in zip(*columns, strict=True)
        ]
        rest = table.rest(len(table.columns) - len(columns))
        whole = [*above, *lines, *([rest] if rest else []), *below]
        return "\n".join(cut_to(line, MOST_COLUMNS) for line in whole)

    def _repr_html_(self) -> str:
        def line(row: Iterable[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>"

        table = self._table()
        head, *body = zip(*table.columns, strict=True) if table.columns else ((),)
        rest = table.rest(0)
        html = f"<table>{line(head, 'th')}{''.join(line(row, 'td') for row in body)}</table>"
        return html + (f"<p><small>{escape(rest)}</small></p>" if rest else "")


class _Table(NamedTuple):
    """Columns of text, each starting with its name, and the number of omitted rows."""

    columns: list[list[str]]
    hidden: int

    def rest(self, columns: int) -> str:
        """Return the line about what is omitted; empty if nothing is."""
        hidden = [
            f"{count:,} more {what}{'s' * (count != 1)}"
            for count, what in ((self.hidden, "row"), (columns, "column"))
            if count
        ]
        return f"{', '.join(hidden)}: .to_frame()" if hidden else ""

    def fitting(self) -> list[list[str]]:
        """Return the columns that fit in `MOST_COLUMNS`: cut long texts, omit the last columns."""
        columns = self.columns
        while columns and (over := _width(columns) - MOST_COLUMNS) > 0:
            widths = [max(map(width_of, column)) for column in columns]
            widest = widths.index(max(widths))
            if widths[widest] > _NARROWEST:
                target = max(_NARROWEST, widths[widest] - over)
                cut = [cut_to(cell, target) for cell in columns[widest]]
                columns = [*columns[:widest], cut, *columns[widest + 1 :]]
            else:
                columns = columns[:-1]
        return columns


def _width(columns: Sequence[Sequence[str]]) -> int:
    return sum(max(map(width_of, column)) + len(_GAP) for column in columns) - len(_GAP)


def _table_of(rows: Sequence[Mapping[str, Any]], total: int) -> _Table:
    cells = [_cells(row) for row in rows]
    names = dict.fromkeys(name for row in cells for name in row)
    filled_rows = [row for row in cells if any(row.values())]
    columns = [[name, *(row.get(name, "") for row in filled_rows)] for name in names]
    filled = [column for column in columns if any(column[1:])] or columns
    return _Table(filled, max(0, total - len(cells)))


def _cells(row: Mapping[str, Any]) -> dict[str, str]:
    """Return a row's cells as text: a value with its interval, counts with their total."""
    cells = {name: shown_cell(value) for name, value in row.items()}
    if cells.keys() >= {"value", "low", "high"}:
        low, high = cells.pop("low"), cells.pop("high")
        cells["value"] += f" [{low}, {high}]" if low and high else ""
    if cells.keys() >= {"scored", "asked"}:
        cells["scored"] += f" of {cells.pop('asked')}"
    return cells


def shown_cell(value: Any) -> str:
    """Return a value as text for a table: 0.863, yes, 1,200, or text cut to 60 characters."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, int):
        return f"{value:,}"
    return "" if value is None else shorten(str(value), _LONGEST_CELL)


def width_of(text: str) -> int:
    """Return the terminal columns that a text takes: East Asian characters take two."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - width_of(text))


def cut_to(text: str, width: int) -> str:
    """Return a text cut to this many columns, with an ellipsis if it was cut."""
    if width_of(text) <= width:
        return text
    taken = 0
    for index, character in enumerate(text):
        taken += width_of(character)
        if taken > width - 1:
            return text[:index] + "…"
    return text
