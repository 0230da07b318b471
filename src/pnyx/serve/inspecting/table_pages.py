"""The page of tables: every table that pages show, as one file of comma-separated values each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from pnyx.serve.inspecting.asking import NotThereError
from pnyx.serve.inspecting.pages import Kept, Page, Shown
from pnyx.serve.inspecting.records import Filter
from pnyx.serve.rendering import slug
from pnyx.view.tables import Column, Table

if TYPE_CHECKING:
    from pnyx.serve.inspecting.catalogue import Catalogue
    from pnyx.serve.inspecting.records import Judgement, Source
    from pnyx.serve.rendering import Links

_Make: TypeAlias = "Callable[[Catalogue, Source], Iterator[str]]"

_BLOCK = 5000
_NAMES = ("source", "run", "topic", "measure")
_VALUE = (*(Column(name, "name") for name in _NAMES), Column("value", "number"),
          Column("low", "number"), Column("high", "number"), Column("scored", "count"),
          Column("asked", "count"))  # fmt: skip
_JUDGEMENT = (
    Column("source", "name"), Column("n", "count"), Column("item", "name"), Column("task", "name"),
    Column("dimension", "name"), Column("value", "name"), Column("probability", "number"),
    Column("unscored", "name"), Column("judge", "name"), Column("run", "name"),
    Column("topic", "name"), Column("document", "name"), Column("perspective", "name"),
)  # fmt: skip


def _blocks(columns: Sequence[Column], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield a table in parts, so that one of millions of rows takes no memory."""
    held: list[Sequence[Any]] = []
    head = True
    for row in rows:
        held.append(row)
        if len(held) == _BLOCK:
            yield Table(columns, held).csv(head=head)
            held, head = [], False
    if held or head:
        yield Table(columns, held).csv(head=head)


def _judgement(one: Judgement) -> tuple[Any, ...]:
    return (one.source, one.n, one.item, one.task, one.dimension, _said(one.value), one.probability,
            one.unscored, one.judge, one.run, one.topic, one.doc, one.perspective)  # fmt: skip


def _said(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(map(str, value)) if isinstance(value, list) else value


def _leaderboard(catalogue: Catalogue, source: Source) -> Iterator[Sequence[Any]]:
    page, pages = 1, 1
    measures = catalogue.measures(source.name)
    while page <= pages:
        rows = catalogue.leaderboard(source.name, page=page).rows
        pages, page = rows.pages, page + 1
        for row in rows.items:
            values = (row.values.get(name) for name in measures)
            cells = [x for v in values for x in ((v.value, v.low, v.high) if v else (None,) * 3)]
            yield (row.run, *cells)


def _board_columns(catalogue: Catalogue, source: Source) -> list[Column]:
    names = [
        f"{name}{end}" for name in catalogue.measures(source.name) for end in ("", " low", " high")
    ]
    return [Column("run", "name"), *(Column(name, "number") for name in names)]


def _board(catalogue: Catalogue, source: Source) -> Iterator[str]:
    yield from _blocks(_board_columns(catalogue, source), _leaderboard(catalogue, source))


def _measures(catalogue: Catalogue, source: Source) -> Iterator[str]:
    yield from _blocks(_VALUE, _values(catalogue, source))


def _judgements(catalogue: Catalogue, source: Source) -> Iterator[str]:
    said = catalogue.all_judgements(Filter(source=source.name))
    yield from _blocks(_JUDGEMENT, map(_judgement, said))


def _files(catalogue: Catalogue) -> Iterator[tuple[str, str, Source, _Make]]:
    """Yield (what a name begins with, what it holds, its source, what makes it)."""
    for source in catalogue.boards():
        yield "leaderboard", "Leaderboards", source, _board
    for source in catalogue.sources():
        if catalogue.all("SELECT 1 FROM value WHERE source = ? LIMIT 1", source.id):
            yield "measures", "All measures, by run and topic", source, _measures
    for source in catalogue.sources():
        if source.asked:
            yield "judgements", "Judgements, without texts", source, _judgements


def _values(catalogue: Catalogue, source: Source) -> Iterator[Sequence[Any]]:
    sql = (
        "SELECT v.rowid, coalesce(r.name, ''), coalesce(t.name, ''), v.measure, v.value, v.low, "
        "v.high, v.scored, v.asked FROM value v LEFT JOIN run r ON r.id = v.run "
        "LEFT JOIN topic t ON t.id = v.topic WHERE v.source = ? AND v.rowid > ? "
        f"ORDER BY v.rowid LIMIT {_BLOCK}"
    )
    last = 0
    while rows := catalogue.all(sql, source.id, last):
        last = rows[-1][0]
        yield from ((source.name, *row[1:]) for row in rows)


def show(catalogue: Catalogue, _links: Links, _parts: Sequence[str], number: int) -> Shown:
    """Show which tables can be kept."""
    if number != 1:
        raise NotThereError("this list has one page")
    kinds: dict[str, list[tuple[str, str]]] = {}
    files = {}
    for name, kind, source, make in _files(catalogue):
        stem = f"{name}-{slug(source.name)}"
        kinds.setdefault(kind, []).append((stem, source.name))
        files[f"{stem}.csv"] = Kept("text/csv", partial(make, catalogue, source))
    return Shown("inspecting/files.html.j2", {"kinds": kinds}, files)


PAGES = (Page("tables", show, nav="Tables"),)
