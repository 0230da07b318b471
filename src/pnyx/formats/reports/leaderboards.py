"""Leaderboards: the value of each run by each measure, on each topic and over all topics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from operator import attrgetter
from pathlib import Path
from typing import IO, Any, Final

from pnyx.core.compression import ENDINGS
from pnyx.core.errors import InputError, shorten
from pnyx.core.files import read_head
from pnyx.core.records import LeaderboardCell
from pnyx.core.tabular import Result
from pnyx.formats.base import (
    Format,
    Row,
    files_of,
    format_of,
    json_lines,
    parse_rows,
    scan_text_lines,
    scanned,
    with_options,
)
from pnyx.formats.fields import Fields, number
from pnyx.formats.reports.leaderboard_layouts import (
    LAYOUTS,
    THREE,
    UnscoredCells,
    columns_of,
    detect_layout,
    header_of,
    settled,
    write_columns,
    write_json,
    write_ranking,
    write_trec_eval,
)
from pnyx.formats.runs.trec import parse_float

_HEAD_BYTES: Final = 1 << 26
"""Rows over all topics often come last, and a leaderboard is seldom larger."""
_UNSCORED: Final = ("nan", "none", "null")
_SUFFIXES: Final = (*ENDINGS, ".txt", ".tsv", ".eval", ".trec_eval")
_KEY: Final = attrgetter("run_id", "topic_id", "measure")


@dataclass(frozen=True, repr=False)
class Leaderboard(Result):
    """Cells on topics and, separately, those over all topics as stated in the file."""

    name: str
    cells: tuple[LeaderboardCell, ...]
    stated: tuple[LeaderboardCell, ...] = ()

    @cached_property
    def values(self) -> Mapping[tuple[str, str, str], float | None]:
        """(measure, run, topic) -> value, of topics only."""
        return {(c.measure, c.run_id, c.topic_id): c.value for c in self.cells}

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each cell; those over all topics, which have no topic, come first."""
        cells: list[tuple[str | None, LeaderboardCell]] = [(None, cell) for cell in self.stated]
        cells += [(cell.topic_id, cell) for cell in self.cells]
        return [
            {"run": cell.run_id, "measure": cell.measure, "topic": topic, "value": cell.value}
            for topic, cell in cells
        ]

    def _heading(self) -> list[str]:
        runs, topics = len(self.runs), len(self.topics)
        return [f"Leaderboard {shorten(self.name)}: {runs:,} runs, {topics:,} topics"]

    @property
    def runs(self) -> list[str]:
        """Names of all runs, in the order of the file."""
        return self._distinct("run_id", *self.cells, *self.stated)

    @property
    def topics(self) -> list[str]:
        """Names of the topics, in the order of the file."""
        return self._distinct("topic_id", *self.cells)

    @property
    def measures(self) -> list[str]:
        """Names of the measures, in the order of the file."""
        return self._distinct("measure", *self.cells, *self.stated)

    @staticmethod
    def _distinct(name: str, *cells: LeaderboardCell) -> list[str]:
        return list(dict.fromkeys(map(attrgetter(name), cells)))


def read_leaderboard(
    path: str | Path,
    format: str | None = None,  # noqa: A002 - as on the command line
    like: Leaderboard | None = None,
) -> Leaderboard:
    """Read a leaderboard: a file, or a folder of files (one for each run, as of trec_eval).

    Args:
        path: the file or folder.
        format: a name in `FORMATS`, or `jsonl`; recognised where None.
        like: one with the same runs, topics or measures, to distinguish columns of the same shape.

    Raises:
        InputError: at the first fault; a cell occurs twice; the columns are ambiguous.
    """
    source = str(path)
    if source != "-" and Path(source).is_dir() and Path(source, "manifest.json").is_file():
        advice = "make a leaderboard of it with pnyx measure report R --leaderboard OUT"
        raise InputError(f"is a results folder: {advice}", path=source)
    files = files_of(source)
    if not files:
        raise InputError("is a folder without files, expected leaderboards", path=source)
    cell_files: dict[tuple[str, str, str], tuple[LeaderboardCell, str]] = {}
    for name in files:
        chosen = _named(format, source) if format else sniff_leaderboard(name, like)
        for cell in chosen.reader(name):
            before = cell_files.setdefault(_KEY(cell), (cell, name))
            if before[0] is not cell:
                key = shorten(" ".join(_KEY(cell)))
                raise InputError(f"duplicate cell {key!r}, also in {before[1]}", path=name)
    cells = [cell for cell, _ in cell_files.values()]
    over = [c.over_all for c in cells]
    split = (tuple(c for c, o in zip(cells, over, strict=True) if o is w) for w in (False, True))
    return Leaderboard(source, *split)


def _named(name: str, path: str) -> Format:
    formats = {form.name: form for form in FORMATS} | {"jsonl": FORMATS[-1]}
    if name not in formats:
        problem = f"no format {shorten(name, 40)!r} of leaderboards, expected one of"
        raise InputError(f"{problem} {', '.join(formats)}", path=path)
    return formats[name]


