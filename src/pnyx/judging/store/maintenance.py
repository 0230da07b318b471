"""The operations of `pnyx store`: count, delete, export, merge."""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pnyx.core.errors import InputError, PnyxError, shorten
from pnyx.core.files import atomic_text, parse_json_object, read_head, read_lines
from pnyx.judging.store.rows import COLUMNS, StoredRow, row_from_object
from pnyx.judging.store.schema import key_matches, selected
from pnyx.judging.store.store import UNREADABLE, Store, StoredReply, default_store_path

_SQLITE_MAGIC = b"SQLite format 3\0"
_UNREADABLE = "key IN (SELECT key FROM failures WHERE reason LIKE ?)"
_TOKEN_COUNTS = ("prompt_tokens", "cached_tokens", "completion_tokens")


@dataclass(slots=True)
class TokenTotal:
    """Tokens by the servers' count (None if no reply states it), and the replies with one."""

    total: int | None = None
    replies: int = 0


@dataclass(slots=True)
class ModelStats:
    """The replies of one model: first and last request (UTC, ISO 8601), and finish reasons."""

    model: str
    first: str
    last: str
    replies: int = 0
    finish_reasons: dict[str, int] = field(default_factory=Counter)
    tokens: dict[str, TokenTotal] = field(
        default_factory=lambda: {name: TokenTotal() for name in _TOKEN_COUNTS}
    )
    with_alternatives: int = 0


@dataclass(frozen=True, slots=True)
class StoreStats:
    """The content of a store; `bytes` includes the write-ahead log, `damaged` has no model."""

    path: str
    bytes: int
    version: int
    replies: int
    models: list[ModelStats]
    damaged: int = 0


def store_stats(path: str | Path | None = None) -> StoreStats:
    """Count the content of a store, without changing it."""
    with Store(path, read_only=True) as store:
        models: dict[str, ModelStats] = {}
        total = damaged = 0
        for values, stored, _ in store.scan():
            total += 1
            if stored is None:
                damaged += 1
            else:
                _add(models, str(values[1]), stored)
        rows = [models[name] for name in sorted(models)]
        for model in rows:
            often = sorted(model.finish_reasons.items(), key=lambda item: (-item[1], item[0]))
            model.finish_reasons = dict(often)
        size = _bytes_on_disk(store.path)
        return StoreStats(str(store.path), size, store.version, total, rows, damaged)


def _add(models: dict[str, ModelStats], name: str, stored: StoredReply) -> None:
    reply, when = stored.reply, stored.created_at
    model = models.setdefault(name, ModelStats(name, when, when))
    model.first, model.last = min(model.first, when), max(model.last, when)
    model.replies += 1
    model.finish_reasons[reply.finish_reason] += 1
    model.with_alternatives += reply.tokens is not None
    for name, tokens in model.tokens.items():
        if name in reply.usage:
            tokens.total = (tokens.total or 0) + reply.usage[name]
            tokens.replies += 1


