"""The judgement store: every reply of a language model, paid for once (docs/decisions).

One SQLite file that people may query themselves. A reply is addressed by what was asked, not by
where: the same model behind another address finds the same replies.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pnyx._version import __version__
from pnyx.errors import InputError, PnyxError, shorten
from pnyx.models.replies import ChatRequest, Reply, Token

__all__ = ["Store", "StoredReply", "default_store_path", "request_key"]

_APPLICATION_ID = 0x706E7978  # "pnyx", in the header of the file
_BUSY_SECONDS = 30.0

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
)
"""Applied in order, each once; append, never edit. The number of the last is the file's version."""


def request_key(model: str, request: ChatRequest) -> str:
    """Return the address of a request: SHA-256 over the model and all that decides the reply."""
    content = {"model": model, **request.canonical()}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


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

    Raises:
        InputError: the file is no judgement store, or one of a newer Pnyx.
        PnyxError: it cannot be opened or written.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = default_store_path() if path is None else Path(path)
        self._lock = threading.Lock()
        with self._errors():
            # The store holds people's documents: others on the machine need not read them.
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._connection = sqlite3.connect(
                self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
        try:
            with self._errors():
                self._open()
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

    def close(self) -> None:
        """Close the file; the store cannot be used any more."""
        with self._lock:
            self._connection.close()

    def get(self, key: str) -> StoredReply | None:
        """Return the reply at `key`, or None."""
        with self._lock, self._errors():
            row = self._connection.execute(
                "SELECT reply_text, finish_reason, reply_model, usage, response_format, tokens,"
                " created_at, pnyx_version FROM replies WHERE key = ?",
                (key,),
            ).fetchone()
        if row is None:
            return None
        text, finish, model, usage, response_format, tokens, created_at, version = row
        reply = Reply(
            text, finish, model, json.loads(usage), response_format, _unpacked_tokens(tokens)
        )
        return StoredReply(reply, created_at, version)

    def put(self, key: str, model: str, request: ChatRequest, reply: Reply) -> None:
        """Commit a reply. Where another process was faster, its reply stays and counts."""
        row = (
            key,
            model,
            json.dumps(request.canonical(), sort_keys=True),
            reply.text,
            reply.finish_reason,
            reply.model,
            json.dumps(dict(reply.usage), sort_keys=True),
            reply.response_format,
            _now(),
            __version__,
            _packed_tokens(reply.tokens),
        )
        marks = ",".join("?" * len(row))
        with self._lock, self._errors():
            self._connection.execute(f"INSERT OR IGNORE INTO replies VALUES ({marks})", row)  # noqa: S608

    def _open(self) -> None:
        execute = self._connection.execute
        (tables,) = execute("SELECT count(*) FROM sqlite_master").fetchone()
        (application,) = execute("PRAGMA application_id").fetchone()
        if tables and application != _APPLICATION_ID:
            raise InputError(
                "found an SQLite database of another program, expected a judgement store",
                path=self.path,
            )
        self._use_wal()
        execute("PRAGMA synchronous = NORMAL")
        self._migrate()

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
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        try:
            execute(
                "CREATE TABLE IF NOT EXISTS _pnyx_migrations"
                " (number INTEGER PRIMARY KEY, applied_at TEXT NOT NULL,"
                " pnyx_version TEXT NOT NULL)"
            )
            (done,) = execute("SELECT coalesce(max(number), 0) FROM _pnyx_migrations").fetchone()
            if done > len(_MIGRATIONS):
                raise InputError(
                    f"found a judgement store of version {done}, expected at most "
                    f"{len(_MIGRATIONS)}: it was written by a newer pnyx",
                    path=self.path,
                )
            for number, statement in enumerate(_MIGRATIONS[done:], start=done + 1):
                execute(statement)
                execute(
                    "INSERT INTO _pnyx_migrations VALUES (?, ?, ?)", (number, _now(), __version__)
                )
            execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn the errors of SQLite and of the file system into one line."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
                raise InputError(
                    "found a file that is not SQLite, expected a judgement store", path=self.path
                ) from error
            raise PnyxError(self._problem(str(error))) from error
        except OSError as error:
            raise PnyxError(self._problem(str(error.strerror))) from error

    def _problem(self, detail: str) -> str:
        place = shorten(str(self.path), 200)
        return f"{place}: the judgement store cannot be used: {shorten(detail)}"


def _packed_tokens(tokens: tuple[Token, ...] | None) -> bytes | None:
    if tokens is None:
        return None
    plain = [[token.text, token.alternatives] for token in tokens]
    return zlib.compress(json.dumps(plain, separators=(",", ":")).encode())


def _unpacked_tokens(packed: bytes | None) -> tuple[Token, ...] | None:
    if packed is None:
        return None
    plain = json.loads(zlib.decompress(packed))
    return tuple(Token(text, tuple((a, p) for a, p in others)) for text, others in plain)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