def sniff_leaderboard(path: str, like: Leaderboard | None = None) -> Format:
    """Return the format of a file known to be a leaderboard; InputError if it is ambiguous."""
    head = read_head(path, _HEAD_BYTES)
    if not head.strip():
        raise InputError("is empty", path=path)
    if head.lstrip()[:1] == b"{":
        return FORMATS[-1]
    known_ids = {"run": like.runs, "topic": like.topics, "measure": like.measures} if like else {}
    name = recognised(head, path, sure=True, known_ids=known_ids)
    if name is None:
        first_line = shorten(head[:60].decode("utf-8", "replace"), 50)
        raise InputError(f"the format cannot be recognised from {first_line!r}: name it", path=path)
    return _named(name, path)


def recognised(
    head: bytes,
    path: str,
    *,
    sure: bool,
    known_ids: Mapping[str, Sequence[str]] | None = None,
    size: int = _HEAD_BYTES,
) -> str | None:
    """Return the layout of a file by its first `size` bytes, None if it is not a leaderboard."""
    lines = head.decode("utf-8", "replace").split("\n")
    whole = lines if len(head) < size or len(lines) == 1 else lines[:-1]
    try:
        return detect_layout(
            [line for line in whole if line.strip()], sure=sure, known_ids=known_ids
        )
    except InputError as error:
        raise InputError(error.problem, path=path) from None


# Reading -----------------------------------------------------------------------------------------


def _scan(layout: str, source: str) -> Iterator[Row[LeaderboardCell]]:
    rows = _body(layout, source)
    parse = partial(_cell, layout)
    if layout in ("trec_eval", "ir_measures"):
        rows, run = _run_named(rows, _file_run(source))
        parse = partial(_cell, layout, run=run)
    yield from scanned(source, parse, _KEY, rows=rows, what="run, topic and measure")


def _body(layout: str, source: str) -> Iterator[Row[list[str]]]:
    """Yield the cells of each line below a header; a header in another order is a fault."""
    wide = (3, 4) if layout == "ir_measures" else (len(LAYOUTS[layout]),)
    first = True
    for row in parse_rows(scan_text_lines(source), lambda line: columns_of(line, wide), source):
        if first and not isinstance(row, InputError) and (header := header_of(row[1])):
            if header != LAYOUTS[layout]:
                first_line = shorten(" ".join(row[1]), 60)
                problem = f"found the header {first_line!r}, expected {' '.join(LAYOUTS[layout])}"
                yield InputError(problem, path=source, line=row[0])
        else:
            yield row
        first = False


def _run_named(rows: Iterable[Row[list[str]]], name: str) -> tuple[Iterator[Row[list[str]]], str]:
    """Return the rows without those of `runid`, and the run named there by trec_eval."""
    waiting: list[Row[list[str]]] = []
    for row in rows:
        if isinstance(row, InputError) or len(row[1]) != 3 or row[1][0] != "runid":
            waiting.append(row)
        else:
            name = row[1][2]
    return iter(waiting), name


def _file_run(source: str) -> str:
    """Return the run named by a file's name."""
    name = "stdin" if source == "-" else Path(source).name
    while Path(name).suffix.lower() in _SUFFIXES and Path(name).stem:
        name = Path(name).stem
    return name


def _cell(layout: str, cells: Sequence[str], run: str = "") -> LeaderboardCell:
    roles = LAYOUTS[layout]
    if layout == "ir_measures" and len(cells) == 3:
        roles = roles[1:]
    if len(cells) != len(roles):
        names = " ".join(roles)
        raise InputError(f"found {len(cells)} columns, expected {len(roles)} ({names})")
    values = dict(zip(roles, cells, strict=True))
    for role, text in values.items():
        if not text:
            raise InputError(f"the {role} is empty")
    value = values["value"]
    return LeaderboardCell(
        values.get("run", run),
        values["topic"],
        values["measure"],
        None if value.lower() in _UNSCORED else parse_float(value, "value"),
    )


def _json_cell(row: Mapping[str, Any]) -> LeaderboardCell:
    fields = Fields(row)
    names = (fields.identifier("run_id"), fields.identifier("topic_id"), fields.required("measure"))
    if "value" not in row:
        raise InputError("no value (null where nothing was scored)")
    value = fields.take("value")
    return LeaderboardCell(
        *names, None if value is None else float(number(value, "value")), fields.rest
    )


# Writing ------------------------------------------------------------------------------------------


def write_leaderboard(
    stream: IO[str],
    cells: Iterable[LeaderboardCell],
    format: str = "ir_measures",  # noqa: A002 - as on the command line
    *,
    unscored: UnscoredCells = "error",
) -> None:
    """Write cells in a format of leaderboards, without changing them.

    Means are written only where they are among the cells (`averaged`); make them of settled cells
    (`averaged(settled(cells, "zero"))`) if unscored cells count as 0.

    Raises:
        InputError: a cell is unscored and nothing says what to do; the format cannot hold one.
    """
    writer: Any = _named(format, "leaderboard").writer
    writer(stream, settled(cells, unscored))


def _format(name: str, writer: Callable[..., None]) -> Format:
    return format_of(name, with_options(partial(_scan, name)), writer)


FORMATS = (
    _format("trec_eval", write_trec_eval),
    *(_format(name, partial(write_columns, name)) for name in THREE),
    _format("ranking", write_ranking),
    json_lines(
        "leaderboard-jsonl", _json_cell, write_json, key=_KEY, what="run, topic and measure"
    ),
)
