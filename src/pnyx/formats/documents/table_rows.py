"""Rows of tables in a folder as documents: CSV, TSV, JSON, JSON Lines, spreadsheets, Parquet."""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any, cast

from pnyx.core.errors import InputError, MissingExtra, shorten
from pnyx.core.files import MAX_LINE_BYTES, clean_text, clean_value, parse_json_object
from pnyx.formats.documents.tables import read_parquet
from pnyx.formats.documents.tsv import tsv_rows
from pnyx.formats.jsonstream import scan_items
from pnyx.formats.text.blocks import Block, Page
from pnyx.formats.text.encodings import decoded_lines, encoding_of
from pnyx.formats.text.office_files import check_archive
from pnyx.formats.text.plain_text import in_one_line
from pnyx.formats.text.quiet_libraries import quiet

TEXT_COLUMNS = (
    "text", "body", "content", "contents", "comment", "comment_text", "argument", "message", "post",
    "passage", "segment", "answer", "response", "review", "opinion", "statement", "selftext",
    "submission", "abstract", "description", "kommentar", "texte", "texto", "testo",
)  # fmt: skip
"""Usual names of the column of texts, in any case; the first that exists is used."""
_SPEAKER_COLUMNS = (
    "author", "speaker", "user", "username", "user_name", "commenter", "poster", "writer",
    "author_name", "nick", "respondent", "submitter", "name", "from", "autor",
)  # fmt: skip
_TITLE_COLUMNS = ("title", "subject", "headline", "topic", "titel", "titre")
_URL_COLUMNS = ("url", "link", "permalink")
_RESERVED = frozenset("text contents title url source conclusion premises".split())
"""Names of a document's own fields, which its further cells cannot use."""
_SAMPLE = 200
"""Number of rows from which the column of texts is chosen."""
_LEAST_MEAN = 20
"""Minimum average characters of a column of texts without a usual name."""
_MOST_FAULTS = 1000
_HEADER_ROWS = 20
"""Number of first non-blank rows of a sheet among which the header is sought."""
_DELIMITERS = ",;|\t"


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row with its number in the file, from 1, and the sheet's name if there are several."""

    location: str
    cells: Mapping[str, Any]


@dataclass(slots=True)
class RowTable:
    """The rows of a file, streaming.

    Attributes:
        rows: the rows.
        text_column: the column of texts; empty if no column has a usual name or long texts.
        is_usual: whether that column has a usual name.
        assumed: the encoding that was assumed, if any.
        faults: errors of rows that were left out so far.
    """

    rows: Iterator[TableRow]
    text_column: str = ""
    is_usual: bool = False
    assumed: str = ""
    faults: list[str] = field(default_factory=list)

    def pages(self) -> Iterator[tuple[str, Page, dict[str, Any]]]:
        """Yield location, page and further cells of each row that has a text."""
        for row in self.rows:
            cells = dict(row.cells)
            text = in_one_line(_as_text(cells.pop(self.text_column, "")))
            if not text.strip():
                continue
            speaker = _named(cells, _SPEAKER_COLUMNS)
            title, url = _named(cells, _TITLE_COLUMNS), _named(cells, _URL_COLUMNS)
            block = Block(text, "turn" if speaker else "paragraph", 0, speaker)
            yield row.location, Page((block,), title, url), _further(cells)


def open_table(path: Path) -> RowTable:
    """Open a table and choose its column of texts; InputError or MissingExtra if unreadable."""
    table = RowTable(iter(()))
    read = {
        ".csv": _csv_rows,
        ".tsv": _csv_rows,
        ".json": _json_rows,
        ".jsonl": _json_line_rows,
        ".xlsx": _sheet_rows,
        ".parquet": _parquet_rows,
    }[path.suffix.lower()]
    rows = read(path, table)
    sample = list(islice(rows, _SAMPLE))
    table.text_column, table.is_usual = _text_column([row.cells for row in sample])
    table.rows = chain(sample, rows)
    return table


