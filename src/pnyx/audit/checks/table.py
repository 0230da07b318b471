"""Any table of results as rows: files of every usual format, standard input, data in memory."""

from __future__ import annotations

import contextlib
import csv
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import Any

from pnyx.audit.checks.check_rows import NumberedRow, TableRows
from pnyx.audit.checks.exports import exported_table, unwrapped
from pnyx.audit.checks.inspect_log import read_inspect_archive
from pnyx.audit.checks.json_rows import (
    MAX_JSON_BYTES,
    json_line_rows,
    json_rows,
    parse_document,
    rows_of_columns,
)
from pnyx.core.errors import InputError, count_of, shorten
from pnyx.core.files import clean_text, clean_value, guarded, open_binary, read_head
from pnyx.core.folders import device_status
from pnyx.formats.cells import is_missing, plain_cell
from pnyx.formats.documents.table_rows import scan_sheets
from pnyx.formats.documents.tables import numbered_rows, read_parquet
from pnyx.formats.in_memory import rows_in_memory
from pnyx.formats.text.encodings import Encoding, decoded_lines, encoding_of
from pnyx.judging.verdicts import file_of

DELIMITERS = ",;\t|"
"""In the order in which they are preferred."""
_HEADER_ROWS = 20
"""First rows, among which the header is."""
_SAMPLE_CHARACTERS = 1 << 20
SAMPLE_ROWS = 200
"""Rows from which the delimiter and the header are chosen."""
_LEAST_SHARE = 0.5
"""Least share of rows that are as wide as the header."""
_UNFIT = (False, 0.0, 0)

NumberedLine = tuple[int, str]


def delimiter_of(lines: Iterator[NumberedLine]) -> tuple[str, Iterator[NumberedLine]]:
    """Return the delimiter of a table, and its lines without a first one that states it (`sep=;`).

    The delimiter is the one by which most sampled rows have as many cells as the header, at least
    two; one with a header in the first row is preferred. InputError: there is none.
    """
    sample: list[NumberedLine] = []
    size = 0
    for number, line in islice(lines, SAMPLE_ROWS):
        if sample or line.strip():
            sample.append((number, line))
        size += len(line)
        if size > _SAMPLE_CHARACTERS:
            break
    if sample and (stated := _stated(sample[0][1])):
        return stated, chain(sample[1:], lines)
    texts = [line for _, line in sample]
    fits = {delimiter: _fit(texts, delimiter) for delimiter in DELIMITERS}
    best = max(fits, key=lambda delimiter: fits[delimiter])
    if not fits[best][-1]:
        start = " ".join(texts[0].split())[:60] if texts else ""
        problem = f"found one column ({start!r}), expected a table with a header, such as CSV"
        raise InputError(problem, line=sample[0][0] if sample else None)
    return best, chain(sample, lines)


def header_index(rows: Sequence[Sequence[object]]) -> int:
    """Return the index of the header: the first row with more than half the cells of the fullest.

    A title or a note above the header fills a cell or two. Rows of another width than most are not
    among the fullest: they are notes, or broken.
    """
    widths = Counter(len(row) for row in rows if len(row) > 1)
    usual = max(widths, key=lambda width: (widths[width], width), default=1)
    filled = [sum(cell is not None and str(cell).strip() != "" for cell in row) for row in rows]
    most = max((n for row, n in zip(rows, filled, strict=True) if len(row) == usual), default=0)
    fits = (index for index, count in enumerate(filled[:_HEADER_ROWS]) if 2 * count > most)
    return next(fits, 0)


def _stated(line: str) -> str:
    """Return the delimiter that a first line for Excel states."""
    name, _, stated = line.strip("\r\n").strip('"').partition("=")
    return stated[0] if name.lower() == "sep" and stated.strip(" ") in tuple(DELIMITERS) else ""


def _fit(lines: list[str], delimiter: str) -> tuple[bool, float, int]:
    """Return whether the table begins in the first row, the share of rows as wide, and the width.

    The share is of the rows from the header on. Without a table, all three are 0.
    """
    try:
        rows = [row for row in csv.reader(lines, delimiter=delimiter) if any(row)]
    except csv.Error:
        rows = []
    first = header_index(rows)
    width = len(rows[first]) if rows else 0
    share = sum(len(row) == width for row in rows) / (len(rows) - first) if rows else 0.0
    usual = share >= _LEAST_SHARE
    return (first == 0 and usual, share, width) if width > 1 and (usual or not first) else _UNFIT


MAX_TABLE_BYTES = 1 << 30
"""Largest table, decompressed: one of human labels is far smaller."""
_SHOWN_FAULTS = 3
"""Broken rows that a note names; the others are counted."""


