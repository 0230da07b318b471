"""Merging judgement stores: the replies of several machines in one."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pnyx.errors import InputError, PnyxError, shorten
from pnyx.files import parse_json_object, read_head, read_lines
from pnyx.judge.store import Outcome, Store, default_store_path
from pnyx.judge.store_rows import COLUMNS, StoredRow, row_from_object
from pnyx.judge.store_tools import is_same_file

__all__ = ["MergedSource", "merge_stores"]

_SQLITE_MAGIC = b"SQLite format 3\0"


@dataclass(slots=True)
class MergedSource:
    """What became of the replies of one file.

    Attributes:
        path: the file.
        replies: how many it holds.
        added: were not in the store.
        present: were there already, with the same text.
        conflicts: were there with another text, which stays.
    """

    path: str
    replies: int = 0
    added: int = 0
    present: int = 0
    conflicts: int = 0

    def count(self, outcome: Outcome) -> None:
        """Count a reply."""
        self.replies += 1
        match outcome:
            case "added":
                self.added += 1
            case "present":
                self.present += 1
            case "conflict":
                self.conflicts += 1


def merge_stores(
    sources: Sequence[str | Path], target: str | Path | None = None
) -> list[MergedSource]:
    """Add the replies of other stores and of exported files to a store, in one transaction.

    Nothing in a source is trusted: each reply's key must be the address of its request, and no
    SQL of a source is run. All sources are read and checked before the target is opened.

    Args:
        sources: judgement stores or files that `export_store` wrote.
        target: the store, made where there is none; `default_store_path()` without.

    Raises:
        InputError: a source cannot be read or is not what it must be; the target is as it was.
        PnyxError: the target cannot be written.
    """
    target = default_store_path() if target is None else Path(target)
    merged = [MergedSource(str(source)) for source in sources]
    for source in merged:
        if is_same_file(target, source.path):
            raise InputError("a store cannot be merged into itself", path=source.path)
    with _Staging() as staging:
        for number, source in enumerate(merged):
            staging.add(number, _checked_rows(source.path))
        with Store(target) as store, store.transaction():
            for number, columns in staging.rows():
                merged[number].count(store.put_columns(columns))
    return merged


class _Staging:
    """Checked rows on disk, in a file without a name that ends with this process."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect("", isolation_level=None)
        names = ", ".join(COLUMNS)
        self._connection.execute(f"CREATE TABLE staged (source, {names})")

    def __enter__(self) -> _Staging:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def add(self, source: int, rows: Iterator[StoredRow]) -> None:
        marks = ", ".join("?" * (len(COLUMNS) + 1))
        with self._errors():
            self._connection.execute("BEGIN")
            self._connection.executemany(
                f"INSERT INTO staged VALUES ({marks})",  # noqa: S608
                ((source, *row.columns()) for row in rows),
            )
            self._connection.execute("COMMIT")

    def rows(self) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Yield (source, columns) in the order in which they were added."""
        with self._errors():
            for source, *columns in self._connection.execute("SELECT * FROM staged ORDER BY rowid"):
                yield source, tuple(columns)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise PnyxError(f"the temporary file for merging: {shorten(str(error))}") from error


def _checked_rows(source: str) -> Iterator[StoredRow]:
    """Yield the rows of a store or of an exported file whose keys are right."""
    if not read_head(source, len(_SQLITE_MAGIC)).startswith(_SQLITE_MAGIC):
        yield from _rows_of_lines(source)
        return
    if source == "-" or not _starts_with_magic(source):
        raise InputError(
            "found a compressed store, or one that comes through a pipe, expected it as a file",
            path=source,
        )
    with Store(source, read_only=True) as store:
        for row in store.rows():
            try:
                row.check_key()
            except (ValueError, RecursionError) as error:
                raise InputError(f"reply {shorten(row.key, 70)}: {error}", path=source) from error
            yield row


def _rows_of_lines(source: str) -> Iterator[StoredRow]:
    for number, line in read_lines(source):
        if not line.strip():
            continue
        value = parse_json_object(line, path=source, number=number, keep_surrogates=True)
        try:
            row = row_from_object(value)
            row.check_key()
        except (ValueError, RecursionError) as error:
            raise InputError(str(error), path=source, line=number) from error
        yield row


def _starts_with_magic(path: str) -> bool:
    """Whether the file itself is SQLite, and not what it holds compressed."""
    if not Path(path).is_file():
        return False
    with Path(path).open("rb") as stream:
        return stream.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC
