"""Tables with notes and legends, rendered as text, Markdown, HTML, CSV and JSON."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from pnyx.core.errors import escaped, shorten
from pnyx.stats.base import Bootstrap, Measured

if TYPE_CHECKING:
    from rich.console import RenderableType

Kind: TypeAlias = Literal[
    "text", "name", "measure", "number", "interval", "figure", "count", "counts", "share"
]

_LEFT: Final = ("text", "name", "measure")
_FIRMNESS: Final = {"text": 0, "name": 0, "measure": 2}
"""If a line is too narrow, columns with the lowest value are broken within words first."""
_LONGEST: Final = 2000
_NARROWEST: Final = 16
"""A column of text is folded to this width before a table is split into several."""
_GAP: Final = 2
_PAD: Final = "\u2800"
"""A blank that the drawing library does not treat as white space; drawn as a space."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `kind` says what its cells hold, `key` its name in `Table.json`.

    `text`: strings, hidden in restricted mode; `name`: strings that are always shown; `measure`:
    names whose words are never broken over lines. `number`: a float, with three digits.
    `interval`: a `Measured`, (low, high), or also why there is none. `figure`: a `Measured`, its
    value with its interval. `count`: an int. `counts`: a `Measured` or (scored, asked), one number
    where they are the same. `share`: a float in [0, 1], as a percentage. A string is shown as it
    is in any column, None as a dash (nothing in a column of text).
    """

    name: str
    kind: Kind = "text"
    key: str = ""

    @property
    def left(self) -> bool:
        """Whether its cells are aligned to the left."""
        return self.kind in _LEFT

    def shown(self, value: Any) -> str:
        """Return a cell for display: one printable line."""
        if isinstance(value, Marked):
            return value.shown(self.kind)
        text = value if isinstance(value, str) else _SHOWN[self.kind](value)
        return shorten(text, _LONGEST) if self.kind == "text" else escaped(text, _LONGEST)


class OwnWords(str):
    """A paragraph of Pnyx's own words and names, shown even in restricted mode."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A cell with a mark after its number, as for significance; an empty mark is padded."""

    value: Any
    mark: str = ""

    def shown(self, kind: Kind) -> str:
        """Return the number, the mark and, for a figure, the interval."""
        if kind == "figure":
            first, second = _number(self.value), interval(self.value)
            return f"{first} {self.mark:1} {second}" if second != "-" else f"{first} {self.mark:1}"
        return f"{_SHOWN[kind](self.value)} {self.mark:1}"


def number(value: float | None) -> str:
    """Return a value with three digits, or a dash."""
    return "-" if value is None else f"{value:z.3f}"


def interval(value: Any, high: float | None = None) -> str:
    """Return the bounds of a `Measured`, a pair, or two bounds with three digits, else a dash."""
    if isinstance(value, Measured):
        value, high = value.low, value.high
    elif isinstance(value, tuple):
        value, high = value[:2]
    return "-" if value is None or high is None else f"[{value:z.3f}, {high:z.3f}]"


def chance(p: float | None) -> str:
    """Return a p-value with four digits, or a dash."""
    if p is None:
        return "-"
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def draws_legend(drawn: str, bootstrap: Bootstrap) -> list[str]:
    """Say how intervals were drawn, e.g. from `the topics`; empty without a bootstrap."""
    draws = f"{bootstrap.draws} draws (seed {bootstrap.seed}) of {drawn}"
    return [OwnWords(f"95 % intervals: {draws} with replacement")] * bool(bootstrap.draws)


def _number(value: Any) -> str:
    return number(value.value if isinstance(value, Measured) else value)


def _figure(value: Any) -> str:
    bounds = interval(value)
    return _number(value) if bounds == "-" else f"{_number(value)} {bounds}"


def _counts(value: Any) -> str:
    if value is None:
        return "-"
    scored, total = (value.scored, value.asked) if isinstance(value, Measured) else value
    return f"{total:,}" if scored == total else f"{scored:,} of {total:,}"


