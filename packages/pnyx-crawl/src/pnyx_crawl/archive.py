"""What was searched and fetched for one corpus: an SQLite file, committed before anything is used.

If the process is killed, nothing is lost and the same command continues; a power cut may lose only
the last commits.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pnyx.core.errors import InputError, PnyxError, escaped, shorten
from pnyx.formats.runs.search_results import SearchResult, result_row
from pnyx_crawl.fetch_result import TEXT, Fetched

_APPLICATION_ID = 0x706E7977  # "pnyw", in the header of the file
_VERSION = 1
_ROBOTS_SECONDS = 24 * 3600  # RFC 9309, 2.4
_TABLES = """
CREATE TABLE searches (
    api          TEXT NOT NULL,
    query        TEXT NOT NULL,
    count        INTEGER NOT NULL,
    page         INTEGER NOT NULL,
    results      TEXT NOT NULL,
    raw          BLOB NOT NULL,
    retrieved_at TEXT NOT NULL,
    PRIMARY KEY (api, query, count, page)
) WITHOUT ROWID;
CREATE TABLE pages (
    url          TEXT PRIMARY KEY,
    outcome      TEXT NOT NULL,
    detail       TEXT NOT NULL,
    final_url    TEXT NOT NULL,
    status       INTEGER,
    content_type TEXT NOT NULL,
    retrieved_at TEXT NOT NULL,
    body         BLOB NOT NULL,
    title        TEXT NOT NULL,
    text         BLOB NOT NULL
);
CREATE TABLE robots (
    origin       TEXT PRIMARY KEY,
    state        TEXT NOT NULL,
    text         TEXT,
    read_at      REAL NOT NULL
);
"""
PAGE_FIELDS = ("url", "outcome", "detail", "final_url", "status", "content_type", "retrieved_at")


class Archive:
    """Searches, pages and robots.txt files of one corpus; one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._errors():
            self._connection = sqlite3.connect(
                path, timeout=0, isolation_level=None, check_same_thread=False
            )
        try:
            with self._errors():
                self._open()
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def _open(self) -> None:
        execute = self._connection.execute
        execute("PRAGMA trusted_schema = OFF")
        execute("PRAGMA locking_mode = EXCLUSIVE")  # locked until the process ends, however it ends
        ((application,),) = execute("PRAGMA application_id")
        ((version,),) = execute("PRAGMA user_version")
        ((tables,),) = execute("SELECT count(*) FROM sqlite_master")
        if tables and application != _APPLICATION_ID:
            raise InputError("is not an archive of pnyx files web", path=self.path)
        if version > _VERSION:
            raise InputError("was written by a newer version of pnyx", path=self.path)
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = NORMAL")
        execute("BEGIN EXCLUSIVE")
        if not tables:
            for statement in _TABLES.split(";"):
                execute(statement)
            execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            execute(f"PRAGMA user_version = {_VERSION}")
        execute("COMMIT")

    # --- searches

    def search(self, api: str, query: str, count: int, page: int) -> list[SearchResult] | None:
        """Return one page of results, if the search was made already."""
        stored = self._one(
            "SELECT results FROM searches WHERE api = ? AND query = ? AND count = ? AND page = ?",
            (api, query, count, page),
        )
        if stored is None:
            return None
        with self._errors():
            return [SearchResult(**row) for row in json.loads(stored[0])]

    def keep_search(
        self,
        api: str,
        query: str,
        count: int,
        page: int,
        results: list[SearchResult],
        raw: bytes,
        retrieved_at: str,
    ) -> None:
        """Commit one page of results, with the raw response."""
        rows = json.dumps([result_row(result) for result in results])
        self._do(
            "INSERT OR REPLACE INTO searches VALUES (?, ?, ?, ?, ?, ?, ?)",
            (api, query, count, page, rows, zlib.compress(raw), retrieved_at),
        )

    def searched_at(self, api: str, query: str, count: int) -> str:
        """Return when the last page of results was retrieved."""
        row = self._one(
            "SELECT max(retrieved_at) FROM searches WHERE api = ? AND query = ? AND count = ?",
            (api, query, count),
        )
        return str(row[0] or "") if row else ""

    # --- pages

    def page(self, url: str, *, body: bool = False, text: bool = False) -> Fetched | None:
        """Return the outcome of an address that was requested; with its body or text if wanted."""
        more = (*(["body"] if body else []), *(["title", "text"] if text else []))
        select = f"SELECT {', '.join((*PAGE_FIELDS, *more))} FROM pages WHERE url = ?"  # noqa: S608
        row = self._one(select, (url,))
        if row is None:
            return None
        page = dict(zip((*PAGE_FIELDS, *more), row, strict=True))
        with self._errors():
            if body:
                page["body"] = _unpacked(page["body"])
            if text:
                page["text"] = _unpacked(page["text"]).decode()
            return Fetched(**page)

    def keep_page(self, page: Fetched) -> None:
        """Commit the outcome of an address, its body included."""
        plain = (getattr(page, name) for name in PAGE_FIELDS)
        self._do(
            "INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*plain, _packed(page.body), page.title, _packed(page.text.encode())),
        )

    def keep_text(self, page: Fetched) -> None:
        """Commit the text extracted from a stored body."""
        packed = _packed(page.text.encode() if page.outcome == TEXT else b"")
        self._do(
            "UPDATE pages SET outcome = ?, detail = ?, title = ?, text = ? WHERE url = ?",
            (page.outcome, page.detail, page.title, packed, page.url),
        )

    # --- robots.txt

    def robots(self, origin: str) -> tuple[str, str | None] | None:
        """Return the state and text of a robots.txt that was read within a day."""
        row = self._one("SELECT state, text, read_at FROM robots WHERE origin = ?", (origin,))
        if row is None or not 0 <= time.time() - row[2] < _ROBOTS_SECONDS:
            return None
        return row[0], row[1]

    def keep_robots(self, origin: str, state: str, text: str | None) -> None:
        """Commit a robots.txt."""
        self._do(
            "INSERT OR REPLACE INTO robots VALUES (?, ?, ?, ?)",
            (origin, state, text, datetime.now(UTC).timestamp()),
        )

    def _one(self, statement: str, values: tuple[Any, ...]) -> Any:
        with self._errors():
            return self._connection.execute(statement, values).fetchone()

    def _do(self, statement: str, values: tuple[Any, ...]) -> None:
        with self._errors():
            self._connection.execute(statement, values)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        path = escaped(str(self.path))
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise PnyxError(f"{path}: another process is using this corpus") from error
            raise PnyxError(f"{path}: {shorten(str(error))}") from error
        except (sqlite3.DatabaseError, zlib.error, ValueError, TypeError) as error:
            raise InputError(f"is damaged: {shorten(str(error))}", path=self.path) from error


def _packed(content: bytes) -> bytes:
    return zlib.compress(content) if content else b""


def _unpacked(content: bytes) -> bytes:
    return zlib.decompress(content) if content else b""
