"""The SQLite file of a judgement store: opening it, its tables, updates of old ones."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from pnyx._version import __version__
from pnyx.core.errors import InputError, PnyxError, escaped
from pnyx.core.placement import make_folder
from pnyx.judging.answers import now
from pnyx.judging.store.rows import COLUMNS

APPLICATION_ID = 0x706E7978  # "pnyx", in the header of the file

Execute: TypeAlias = Callable[..., list[tuple[Any, ...]]]
"""`Store.execute`."""

FAILURE_COLUMNS = ("key", "model", "reason", "created_at", "pnyx_version")
FIRST_WITH_FAILURES, FIRST_WITH_CHECKSUMS = 3, 4
_FIRST_WITH_TOKENS = 2
_ROWS_AT_ONCE = 64
_BUSY_SECONDS = 30.0
_MAX_VALUE_BYTES = 64 * 1024 * 1024
"""A store that is only read may be from someone else; SQLite refuses longer values in it."""


def open_writable(path: Path) -> sqlite3.Connection:
    """Open a store for reading and writing; create it if it does not exist."""
    # The store contains people's documents: other users of the machine need not read them.
    make_folder(path.parent, 0o700)
    return _connected(path)


def open_read_only(path: Path) -> tuple[sqlite3.Connection, bool]:
    """Open a store that is not changed; if SQLite opens it immutable, watch `file_state`."""
    if not path.is_file():
        problem = "is not a file" if path.exists() else "does not exist"
        raise InputError(f"{problem}, expected a judgement store", path=path)
    connection = _reader(path, "mode=ro")
    try:
        connection.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.OperationalError as error:
        connection.close()
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
        log = path.resolve()
        log = log.with_name(log.name + "-wal")
        if log.exists() and log.stat().st_size:
            raise PnyxError(
                f"{escaped(str(path))}: its last replies are in {escaped(log.name)}, "
                "which cannot be read in a folder that cannot be written: copy both elsewhere"
            ) from error
        # Without a log, no process is writing now.
        return _reader(path, "immutable=1"), True
    except BaseException:
        connection.close()
        raise
    return connection, False


def _reader(path: Path, mode: str) -> sqlite3.Connection:
    connection = _connected(f"{path.absolute().as_uri()}?{mode}", uri=True)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
    return connection


def _connected(path: Path | str, *, uri: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(
        path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, uri=uri
    )


def use_wal(connection: sqlite3.Connection) -> None:
    """Switch to the write-ahead log; SQLite does not wait if others do the same."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            break
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA cache_size = -16000")  # KiB


def file_state(path: Path) -> tuple[int, ...] | None:
    """Return values that change when a file is written or replaced; None if it does not exist."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def checksum(values: Sequence[object]) -> bytes:
    """Return 16 bytes that change with any value of a row, and with its type."""
    parts = list[bytes]()
    for value in values:
        if isinstance(value, str):
            content = value.encode("utf-8", "surrogateescape")
        else:
            content = value if isinstance(value, bytes) else repr(value).encode()
        parts += (b"%s:%d:" % (type(value).__name__.encode(), len(content)), content)
    return hashlib.blake2b(b"".join(parts), digest_size=16, person=b"pnyx-store").digest()


def key_matches(key: object) -> tuple[str, object]:
    """Return the SQL condition and the parameter for the row of a key that may be damaged."""
    if isinstance(key, str):
        return "key = CAST(? AS TEXT)", key.encode("utf-8", "surrogateescape")
    return "key = ?", key


def selected(version: int) -> tuple[str, ...]:
    """Return the selected columns of `replies`: `COLUMNS` and the checksum; NULL if missing."""
    tokens = COLUMNS[-1] if version >= _FIRST_WITH_TOKENS else "NULL"
    return (*COLUMNS[:-1], tokens, "checksum" if version >= FIRST_WITH_CHECKSUMS else "NULL")


def _add_checksums(execute: Execute) -> None:
    for table, columns in (("replies", COLUMNS), ("failures", FAILURE_COLUMNS)):
        execute(f"ALTER TABLE {table} ADD COLUMN checksum BLOB")
        for row in _rows(execute, table, columns):
            condition, key = key_matches(row[0])
            update = f"UPDATE {table} SET checksum = ? WHERE {condition}"  # noqa: S608
            execute(update, (checksum(row), key))


def _rows(execute: Execute, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield all rows in the order of their keys; they may be changed meanwhile."""
    select = f"SELECT {', '.join(columns)} FROM {table}"  # noqa: S608
    end = f"ORDER BY key LIMIT {_ROWS_AT_ONCE}"
    rows = execute(f"{select} {end}")
    while rows:
        yield from rows
        condition, key = key_matches(rows[-1][0])
        rows = execute(f"{select} WHERE {condition.replace('=', '>', 1)} {end}", (key,))


