"""The judgement store: every reply of a language model, paid for once (docs/decisions).

One SQLite file that people may query themselves. A reply is addressed by what was asked, not by
where: the same model behind another address finds the same replies.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pnyx._version import __version__
from pnyx.errors import InputError, PnyxError, shorten
from pnyx.judge.store_rows import (
    COLUMNS,
    StoredRow,
    request_key,
    row_from_columns,
    unpack_tokens,
)
from pnyx.models.replies import ChatRequest, Reply

__all__ = ["Outcome", "Store", "StoredReply", "StoredRow", "default_store_path", "request_key"]

Outcome = Literal["added", "present", "conflict"]
"""What became of a row: added; its reply was there; another reply to the same request stays."""

_APPLICATION_ID = 0x706E7978  # "pnyx", in the header of the file
_BUSY_SECONDS = 30.0
_MAX_VALUE_BYTES = 64 * 1024 * 1024
"""A store that is only read may be a stranger's; SQLite refuses a longer value in it."""
_ROWS_AT_ONCE = 16

_MIGRATIONS = (
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
)
"""Applied in order, each once; append, never edit. The number of the last is the file's version."""

_INSERT = f"INSERT OR IGNORE INTO replies VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608


def default_store_path() -> Path:
    """Return `$PNYX_STORE`, else `pnyx/judgements.sqlite` in the user's data folder."""
    named = os.environ.get("PNYX_STORE")
    if named:
        return Path(named)
    home = os.environ.get("XDG_DATA_HOME")
    base = Path(home) if home and Path(home).is_absolute() else Path.home() / ".local" / "share"
    return base / "pnyx" / "judgements.sqlite"


@dataclass(frozen=True, slots=True)
class StoredReply:
    """A reply out of the store, with when (UTC, ISO 8601) and by which Pnyx it was asked for."""

    reply: Reply
    created_at: str
    pnyx_version: str


