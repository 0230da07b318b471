"""The columns of leaderboards: how layouts are recognised, and how cells are written in them.

`run measure topic value` (tot), `run topic measure value` (ir_measures) and `topic run measure
value` (rag4reports) have the same shape, and so may diversity qrels. They are distinguished
by a header, the name `all`, names of measures.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import IO, Any, Final, Literal, TypeAlias

from pnyx.core.errors import InputError, escaped, shorten
from pnyx.core.records import LeaderboardCell
from pnyx.formats.base import row_writer
from pnyx.formats.fields import merged
from pnyx.formats.runs.trec import a_token

ALL: Final = "all"
"""The topic of values over all topics."""

LAYOUTS: Final[Mapping[str, tuple[str, ...]]] = {
    "trec_eval": ("measure", "topic", "value"),
    "tot": ("run", "measure", "topic", "value"),
    "ir_measures": ("run", "topic", "measure", "value"),
    "rag4reports": ("topic", "run", "measure", "value"),
    "ranking": ("topic", "q0", "run", "rank", "value", "measure"),
}
"""Format -> its columns. The program ir_measures names no run: `topic measure value`."""

_ROLES: Final = {
    name: role
    for role, names in {
        "run": "run run_id runid run_tag runtag tag system system_id",
        "topic": "topic topic_id query query_id qid request_id",
        "measure": "measure metric measure_name",
        "value": "value score",
        "q0": "q0 iter",
        "rank": "rank",
    }.items()
    for name in names.split()
}
_MEASURES: Final = re.compile(
    r"(?i)(a?p|map|gm_?map|bpref|rr|mrr|recip_rank|err|err_ia|rbp|infap|judged|success|set_\w+|"
    r"r_?prec|recall|precision|p_\d+|recall_\d+|success_\d+|(alpha_)?ndcg(_cut_\d+|_cut)?|"
    r"num_(ret|rel|rel_ret|q)|iprec_at_recall_\S+|iprec|f1|relevance|rel_info|"
    r"((sentence|citation|nugget|weighted|unweighted|strict|vital|all|support|nuggets?)[_ -]){1,3}"
    r"(precision|recall|f1|score|support|coverage|strict|partial)(_\w+)?)"
    r"(\([^()\s]*\))?(@\d+)?"
)
"""Names of measures that trec_eval, ir-measures and report evaluations use."""
_NUMBER: Final = re.compile(r"(?i)[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?|nan|none|null")
_SPACE: Final = re.compile("[ \t]+")  # other white space of Unicode is part of a name
_WHOLE: Final = re.compile(r"[+-]?[0-9]+(\.0+)?")
THREE: Final = ("tot", "ir_measures", "rag4reports")


def columns_of(line: str, wide: Collection[int]) -> list[str]:
    """Return the cells of a line: split at tabs if that gives enough, else at spaces."""
    line = line.strip(" \r\n")
    cells = [cell.strip(" ") for cell in line.split("\t")]
    return cells if len(cells) in wide else _SPACE.split(line.strip(" \t"))


def header_of(cells: Sequence[str]) -> tuple[str, ...] | None:
    """Return the role of each column if a line is a header, else None."""
    roles = tuple(_ROLES.get(cell.lower(), "") for cell in cells)
    return roles if "measure" in roles and "value" in roles else None


def detect_layout(
    lines: Sequence[str],
    *,
    sure: bool,
    known_ids: Mapping[str, Collection[str]] | None = None,
) -> str | None:
    """Return the layout of the complete lines of a file, None if it is not a leaderboard.

    Unless it is certainly one (`sure`), qrels and runs have precedence; `known_ids` are the ids of
    another leaderboard by role. InputError: more than one layout fits.
    """
    rows = [columns_of(line, (3, 4, 6)) for line in lines]
    header = header_of(rows[0]) if rows else None
    if header is not None:
        return next((name for name, roles in LAYOUTS.items() if roles == header), None)
    if sure:  # a broken line is left for the reader to report
        rows = [row for row in rows if len(row) == len(rows[0])]
    if not rows or len({len(row) for row in rows}) > 1:
        return None
    if len(rows[0]) == 3:
        return _of_three(rows, sure)
    if len(rows[0]) == 6:
        over_all = any(row[0] == ALL for row in rows) and all(_NUMBER.fullmatch(r[4]) for r in rows)
        return "ranking" if sure or over_all else None
    if sure:
        rows = [row for row in rows if _NUMBER.fullmatch(row[-1])]
    if not rows or len(rows[0]) != 4 or not all(_NUMBER.fullmatch(row[3]) for row in rows):
        return None
    return _of_four(rows, sure, known_ids or {})


def _of_three(rows: Sequence[Sequence[str]], sure: bool) -> str | None:
    """Distinguish `measure topic value` from `topic measure value`, which do not name the run."""
    numbers = (_NUMBER.fullmatch(row[2]) for row in rows if row[0] != "runid")
    if not all(numbers):
        return None
    first, second = (any(row[column] == ALL for row in rows) for column in (0, 1))
    if first != second:
        return "ir_measures" if first else "trec_eval"
    if not sure:
        return None
    measures = [all(_MEASURES.fullmatch(row[column]) for row in rows) for column in (0, 1)]
    if measures[0] != measures[1]:
        return "trec_eval" if measures[0] else "ir_measures"
    raise _undecided(rows[0], "measure topic value (trec_eval) or topic measure value")


def _of_four(
    rows: Sequence[Sequence[str]], sure: bool, known_ids: Mapping[str, Collection[str]]
) -> str | None:
    columns = list(zip(*rows, strict=True))[:3]
    places = [number for number in range(3) if ALL in columns[number]]
    whole = all(_WHOLE.fullmatch(row[3]) for row in rows)
    if not sure and whole and (places in ([], [0]) or all(_WHOLE.fullmatch(r[1]) for r in rows)):
        return None  # qrels, or so it seems
    fitting = [n for n in THREE if len(places) != 1 or LAYOUTS[n].index("topic") == places[0]]
    if len(fitting) > 1:
        fitting = [name for name in fitting if _knows(LAYOUTS[name], columns, known_ids)]
    if len(fitting) > 1 or not fitting:
        measures = [all(map(_MEASURES.fullmatch, column)) for column in columns]
        if measures == [False, True, False]:
            return "tot"
        if not sure and len(rows) < 2:
            return None  # four words, the last a number
        layouts = "run measure topic (tot), run topic measure (ir_measures) or topic run measure"
        raise _undecided(rows[0], f"{layouts} (rag4reports)")
    return fitting[0]


def _knows(
    roles: Sequence[str], columns: Sequence[Sequence[str]], known_ids: Mapping[str, Collection[str]]
) -> bool:
    """Return whether each column shares an id with the known ids of its role."""
    return all(
        not set(known_ids[role]).isdisjoint(column)
        for role, column in zip(roles[:3], columns, strict=True)
        if role in known_ids
    )


def _undecided(row: Sequence[str], layouts: str) -> InputError:
    line = shorten(" ".join(row), 60)
    return InputError(
        f"{line!r} is a line of a leaderboard, its columns {layouts}: name the format"
    )


# Writing -----------------------------------------------------------------------------------------

UnscoredCells: TypeAlias = Literal["error", "skip", "zero"]
"""What is done with cells without a value when writing files for other programs."""


def settled(
    cells: Iterable[LeaderboardCell], unscored: UnscoredCells = "error"
) -> Iterator[LeaderboardCell]:
    """Yield the cells that have a value; those without one are rejected, left out or 0."""
    for cell in cells:
        if cell.value is not None:
            yield cell
        elif unscored == "zero":
            yield replace(cell, value=0.0)
        elif unscored == "error":
            cell_name = escaped(f"{cell.run_id}, topic {cell.topic_id}: {cell.measure}")
            raise InputError(f"{cell_name} is unscored: choose whether to skip it or to write 0")


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
    """Write one cell per line in the columns of a layout."""
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
            both = f"{escaped(run)!r} and {escaped(cell.run_id)!r}"
            raise InputError(f"trec_eval has one run per file, found {both}")
        if cell.measure == "runid":
            raise InputError("trec_eval cannot hold a measure named runid")
        stream.write(_line("trec_eval", cell))


def write_ranking(stream: IO[str], cells: Iterable[LeaderboardCell]) -> None:
    """Write each cell with its rank among the runs on its topic and measure, best first."""
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
        raise InputError(f"{escaped(cell.run_id)!r}: the format cannot hold {names}")
    value = cell.value if cell.value is not None and math.isfinite(cell.value) else None
    if value is None:
        raise InputError(f"{escaped(cell.run_id)!r}: value {cell.value!r} is not finite")
    values = {
        "run": a_token(cell.run_id, "run"),
        "topic": a_token(cell.topic_id, "topic"),
        "measure": a_token(cell.measure, "measure"),
        "value": repr(float(value)),
        "q0": "Q0",
        "rank": str(rank),
    }
    return "\t".join(values[role] for role in LAYOUTS[layout]) + "\n"


def _json_row(cell: LeaderboardCell) -> dict[str, Any]:
    row = {name: getattr(cell, name) for name in ("run_id", "topic_id", "measure", "value")}
    return dict(merged(row, cell.extra, row))


_write_rows = row_writer(_json_row, attrgetter("run_id"))


def write_json(stream: IO[str], cells: Iterable[LeaderboardCell]) -> None:
    """Write one object per line."""
    _write_rows(stream, settled(cells))