MIGRATIONS: tuple[str | Callable[[Execute], None], ...] = (
    """
    CREATE TABLE replies (
        key             TEXT PRIMARY KEY,
        model           TEXT NOT NULL,
        request         TEXT NOT NULL,
        reply_text      TEXT NOT NULL,
        finish_reason   TEXT NOT NULL,
        reply_model     TEXT NOT NULL,
        usage           TEXT NOT NULL,
        response_format TEXT NOT NULL,
        created_at      TEXT NOT NULL,
        pnyx_version    TEXT NOT NULL
    ) WITHOUT ROWID
    """,
    # Compressed JSON: [[token, [[alternative, logprob], ...]], ...]; NULL if there are none.
    "ALTER TABLE replies ADD COLUMN tokens BLOB",
    # Why the last attempt at a request failed: shown if nothing is to be sent.
    """
    CREATE TABLE failures (
        key             TEXT PRIMARY KEY,
        model           TEXT NOT NULL,
        reason          TEXT NOT NULL,
        created_at      TEXT NOT NULL,
        pnyx_version    TEXT NOT NULL
    ) WITHOUT ROWID
    """,
    _add_checksums,
    # Who is sending a request now, so that nobody else does. `expires` is in seconds since 1970.
    """
    CREATE TABLE claims (
        key             TEXT PRIMARY KEY,
        owner           TEXT NOT NULL,
        expires         REAL NOT NULL
    ) WITHOUT ROWID
    """,
)
"""Applied in order, each once; append, never edit. The number of the last is the file's version."""


def migrate(execute: Execute, done: int) -> None:
    """Update a store of version `done`; the caller holds a transaction."""
    for number, change in enumerate(MIGRATIONS[done:], start=done + 1):
        if isinstance(change, str):
            execute(change)
        else:
            change(execute)
        execute("INSERT INTO _pnyx_migrations VALUES (?, ?, ?)", (number, now(), __version__))
    execute(f"PRAGMA application_id = {APPLICATION_ID}")


def check_tables(execute: Execute, version: int) -> None:
    """Raise ValueError unless the tables of a store, perhaps from someone else, are valid."""
    last = ("checksum",) if version >= FIRST_WITH_CHECKSUMS else ()
    expected = {"replies": tuple(name for name in selected(version) if name != "NULL")}
    if version >= FIRST_WITH_FAILURES:
        expected["failures"] = (*FAILURE_COLUMNS, *last)
    for table, columns in expected.items():
        check_plain(execute, table)
        rows = execute("SELECT name, hidden, pk FROM pragma_table_xinfo(?) ORDER BY cid", (table,))
        names = tuple(name for name, _, _ in rows)
        if names != columns or any(hidden for _, hidden, _ in rows) or rows[0][2] != 1:
            raise ValueError(f"the columns of {table}")


def check_plain(execute: Execute, table: str) -> None:
    """Check that a table exists and is neither a view nor virtual; ValueError if not."""
    plain = execute(
        "SELECT count(*) FROM sqlite_master WHERE name = ? AND type = 'table' AND rootpage > 0",
        (table,),
    )
    if plain != [(1,)]:
        raise ValueError(table)
