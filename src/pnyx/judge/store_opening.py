"""Opening the SQLite file of a judgement store: to write it, or to read it wherever it lies."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from pnyx.errors import InputError, PnyxError, shorten
from pnyx.files import make_folder

__all__ = ["file_state", "open_read_only", "open_writable", "use_wal"]

_BUSY_SECONDS = 30.0
_MAX_VALUE_BYTES = 64 * 1024 * 1024
"""A store that is only read may be a stranger's; SQLite refuses a longer value in it."""


def open_writable(path: Path) -> sqlite3.Connection:
    """Open a store to read and write it; it is made where there is none."""
    # The store holds people's documents: others on the machine need not read them.
    make_folder(path.parent, 0o700)
    return sqlite3.connect(
        path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )


def open_read_only(path: Path) -> tuple[sqlite3.Connection, bool]:
    """Open a store that is not changed, nor need be writable, nor its folder.

    Returns:
        The connection, and whether SQLite takes the file for one that nobody changes. It then
        notices no change: whoever reads must (`file_state`).

    Raises:
        InputError: there is no such file.
        PnyxError: its last rows are in a write-ahead log that cannot be opened there.
    """
    if not path.is_file():
        found = "is no file" if path.exists() else "does not exist"
        raise InputError(f"{found}, expected a judgement store", path=path)
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
                f"{shorten(str(path), 200)}: its last replies are in {shorten(log.name, 100)}, "
                "which cannot be read in a folder that cannot be written: copy both elsewhere"
            ) from error
        # Without a log nobody is writing now.
        return _reader(path, "immutable=1"), True
    except BaseException:
        connection.close()
        raise
    return connection, False


def _reader(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{mode}",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
    return connection


def file_state(path: Path) -> tuple[int, ...] | None:
    """Return what changes when a file is written or replaced; None where there is none."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def use_wal(connection: sqlite3.Connection) -> None:
    """Switch to the write-ahead log; SQLite does not wait by itself when others do so too."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return
