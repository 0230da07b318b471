"""The definition of a format, and how every reader reports errors in a file."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias, TypeVar

from pnyx.core.errors import InputError, escaped, shorten
from pnyx.core.files import MAX_LINE_BYTES, json_line, parse_json_object, scan_lines
from pnyx.formats.fields import rename
from pnyx.formats.file_account import FileAccount, named

T = TypeVar("T")
R = TypeVar("R")

Kind: TypeAlias = Literal[
    "evidence",
    "questions",
    "perspectives",
    "run",
    "qrels",
    "responses",
    "items",
    "debates",
    "leaderboard",
    "nuggets",
]

_PLURALS: dict[Kind, str] = {
    "evidence": "documents",
    "run": "run entries",
    "qrels": "judgments",
    "leaderboard": "cells",
    "nuggets": "nugget banks",
}
"""Noun for messages about an empty file of a kind, if its name does not say."""

Row: TypeAlias = tuple[int, T] | InputError
"""A record with its 1-based line (or running) number, or an error in its place."""

Writer: TypeAlias = Callable[[IO[str], Iterable[Any]], None]

MAX_DEPTH = 100
"""Deepest nesting of lists and objects that is accepted."""


class EmptyDocumentError(InputError):
    """A document without text: it is left out and counted, unless `strict_files` is set.

    Attributes:
        document_id: its id.
    """

    def __init__(
        self,
        problem: str,
        document_id: str,
        *,
        path: str | Path | None = None,
        line: int | None = None,
    ) -> None:
        self.document_id = document_id
        super().__init__(problem, path=path, line=line)


@dataclass(frozen=True, slots=True)
class Options:
    """Options for reading a file.

    Attributes:
        columns: Pnyx field -> the file's name for it.
        on_warning: called with one line about what is left out.
        on_account: called with the outcome for the files of a folder; by default `on_warning`
            gets what was left out and what was assumed.
        strict_files: whether files and documents without text, and unreadable files, are
            errors.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    on_warning: Callable[[str], None] | None = None
    on_account: Callable[[FileAccount], None] | None = None
    strict_files: bool = False

    def report(self, account: FileAccount) -> None:
        """Report the outcome for the files of a folder; InputError if `strict_files` is set."""
        if self.strict_files and account.skipped:
            raise InputError(account.line(), path=account.source)
        if self.on_account is not None:
            self.on_account(account)
        elif self.on_warning is not None:
            lines = [account.line()] if account.skipped else []
            for line in [*lines, *account.notes()]:
                self.on_warning(f"{escaped(account.source)}: {line}")

    def refuse_columns(self, source: str, what: str = "this format") -> None:
        """Reject a column mapping, which would be ignored."""
        if self.columns:
            raise InputError(f"{what} has no columns to map", path=source)

    def warn_of(self, names: Sequence[str], singular: str, plural: str) -> None:
        """Warn about what is left out, naming the first ones."""
        if names and self.on_warning is not None:
            what = f"{singular} and was" if len(names) == 1 else f"{plural} and were"
            self.on_warning(f"{len(names):,} {what} left out: {named(names)}")


Scan: TypeAlias = Callable[[str, Options], Iterator[Row[Any]]]


@dataclass(frozen=True, slots=True)
class Format:
    """One file format.

    `example` is a small valid file, `writer` None if the format is only read, and `plural` the noun
    for messages about an empty file. `view_of` names the format whose files this one reads as
    another kind of record. `recognises` is set by plugins: it decides whether the beginning of a
    file that fits no format of Pnyx is in this one.
    """

    name: str
    kind: Kind
    description: str
    scan: Scan
    example: str
    writer: Writer | None = None
    plural: str = ""
    view_of: str = ""
    recognises: Callable[[bytes], bool] | None = None

    def __post_init__(self) -> None:
        plural = self.plural or _PLURALS.get(self.kind, self.kind)
        object.__setattr__(self, "plural", plural)

    def reader(self, source: str, options: Options | None = None) -> Iterator[Any]:
        """Yield the records of `source`, streaming; InputError at the first fault or if empty."""
        for _, record in strict(self.rows(source, options or Options()), source, self.plural):
            yield record

    def rows(self, source: str, options: Options) -> Iterator[Row[Any]]:
        """Yield the records and faults of `source`, without documents that have no text."""
        rows = self.scan(source, options)
        strict_rows = self.kind != "evidence" or options.strict_files
        return rows if strict_rows else _with_text(rows, options)