def _bytes_on_disk(path: Path) -> int:
    path = path.resolve()
    files = (path, path.with_name(path.name + "-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


@dataclass(frozen=True, slots=True)
class Cleared:
    """The replies deleted, or to be deleted in a dry run; sizes in bytes."""

    path: str
    replies: int
    content_bytes: int
    dry_run: bool
    bytes_before: int
    bytes_after: int
    not_compacted: str | None = None


def clear_store(
    path: str | Path | None = None,
    *,
    older_than: timedelta | None = None,
    model: str | None = None,
    finish: str | None = None,
    damaged: bool = False,
    unreadable: bool = False,
    dry_run: bool = False,
) -> Cleared:
    """Delete the replies that meet all criteria (at least one), or none; shrink the file."""
    criteria: dict[str, str] = {}
    if older_than is not None:
        try:
            limit = datetime.now(UTC) - older_than
        except OverflowError:
            limit = datetime.min.replace(tzinfo=UTC)
        criteria["created_at < ?"] = limit.isoformat(timespec="seconds")
    if model is not None:
        criteria["model = ?"] = model
    if finish is not None:
        criteria["finish_reason = ?"] = finish
    if unreadable:
        criteria[_UNREADABLE] = f"{UNREADABLE}%"
    if not (criteria or damaged):
        raise ValueError("expected a criterion: older_than, model, finish, damaged or unreadable")
    where = f"WHERE {' AND '.join(criteria)}" if criteria else ""
    values = list(criteria.values())
    path = default_store_path() if path is None else Path(path)
    # Opened for reading first: this must not create a store.
    with Store(path, read_only=True) as store:
        before = _bytes_on_disk(path)
        if dry_run:
            replies, size = _clear(store, where, values, damaged, dry_run)
            return Cleared(str(path), replies, size, dry_run, before, before)
    with Store(path) as store:
        with store.transaction():
            replies, size = _clear(store, where, values, damaged, dry_run)
        problem = _compact(store)
        return Cleared(str(path), replies, size, dry_run, before, _bytes_on_disk(path), problem)


def _clear(
    store: Store, where: str, values: Sequence[str], damaged: bool, dry_run: bool
) -> tuple[int, int]:
    """Delete, unless it is a dry run, and return the number of replies and bytes."""
    if not damaged:
        columns = selected(store.version)[:-1]
        size = " + ".join(f"coalesce(length(CAST({name} AS BLOB)), 0)" for name in columns)
        select = f"SELECT count(*), coalesce(sum({size}), 0) FROM replies {where}"  # noqa: S608
        ((replies, total),) = store.execute(select, values)
        if not dry_run:
            store.execute(f"DELETE FROM replies {where}", values)  # noqa: S608
            if _UNREADABLE in where:  # a first request is not a repeated one
                left = "key NOT IN (SELECT key FROM replies)"
                gone = f"DELETE FROM failures WHERE reason LIKE ? AND {left}"  # noqa: S608
                store.execute(gone, (f"{UNREADABLE}%",))
        return replies, total
    rows = [row for row, reply, _ in store.scan(where, values) if reply is None]
    for row in rows if not dry_run else ():
        condition, key = key_matches(row[0])
        store.execute(f"DELETE FROM replies WHERE {condition}", (key,))  # noqa: S608
    return len(rows), sum(_size(value) for row in rows for value in row)


def _size(value: object) -> int:
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogateescape"))
    return len(value) if isinstance(value, bytes) else 0


def _compact(store: Store) -> str | None:
    """Return free pages to the file system; return why that was not possible."""
    ((free,),) = store.execute("PRAGMA freelist_count")
    try:
        if free:
            store.execute("VACUUM")
        ((busy, _, _),) = store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except InputError:
        raise
    except PnyxError as error:
        return str(error)
    return "another process is reading it" if busy else None


def export_store(
    path: str | Path | None = None, out: str | Path = "-", *, model: str | None = None
) -> int:
    """Write all replies (of `model`) as JSON Lines, sorted by key; return their number."""
    with Store(path, read_only=True) as store:
        if _is_same_file(store.path, out):
            raise InputError("is the store itself, expected another file to write", path=out)
        count = 0
        with atomic_text(out) as stream:
            for row in store.rows(model=model):
                stream.write(row.line() + "\n")
                count += 1
        return count


def _is_same_file(path: Path, other: str | Path) -> bool:
    try:
        return path.samefile(other)
    except (OSError, ValueError):
        return False


@dataclass(slots=True)
class MergedSource:
    """Replies of one file that were added, present, or in conflict (the store's text is kept)."""

    path: str
    replies: int = 0
    added: int = 0
    present: int = 0
    conflicts: int = 0


def merge_stores(
    sources: Sequence[str | Path], target: str | Path | None = None
) -> list[MergedSource]:
    """Add the replies of other stores and of exported files to a store, in one transaction.

    No source is trusted: each key must match its request, and no SQL of a source is run. All
    sources are read and checked before the target is opened.
    """
    target = default_store_path() if target is None else Path(target)
    merged = [MergedSource(str(source)) for source in sources]
    for source in merged:
        if _is_same_file(target, source.path):
            raise InputError("a store cannot be merged into itself", path=source.path)
    paths = [source.path for source in merged]
    with _staged(paths) as rows, Store(target) as store, store.transaction():
        for number, *columns in rows:
            source, outcome = merged[number], store.put_columns(columns)
            source.replies += 1
            source.added += outcome == "added"
            source.present += outcome == "present"
            source.conflicts += outcome == "conflict"
    return merged


@contextlib.contextmanager
def _staged(sources: Sequence[str]) -> Iterator[Iterator[tuple[Any, ...]]]:
    """Yield source number and columns of every row, all checked, from a temporary file."""
    names, marks = ", ".join(COLUMNS), ", ".join("?" * (len(COLUMNS) + 1))
    try:
        with contextlib.closing(sqlite3.connect("", isolation_level=None)) as staging:
            staging.execute(f"CREATE TABLE staged (source, {names})")
            staging.execute("BEGIN")
            for number, source in enumerate(sources):
                rows = ((number, *row.columns()) for row in _checked_rows(source))
                staging.executemany(f"INSERT INTO staged VALUES ({marks})", rows)  # noqa: S608
            staging.execute("COMMIT")
            yield staging.execute("SELECT * FROM staged ORDER BY rowid")
    except sqlite3.Error as error:
        raise PnyxError(f"the temporary file for merging: {shorten(str(error))}") from error


def _checked_rows(source: str) -> Iterator[StoredRow]:
    """Yield the rows of a store or of an exported file whose keys are correct."""
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
    """Whether the file itself is SQLite, rather than its decompressed content."""
    if not Path(path).is_file():
        return False
    with Path(path).open("rb") as stream:
        return stream.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC
