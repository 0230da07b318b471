"""The judgement store: every reply of a language model, paid for once, in one SQLite file.

The key of a reply depends on the request, not on the address
(docs/explain/decisions/judgement-store.md).
"""

from __future__ import annotations

import contextlib
import os
import platform
import secrets
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pnyx._version import __version__
from pnyx.core.errors import InputError, PnyxError, escaped, shorten
from pnyx.judging.answers import now
from pnyx.judging.store.rows import COLUMNS, StoredRow, reply_from_columns, row_from_columns
from pnyx.judging.store.schema import (
    APPLICATION_ID,
    FAILURE_COLUMNS,
    FIRST_WITH_CHECKSUMS,
    FIRST_WITH_FAILURES,
    MIGRATIONS,
    check_plain,
    check_tables,
    checksum,
    file_state,
    migrate,
    open_read_only,
    open_writable,
    selected,
    use_wal,
)
from pnyx.models.chat.types import ChatRequest, Reply

Outcome = Literal["added", "present", "conflict"]
"""Result for a row: added; already present; in conflict with another stored reply."""

_ROWS_AT_ONCE = 16

_MARKS = ", ".join("?" * (len(COLUMNS) + 1))
_INTO = f"INTO replies ({', '.join(COLUMNS)}, checksum) VALUES ({_MARKS})"
_INSERT, _REPLACE = f"INSERT OR IGNORE {_INTO}", f"INSERT OR REPLACE {_INTO}"
_FAILURE = ", ".join((*FAILURE_COLUMNS, "checksum"))

UNREADABLE = "unreadable"
"""First word of the failure that records an unreadable stored reply."""

CLAIM_SECONDS = 30.0
"""How long a claim of a process on another machine is valid without renewal."""
_CLAIM = (
    "INSERT INTO claims VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE"
    " SET owner = excluded.owner, expires = excluded.expires"
    " WHERE owner = excluded.owner OR expires < ? OR owner = ?"
)

_ON_DAMAGE = "the next run asks it again; pnyx store --damaged --delete deletes it"


def default_store_path() -> Path:
    """Return `$PNYX_STORE`, else `pnyx/judgements.sqlite` in the user's data folder."""
    named = os.environ.get("PNYX_STORE")
    if named:
        return Path(named)
    home = os.environ.get("XDG_DATA_HOME")
    base = Path(home) if home and Path(home).is_absolute() else Path.home() / ".local" / "share"
    return base / "pnyx" / "judgements.sqlite"


def claimant() -> str:
    """Return a name for an owner of claims: the machine, the process and a number."""
    return f"{platform.node()}/{os.getpid()}/{secrets.token_hex(8)}"


