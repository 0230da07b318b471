"""The table page of every kind of row (filtered, sorted, paged), and the page of files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain, islice
from typing import Any, Final

from pnyx.display.tables import Column, Table
from pnyx.web.rendering import slug
from pnyx.web.results.boards import leaderboard, measured_sources
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.kinds import JUDGEMENTS, SENTENCES, TABLES, Kind
from pnyx.web.results.pages import Address, Content, PageFile, PageRoute, Parts
from pnyx.web.results.records import FacetValue, NotFoundError, RowPage, SourceRow, pages_of
from pnyx.web.results.texts import listed_texts

ALL: Final = "all"
"""Stands for all sources."""

EVERY: Final = "every"
"""Stands for an unfiltered table, so that a page number can follow."""

_MOST_CHIPS: Final = 12
_MOST_FOLDED: Final = 400
_LONG_FACETS: Final = ("topic", "run")
"""Facets offered only if there are few values or one is chosen."""
_LONE_FACETS: Final = ("labelled", "threshold", "judges")
"""Facets for which few rows have a value, so that even one value is useful."""

_MOST_NARROWED: Final = 40
"""Most values of a facet for which an export has filtered lists."""

_ROWS_A_BLOCK: Final = 5000


def _show(kind: Kind[Any], catalogue: Catalogue, address: Address) -> Content:
    sources = _sources(catalogue, kind) if kind.of else ()
    source = catalogue.source(address.part(0)) if address.part(0) not in ("", ALL) else None
    if source is None and len(sources) == 1:
        (source,) = sources
    name = source.name if source else ""
    facets = catalogue.facets(name, kind) if kind.of else []
    key = address.part(1) or EVERY
    chosen = _chosen(facets, key) if key != EVERY else {}
    narrowed = {facet.facet: facet.value for facet in chosen.values()}
    filters = {"source": name, **narrowed} if kind.of else {}
    base = (kind.name, name or ALL) if kind.of else (kind.name,)
    page: RowPage[Any] = catalogue.table(kind, address.number, address.sort, **filters)
    values = {
        "kind": kind,
        "source": source,
        "sources": sources,
        "page": page,
        "filters": _filters(facets, chosen, several=not address.is_file),
        "alike": _alike(kind, facets, narrowed, catalogue.count(kind, source=name)),
        "narrowed": {*narrowed, "verdict"},
        "base": base,
        "list": (*base, key) if kind.of else base,
        "here": address.here,
        "sort": address.sort,
        "texts": listed_texts(catalogue, page.rows) if kind in (JUDGEMENTS, SENTENCES) else [],
    }
    files = {}
    if not address.is_file:  # in an export, whole tables are on the page of files
        files[f"{kind.name}.csv"] = PageFile("text/csv", partial(_csv, kind, catalogue, filters))
    return Content("table", values, files)


def _sources(catalogue: Catalogue, kind: Kind[Any]) -> tuple[SourceRow, ...]:
    sql = "SELECT source FROM facet WHERE kind = ? AND facet = '' AND source != 0"
    return catalogue.sources_in(sql, kind.name)


def _chosen(facets: Iterable[FacetValue], part: str) -> dict[str, FacetValue]:
    """Return the facets that the part of an address names."""
    by_key = {facet.key: facet for facet in facets}
    chosen: dict[str, FacetValue] = {}
    for key in part.split("."):
        facet = by_key.get(key)
        if facet is None or facet.facet in chosen:
            raise NotFoundError("this list has no such filter")
        chosen[facet.facet] = facet
    return chosen


def _alike(
    kind: Kind[Any], facets: Sequence[FacetValue], narrowed: Mapping[str, str], total: int
) -> dict[str, str]:
    """Return the fields with the same value in all rows of a list: they need no column."""
    counts = {facet.facet: facet for facet in facets}
    alike = {name: facet.value for name, facet in counts.items() if facet.count == total}
    alike |= {name: "" for name in kind.facets if name not in counts} | dict(narrowed)
    if narrowed.get("value") in ("yes", "no"):  # otherwise the cell shows more
        alike["verdict"] = narrowed["value"]
    if "labelled" not in counts:
        alike["label"] = ""
    if "dimension" in counts:
        alike.pop("task", None)
    return {column.field: alike[column.field] for column in kind.columns[1:]
            if column.field in alike and column.show != "report"}  # fmt: skip


def _filters(
    facets: Iterable[FacetValue], chosen: dict[str, FacetValue], *, several: bool
) -> list[dict[str, object]]:
    """Return the values of each facet, as chips with their addresses."""
    by_facet: dict[str, list[FacetValue]] = {}
    for facet in facets:
        by_facet.setdefault(facet.facet, []).append(facet)
    groups: list[dict[str, object]] = []
    for name, values in by_facet.items():
        if len(values) < 2 and name not in chosen and name not in _LONE_FACETS:
            continue
        many = name in _LONG_FACETS and len(values) > _MOST_CHIPS
        few = [] if many else values[:_MOST_CHIPS]
        if name in chosen and chosen[name] not in few:
            few = [chosen[name], *few]
        rest = [facet for facet in values if facet not in few][: _MOST_FOLDED if several else 0]
        chips, folded = (
            [
                {"facet": facet, "on": chosen.get(name) == facet,
                 "to": _key(facet, chosen, list(by_facet), several=several)}
                for facet in some
            ]
            for some in (few, rest)
        )  # fmt: skip
        if chips or folded:
            more = len(values) - len(few) - len(rest)
            groups.append({"name": name, "chips": chips, "folded": folded, "more": more})
    return groups


def _key(
    facet: FacetValue, chosen: Mapping[str, FacetValue], order: Sequence[str], *, several: bool
) -> str:
    """Return the part of an address with this facet turned on or, if it is on, off."""
    now = {name: other for name, other in chosen.items() if several or other == facet}
    if now.get(facet.facet) == facet:
        del now[facet.facet]
    else:
        now[facet.facet] = facet
    return ".".join(now[name].key for name in order if name in now)


def _addresses(kind: Kind[Any], catalogue: Catalogue) -> Iterator[tuple[Parts, int]]:
    """Yield every list, unfiltered and filtered by one facet."""
    if not kind.of:
        yield (), pages_of(catalogue.count(kind))
        return
    names = [source.name for source in _sources(catalogue, kind)]
    for name in ("", *names) if len(names) > 1 else names:
        total = catalogue.count(kind, source=name)
        if total:
            yield (name or ALL,), 1
            yield (name or ALL, EVERY), pages_of(total)
            for facet in catalogue.facets(name, kind):
                if facet.count < total or facet.facet in ("value", *_LONE_FACETS):
                    yield (name or ALL, facet.key), pages_of(facet.count)
    if kind.nav or catalogue.count(kind):
        yield (), 1


@cache
def of_many(catalogue: Catalogue, page: str, source: str) -> frozenset[str]:
    """Return the keys of a list's facets with many values, which an export leaves out."""
    kind = next(kind for kind in TABLES if kind.name == page)
    facets = catalogue.facets("" if source == ALL else source, kind)
    values = Counter(facet.facet for facet in facets)
    return frozenset(f.key for f in facets if values[f.facet] > _MOST_NARROWED)


