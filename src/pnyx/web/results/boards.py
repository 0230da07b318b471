"""Runs by measures: the leaderboard of a source, all runs on a topic, all topics of a run."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import resources
from typing import Final

from pnyx.core.rooms import load, offered
from pnyx.web.rendering import slug
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.kinds import DIFFERENCES, MEASURES
from pnyx.web.results.measure_reader import MICRO
from pnyx.web.results.pages import Address, Content, PageRoute, Parts
from pnyx.web.results.records import (
    ROWS_A_PAGE,
    DifferenceRow,
    MeasureValue,
    NotFoundError,
    ReportRow,
    RowPage,
    SourceRow,
    cut_page,
    offset_of,
    page_of,
    pages_of,
)

_FIRST_RUNS: Final = 10
"""Rows of each leaderboard if there are several."""

_UP: Final = ".up"
"""Suffix of a measure in an address, for ascending order."""

_WIDE, _PAD = 104, 5.0
"""Sizes of the small pictures of values, in px."""

Scale = tuple[float, float]


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A run or topic in a table; `name` is empty for all topics together."""

    name: str
    reports: list[ReportRow] = field(default_factory=list)
    values: dict[str, MeasureValue] = field(default_factory=dict)
    differences: dict[str, DifferenceRow] = field(default_factory=dict)

    @property
    def unscored(self) -> int:
        """The number of findings and measures without a value."""
        without = sum(value.value is None for value in self.values.values())
        return without + sum(report.asked - report.scored for report in self.reports)


@dataclass(frozen=True, slots=True)
class Board:
    """A table of one source: rows by measures."""

    source: str
    by: str  # `run` or `topic`: what rows are
    measures: Sequence[str]  # its columns
    page: RowPage[BoardRow]  # of its rows
    whole: BoardRow | None = None  # the row over all topics
    sorted_by: str = ""  # a measure; empty: unscored rows first
    ascending: bool = False
    scales: Mapping[str, Scale] = field(default_factory=dict)

    @property
    def has_reports(self) -> bool:
        """Whether any row on this page has one."""
        return any(row.reports for row in self.page.rows)

    @property
    def baselines(self) -> list[str]:
        """The runs that others are compared with."""
        rows = self.page.rows
        return sorted({d.baseline for row in rows for d in row.differences.values()})

    def values(self, most: int) -> list[MeasureValue | None]:
        """Return its first rows."""
        return [row.values.get(name) for row in self.page.rows[:most] for name in self.measures]

    def order(self, measure: str) -> str:
        """Return the part of the address behind a measure's heading."""
        turns = measure == self.sorted_by and not self.ascending
        return slug(measure) + (_UP if turns else "")

    def bar(self, value: MeasureValue, *, alone: bool = False) -> str:
        """Return the picture of a value and its interval, if its column has a scale or `alone`."""
        scale = self.scales.get(value.measure)
        return bar_of(value, scale) if scale or alone else ""


def bar_of(value: MeasureValue, scale: Scale | None = None) -> str:
    """Return a value and its interval as a small picture; empty where there is no value."""
    from markupsafe import Markup

    if value.value is None:
        return ""
    low, high = scale or _scale([value])

    def x(number: float) -> str:
        share = (number - low) / ((high - low) or 1.0)
        return f"{_PAD + min(1.0, max(0.0, share)) * (_WIDE - 2 * _PAD):.1f}"

    line = ""
    if value.low is not None and value.high is not None:
        line = f'<path d="M{x(value.low)} 7H{x(value.high)}"/>'
    dot = f'<circle cx="{x(value.value)}" cy="7" r="3.5"/>'
    # Made only of numbers; its size matches `.gauge` in view.css.
    return Markup(f'<svg class="gauge" aria-hidden="true">{line}{dot}</svg>')  # noqa: S704


def _scale(values: Iterable[MeasureValue]) -> Scale:
    """Return the range of a column: 0 to 1 if that holds all values, else minimum to maximum."""
    numbers = [x for v in values for x in (v.value, v.low, v.high) if x is not None]
    unit = all(0 <= x <= 1 for x in numbers)
    return (0.0, 1.0) if unit else (min(0.0, *numbers), max(numbers))


# Leaderboards -------------------------------------------------------------------------------------


