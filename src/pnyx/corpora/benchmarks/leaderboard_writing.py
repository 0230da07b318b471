"""Writing leaderboards: cells with a value, in columns or as JSONL."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from operator import attrgetter
from typing import IO, Any, Literal, TypeAlias

from pnyx.corpora.base import row_writer
from pnyx.corpora.benchmarks.leaderboard_signs import ALL, LAYOUTS
from pnyx.corpora.benchmarks.trec import a_token
from pnyx.corpora.fields import merged
from pnyx.errors import InputError, shorten
from pnyx.records import LeaderboardCell

UnscoredCells: TypeAlias = Literal["error", "skip", "zero"]
"""What is done with cells that have no value when others are to read them."""


def settled(
    cells: Iterable[LeaderboardCell], unscored: UnscoredCells = "error"
) -> Iterator[LeaderboardCell]:
    """Yield the cells that have a value; without one they are refused, left out or 0."""
    for cell in cells:
        if cell.value is not None:
            yield cell
        elif unscored == "zero":
            yield replace(cell, value=0.0)
        elif unscored == "error":
            shown = shorten(f"{cell.run_id}, topic {cell.topic_id}: {cell.measure}")
            raise InputError(f"{shown} is unscored: say whether to skip it or to write 0")


def averaged(cells: Iterable[LeaderboardCell]) -> Iterator[LeaderboardCell]:
    """Yield the cells on topics, then each run's mean by each measure over its scored topics."""
    means: dict[tuple[str, str], list[float]] = defaultdict(list)
    for cell in cells:
        yield cell
        has = means[cell.run_id, cell.measure]
        if cell.value is not None:
            has.append(cell.value)
    for (run, measure), values in means.items():
        mean = math.fsum(values) / len(values) if values else None
        yield LeaderboardCell(run, ALL, measure, mean)


def write_columns(layout: str, stream: IO[str], cells: Iterable[LeaderboardCell]) -> None:
    """Write one cell a line in the columns of a layout."""
    for cell in settled(cells):
        stream.write(_line(layout, cell))


def write_trec_eval(stream: IO[str], cells: Iterable[LeaderboardCell]) -> None:
    """Write one run, named in a first line as by trec_eval."""
    run = None
    for cell in settled(cells):
        if run is None:
            run = cell.run_id
            stream.write(f"runid\t{ALL}\t{a_token(run, 'run')}\n")
        if cell.run_id != run:
            both = f"{shorten(run, 40)!r} and {shorten(cell.run_id, 40)!r}"
            raise InputError(f"trec_eval holds one run a file, found {both}")
        if cell.measure == "runid":
            raise InputError("trec_eval cannot hold a measure named runid")
        stream.write(_line("trec_eval", cell))


def write_ranking(stream: IO[str], cells: Iterable[LeaderboardCell]) -> None:
    """Write each cell with its place among the runs of its topic and measure, best first."""
    listed = list(settled(cells))
    above: dict[tuple[str, str], Counter[float | None]] = defaultdict(Counter)
    for cell in listed:
        above[cell.topic_id, cell.measure][cell.value] += 1
    ranks: dict[tuple[str, str, float | None], int] = {}
    for (topic, measure), values in above.items():
        rank = 1
        for value in sorted(values, key=lambda v: v or 0.0, reverse=True):
            ranks[topic, measure, value] = rank
            rank += values[value]
    for cell in listed:
        stream.write(_line("ranking", cell, ranks[cell.topic_id, cell.measure, cell.value]))


def _line(layout: str, cell: LeaderboardCell, rank: int = 0) -> str:
    if cell.extra:
        names = ", ".join(shorten(name, 30) for name in cell.extra)
        raise InputError(f"{shorten(cell.run_id, 40)!r}: the format cannot hold {names}")
    value = cell.value if cell.value is not None and math.isfinite(cell.value) else None
    if value is None:
        raise InputError(f"{shorten(cell.run_id, 40)!r}: value {cell.value!r} is not finite")
    held = {
        "run": a_token(cell.run_id, "run"),
        "topic": a_token(cell.topic_id, "topic"),
        "measure": a_token(cell.measure, "measure"),
        "value": repr(float(value)),
        "q0": "Q0",
        "rank": str(rank),
    }
    return "\t".join(held[role] for role in LAYOUTS[layout]) + "\n"


def _json_row(cell: LeaderboardCell) -> dict[str, Any]:
    row = {
        "run_id": cell.run_id,
        "topic_id": cell.topic_id,
        "measure": cell.measure,
        "value": cell.value,
    }
    return dict(merged(row, cell.extra, row))


_write_rows = row_writer(_json_row, attrgetter("run_id"))


def write_json(stream: IO[str], cells: Iterable[LeaderboardCell]) -> None:
    """Write one object a line."""
    _write_rows(stream, settled(cells))