_SHOWN: Final[dict[Kind, Callable[[Any], str]]] = {
    "text": lambda value: "" if value is None else str(value),
    "name": lambda value: "" if value is None else str(value),
    "measure": lambda value: "" if value is None else str(value),
    "number": _number,
    "interval": interval,
    "figure": _figure,
    "count": lambda value: "-" if value is None else f"{value:,}",
    "counts": _counts,
    "share": lambda value: "-" if value is None else f"{value:.1%}",
}


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under columns, in groups, with notes and legend; leading text columns name a row."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    notes: Sequence[str] = ()
    legend: Sequence[str] = ()
    title: str = ""

    def text(self, width: int | None = None) -> str:
        """Return lines of at most `width` cells; text is folded, and wide tables continue below."""
        width = max(1, width or terminal_width())
        rows = self._shown()
        parts = [filled(self.title, width)] if self.title else []
        parts += [_drawn(part, width) for part in _split(rows, self.columns, width)]
        below = [*self.notes, *self._withheld(), *self.legend]
        parts += ["\n".join(filled(line, width) for line in below)] if below else []
        return "\n\n".join(parts)

    def markdown(self) -> str:
        """Return a table of GitHub's Markdown, with title, notes and legend as paragraphs."""
        from pnyx.display.text import escape_cell, escape_markdown

        rows = [
            [escape_cell(t) if isinstance(v, str) else t for v, t in zip(raw, texts, strict=True)]
            for raw, texts in zip(([c.name for c in self.columns], *self.rows), self._shown(),
                                  strict=True)
            if texts
        ]  # fmt: skip
        rules = ["---" if column.left else "---:" for column in self.columns]
        table = [f"| {' | '.join(row)} |" for row in (rows[0], rules, *rows[1:])]
        below = map(escape_markdown, (*self.notes, *self._withheld(), *self.legend))
        title = [f"**{escape_markdown(self.title)}**"] if self.title else []
        return "\n\n".join([*title, "\n".join(table), *below]) + "\n"

    def html(self) -> str:
        """Return a `<table>` and a paragraph for each note and legend; all text is escaped."""

        def cells(row: Sequence[str], name: str) -> str:
            classes = {"measure": ' class="measure"', "text": "", "name": ""}
            ends = [classes.get(column.kind, ' class="number"') for column in self.columns]
            return "".join(
                f"<{name}{end}>{escape(cell)}</{name}>" for cell, end in zip(row, ends, strict=True)
            )

        header, *rows = self._shown()
        caption = f"<caption>{escape(self.title)}</caption>\n" if self.title else ""
        body = "\n".join(f"<tr>{cells(row, 'td')}</tr>" if row else "</tbody><tbody>"
                         for row in rows)  # fmt: skip
        below = [("note", line) for line in (*self.notes, *self._withheld())]
        below += [("legend", line) for line in self.legend]
        return (
            f"<table>\n{caption}<thead><tr>{cells(header, 'th')}</tr></thead>\n"
            f"<tbody>\n{body}\n</tbody>\n</table>\n"
            + "".join(f'<p class="{kind}">{escape(line)}</p>\n' for kind, line in below)
        )

    def csv(self, *, head: bool = True) -> str:
        """Return comma-separated values, unrounded: a line for each row, after one of names.

        Intervals (`NAME low`, `NAME high`), counts (`NAME`, `NAME asked`) and marks (`NAME mark`)
        have columns of their own. Text that a spreadsheet would execute is quoted by an
        apostrophe; control characters are escaped.
        """
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        marked = [any(isinstance(row[n], Marked) and row[n].mark for row in self.rows if len(row))
                  for n in range(len(self.columns))]  # fmt: skip
        pairs = list(zip(self.columns, marked, strict=True))
        if head:
            writer.writerow(_safe(name) for column, mark in pairs for name in _names(column, mark))
        for row in self.rows:
            if len(row):
                cells = zip(pairs, row, strict=True)
                writer.writerow(
                    _safe(value, hides=column.kind == "text")
                    for (column, mark), cell in cells
                    for value in _cell_parts(column, cell, mark)
                )
        return stream.getvalue()

    def json(self) -> list[dict[str, Any]]:
        """Return an object for each row, its values unrounded."""
        names = [column.key or column.name for column in self.columns]
        return [dict(zip(names, map(_plain, row), strict=True)) for row in self.rows if len(row)]

    def _withheld(self) -> list[str]:
        """Return the line that says why values have no interval, with their rows."""
        line = _withheld_line(
            (why, self.columns[0].shown(row[0]))
            for row in self.rows
            for column, cell in zip(self.columns, row, strict=False)
            if column.kind in ("figure", "interval") and (why := _why_none(cell))
        )
        return [line] if line else []

    def _shown(self) -> list[list[str]]:
        """Return the heading and all rows as text; an empty row stays empty."""
        zipped = (zip(self.columns, row, strict=True) if len(row) else () for row in self.rows)
        rows = [[column.shown(cell) for column, cell in cells] for cells in zipped]
        return [[escaped(column.name, _LONGEST) for column in self.columns], *rows]


Part: TypeAlias = Table | Sequence[str]
"""A part of the output: a table, or the lines of a paragraph."""


def shown(parts: Sequence[Part]) -> str:
    """Return tables and paragraphs (lists of lines) as wide as the terminal, without empty ones."""
    texts = (p.text() if isinstance(p, Table) else "\n".join(map(filled, p)) for p in parts)
    return "\n\n".join(filter(None, texts))


def withheld_line(values: Iterable[Any]) -> str:
    """Return the line that says why values by `measure` have no interval; "" if each has one."""
    measured = [v for v in values if v is not None and v.value is not None]
    return _withheld_line((v.no_interval, v.measure) for v in measured if v.no_interval)


def _withheld_line(reasons: Iterable[tuple[str, str]]) -> str:
    named: dict[str, dict[str, None]] = {}
    for why, where in reasons:
        named.setdefault(why, {})[escaped(where, 40)] = None
    parts = []
    for why, places in named.items():
        first = ", ".join([place_name for place_name in places if place_name][:3])
        parts.append(f"{why} ({first}{', ...' if len(places) > 3 else ''})" if first else why)
    return OwnWords(f"no interval: {'; '.join(parts)}" if parts else "")


def _why_none(cell: Any) -> str:
    """Return why a cell with a value has no interval, if its measure says so."""
    cell = cell.value if isinstance(cell, Marked) else cell
    if isinstance(cell, Measured):
        return "" if cell.value is None else cell.no_interval
    return cell[2] if isinstance(cell, tuple) and len(cell) == 3 else ""


def _names(column: Column, marked: bool) -> list[str]:
    name = column.key or column.name
    ends = {
        "figure": ["", " low", " high"],
        "interval": [" low", " high"],
        "counts": ["", " asked"],
    }
    return [name + end for end in (*ends.get(column.kind, [""]), *([" mark"] if marked else []))]


def _cell_parts(column: Column, value: Any, marked: bool) -> list[Any]:
    """Return the parts of a cell in the order of `_names`; None for missing ones."""
    mark = [value.mark if isinstance(value, Marked) else ""] if marked else []
    value = value.value if isinstance(value, Marked) else value
    is_measured = isinstance(value, Measured)
    if column.kind == "figure":
        parts = [value.value, value.low, value.high] if is_measured else [value, None, None]
    elif column.kind == "interval":
        parts = [value.low, value.high] if is_measured else list((value or (None, None))[:2])
    elif column.kind == "counts":
        parts = [value.scored, value.asked] if is_measured else list(value or (None, None))
    else:
        parts = [value.value if is_measured else value]
    return [*parts, *mark]


def _safe(value: Any, *, hides: bool = False) -> Any:
    if not isinstance(value, str):
        return value
    text = shorten(value, _LONGEST) if hides else escaped(value, _LONGEST)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def _plain(value: Any) -> Any:
    value = value.value if isinstance(value, Marked) else value
    value = value[:2] if isinstance(value, tuple) and len(value) == 3 else value
    return value.row() if isinstance(value, Measured) else value


@dataclass(slots=True)
class _Strip:
    """A column during layout: its cells, its width and its minimum width."""

    cells: list[str]
    kind: Kind
    width: int
    least: int