_OF_RUNS: Final = "FROM value WHERE topic IS NULL AND run NOT NULL"


def measured_sources(catalogue: Catalogue) -> tuple[SourceRow, ...]:
    """Return the sources that measure runs, in the given order."""
    return catalogue.sources_in(f"SELECT DISTINCT source {_OF_RUNS}")


def _measures(catalogue: Catalogue, source: SourceRow) -> list[str]:
    """Return the names of the measures of a source's runs, in the order of its file."""
    sql = f"SELECT measure {_OF_RUNS} AND source = ? GROUP BY measure ORDER BY min(place)"
    return [row[0] for row in catalogue.all(sql, source.id)]


def _ranked_runs(
    catalogue: Catalogue, source: int, by: str, number: int, order: str
) -> RowPage[str]:
    """Return runs by a measure; those without a value come first."""
    count = f"SELECT count(DISTINCT run) {_OF_RUNS} AND source = ?"
    total = int(catalogue.all(count, source)[0][0])
    names = catalogue.all(
        f"SELECT r.name FROM (SELECT DISTINCT run {_OF_RUNS} AND source = ?) o "
        "JOIN run r ON r.id = o.run LEFT JOIN value v ON v.source = ? AND v.topic IS NULL AND "
        f"v.measure = ? AND v.run = r.id ORDER BY v.value NOT NULL, v.value {order}, r.name "
        f"LIMIT {ROWS_A_PAGE} OFFSET {offset_of(number, total)}",
        source, source, by,
    )  # fmt: skip
    return page_of([name for (name,) in names], total, number)


def leaderboard(
    catalogue: Catalogue, source: str, by: str = "", number: int = 1, *, ascending: bool = False
) -> Board:
    """Return runs over all topics, those without a value first, then the best by a measure."""
    source_row = catalogue.source(source)
    measures = _measures(catalogue, source_row)
    by = by or next(iter(measures), "")
    if by not in measures:
        raise NotFoundError("this leaderboard has no such measure")
    page = _ranked_runs(catalogue, source_row.id, by, number, "ASC" if ascending else "DESC")
    rows = {name: BoardRow(name) for name in page.rows}
    condition = f"source = ? AND r.name IN ({', '.join('?' * len(rows))})"
    tail = f"WHERE v.topic IS NULL AND v.{condition} ORDER BY r.name, v.place"
    values = catalogue.rows(MEASURES, tail, source_row.id, *rows)
    for value in values:
        rows[value.run].values[value.measure] = value
    tail = f"WHERE d.{condition} ORDER BY d.rowid"
    for difference in catalogue.rows(DIFFERENCES, tail, source_row.id, *rows):
        rows[difference.run].differences[difference.measure] = difference
    scales = {name: _scale(v for v in values if v.measure == name) for name in measures}
    board_page = page_of(list(rows.values()), page.total, number)
    return Board(source, "run", measures, board_page, None, by, ascending, scales)


def _show_leaderboard(catalogue: Catalogue, address: Address) -> Content:
    sources = [source.name for source in measured_sources(catalogue)]
    if not address.parts and len(sources) != 1:
        boards = [leaderboard(catalogue, name) for name in sources]
        values = {"boards": boards, "most": _FIRST_RUNS, "definitions_of": definitions_of}
        return Content("leaderboards", values)
    name = catalogue.source(address.part(0)).name if address.parts else sources[0]
    if name not in sources:
        raise NotFoundError("this source measures no runs")
    part = address.part(1)
    by_slug = {slug(m): m for m in _measures(catalogue, catalogue.source(name))}
    ascending = part not in by_slug and part.endswith(_UP)
    measure = by_slug.get(part.removesuffix(_UP) if ascending else part, "")
    if part and not measure:
        raise NotFoundError("this leaderboard has no such measure")
    board = leaderboard(catalogue, name, measure, address.number, ascending=ascending)
    base = ("leaderboard", name, part or slug(board.sorted_by))
    values = {"board": board, "base": base, "definitions": definitions_of(board.measures)}
    return Content("leaderboard", values)


def _leaderboards(catalogue: Catalogue) -> Iterator[tuple[Parts, int]]:
    yield (), 1
    for source in measured_sources(catalogue):
        board = leaderboard(catalogue, source.name)
        pages = board.page.pages
        yield (source.name,), 1
        for measure in board.measures:
            yield (source.name, slug(measure)), pages


def _of_source(catalogue: Catalogue, source: SourceRow) -> Iterator[tuple[str, Parts]]:
    if source in measured_sources(catalogue):
        yield "Leaderboard", ("leaderboard", source.name)


# A run, a topic -----------------------------------------------------------------------------------


def _show_rows(by: str, catalogue: Catalogue, address: Address) -> Content:
    """Show the runs on a topic, or the topics of a run: a table for each source."""
    if by == "run":
        of_topic = topic = catalogue.topic(address.part(0))
        title, chosen, titles = topic.shown, {"topic": topic.name}, {}
        values = catalogue.values(topic=topic.name)
    else:
        of_topic, title = None, catalogue.run(address.part(0)).name
        chosen, titles = {"run": title}, {t.name: t.title for t in catalogue.topics()}
        values = catalogue.values(run=title, topics=True)
    boards = _boards(by, catalogue.reports(**chosen), values, address.number)
    (name,) = chosen.values()
    page_values = {
        "title": title,
        "id": name if name != title else "",
        "titles": titles,
        "topic": of_topic,
        "judged": catalogue.judged_on(**chosen),
        "boards": boards,
        "base": address.here,
        "definitions": definitions_of(name for board in boards for name in board.measures),
    }
    return Content("boards", page_values)


def _boards(
    by: str, reports: Iterable[ReportRow], values: Iterable[MeasureValue], number: int
) -> list[Board]:
    """Return a table for each source, those with the most unscored values first."""
    tables: dict[str, dict[str, BoardRow]] = {}

    def row_of(cell: ReportRow | MeasureValue) -> BoardRow:
        name: str = getattr(cell, by)
        return tables.setdefault(cell.source, {}).setdefault(name, BoardRow(name))

    for report in reports:
        row_of(report).reports.append(report)
    for value in values:
        row_of(value).values[value.measure] = value
    return [_board(source, by, rows, number) for source, rows in tables.items()]


def _board(source: str, by: str, rows: dict[str, BoardRow], number: int) -> Board:
    whole = rows.pop("", None)
    ordered = sorted(rows.values(), key=lambda row: (-row.unscored, row.name))
    every = [whole, *rows.values()] if whole else [*rows.values()]
    measures = list(dict.fromkeys(name for row in every for name in row.values))
    page = cut_page(ordered, min(number, pages_of(len(ordered))))
    return Board(source, by, measures, page, whole)


def _names(by: str, catalogue: Catalogue) -> Iterator[tuple[Parts, int]]:
    runs, topics = catalogue.runs(), catalogue.topics()
    pages = pages_of(len(runs if by == "run" else topics))
    for row in topics if by == "run" else runs:
        yield (row.name,), pages


# What measures mean -------------------------------------------------------------------------------


def definitions_of(measures: Iterable[str]) -> dict[str, str]:
    """Return measure -> its definition, for those that have one here."""
    names = list(dict.fromkeys(measures))
    written: Mapping[str, str] = _written()
    for target in offered("DEFINITIONS"):
        written = load(target)(written, names)
    definitions = {name: _definition(name, written) for name in names}
    return {name: text for name, text in definitions.items() if text}


def _definition(name: str, written: Mapping[str, str]) -> str:
    """Return the definition of a measure, ignoring its cutoff, or of the one it is part of."""
    if name.endswith(MICRO):
        definition = _definition(name.removesuffix(MICRO), written)
        return f"{definition} Over the items of all topics.".strip()
    base = name.partition("@")[0].partition("(")[0].strip()
    return next((written[n] for n in (name, base, base.rpartition(".")[2]) if n in written), "")


@cache
def _written() -> dict[str, str]:
    text = resources.files("pnyx.web.results").joinpath("definitions.toml").read_text("utf-8")
    return dict(tomllib.loads(text)["measures"])


PAGES: Final = (
    PageRoute("leaderboard", _show_leaderboard, _leaderboards, most=2, paged=True,
         of_source=_of_source, nav="Leaderboard"),
    *(PageRoute(name, partial(_show_rows, by), partial(_names, by), least=1, most=1, paged=True)
      for name, by in (("topic", "run"), ("run", "topic"))),
)  # fmt: skip