class Store:
    """Replies on disk. Several processes and threads may use one file at the same time.

    A `put` is committed when it returns: killing the process at any later moment loses nothing.
    (The write-ahead log is not flushed to the disk on each commit; a power cut may lose the last
    replies, never the file.)

    Args:
        path: the file; `default_store_path()` without.
        read_only: the file must exist and is not changed, so that it may lie on read-only media,
            be of an older Pnyx, or come from a stranger: nothing in it is executed. (SQLite may
            put its `-wal` and `-shm` files beside it.)

    Raises:
        InputError: the file is no judgement store, one of a newer Pnyx, or (`read_only`) missing.
        PnyxError: it cannot be opened or written.
    """

    def __init__(self, path: str | Path | None = None, *, read_only: bool = False) -> None:
        self.path = default_store_path() if path is None else Path(path)
        self.version = len(_MIGRATIONS)
        self._tokens = "tokens"
        self._lock = threading.RLock()
        with self._errors():
            self._connection = self._connected_read_only() if read_only else self._connected()
        try:
            with self._errors():
                # Nothing that a stranger wrote into the schema may call more than plain functions.
                self._connection.execute("PRAGMA trusted_schema = OFF")
                self._check_application()
                if read_only:
                    self._check_tables()
                else:
                    self._use_wal()
                    self._connection.execute("PRAGMA synchronous = NORMAL")
                    self._connection.execute("PRAGMA cache_size = -16000")  # KiB
                    self._migrate()
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        with self._lock, self._errors():
            (count,) = self._connection.execute("SELECT count(*) FROM replies").fetchone()
        return int(count)

    @property
    def has_tokens(self) -> bool:
        """Whether the file has the column of token alternatives; old ones lack it."""
        return self._tokens == "tokens"

    def close(self) -> None:
        """Close the file; the store cannot be used any more."""
        with self._lock:
            self._connection.close()

    def get(self, key: str) -> StoredReply | None:
        """Return the reply at `key`, or None."""
        with self._lock, self._errors():
            row = self._connection.execute(
                "SELECT reply_text, finish_reason, reply_model, usage, response_format,"  # noqa: S608
                f" {self._tokens}, created_at, pnyx_version FROM replies WHERE key = ?",
                (key,),
            ).fetchone()
        if row is None:
            return None
        text, finish, model, usage, response_format, tokens, created_at, version = row
        reply = Reply(
            text, finish, model, json.loads(usage), response_format, unpack_tokens(tokens)
        )
        return StoredReply(reply, created_at, version)

    def put(self, key: str, model: str, request: ChatRequest, reply: Reply) -> None:
        """Commit a reply. Where another process was faster, its reply stays and counts."""
        self._insert(StoredRow(key, model, request, reply, _now(), __version__).columns())

    def put_failure(self, key: str, model: str, reason: str) -> None:
        """Commit why a request got no reply; it is asked again all the same."""
        self.execute(
            "INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?)",
            (key, model, reason, _now(), __version__),
        )

    def failure(self, key: str) -> str | None:
        """Return why the last attempt at a request gave no reply, or None."""
        rows = self.execute("SELECT reason FROM failures WHERE key = ?", (key,))
        return str(rows[0][0]) if rows else None

    def put_row(self, row: StoredRow) -> Outcome:
        """Add a row as it is, with its date; what the store has at its key stays.

        The key is taken on trust: `StoredRow.check_key`.
        """
        return self.put_columns(row.columns())

    def put_columns(self, columns: Sequence[Any]) -> Outcome:
        """Do what `put_row` does with `StoredRow.columns()`."""
        with self._lock:
            if self._insert(columns):
                return "added"
            ((text,),) = self.execute("SELECT reply_text FROM replies WHERE key = ?", columns[:1])
        return "present" if text == columns[COLUMNS.index("reply_text")] else "conflict"

    def rows(self, *, model: str | None = None) -> Iterator[StoredRow]:
        """Yield all rows, or those of one model, in the order of their keys, each checked.

        What is put meanwhile may or may not be among them.

        Raises:
            InputError: a row is damaged, or was written by a newer Pnyx.
        """
        names = ", ".join((*COLUMNS[:-1], self._tokens))
        which = "" if model is None else " WHERE model = :model"
        with self._lock, self._errors():
            cursor = self._connection.execute(
                f"SELECT {names} FROM replies{which} ORDER BY key",  # noqa: S608
                {"model": model},
            )
        with contextlib.closing(cursor):
            while True:
                with self._lock, self._errors():
                    batch = cursor.fetchmany(_ROWS_AT_ONCE)
                if not batch:
                    return
                for values in batch:
                    try:
                        yield row_from_columns(values)
                    except ValueError as error:
                        raise InputError(
                            f"reply {shorten(values[0], 70)}: {error}", path=self.path
                        ) from error

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement of SQL over the table `replies` and return its rows."""
        with self._lock, self._errors():
            return self._connection.execute(statement, parameters).fetchall()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all that is done within at once, or, after an error, nothing of it.

        Other processes and threads wait meanwhile, for at most 30 s.
        """
        with self._lock:
            self.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    def _insert(self, columns: Sequence[Any]) -> bool:
        """Whether the row was added."""
        with self._lock, self._errors():
            return self._connection.execute(_INSERT, columns).rowcount == 1

    def _connected(self) -> sqlite3.Connection:
        # The store holds people's documents: others on the machine need not read them.
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return sqlite3.connect(
            self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )

    def _connected_read_only(self) -> sqlite3.Connection:
        if not self.path.is_file():
            found = "is no file" if self.path.exists() else "does not exist"
            raise InputError(f"{found}, expected a judgement store", path=self.path)
        connection = self._reader("mode=ro")
        try:
            connection.execute("SELECT count(*) FROM sqlite_master")
        except sqlite3.OperationalError as error:
            connection.close()
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                raise
            log = self.path.resolve()
            log = log.with_name(log.name + "-wal")
            if log.exists() and log.stat().st_size:
                raise PnyxError(
                    f"{shorten(str(self.path), 200)}: its last replies are in "
                    f"{shorten(log.name, 100)}, which cannot be read in a folder that cannot be "
                    "written: copy both elsewhere"
                ) from error
            # Read-only media: no log, so nobody writes, and SQLite need not watch for it.
            connection = self._reader("immutable=1")
        except BaseException:
            connection.close()
            raise
        return connection

    def _reader(self, mode: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?{mode}",
            uri=True,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
        return connection

    def _check_application(self) -> None:
        ((tables,),) = self.execute("SELECT count(*) FROM sqlite_master")
        ((application,),) = self.execute("PRAGMA application_id")
        if tables and application != _APPLICATION_ID:
            raise InputError(
                "found an SQLite database of another program, expected a judgement store",
                path=self.path,
            )

    def _check_tables(self) -> None:
        """Check that what will be read is plain tables: no view, no computed column."""
        self.execute("PRAGMA cell_size_check = ON")
        tables = self.execute(
            "SELECT name FROM sqlite_master WHERE lower(name) IN ('replies', '_pnyx_migrations')"
            " AND type IN ('table', 'view') AND (type = 'view' OR rootpage > 0) ORDER BY name"
        )
        columns = self.execute(
            "SELECT name, hidden, pk FROM pragma_table_xinfo('replies') ORDER BY cid"
        )
        names = tuple(name for name, _, _ in columns)
        if (
            tables != [("_pnyx_migrations",), ("replies",)]
            or any(hidden for _, hidden, _ in columns)
            or names not in (COLUMNS, COLUMNS[:-1])
            or columns[0][2] != 1
        ):
            raise InputError(
                "found an SQLite database without the tables of a judgement store", path=self.path
            )
        self.version = self._migrations_done()
        if names != COLUMNS:
            self._tokens = "NULL"  # of an older version

    def _use_wal(self) -> None:
        """Switch to the write-ahead log; SQLite does not wait by itself when others do so too."""
        deadline = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
            else:
                return

    def _migrate(self) -> None:
        with self.transaction():
            self.execute(
                "CREATE TABLE IF NOT EXISTS _pnyx_migrations"
                " (number INTEGER PRIMARY KEY, applied_at TEXT NOT NULL,"
                " pnyx_version TEXT NOT NULL)"
            )
            done = self._migrations_done()
            for number, statement in enumerate(_MIGRATIONS[done:], start=done + 1):
                self.execute(statement)
                self.execute(
                    "INSERT INTO _pnyx_migrations VALUES (?, ?, ?)", (number, _now(), __version__)
                )
            self.execute(f"PRAGMA application_id = {_APPLICATION_ID}")

    def _migrations_done(self) -> int:
        """Return the version of the file; a newer one is refused."""
        ((done,),) = self.execute("SELECT coalesce(max(number), 0) FROM _pnyx_migrations")
        if type(done) is int and 0 <= done <= len(_MIGRATIONS):
            return done
        raise InputError(
            f"found a judgement store of version {shorten(done, 20)}, expected at most "
            f"{len(_MIGRATIONS)}: it was written by a newer pnyx",
            path=self.path,
        )

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn the errors of SQLite and of the file system into one line."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            # Errors of the Python module itself (text that is not UTF-8) have no code.
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
                raise InputError(
                    "found a file that is not SQLite, expected a judgement store", path=self.path
                ) from error
            raise PnyxError(self._problem(str(error))) from error
        except (OSError, ValueError) as error:
            detail = error.strerror if isinstance(error, OSError) else error
            raise PnyxError(self._problem(str(detail))) from error

    def _problem(self, detail: str) -> str:
        place = shorten(str(self.path), 200)
        return f"{place}: the judgement store cannot be used: {shorten(detail)}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
