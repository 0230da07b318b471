"""What a format is, and how every reader reports errors in a file.

A format's `scan` yields `(number, record)` for each good record and an `InputError` for each bad
one, and goes on. Strict reading raises the first fault; `pnyx validate` lists them all; so both
see exactly the same file.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, Literal, TypeAlias, TypeVar

from pnyx.errors import InputError, shorten
from pnyx.files import json_line, parse_json_object, scan_lines

__all__ = [
    "Format",
    "Kind",
    "Options",
    "Row",
    "Scan",
    "Writer",
    "check_depth",
    "encode",
    "located",
    "parse_rows",
    "scan_json_objects",
    "strict",
    "unique",
    "with_options",
]

T = TypeVar("T")
R = TypeVar("R")

Kind: TypeAlias = Literal[
    "evidence", "questions", "perspectives", "run", "qrels", "responses", "items"
]
"""What a format's records are; formats of one kind can be converted into each other."""

Row: TypeAlias = tuple[int, T] | InputError
"""A record with its 1-based line (or running) number, or what is wrong in its place."""

Writer: TypeAlias = Callable[[IO[str], Iterable[Any]], None]
"""Writes records to a text stream; InputError where the format cannot hold a record."""

MAX_DEPTH = 100
"""Deepest nesting of lists and objects that is carried along; deeper is an attack, not data."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a reader may be told.

    Attributes:
        columns: Pnyx field -> the file's name for it (`{"id": "docno"}`).
        on_warning: called with one line for what was left out without being an error.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    on_warning: Callable[[str], None] | None = None


Scan: TypeAlias = Callable[[str, Options], Iterator[Row[Any]]]


@dataclass(frozen=True, slots=True)
class Format:
    """One file format.

    Attributes:
        name: as given to `--format`, `--from` and `--to`.
        kind: what its records are.
        description: one line for people.
        scan: yields records and faults; see the module's docstring.
        example: a small valid file, or how a source is named where it is no single file.
        writer: None where the format is only read.
        plural: what an empty file "holds no" of.
    """

    name: str
    kind: Kind
    description: str
    scan: Scan
    example: str
    writer: Writer | None = None
    plural: str = "records"

    def reader(self, source: str, options: Options | None = None) -> Iterator[Any]:
        """Yield the records of `source`, streaming.

        Raises:
            InputError: the first fault, or `holds no ...` where there is no record at all.
        """
        for _, record in strict(self.scan(source, options or Options()), source, self.plural):
            yield record


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
    """Say where a fault is: in the line, or in the text for things that have no line."""
    if unit == "line" or number is None:
        return InputError(error.problem, path=path, line=number)
    return InputError(f"{unit} {number}: {error.problem}", path=path)


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
) -> Iterator[Row[T]]:
    """Turn each record whose key was seen before into a fault that names both places."""
    first: dict[Hashable, int] = {}
    for row in rows:
        if isinstance(row, InputError):
            yield row
            continue
        number, record = row
        value = key(record)
        before = first.setdefault(value, number)
        if before != number:
            shown = " ".join(str(v) for v in value) if isinstance(value, tuple) else value
            problem = f"duplicate {what} {shorten(str(shown))!r}, first in {unit} {before}"
            yield located(InputError(problem), path, number, unit)
        else:
            yield row


def scan_json_objects(path: str) -> Iterator[Row[dict[str, Any]]]:
    """Yield each non-blank JSONL line as an object, or its fault."""
    for number, line in scan_lines(path):
        if isinstance(line, InputError):
            yield line
        elif line.strip():
            try:
                value = parse_json_object(line, path=path, number=number)
                if line.count("[") + line.count("{") > MAX_DEPTH:
                    check_depth(value)
            except InputError as error:
                yield located(error, path, number)
            else:
                yield number, value


def check_depth(value: Any) -> None:
    """Refuse nesting that could exhaust the stack when it is written again.

    Raises:
        InputError: deeper than `MAX_DEPTH`.
    """
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for node in level
            if isinstance(node, dict | list)
            for child in (node.values() if isinstance(node, dict) else node)
        ]
        if not level:
            return
    raise InputError(f"nested deeper than {MAX_DEPTH} levels")


def encode(row: Mapping[str, Any], record_id: str) -> str:
    """Return one JSONL line with its newline.

    Raises:
        InputError: the row holds something that JSON or UTF-8 cannot.
    """
    try:
        line = json_line(row) + "\n"
        line.encode()
    except (TypeError, ValueError, RecursionError) as error:
        shown = shorten(record_id)
        raise InputError(f"{shown!r} cannot be written as JSON: {shorten(str(error))}") from error
    return line


def with_options(scan: Callable[[str], Iterator[Row[T]]]) -> Scan:
    """Adapt a scan that takes no options; a column mapping is refused, not ignored."""

    def wrapped(source: str, options: Options) -> Iterator[Row[T]]:
        if options.columns:
            raise InputError("this format has no columns to map", path=source)
        return scan(source)

    return wrapped