def read_table_rows(source: object) -> TableRows:
    """Read a table: CSV, TSV, JSON, JSON Lines, Parquet, XLSX, gzip or not, or data in memory.

    Result files of other tools become a row for each item and a column for each judge and person.

    Args:
        source: a file, a results folder of Pnyx, `-` for standard input, a data frame (pandas or
            polars), a list of dicts, or a dict of columns.

    Raises:
        InputError: the source cannot be read as a table, or has no rows.
        MissingExtra: Parquet or XLSX without the library that reads it.
    """
    if isinstance(source, str | Path):
        table = _read_file(str(source))
    else:
        cells = rows_of_columns(source) if isinstance(source, Mapping) else rows_in_memory(source)
        rows = enumerate(cells, start=1)
        table = _table(((number, _plain_row(row, number)) for number, row in rows), "table")
    if not table.rows:
        raise InputError("has no rows, expected a table with a header and rows", path=table.source)
    return exported_table(table)


def _plain_row(row: object, number: int) -> Mapping[str, Any]:
    if not isinstance(row, Mapping):
        problem = f"found {shorten(type(row).__name__, 40)}, expected a dict of column and value"
        raise InputError(problem, path="table", line=number)
    return {
        str(name): None if is_missing(value) else plain_cell(value) for name, value in row.items()
    }


def _table(
    rows: Iterable[NumberedRow], source: str, faults: Sequence[str] = (), notes: Iterable[str] = ()
) -> TableRows:
    """Collect rows that are not blank; `rows` adds to `faults` while it is read."""
    columns: dict[str, None] = {}
    filled: list[NumberedRow] = []
    for line, row in rows:
        if any(not _is_blank(value) for value in row.values()):
            filled.append((line, row))
            columns.update(dict.fromkeys(row))
    return TableRows(tuple(columns), filled, source, (*notes, *_fault_notes(faults)))


def _is_blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _fault_notes(faults: Sequence[str]) -> tuple[str, ...]:
    if not faults:
        return ()
    first = "; ".join(faults[:_SHOWN_FAULTS])
    more = "; ..." if len(faults) > _SHOWN_FAULTS else ""
    rows = "1 broken row was" if len(faults) == 1 else f"{len(faults):,} broken rows were"
    return (f"{rows} skipped ({first}{more})",)


def _read_file(name: str) -> TableRows:
    path = file_of(name)
    try:
        with _seekable(path) as file:
            return replace(_read_path(file), source=path)
    except InputError as error:
        raise InputError(error.problem, path=path, line=error.line) from error


@contextlib.contextmanager
def _seekable(name: str) -> Iterator[Path]:
    """Yield a file that can be read twice: standard input and packed binary files are copied."""
    head = read_head(name, 4)
    once = name == "-" or device_status(Path(name)) is not None
    if not once and (head[:2] != b"PK" and head != b"PAR1"):
        yield Path(name)
        return
    if not once:
        with Path(name).open("rb") as stream:
            packed = stream.read(4) != head
        if not packed:
            yield Path(name)
            return
    with tempfile.TemporaryDirectory(prefix="pnyx-") as folder:
        copy = Path(folder, "table")
        with open_binary(name) as stream, copy.open("wb") as target:
            rest = MAX_TABLE_BYTES
            while data := guarded(lambda: stream.read(1 << 20), name):
                rest -= len(data)
                if rest < 0:
                    raise _too_large(MAX_TABLE_BYTES)
                target.write(data)
        yield copy


def _too_large(limit: int) -> InputError:
    return InputError(f"is larger than {limit >> 20:,} MB, expected a table of verdicts and labels")


def _read_path(path: Path) -> TableRows:
    head = read_head(path, 1 << 16)
    if not head.strip():
        raise InputError("is empty, expected a table with a header and rows")
    if head.startswith(b"PAR1"):
        return _table(read_parquet(path), "")
    if head.startswith(b"PK"):
        return _read_archive(path)
    if head.startswith(b"\xd0\xcf\x11\xe0"):
        raise InputError("is an older Excel file (.xls): save it as .xlsx or CSV")
    encoding = encoding_of(path)
    assumed = (f"read as {encoding.assumed}",) if encoding.assumed else ()
    start = head.decode(encoding.codec, "ignore").lstrip("\ufeff \t\r\n")
    if start[:1] in ("{", "["):
        table = _read_json(path, encoding, may_be_lines=start[0] == "{")
    else:
        table = _read_delimited(_bounded_lines(path, encoding))
    return replace(table, notes=(*assumed, *table.notes))


def _bounded_lines(path: Path, encoding: Encoding) -> Iterator[str]:
    size = 0
    for line in decoded_lines(path, encoding):
        size += len(line)
        if size > MAX_TABLE_BYTES:
            raise _too_large(MAX_TABLE_BYTES)
        yield line.replace("\0", "\ufffd")


def _read_archive(path: Path) -> TableRows:
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise InputError(f"cannot be read as a ZIP file: {shorten(str(error))}") from error
    if any(name.startswith("xl/") for name in names):
        return _read_sheet(path)
    if any(name.startswith("samples/") for name in names):
        return _table(enumerate(read_inspect_archive(path), start=1), "")
    raise InputError("is a ZIP file without a table: unpack it and name the table in it")


def _read_sheet(path: Path) -> TableRows:
    """Read the first sheet that has rows; further cells than the header has are left out."""
    sheets = iter(scan_sheets(path))
    first = next(sheets, None)
    if first is None:
        return _table((), "")
    sheet = first[0]
    same = takewhile(lambda row: row[0] == sheet, chain([first], sheets))
    title = shorten(sheet.title, 40)
    note = (f"read the sheet {title!r}; other sheets were not",) if sheet.several else ()

    def fitted(cells: Sequence[Any], width: int) -> Sequence[Any]:
        return [clean_value(cell) for cell in (*cells[:width], *[None] * (width - len(cells)))]

    return _with_header(((line, cells) for _, line, cells in same), fitted, note)


def _read_delimited(lines: Iterator[str]) -> TableRows:
    delimiter, numbered = delimiter_of(enumerate(lines, start=1))
    faults: list[InputError] = []
    skipped: list[str] = []

    def rows() -> Iterator[tuple[int, Sequence[Any]]]:
        for line, cells in numbered_rows(numbered, delimiter, faults, resume=True):
            if isinstance(cells, str):
                skipped.append(f"line {line}: {cells}")
            elif any(cell.strip() for cell in cells):
                yield line, cells

    def fitted(cells: Sequence[Any], width: int) -> Sequence[Any]:
        """Return the cells; blank ones at the end do not count."""
        while len(cells) > width and not cells[-1].strip():
            cells = cells[:-1]
        if len(cells) != width:
            columns = count_of(len(cells), "column")
            raise InputError(f"found {columns}, expected {width} as in the header")
        return cells

    table = _with_header(rows(), fitted, skipped=skipped)
    if not table.rows and skipped:
        raise InputError(f"has no row that can be read ({skipped[0]})")
    return table


def _with_header(
    rows: Iterator[tuple[int, Sequence[Any]]],
    fitted: Callable[[Sequence[Any], int], Sequence[Any]],
    notes: Sequence[str] = (),
    skipped: list[str] | None = None,
) -> TableRows:
    """Return rows of cells as a table; `fitted` makes each as wide as the header, or raises."""
    skipped = [] if skipped is None else skipped
    sample = list(islice(rows, SAMPLE_ROWS))
    if not sample:
        return _table((), "")
    first = header_index([cells for _, cells in sample])
    names = ["" if cell is None else clean_text(str(cell)) for cell in sample[first][1]]
    header, repeated = _column_names(names)
    if first:
        note = f"the header is in row {sample[first][0]}; the rows above it were left out"
        notes = (*notes, note)
    if repeated:
        note = f"{shorten(repeated, 40)!r} is the name of several columns; they were numbered"
        notes = (*notes, note)

    def cells_by_name() -> Iterator[NumberedRow]:
        for line, cells in chain(sample[first + 1 :], rows):
            try:
                yield line, dict(zip(header, fitted(cells, len(header)), strict=True))
            except InputError as error:
                skipped.append(f"line {line}: {error.problem}")

    return replace(_table(cells_by_name(), "", skipped, notes), columns=tuple(header))


def _column_names(cells: Sequence[str]) -> tuple[list[str], str]:
    """Return names of columns, each on one line, and a name that is repeated, if any.

    Columns without a name, and those with a repeated one, are numbered.
    """
    names: list[str] = []
    counts: Counter[str] = Counter()
    repeated = ""
    for number, cell in enumerate(cells, start=1):
        name = " ".join(cell.replace("\ufeff", "").split()) or f"column {number}"
        counts[name] += 1
        again = name
        while again in names or (again != name and again in cells):
            repeated = name
            again = f"{name} ({counts[name]})"
            counts[name] += 1
        names.append(again)
    return names, repeated


def _read_json(path: Path, encoding: Encoding, *, may_be_lines: bool) -> TableRows:
    """Read a JSON document, or JSON Lines."""
    with open_binary(path) as stream:
        raw: bytes = guarded(lambda: stream.read(MAX_JSON_BYTES + 1), str(path))
    whole = len(raw) <= MAX_JSON_BYTES
    try:
        value = parse_document(raw.decode(encoding.codec, "replace")) if whole else None
        problem = ""
    except InputError as error:
        value, problem, line = None, error.problem, error.line
    if value is not None:
        return _table(enumerate(json_rows(unwrapped(value)), start=1), "")
    del raw
    if problem and not may_be_lines:
        raise InputError(problem, line=line)
    skipped: list[str] = []
    table = _table(json_line_rows(_bounded_lines(path, encoding), skipped), "", skipped)
    if table.rows:
        return table
    if problem:
        raise InputError(problem, line=line)
    raise _too_large(MAX_JSON_BYTES)
