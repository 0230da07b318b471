"""Tables: documents and arguments as CSV or TSV with a header, rows of JSON values as Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

from pnyx.core.errors import InputError, MissingExtra, shorten
from pnyx.core.files import MAX_LINE_BYTES, atomic_text, clean_value, scan_lines
from pnyx.core.records import Argument, Evidence
from pnyx.formats.base import Options, Row, Scan, Writer, format_of, scanned
from pnyx.formats.cells import python_literal
from pnyx.formats.documents.evidence import ID_NAMES, TEXT_NAMES, parse_evidence
from pnyx.formats.documents.tsv import tsv_rows
from pnyx.formats.fields import rename, unlike

_DOCUMENT = ("id", "title", "text", "url", "source")
_ARGUMENT = ("id", "conclusion", "premises", "stance", "text", "topic", "url", "source")
_NO_DOCUMENT = ("conclusion", "premises", "premise")
"""Columns that make a row an argument."""
_TEXT_COLUMNS = (*TEXT_NAMES, *_NO_DOCUMENT)

_DELIMITERS = ",;\t"
_AT_ONCE = 16_384
"""Rows per row group, which is kept in memory."""
_INT64 = 1 << 63


def _scan(delimiter: str) -> Scan:
    def scan(source: str, options: Options) -> Iterator[Row[Evidence]]:
        named = True

        def check(names: list[str], line: int) -> None:
            nonlocal named
            named = _check_header(names, options.columns, source, line)

        def identified() -> Iterator[Row[dict[str, str]]]:
            count = 0
            for row in scan_cells(source, delimiter, check):
                if not isinstance(row, InputError):
                    count += 1
                    row = row if named else (row[0], {"id": str(count), **row[1]})
                yield row

        rows = identified()
        return scanned(source, _parse, rows=rows, columns=options.columns)

    return scan


def first_line(head: bytes) -> str:
    """Return the first line that is not blank of a file's first bytes."""
    return head.lstrip(b"\r\n").partition(b"\n")[0].decode("utf-8", "replace").rstrip("\r")


def delimiter_of(head: bytes) -> str:
    """Return the most frequent of comma, semicolon and tab in a table's header."""
    return max(_DELIMITERS, key=first_line(head).count)


def scan_cells(
    source: str, delimiter: str, check_header: Callable[[list[str], int], object] | None = None
) -> Iterator[Row[dict[str, str]]]:
    """Yield each row of a table (RFC 4180) as column -> cell, numbered by its first line."""
    faults: list[InputError] = []
    header: list[str] | None = None
    for start, row in numbered_rows(scan_lines(source, keepends=True), delimiter, faults):
        yield from faults
        faults.clear()
        if isinstance(row, str):
            yield InputError(row, path=source, line=start)
            return  # the start of the next row is unknown
        if header is None:
            header = _header(row, source, start)
            if check_header is not None:
                check_header(header, start)
        elif len(row) == len(header):
            yield start, dict(zip(header, row, strict=True))
        elif any(row):
            problem = f"found {len(row)} columns, expected {len(header)} as in the header"
            yield InputError(problem, path=source, line=start)
    yield from faults


NumberedRow: TypeAlias = tuple[int, list[str] | str]
"""The first line of a row, and its cells or its error."""

NumberedLines: TypeAlias = Iterable[tuple[int, str | InputError]]
"""Lines with their ends; a line that cannot be decoded is replaced by its error."""

_MOST_REPEATED_LINES = 1_000_000
"""Maximum number of lines that are read again after broken rows."""


def numbered_rows(
    lines: NumberedLines, delimiter: str, faults: list[InputError], *, resume: bool = False
) -> Iterator[NumberedRow]:
    """Yield the rows of a table (RFC 4180, or tab-separated); broken lines go to `faults`.

    The reader of delimiters other than tabs stops at a broken row; with `resume` it continues at
    the line after the one in which the broken row began.
    """
    good = _good_lines(lines, faults)
    return _tsv_rows(good) if delimiter == "\t" else _csv_rows(good, delimiter, resume=resume)