def terminal_width() -> int:
    """Return the width of a line: `COLUMNS`, the terminal's width, or 80."""
    return shutil.get_terminal_size().columns


def filled(text: str, width: int | None = None) -> str:
    """Return one paragraph in lines of at most `width` cells; `40 %` is not broken."""
    from rich.text import Text

    width = max(1, width or terminal_width())
    show = escaped if isinstance(text, OwnWords) else shorten
    whole = Text(show(text, 20 * _LONGEST).strip())
    if whole.cell_len <= width:
        return whole.plain
    return _lines(Text(whole.plain.replace(" %", f"{_PAD}%")), width)


def _split(
    rows: list[list[str]], columns: Sequence[Column], width: int
) -> Iterator[tuple[list[_Strip], list[bool]]]:
    """Yield the columns in parts that fit, repeating the first ones, and which rows are filled."""
    filled_rows = [row for row in rows if row]
    gaps = [bool(row) for row in rows]
    strips = [_strip([row[n] for row in filled_rows], c) for n, c in enumerate(columns)]
    named = next((n for n, column in enumerate(columns) if not column.left), len(columns))
    named = named if named < len(columns) else 1
    keys, rest = strips[:named], strips[named:]
    part: list[_Strip] = []
    for strip in rest:
        if part and _total([*keys, *part, strip], least=True) > width:
            yield _fitted([*keys, *part], width), gaps
            part = []
        part.append(strip)
    yield _fitted([*keys, *part], width), gaps


def _strip(cells: list[str], column: Column) -> _Strip:
    from rich.cells import cell_len

    if column.kind == "figure":  # values are aligned even if intervals are missing
        ends = [len(cell) - len(cell.partition(" [")[0]) for cell in cells[1:]]
        room = max(ends, default=0)
        cells[1:] = [cell + _PAD * (room - n) for cell, n in zip(cells[1:], ends, strict=True)]
    head, body = cells[0], max(map(cell_len, cells[1:]), default=0)
    whole = cells if column.kind == "measure" else [head]
    word = max((cell_len(word) for cell in whole for word in cell.split()), default=1)
    natural = max(cell_len(head), body)
    least = max(word, min(body, _NARROWEST) if column.left else body)
    return _Strip(cells, column.kind, natural, min(natural, least))


def _total(strips: Sequence[_Strip], *, least: bool = False) -> int:
    return sum(s.least if least else s.width for s in strips) + _GAP * (len(strips) - 1)


def _fitted(strips: Sequence[_Strip], width: int) -> list[_Strip]:
    """Return the columns narrowed to fit: the widest first, measures last."""
    out = [replace(s) for s in strips]
    for firmness in range(3):
        for strip in out if _total(out, least=True) > width else ():
            strip.least = 1 if _FIRMNESS.get(strip.kind, 1) == firmness else strip.least
    while _total(out) > width and (soft := [s for s in out if s.width > s.least]):
        max(soft, key=lambda strip: strip.width).width -= 1
    return out


def _drawn(part: tuple[list[_Strip], list[bool]], width: int) -> str:
    from rich.table import Table as RichTable
    from rich.text import Text

    strips, gaps = part
    table = RichTable(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, show_header=False)
    for strip in strips:
        justify: Literal["left", "right"] = "left" if strip.kind in _LEFT else "right"
        table.add_column(width=strip.width, justify=justify, overflow="fold")
    rows = iter(zip(*(strip.cells for strip in strips), strict=True))
    for has_row in gaps:
        table.add_row(*(map(Text, next(rows)) if has_row else ()))
    return _lines(table, width)


def _lines(what: RenderableType, width: int) -> str:
    """Render without colours, markup or anything else that a text could inject."""
    from rich.console import Console

    stream = io.StringIO()
    console = Console(file=stream, width=width, color_system=None, force_terminal=False,
                      markup=False, emoji=False, highlight=False, legacy_windows=False)  # fmt: skip
    console.print(what)
    drawn = stream.getvalue().replace(_PAD, " ").rstrip("\n")
    return "\n".join(line.rstrip() for line in drawn.split("\n"))
