"""Leaderboards: runs by measures, with intervals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pnyx.serve.inspecting.asking import NotThereError, pages_of
from pnyx.serve.inspecting.bars import scale_of
from pnyx.serve.inspecting.definitions import definitions_of
from pnyx.serve.inspecting.pages import Address, Page, Shown
from pnyx.serve.inspecting.records import Board, Source
from pnyx.serve.rendering import slug

if TYPE_CHECKING:
    from pnyx.serve.inspecting.catalogue import Catalogue
    from pnyx.serve.rendering import Links

_FIRST_RUNS = 10
"""Of each leaderboard where there are several."""

_UP = ".up"
"""Ends the part of an address that names a measure, for the order from the least."""


def _leaderboards(catalogue: Catalogue, _links: Links, parts: Address, number: int) -> Shown:
    boards = catalogue.boards()
    if not parts:
        if number > 1:
            raise NotThereError("there is no such page")
        if len(boards) == 1:
            return Shown("inspecting/leaderboard.html.j2", _board(catalogue, boards[0], "", 1))
        first = [_board(catalogue, one, "", 1) for one in boards]
        return Shown("inspecting/leaderboards.html.j2", {"boards": first, "most": _FIRST_RUNS})
    source = catalogue.source(parts[0])
    if source.id not in {one.id for one in boards}:
        raise NotThereError("this source measures no runs")
    board = _board(catalogue, source, parts[1] if len(parts) > 1 else "", number)
    return Shown("inspecting/leaderboard.html.j2", board)


def _board(catalogue: Catalogue, source: Source, by: str, number: int) -> dict[str, object]:
    measures = catalogue.measures(source.name)
    ascending = by not in map(slug, measures) and by.endswith(_UP)
    wanted = by.removesuffix(_UP) if ascending else by
    measure = next((one for one in measures if slug(one) == wanted), "" if not by else None)
    if measure is None:
        raise NotThereError("this leaderboard has no such measure")
    board = catalogue.leaderboard(source.name, by=measure, ascending=ascending, page=number)
    differences = [d for row in board.rows.items for d in row.differences.values()]
    return {
        "board": board,
        "sorted_by": board.sorted_by,
        "ascending": ascending,
        "by": by,
        "orders": {one: _order(one, board, ascending) for one in measures},
        "scales": _scales(board),
        "definitions": definitions_of(measures),
        "baselines": sorted({one.baseline for one in differences}),
    }  # fmt: skip


def _order(measure: str, board: Board, ascending: bool) -> str:
    """Return the part of the address that a click on a measure's heading leads to."""
    turns = measure == board.sorted_by and not ascending
    return slug(measure) + (_UP if turns else "")


def _scales(board: Board) -> dict[str, object]:
    return {
        one: scale_of(row.values[one] for row in board.rows.items if one in row.values)
        for one in board.measures
    }


def _addresses(catalogue: Catalogue) -> Iterable[tuple[Address, int]]:
    yield (), 1
    for source in catalogue.boards():
        runs = catalogue.leaderboard(source.name).rows.total
        pages = pages_of(runs)
        yield (source.name,), 1
        for measure in catalogue.measures(source.name):
            yield (source.name, slug(measure)), pages
            yield (source.name, slug(measure) + _UP), pages


def _of_source(catalogue: Catalogue, source: Source) -> Iterable[tuple[str, Address]]:
    if source.id in {one.id for one in catalogue.boards()}:
        yield "Leaderboard", ("leaderboard", source.name)


PAGES = (
    Page(
        "leaderboard",
        _leaderboards,
        most=2,
        addresses=_addresses,
        of_source=_of_source,
        nav="Leaderboard",
    ),
)