def _csv_rows(
    lines: Iterator[tuple[int, str]], delimiter: str, *, resume: bool
) -> Iterator[NumberedRow]:
    if csv.field_size_limit() < MAX_LINE_BYTES:
        csv.field_size_limit(MAX_LINE_BYTES)  # the default of 128 KB is too small for documents
    taken: list[tuple[int, str]] = []
    waiting: deque[tuple[int, str]] = deque()
    repeated = 0

    def texts() -> Iterator[str]:
        while (line := waiting.popleft() if waiting else next(lines, None)) is not None:
            taken.append(line)
            yield line[1]

    reader = csv.reader(texts(), delimiter=delimiter, strict=True)
    while True:
        taken.clear()
        try:
            row: list[str] | str | None = next(reader, None)
        except csv.Error as error:
            row = f"not valid CSV ({error})"
        if row is None or not taken:
            return
        yield taken[0][0], row
        if isinstance(row, str):
            repeated += len(taken)
            if not resume or repeated > _MOST_REPEATED_LINES:
                return
            waiting.extendleft(reversed(taken[1:]))
            reader = csv.reader(texts(), delimiter=delimiter, strict=True)


def _tsv_rows(lines: Iterator[tuple[int, str]]) -> Iterator[NumberedRow]:
    try:
        yield from tsv_rows(lines)
    except InputError as error:
        yield error.line or 1, error.problem


def _good_lines(lines: NumberedLines, faults: list[InputError]) -> Iterator[tuple[int, str]]:
    for number, line in lines:
        if isinstance(line, InputError):
            faults.append(line)
        else:
            yield number, line


def _header(row: list[str], source: str, line: int) -> list[str]:
    names = [name.strip() for name in row]
    repeated = next((name for name, count in Counter(names).items() if count > 1), None)
    if repeated is not None:
        column = shorten(repeated, 40)
        raise InputError(f"column name {column!r} is repeated", path=source, line=line)
    return names


def _check_header(names: list[str], columns: Mapping[str, str], source: str, line: int) -> bool:
    """Check the names once for all rows; return whether there is an id column."""
    mapped = set(rename(dict.fromkeys(names), columns, path=source, line=line))
    if mapped.isdisjoint(_TEXT_COLUMNS):
        names_found = ", ".join(shorten(name, 30) for name in names[:12])
        problem = f"no column text (found: {names_found}); name it with --column text=NAME"
        raise InputError(problem, path=source, line=line)
    return not mapped.isdisjoint(ID_NAMES)


def _parse(cells: Mapping[str, Any]) -> Evidence:
    row: dict[str, Any] = {
        name: cell for name, cell in cells.items() if cell != "" or name in TEXT_NAMES
    }
    if "premises" in row:
        row["premises"] = _premises(row["premises"])
        if any(isinstance(premise, dict) for premise in row["premises"]):
            from pnyx.formats.documents.dumps import parse_argsme

            value = _literal(row.get("context", ""))
            return parse_argsme({**row, **({"context": value} if isinstance(value, dict) else {})})
    elif "premise" in row and "premises" not in cells:
        row["premises"] = [row.pop("premise")]
    elif "premises" in cells:
        row["premises"] = []
    return parse_evidence(row)


def _premises(cell: str) -> list[Any]:
    """Return a list of texts, or of objects with a text, as in the CSV files of args.me."""
    value = _literal(cell)
    if not isinstance(value, list) or not all(isinstance(v, str | dict) for v in value):
        raise unlike(cell, "premises", "a JSON list of text")
    return value


def _literal(cell: str) -> Any:
    """Return a cell's value in JSON or as a Python literal (Touché's CSV); else None."""
    try:
        return clean_value(json.loads(cell))
    except (ValueError, RecursionError):
        pass
    try:
        value = clean_value(python_literal(cell))
        json.dumps(value, allow_nan=False)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
    return value


def _writer(delimiter: str) -> Writer:
    def write(stream: IO[str], records: Iterable[Evidence]) -> None:
        rest = iter(records)
        first = next(rest, None)
        if first is None:
            return
        fields = _ARGUMENT if isinstance(first, Argument) else _DOCUMENT
        columns = (*fields, *first.extra)
        for name in columns:
            if name != name.strip() or "\0" in name or name.startswith("\ufeff"):
                raise InputError(f"{shorten(name)!r} cannot be the name of a column")
        _line(stream, delimiter, columns)
        places = dict.fromkeys(columns, "")
        for record in chain((first,), rest):
            cells = _record_cells(record, places, type(first))
            _line(stream, delimiter, cells)

    return write