def _further(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cells that a document keeps in addition to its text, title and address."""
    named = {in_one_line(str(name)): value for name, value in cells.items()}
    others = {
        "row_id" if name == "id" else name: value
        for name, value in named.items()
        if isinstance(value, str | int | float) and value != "" and name and name not in _RESERVED
    }
    return cast("dict[str, Any]", clean_value(others))


def _text_column(rows: Iterable[Mapping[str, Any]]) -> tuple[str, bool]:
    """Return the column of texts of sampled rows, and whether its name is a usual one."""
    sizes: dict[str, int] = {}
    count = 0
    for row in rows:
        count += 1
        for name, value in row.items():
            if isinstance(value, str):
                sizes[name] = sizes.get(name, 0) + len(value.strip())
    by_name = {name.strip().lower(): name for name in reversed(sizes) if sizes[name]}
    for usual in TEXT_COLUMNS:
        if usual in by_name:
            return by_name[usual], True
    longest = max(sizes, key=lambda name: sizes[name], default="")
    return (longest, False) if longest and sizes[longest] >= _LEAST_MEAN * count else ("", False)


def _named(cells: dict[str, Any], names: Iterable[str]) -> str:
    """Return the first cell with one of these names, without removing it."""
    by_name = {name.strip().lower(): name for name in cells}
    values = (in_one_line(_as_text(cells[by_name[name]])) for name in names if name in by_name)
    return next((text for text in values if text), "")


def _as_text(value: Any) -> str:
    return "" if value is None else clean_text(value if isinstance(value, str) else str(value))


def _csv_rows(path: Path, table: RowTable) -> Iterator[TableRow]:
    encoding = encoding_of(path)
    table.assumed = encoding.assumed
    decoded = decoded_lines(path, encoding)
    lines: Iterator[str] = (_bounded(line, path).replace("\0", "\ufffd") for line in decoded)
    first = next((line for line in lines if line.strip()), "")
    if csv.field_size_limit() < MAX_LINE_BYTES:
        csv.field_size_limit(MAX_LINE_BYTES)
    lines = chain([first], lines)
    if path.suffix.lower() == ".tsv":
        rows: Iterator[list[str]] = (row for _, row in tsv_rows(enumerate(lines, start=1)))
    else:
        delimiter = max(_DELIMITERS, key=first.count)
        rows = csv.reader(lines, delimiter=delimiter)
    header: list[str] | None = None
    number = 0
    try:
        for row in rows:
            if header is None:
                header = [in_one_line(name) for name in row]
            elif any(cell.strip() for cell in row):
                number += 1
                yield TableRow(str(number), dict(zip(header, row, strict=False)))
    except csv.Error as error:
        raise InputError(f"not valid CSV ({error}), after row {number}", path=path) from error


def _bounded(line: str, path: Path) -> str:
    if len(line) > MAX_LINE_BYTES:
        raise InputError(f"line is longer than {MAX_LINE_BYTES >> 20} MB", path=path)
    return line


def _json_line_rows(path: Path, table: RowTable) -> Iterator[TableRow]:
    encoding = encoding_of(path)
    table.assumed = encoding.assumed
    for number, line in enumerate(decoded_lines(path, encoding), start=1):
        if not line.strip():
            continue
        try:
            row = parse_json_object(_bounded(line, path).strip(), path=path, number=number)
        except InputError as error:
            table.faults.append(error.problem)
            if len(table.faults) >= _MOST_FAULTS:
                raise InputError(
                    f"{_MOST_FAULTS:,} lines are not JSON objects", path=path
                ) from error
            continue
        yield TableRow(str(number), row)


def _json_rows(path: Path, _: RowTable) -> Iterator[TableRow]:
    """Yield the objects of a list, of the longest list of an object, or the object itself."""
    key = _key_of_list(path)
    if key is not None:
        for number, item in enumerate(_items(path, key or None), start=1):
            if isinstance(item, dict):
                yield TableRow(str(number), item)
        return
    from pnyx.core.files import read_json

    value = read_json(path)
    if value is None:
        raise InputError("is not valid JSON", path=path)
    yield TableRow("1", value)


def _items(path: Path, key: str | None) -> Iterator[Any]:
    for row in scan_items(str(path), key, "item"):
        if isinstance(row, InputError):
            raise row
        yield row[1]


def _key_of_list(path: Path) -> str | None:
    """Return the field of an object that holds the list of rows, empty for a list, else None."""
    with path.open("rb") as stream:
        head = stream.read(1 << 16).lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"["):
        return ""
    from pnyx.core.files import read_json

    value = read_json(path)
    lists = {
        name: len(entry)
        for name, entry in (value or {}).items()
        if isinstance(entry, list) and any(isinstance(item, dict) for item in entry)
    }
    return max(lists, key=lambda name: lists[name], default=None)


def _sheet_rows(path: Path, _: RowTable) -> Iterator[TableRow]:
    for sheet, lines in groupby(scan_sheets(path), key=lambda line: line[0]):
        rows = (row for _, _, row in lines)
        first = list(islice(rows, _HEADER_ROWS))
        start = _header_index(first)
        header = [in_one_line(_as_text(cell)) for cell in first[start]]
        prefix = f"{sheet.title}:" if sheet.several else ""
        for number, row in enumerate(chain(first[start + 1 :], rows), start=1):
            yield TableRow(f"{prefix}{number}", dict(zip(header, row, strict=False)))


def _header_index(rows: Sequence[Sequence[Any]]) -> int:
    """Return the number of the header row: the first with over half of the cells of the widest.

    A title or a note above the header fills only a cell or two.
    """
    filled = [sum(cell not in (None, "") for cell in row) for row in rows]
    return next((index for index, count in enumerate(filled) if 2 * count > max(filled)), 0)


@dataclass(frozen=True, slots=True)
class SheetPlace:
    """A sheet of a spreadsheet: its number from 1, its name, and whether there are several."""

    number: int
    title: str
    several: bool


def scan_sheets(path: Path) -> Iterator[tuple[SheetPlace, int, tuple[Any, ...]]]:
    """Yield sheet, row number and cells of each row of a spreadsheet that is not blank."""
    try:
        import openpyxl
    except ImportError as error:
        raise MissingExtra("reading spreadsheets", "tables") from error
    check_archive(path, "a spreadsheet")
    try:
        with quiet("openpyxl"), path.open("rb") as stream:
            book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
            try:
                several = len(book.sheetnames) > 1
                for number, sheet in enumerate(book.worksheets, start=1):
                    sheet_place = SheetPlace(number, sheet.title, several)
                    for line, row in enumerate(sheet.iter_rows(values_only=True), start=1):
                        if any(cell not in (None, "") for cell in row):
                            yield sheet_place, line, row
            finally:
                book.close()
    except (InputError, GeneratorExit):
        raise
    except (OSError, zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError,
            IndexError, SyntaxError) as error:  # fmt: skip
        problem = f"cannot be read as a spreadsheet: {shorten(str(error))}"
        raise InputError(problem, path=path) from error


def _parquet_rows(path: Path, _: RowTable) -> Iterator[TableRow]:
    for number, row in read_parquet(path):
        yield TableRow(str(number), row)