def _of_source(
    kind: Kind[Any], catalogue: Catalogue, source: SourceRow
) -> Iterator[tuple[str, Parts]]:
    if kind.of and catalogue.count(kind, source=source.name):
        yield f"All {kind.name}", (kind.name, source.name)
        if kind is JUDGEMENTS and source.scored < source.asked:
            yield "Unscored judgements", (kind.name, source.name, "v-unscored")


def _table_page(kind: Kind[Any]) -> PageRoute:
    return PageRoute(
        kind.name,
        partial(_show, kind),
        partial(_addresses, kind),
        most=2 if kind.of else 0,
        paged=True,
        of_source=partial(_of_source, kind),
        nav=kind.nav,
    )


# Files of comma-separated values ------------------------------------------------------------------


def _csv(kind: Kind[Any], catalogue: Catalogue, filters: Mapping[str, str]) -> Iterator[str]:
    heads, fields = zip(*((pair.split("=") * 2)[:2] for pair in kind.csv.split()), strict=True)
    rows = ([getattr(row, f) for f in fields] for row in catalogue.every(kind, **filters))
    return _blocks(heads, rows)


def _blocks(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield a table in parts, so that one of millions of rows takes no memory."""
    columns, rows, head = [Column(name, "name") for name in heads], iter(rows), True
    while (block := list(islice(rows, _ROWS_A_BLOCK))) or head:
        yield Table(columns, block).csv(head=head)
        head = False


def _leaderboard_csv(catalogue: Catalogue, source: SourceRow) -> Iterator[str]:
    measures = leaderboard(catalogue, source.name).measures
    heads = ["run", *(f"{name}{end}" for name in measures for end in ("", " low", " high"))]
    return _blocks(heads, _leaderboard_rows(catalogue, source))


def _leaderboard_rows(catalogue: Catalogue, source: SourceRow) -> Iterator[Sequence[Any]]:
    number = pages = 1
    while number <= pages:
        board = leaderboard(catalogue, source.name, number=number)
        pages, number = board.page.pages, number + 1
        for row in board.page.rows:
            values = (row.values.get(name) for name in board.measures)
            cells = ((v.value, v.low, v.high) if v else (None,) * 3 for v in values)
            yield (row.name, *chain.from_iterable(cells))


def _show_files(catalogue: Catalogue, _address: Address) -> Content:
    """Show the tables that can be downloaded."""
    listed: dict[str, list[tuple[str, str]]] = {}
    files = {}

    def add(heading: str, name: str, source: SourceRow, make: Any) -> None:
        stem = f"{name}-{slug(source.name)}"
        listed.setdefault(heading, []).append((stem, source.name))
        files[f"{stem}.csv"] = PageFile("text/csv", make)

    for source in measured_sources(catalogue):
        add("Leaderboards", "leaderboard", source, partial(_leaderboard_csv, catalogue, source))
    for kind in TABLES:
        for source in _sources(catalogue, kind) if kind.of else ():
            make = partial(_csv, kind, catalogue, {"source": source.name})
            add(kind.listed, kind.name, source, make)
    return Content("files", {"listed": listed}, files)


PAGES = (*(_table_page(kind) for kind in TABLES), PageRoute("tables", _show_files, nav="Tables"))
