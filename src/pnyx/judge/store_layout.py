"""The layout of a judgement store's file: its tables, how old ones are brought up to date."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias

from pnyx._version import __version__
from pnyx.judge.store_rows import COLUMNS

__all__ = [
    "APPLICATION_ID",
    "CHECKSUM",
    "FAILURE_COLUMNS",
    "FIRST_WITH_FAILURES",
    "MIGRATIONS",
    "Execute",
    "check_plain",
    "check_tables",
    "checksum",
    "key_matches",
    "migrate",
    "now",
]

APPLICATION_ID = 0x706E7978  # "pnyx", in the header of the file

Execute: TypeAlias = Callable[..., list[tuple[Any, ...]]]
"""`Store.execute`."""

CHECKSUM = "checksum"
"""The last column of both tables: `checksum` of the others."""
FAILURE_COLUMNS = ("key", "model", "reason", "created_at", "pnyx_version")
FIRST_WITH_FAILURES = 3
_FIRST_WITH_TOKENS, _FIRST_WITH_CHECKSUMS = 2, 4
_DIGEST_BYTES = 16
_ROWS_AT_ONCE = 64


def checksum(values: Sequence[object]) -> bytes:
    """Return 16 bytes that change with any value of a row, its kind included.

    Args:
        values: as SQLite gives them; text that is no UTF-8 has `surrogateescape`.
    """
    parts = list[bytes]()
    for value in values:
        if isinstance(value, str):
            content = value.encode("utf-8", "surrogateescape")
        else:
            content = value if isinstance(value, bytes) else repr(value).encode()
        parts += (b"%s:%d:" % (type(value).__name__.encode(), len(content)), content)
    hashed = hashlib.blake2b(b"".join(parts), digest_size=_DIGEST_BYTES, person=b"pnyx-store")
    return hashed.digest()


def key_matches(key: object) -> tuple[str, object]:
    """Return the SQL condition and the parameter for the row of a key that may be damaged."""
    if isinstance(key, str):
        return "key = CAST(? AS TEXT)", key.encode("utf-8", "surrogateescape")
    return "key = ?", key


def _add_checksums(execute: Execute) -> None:
    """Give every row the checksum of what it holds now."""
    for table, columns in (("replies", COLUMNS), ("failures", FAILURE_COLUMNS)):
        execute(f"ALTER TABLE {table} ADD COLUMN {CHECKSUM} BLOB")
        for rows in _batches(execute, table, columns):
            for row in rows:
                condition, key = key_matches(row[0])
                execute(
                    f"UPDATE {table} SET {CHECKSUM} = ? WHERE {condition}",  # noqa: S608
                    (checksum(row), key),
                )


def _batches(
    execute: Execute, table: str, columns: Sequence[str]
) -> Iterator[list[tuple[Any, ...]]]:
    """Yield all rows in the order of their keys; they may be changed between two batches."""
    names = ", ".join(columns)
    select = f"SELECT {names} FROM {table}"  # noqa: S608
    end = f"ORDER BY key LIMIT {_ROWS_AT_ONCE}"
    rows = execute(f"{select} {end}")
    while rows:
        yield rows
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
    # Compressed JSON: [[token, [[alternative, logprob], ...]], ...]; NULL where none were given.
    "ALTER TABLE replies ADD COLUMN tokens BLOB",
    # Why the last attempt at a request gave no reply: shown when nothing is to be asked.
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
)
"""Applied in order, each once; append, never edit. The number of the last is the file's version."""


def migrate(execute: Execute, done: int) -> None:
    """Bring a store of version `done` up to date; the caller holds a transaction."""
    for number, change in enumerate(MIGRATIONS[done:], start=done + 1):
        if isinstance(change, str):
            execute(change)
        else:
            change(execute)
        execute("INSERT INTO _pnyx_migrations VALUES (?, ?, ?)", (number, now(), __version__))
    execute(f"PRAGMA application_id = {APPLICATION_ID}")


def check_tables(execute: Execute, version: int) -> tuple[bool, bool]:
    """Check that what will be read is plain tables with the columns of their version.

    Args:
        execute: of a store that is only read, maybe a stranger's.
        version: that it says it is of.

    Returns:
        Whether its replies have tokens, and whether rows have checksums.

    Raises:
        ValueError: it has not the tables of such a store.
    """
    tokens, checksums = version >= _FIRST_WITH_TOKENS, version >= _FIRST_WITH_CHECKSUMS
    last = (CHECKSUM,) if checksums else ()
    expected = {"replies": (*COLUMNS[:-1], *(COLUMNS[-1:] if tokens else ()), *last)}
    if version >= FIRST_WITH_FAILURES:
        expected["failures"] = (*FAILURE_COLUMNS, *last)
    for table, columns in expected.items():
        check_plain(execute, table)
        found = execute("SELECT name, hidden, pk FROM pragma_table_xinfo(?) ORDER BY cid", (table,))
        names = tuple(name for name, _, _ in found)
        if names != columns or any(hidden for _, hidden, _ in found) or found[0][2] != 1:
            raise ValueError(f"the columns of {table}")
    return tokens, checksums


def check_plain(execute: Execute, table: str) -> None:
    """Check that a table is neither a view nor virtual.

    Raises:
        ValueError: it is, or is not there.
    """
    plain = execute(
        "SELECT count(*) FROM sqlite_master WHERE name = ? AND type = 'table' AND rootpage > 0",
        (table,),
    )
    if plain != [(1,)]:
        raise ValueError(table)


def now() -> str:
    """Return the time in UTC as rows state it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