def _record_cells(record: Evidence, columns: Mapping[str, str], kind: type[Any]) -> Iterable[str]:
    def refuse(problem: str) -> InputError:
        return InputError(f"{shorten(record.id)!r}: a table cannot hold {problem}")

    if not isinstance(record, kind):
        raise refuse("documents and arguments together")
    cells: dict[str, str] = {}
    reserved = _ARGUMENT if isinstance(record, Argument) else (*_DOCUMENT, *_NO_DOCUMENT)
    for name, value in record.extra.items():
        if name not in columns:
            raise refuse(f"the field {shorten(name)}, which the first record does not have")
        if not isinstance(value, str) or value == "" or name in reserved:
            raise refuse(f"the field {shorten(name)} (only text that is not empty)")
        cells[name] = value
    if isinstance(record, Argument):
        cells |= _argument_cells(record, refuse)
    else:
        cells |= {name: getattr(record, name) for name in _DOCUMENT}
    if any("\0" in cell for cell in cells.values()):
        raise refuse("a NUL character")
    return (cells.get(name, "") for name in columns)


def _argument_cells(argument: Argument, refuse: Any) -> dict[str, str]:
    if any(p.stance is not None or p.extra for p in argument.premises):
        raise refuse("the stance or annotations of a premise")
    premises = json.dumps([p.text for p in argument.premises], ensure_ascii=False)
    cells = {name: getattr(argument, name) or "" for name in _ARGUMENT}
    return {**cells, "premises": premises.replace("\0", "\\u0000")}


def write_cells(stream: IO[str], rows: Iterable[Iterable[str]]) -> None:
    """Write the rows of a table, header first, so that `scan_cells` reads them back unchanged."""
    for row in rows:
        _line(stream, ",", row)


def _line(stream: IO[str], delimiter: str, cells: Iterable[str]) -> None:
    buffer = io.StringIO()
    # CRLF makes the writer quote both characters wherever they occur; the line ends in LF.
    csv.writer(buffer, delimiter=delimiter, lineterminator="\r\n").writerow(cells)
    stream.write(buffer.getvalue().removesuffix("\r\n") + "\n")


FORMATS = tuple(
    format_of(name, _scan(delimiter), _writer(delimiter))
    for name, delimiter in (("csv", ","), ("tsv", "\t"))
)


def require_parquet() -> None:
    """Raise MissingExtra unless Parquet can be read and written."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise MissingExtra("Parquet", "tables") from error


def write_parquet(
    path: str | Path,
    rows: Callable[[], Iterable[Mapping[str, Any]]],
    types: Mapping[str, type],
) -> None:
    """Write rows as one Parquet file, all or nothing; `rows` is called twice.

    Columns not in `types` have the type of all their values; mixed types, lists and objects become
    text that holds JSON.
    """
    require_parquet()
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {**dict.fromkeys(types), **_columns(rows())}
    columns |= dict(types)
    arrow = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    schema = pa.schema([(name, arrow[kind or str]) for name, kind in columns.items()])
    with atomic_text(path) as stream:
        binary = cast("Any", stream).buffer
        with pq.ParquetWriter(binary, schema, compression="zstd") as writer:
            waiting = iter(rows())
            while some := list(islice(waiting, _AT_ONCE)):
                cells = {name: [_cell(r.get(name), k) for r in some] for name, k in columns.items()}
                writer.write_table(pa.Table.from_pydict(cells, schema=schema))


def read_parquet(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (1-based row number, row) of a Parquet file, streaming."""
    require_parquet()
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(path) as opened:
            for batch in opened.iter_batches(_AT_ONCE):
                for row in batch.to_pylist():
                    number += 1
                    yield number, clean_value(row)
    except (OSError, ValueError, OverflowError, pa.ArrowException) as error:
        # Also text that is not UTF-8, and dates that Python has no name for.
        raise InputError(f"cannot be read as Parquet: {shorten(str(error))}", path=path) from error


def _columns(rows: Iterable[Mapping[str, Any]]) -> dict[str, type | None]:
    """Return the type of each column, text if its values differ, None without any value."""
    types: dict[str, type | None] = {}
    for row in rows:
        for name, value in row.items():
            kind = _kind(value)
            before = types.setdefault(name, kind)
            if kind is None or kind is before:
                continue
            if before is None or {kind, before} == {int, float}:
                types[name] = kind if before is None else float
            else:
                types[name] = str
    return types


def _kind(value: Any) -> type | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return bool
    if isinstance(value, int):
        return int if -_INT64 <= value < _INT64 else str
    return float if isinstance(value, float) else str


def _cell(value: Any, kind: type | None) -> Any:
    if value is None or kind in (bool, int):
        return value
    if kind is float:
        return float(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