def _with_text(rows: Iterable[Row[T]], options: Options) -> Iterator[Row[T]]:
    """Leave out documents without text, and warn about them."""
    empty: list[str] = []
    for row in rows:
        if isinstance(row, EmptyDocumentError):
            empty.append(row.document_id)
        else:
            yield row
    options.warn_of(empty, "document has no text", "documents have no text")


def files_of(source: str) -> list[str]:
    """Return the visible files of a folder, by name; a file, or -, is itself the only one."""
    if source == "-" or not Path(source).is_dir():
        return [source]
    return [
        str(path)
        for path in sorted(Path(source).iterdir())
        if path.is_file() and not path.name.startswith(".")
    ]


@cache
def table() -> Mapping[str, Any]:
    """Return the entry of each format in `formats.toml`: kind, description, example."""
    return tomllib.loads(Path(__file__).with_name("formats.toml").read_text("utf-8"))


def format_of(name: str, scan: Scan, writer: Writer | None = None, view_of: str = "") -> Format:
    """Return the format that `formats.toml` describes."""
    row: Mapping[str, Any] = table()[name]
    plural = row.get("plural", "")
    return Format(
        name,
        row["kind"],
        row["description"],
        scan,
        f"{row['example'].rstrip()}\n",
        writer,
        plural,
        view_of,
    )


def strict(rows: Iterable[Row[T]], path: str, plural: str) -> Iterator[tuple[int, T]]:
    """Raise the first fault; a file without any record is one."""
    empty = True
    for row in rows:
        if isinstance(row, InputError):
            raise row
        empty = False
        yield row
    if empty:
        raise InputError(f"holds no {plural}", path=path)


def located(error: InputError, path: str, number: int | None, unit: str = "line") -> InputError:
    """Add a fault's place: its line, or a prefix where units have no line."""
    whole = unit == "line" or number is None
    problem = error.problem if whole else f"{unit} {number}: {error.problem}"
    line = number if whole else None
    if isinstance(error, EmptyDocumentError):
        return EmptyDocumentError(problem, error.document_id, path=path, line=line)
    return InputError(problem, path=path, line=line)


def parse_rows(
    rows: Iterable[Row[R]], parse: Callable[[R], T], path: str, unit: str = "line"
) -> Iterator[Row[T]]:
    """Apply `parse` to each record; its InputError becomes a fault with its place."""
    for row in rows:
        if isinstance(row, InputError):
            yield row
            continue
        number, value = row
        try:
            yield number, parse(value)
        except InputError as error:
            yield located(error, path, number, unit)


def unique(
    rows: Iterable[Row[T]],
    key: Callable[[T], Hashable],
    path: str,
    what: str = "id",
    unit: str = "line",
    identity: Callable[[T], Hashable] | None = None,
) -> Iterator[Row[T]]:
    """Turn each record with a repeated key into a fault that names both places.

    Messages show the result of `identity`, by default the key.
    """
    first: dict[Hashable, int] = {}
    for row in rows:
        if isinstance(row, InputError):
            yield row
            continue
        number, record = row
        value = key(record)
        before = first.setdefault(value, number)
        if before != number:
            value = value if identity is None else identity(record)
            name = " ".join(str(v) for v in value) if isinstance(value, tuple) else value
            problem = f"duplicate {what} {shorten(str(name))!r}, first in {unit} {before}"
            yield located(InputError(problem), path, number, unit)
        else:
            yield row


_by_id: Callable[[Any], Hashable] = attrgetter("id")


def scanned(
    source: str,
    parse: Callable[[Any], T],
    key: Callable[[T], Hashable] = _by_id,
    *,
    rows: Iterable[Row[Any]] | None = None,
    columns: Mapping[str, str] | None = None,
    what: str = "id",
    unit: str = "line",
) -> Iterator[Row[T]]:
    """Yield the records of a file, or their faults; `what` names the unique `key` in messages."""
    rows = scan_json_objects(source) if rows is None else rows
    if columns:
        rows = parse_rows(rows, lambda row: rename(row, columns), source, unit)
    yield from unique(parse_rows(rows, parse, source, unit), key, source, what, unit)