def _is_dead(owner: str) -> bool:
    """Whether the owner of a claim is known to have ended; False for other machines."""
    machine, _, rest = owner.rpartition("/")[0].rpartition("/")
    if machine != platform.node() or not rest.isdecimal() or sys.platform == "win32":
        return False
    try:
        os.kill(int(rest), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


@dataclass(frozen=True, slots=True)
class StoredReply:
    """A reply from the store, with the time (UTC, ISO 8601) and Pnyx version of its request."""

    reply: Reply
    created_at: str
    pnyx_version: str


class Store:
    """Replies on disk. Several processes and threads may use one file at the same time.

    A `put` is committed when it returns: killing the process later loses nothing. (A power cut may
    lose the last replies, never the file.)

    Args:
        path: the file; by default `default_store_path()`.
        read_only: the file must exist and is not changed. It may be on read-only media, from an
            older Pnyx, or from someone else: nothing in it is executed. (SQLite may create its
            `-wal` and `-shm` files next to it.)

    Attributes:
        version: version of its layout.
        damaged: keys of damaged replies that `get` found -> what is wrong with them.

    Raises:
        InputError: the file is not a store, is from a newer Pnyx, or (`read_only`) does not exist.
        PnyxError: it cannot be opened or written.
    """

    def __init__(self, path: str | Path | None = None, *, read_only: bool = False) -> None:
        self.path = default_store_path() if path is None else Path(path)
        self.version = len(MIGRATIONS)
        self.damaged: dict[str, str] = {}
        self._unwatched: tuple[int, ...] | None = None
        self._lock = threading.RLock()
        with self._errors():
            if read_only:
                # SQLite assumes that such a file does not change; this class checks that.
                state = file_state(self.path)
                self._connection, unchanging = open_read_only(self.path)
                self._unwatched = state if unchanging else None
            else:
                self._connection = open_writable(self.path)
        try:
            with self._errors():
                # A damaged text is detected by its checksum, and can then still be deleted.
                self._connection.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
                # A schema written by someone else may only call plain functions.
                self._connection.execute("PRAGMA trusted_schema = OFF")
                self._check_application()
                if read_only:
                    self._check_tables()
                else:
                    use_wal(self._connection)
                    self._migrate()
        except BaseException:
            self._connection.close()
            raise

    @classmethod
    def for_reading(cls, path: str | Path | None = None) -> Store:
        """Open a store read-only; if it does not exist, an empty one in memory."""
        named = default_store_path() if path is None else Path(path)
        if os.path.lexists(named):
            return cls(named, read_only=True)
        store = cls(":memory:")
        store.path = named
        return store

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        ((count,),) = self.execute("SELECT count(*) FROM replies")
        return int(count)

    def close(self) -> None:
        """Close the file; the store cannot be used afterwards."""
        with self._lock:
            self._connection.close()

    def get(self, key: str) -> StoredReply | None:
        """Return the reply at `key`, or None; a damaged one is recorded, and `put` replaces it."""
        select = f"SELECT {', '.join(selected(self.version))} FROM replies WHERE key = ?"  # noqa: S608
        try:
            return next(map(self._sound, self.execute(select, (key,))), None)
        except ValueError as error:
            self.damaged[key] = str(error)
            return None

    def row(self, key: str) -> StoredRow | None:
        """Return the request and the reply at `key`, or None.

        ValueError if it is damaged, or is the reply to another request.
        """
        for values, _, damage in self.scan("WHERE key = ?", (key,)):
            if damage is not None:
                raise ValueError(damage)
            read = row_from_columns(values)
            read.check_key()
            return read
        return None

    def put(self, key: str, model: str, request: ChatRequest, reply: Reply) -> None:
        """Commit a reply. If another process was faster, its reply is kept and used."""
        self._insert(StoredRow(key, model, request, reply, now(), __version__).columns())

    def replace(self, key: str, model: str, request: ChatRequest, reply: Reply) -> None:
        """Commit a reply that replaces the one at its key."""
        columns = StoredRow(key, model, request, reply, now(), __version__).columns()
        self.execute(_REPLACE, (*columns, checksum(columns)))

    def put_failure(self, key: str, model: str, reason: str) -> None:
        """Commit why a request got no reply; the request will still be sent again."""
        values = (key, model, reason, now(), __version__)
        self.execute(
            f"INSERT OR REPLACE INTO failures ({_FAILURE}) VALUES (?, ?, ?, ?, ?, ?)",  # noqa: S608
            (*values, checksum(values)),
        )

    def failure(self, key: str) -> str | None:
        """Return why the last attempt at a request failed, or None."""
        if self.version < FIRST_WITH_FAILURES:
            return None
        rows = self.execute("SELECT * FROM failures WHERE key = ?", (key,))
        return str(rows[0][2]) if rows and self._checks(rows[0]) else None

    def claim(self, key: str, owner: str) -> bool:
        """Whether `owner` (`claimant()`) may send a request now, because nobody else is sending it.

        A claim is valid until it is released, its process has ended, or `CLAIM_SECONDS` after its
        last renewal. Its owner may renew it.
        """
        with self._lock, self._errors():
            values = (key, owner, time.time() + CLAIM_SECONDS)
            if self._connection.execute(_CLAIM, (*values, time.time(), "")).rowcount == 1:
                return True
            last = self.holder(key)
            if last and not _is_dead(last):
                return False
            return self._connection.execute(_CLAIM, (*values, 0.0, last)).rowcount == 1

    def holder(self, key: str) -> str:
        """Return the owner of the claim on a request, or ""."""
        rows = self.execute("SELECT owner FROM claims WHERE key = ?", (key,))
        return str(rows[0][0]) if rows else ""

    def release(self, key: str, owner: str) -> None:
        """Release a claim."""
        self.execute("DELETE FROM claims WHERE key = ? AND owner = ?", (key, owner))

    def put_columns(self, columns: Sequence[Any]) -> Outcome:
        """Add a row (`StoredRow.columns()`), its key unchecked; an existing row is kept."""
        with self._lock:
            if self._insert(columns):
                return "added"
            ((text,),) = self.execute("SELECT reply_text FROM replies WHERE key = ?", columns[:1])
        return "present" if text == columns[COLUMNS.index("reply_text")] else "conflict"

    def rows(self, *, model: str | None = None, skip_damaged: bool = False) -> Iterator[StoredRow]:
        """Yield all rows, or those of one model, by key, each checked.

        Rows added meanwhile may or may not be included. InputError if a row is damaged (unless
        skipped) or was written by a newer Pnyx.
        """
        which = ("", ()) if model is None else ("WHERE model = ?", (model,))
        for values, _, damage in self.scan(*which):
            try:
                if damage is not None:
                    raise ValueError(f"{damage}; {_ON_DAMAGE}")
                yield row_from_columns(values)
            except ValueError as error:
                if not skip_damaged:
                    problem = f"reply {shorten(values[0], 70)}: {error}"
                    raise InputError(problem, path=self.path) from error

    def scan(
        self, where: str = "", values: Sequence[Any] = ()
    ) -> Iterator[tuple[tuple[Any, ...], StoredReply | None, str | None]]:
        """Yield the values of `COLUMNS`, and the reply or what is wrong with it, by key.

        `where` is a condition in SQL, `WHERE` included, with its parameters in `values`.
        """
        names = ", ".join(selected(self.version))
        select = f"SELECT {names} FROM replies {where} ORDER BY key"  # noqa: S608
        with self._lock, self._errors():
            cursor = self._connection.execute(select, values)
        with contextlib.closing(cursor):
            while True:
                with self._lock, self._errors():
                    batch = cursor.fetchmany(_ROWS_AT_ONCE)
                    self._check_unwatched()
                if not batch:
                    return
                for row in batch:
                    reply, damage = None, None
                    try:
                        reply = self._sound(row)
                    except ValueError as error:
                        damage = str(error)
                    yield row[:-1], reply, damage

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement of SQL over the table `replies` and return its rows."""
        with self._lock, self._errors():
            rows = self._connection.execute(statement, parameters).fetchall()
            self._check_unwatched()
            return rows

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all changes inside at once, or none of them after an error."""
        with self._lock:
            self.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    def _checks(self, row: Sequence[Any]) -> bool:
        """Whether a row's checksum matches; old stores get checksums when they are written."""
        return self.version < FIRST_WITH_CHECKSUMS or checksum(row[:-1]) == row[-1]

    def _sound(self, row: Sequence[Any]) -> StoredReply:
        """Return the reply in a row; ValueError if it is damaged."""
        if not self._checks(row):
            raise ValueError("is damaged (its checksum does not fit)")
        try:
            return StoredReply(*reply_from_columns(row[:-1]))
        except ValueError as error:
            raise ValueError(f"is damaged ({error})") from error

    def _insert(self, columns: Sequence[Any]) -> bool:
        """Whether the row was added; only a damaged one is replaced."""
        values = (*columns, checksum(columns))
        with self._lock, self._errors():
            if self._connection.execute(_INSERT, values).rowcount == 1:
                return True
            if self.get(columns[0]) is not None:
                return False
        with self.transaction() if not self._connection.in_transaction else self._lock:
            if self.get(columns[0]) is not None:  # another process was faster
                return False
            self.execute(_REPLACE, values)
            return True

    def _check_unwatched(self) -> None:
        """Raise PnyxError if the file changed while SQLite assumed that it does not."""
        if self._unwatched is not None and self._unwatched != file_state(self.path):
            raise PnyxError(self._problem("it was written while it was read; run this again"))

    def _check_application(self) -> None:
        ((tables,),) = self.execute("SELECT count(*) FROM sqlite_master")
        ((application,),) = self.execute("PRAGMA application_id")
        if tables and application != APPLICATION_ID:
            raise InputError(
                "found an SQLite database of another program, expected a judgement store",
                path=self.path,
            )

    def _check_tables(self) -> None:
        self.execute("PRAGMA cell_size_check = ON")
        try:
            check_plain(self.execute, "_pnyx_migrations")
            self.version = self._migrations_done()
            check_tables(self.execute, self.version)
        except ValueError as error:
            raise InputError(
                "found an SQLite database without the tables of a judgement store", path=self.path
            ) from error

    def _migrate(self) -> None:
        with self.transaction():
            self.execute(
                "CREATE TABLE IF NOT EXISTS _pnyx_migrations"
                " (number INTEGER PRIMARY KEY, applied_at TEXT NOT NULL,"
                " pnyx_version TEXT NOT NULL)"
            )
            migrate(self.execute, self._migrations_done())

    def _migrations_done(self) -> int:
        ((done,),) = self.execute("SELECT coalesce(max(number), 0) FROM _pnyx_migrations")
        if type(done) is int and 0 <= done <= len(MIGRATIONS):
            return done
        raise InputError(
            f"found a judgement store of version {shorten(done, 20)}, expected at most "
            f"{len(MIGRATIONS)}: it was written by a newer pnyx",
            path=self.path,
        )

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Convert errors of SQLite and of the file system to one line."""
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
        path = escaped(str(self.path))
        return f"{path}: the judgement store cannot be used: {shorten(detail)}"