def json_lines(
    name: str,
    parse: Callable[[Any], Any],
    writer: Writer | None = None,
    *,
    key: Callable[[Any], Hashable] = _by_id,
    what: str = "id",
    columns: bool = False,
) -> Format:
    """Return a format of JSON Lines rows; `columns`: whether fields may be renamed."""

    def scan(source: str, options: Options) -> Iterator[Row[Any]]:
        return scanned(source, parse, key, columns=options.columns, what=what)

    whole = scan if columns else with_options(lambda source: scan(source, Options()))
    return format_of(name, whole, writer)


def row_writer(
    row: Callable[[Any], Mapping[str, Any]], name: Callable[[Any], str] = attrgetter("id")
) -> Writer:
    """Return the writer of JSON Lines; `name` is the word for a record in its messages."""

    def write(stream: IO[str], records: Iterable[Any]) -> None:
        """Write one record per line; InputError if the format cannot hold one."""
        for record in records:
            stream.write(encode(row(record), name(record)))

    return write


def scan_text_lines(source: str) -> Iterator[Row[str]]:
    """Yield each line that is not blank, or its fault."""
    for number, line in scan_lines(source):
        if isinstance(line, InputError):
            yield line
        elif line.strip(" \t"):
            yield number, line


def scan_json_objects(path: str) -> Iterator[Row[dict[str, Any]]]:
    """Yield each non-blank JSONL line as an object, or its fault."""
    return json_rows(path, scan_lines(path))


def json_rows(
    path: str, lines: Iterable[tuple[int, str | InputError]]
) -> Iterator[Row[dict[str, Any]]]:
    """Yield each of `lines` that is not blank as an object, or its fault."""
    for number, line in lines:
        if isinstance(line, InputError):
            yield line
        elif line.strip():
            try:
                value = parse_json_object(line, path=path, number=number)
                if line.count("[") + line.count("{") > MAX_DEPTH:
                    check_depth(value)
            except InputError as error:
                yield located(error, path, error.line or number)
            else:
                yield number, value


def json_documents(source: str, what: str) -> Iterator[Row[dict[str, Any]]]:
    """Yield the objects of JSON Lines, or the one of a JSON document over many lines."""
    lines = scan_lines(source)
    start = next((row for row in lines if isinstance(row[1], InputError) or row[1].strip()), None)
    if start is None:
        return
    if isinstance(start[1], InputError) or start[1].strip() != "{":
        yield from json_rows(source, chain([start], lines))
        return
    yield from _whole(source, chain([start], lines), start[0], what)


def _whole(
    source: str, lines: Iterator[tuple[int, str | InputError]], first: int, what: str
) -> Iterator[Row[dict[str, Any]]]:
    parts: list[str] = []
    size = 0
    for _, line in lines:
        if isinstance(line, InputError):
            yield line
            return
        parts.append(line)
        size += len(line)
        if size > MAX_LINE_BYTES:
            yield InputError(f"the {what} is longer than {MAX_LINE_BYTES >> 20} MB", path=source)
            return
    yield from json_rows(source, [(first, "\n".join(parts))])


def check_depth(value: dict[str, Any] | list[Any]) -> None:
    """Reject nesting that could exhaust the stack when it is written again."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]
        if not level:
            return
    raise InputError(f"nested deeper than {MAX_DEPTH} levels")


def encode(row: Mapping[str, Any], record_id: str) -> str:
    """Return one JSONL line with its newline; InputError if JSON or UTF-8 cannot represent it."""
    try:
        line = json_line(row) + "\n"
        line.encode()
    except (TypeError, ValueError, RecursionError) as error:
        record_name = shorten(record_id)
        raise InputError(
            f"{record_name!r} cannot be written as JSON: {shorten(str(error))}"
        ) from error
    return line


def with_options(scan: Callable[[str], Iterator[Row[T]]]) -> Scan:
    """Adapt a scan that takes no options; a column mapping is rejected, not ignored."""

    def wrapped(source: str, options: Options) -> Iterator[Row[T]]:
        options.refuse_columns(source)
        return scan(source)

    return wrapped
