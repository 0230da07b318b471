"""What `pnyx store` does with one judgement store: count, clear out, export."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pnyx.errors import InputError, PnyxError
from pnyx.files import atomic_text
from pnyx.judge.store import Store, StoredReply, default_store_path
from pnyx.judge.store_layout import key_matches
from pnyx.judge.store_rows import COLUMNS

__all__ = [
    "Cleared",
    "ModelStats",
    "StoreStats",
    "TokenTotal",
    "clear_store",
    "export_store",
    "is_same_file",
    "store_stats",
]

_TOKEN_COUNTS = ("prompt_tokens", "cached_tokens", "completion_tokens")


@dataclass(slots=True)
class TokenTotal:
    """Tokens by the servers' own count.

    Attributes:
        total: their sum; None where no reply states them, which is not none.
        replies: how many replies state them.
    """

    total: int | None = None
    replies: int = 0

    def add(self, count: int) -> None:
        """Add what one more reply states."""
        self.total = (self.total or 0) + count
        self.replies += 1


@dataclass(slots=True)
class ModelStats:
    """The replies of one model.

    Attributes:
        model: the name that was asked for.
        replies: how many.
        first: when the earliest was asked for (UTC, ISO 8601).
        last: when the latest was.
        finish_reasons: how many ended in which way, the most frequent first.
        tokens: `prompt_tokens`, `cached_tokens` (part of the former) and `completion_tokens`.
        with_alternatives: how many carry their tokens' alternatives with probabilities.
    """

    model: str
    first: str
    last: str
    replies: int = 0
    finish_reasons: dict[str, int] = field(default_factory=dict)
    tokens: dict[str, TokenTotal] = field(
        default_factory=lambda: {name: TokenTotal() for name in _TOKEN_COUNTS}
    )
    with_alternatives: int = 0


@dataclass(frozen=True, slots=True)
class StoreStats:
    """What a store holds.

    Attributes:
        path: the file.
        bytes: its size on disk, its write-ahead log included.
        version: of the file's layout.
        replies: of all models, and the damaged ones.
        models: by name.
        damaged: replies that cannot be read, or whose checksum does not fit; of no model.
    """

    path: str
    bytes: int
    version: int
    replies: int
    models: list[ModelStats]
    damaged: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return asdict(self)


def store_stats(path: str | Path | None = None) -> StoreStats:
    """Count what a store holds, without changing it.

    Args:
        path: the store; `default_store_path()` without.

    Raises:
        InputError: there is none, or it is no store.
        PnyxError: its file is damaged as a whole.
    """
    with Store(path, read_only=True) as store:
        models: dict[str, ModelStats] = {}
        damaged = 0
        for values, stored, _ in store.scan():
            if stored is None:
                damaged += 1
            else:
                _add(models, str(values[1]), stored)
        for model in models.values():
            often = sorted(model.finish_reasons.items(), key=lambda item: (-item[1], item[0]))
            model.finish_reasons = dict(often)
        total = damaged + sum(model.replies for model in models.values())
        found = [models[name] for name in sorted(models)]
        size = _bytes_on_disk(store.path)
        return StoreStats(str(store.path), size, store.version, total, found, damaged)


def _add(models: dict[str, ModelStats], name: str, stored: StoredReply) -> None:
    """Add a reply to what its model has."""
    reply, when = stored.reply, stored.created_at
    model = models.setdefault(name, ModelStats(name, when, when))
    model.first, model.last = min(model.first, when), max(model.last, when)
    model.replies += 1
    ends = model.finish_reasons
    ends[reply.finish_reason] = ends.get(reply.finish_reason, 0) + 1
    model.with_alternatives += reply.tokens is not None
    for count in _TOKEN_COUNTS:
        if count in reply.usage:
            model.tokens[count].add(reply.usage[count])


def _bytes_on_disk(path: Path) -> int:
    path = path.resolve()
    files = (path, path.with_name(path.name + "-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


@dataclass(frozen=True, slots=True)
class Cleared:
    """What was deleted, or, in a dry run, would be.

    Attributes:
        path: the file.
        replies: how many replies match.
        content_bytes: how much their texts take.
        dry_run: nothing was deleted.
        bytes_before: size on disk.
        bytes_after: size on disk, afterwards.
        not_compacted: why the file could not be made smaller; None where it was.
    """

    path: str
    replies: int
    content_bytes: int
    dry_run: bool
    bytes_before: int
    bytes_after: int
    not_compacted: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return asdict(self)


def clear_store(
    path: str | Path | None = None,
    *,
    older_than: timedelta | None = None,
    model: str | None = None,
    finish: str | None = None,
    damaged: bool = False,
    dry_run: bool = False,
) -> Cleared:
    """Delete the replies that meet all criteria that are given, and make the file smaller.

    Other processes may use the store meanwhile. After being killed at any moment, the store is
    whole and either all of the replies or none are deleted.

    Args:
        path: the store; `default_store_path()` without.
        older_than: asked for longer ago than this.
        model: of this model, by the name that was asked for.
        finish: that ended in this way: `length`, `refusal` ...
        damaged: that cannot be read, or whose checksum does not fit.
        dry_run: only count them.

    Raises:
        ValueError: no criterion is given.
        InputError: there is no such store.
        PnyxError: another process does not let go of it.
    """
    where, values = _condition(older_than, model, finish)
    if not (where or damaged):
        raise ValueError("expected a criterion: older_than, model, finish or damaged")
    path = default_store_path() if path is None else Path(path)
    # Opened for reading first: this must not make a store where there is none.
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


def _condition(
    older_than: timedelta | None, model: str | None, finish: str | None
) -> tuple[str, list[str]]:
    """Return an SQL condition, `WHERE` included, and its parameters."""
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
    where = " AND ".join(criteria)
    return f"WHERE {where}" if where else "", list(criteria.values())


def _clear(
    store: Store, where: str, values: Sequence[str], damaged: bool, dry_run: bool
) -> tuple[int, int]:
    """Delete, unless it is a dry run, and return how many replies of how many bytes."""
    if not damaged:
        measured = _measured(store, where, values)
        if not dry_run:
            store.execute(f"DELETE FROM replies {where}", values)  # noqa: S608
        return measured
    rows = [row for row, reply, _ in store.scan(where, values) if reply is None]
    for row in rows if not dry_run else ():
        condition, key = key_matches(row[0])
        store.execute(f"DELETE FROM replies WHERE {condition}", (key,))  # noqa: S608
    return len(rows), sum(_size(value) for row in rows for value in row)


def _size(value: object) -> int:
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogateescape"))
    return len(value) if isinstance(value, bytes) else 0


def _measured(store: Store, where: str, values: Sequence[str]) -> tuple[int, int]:
    columns = COLUMNS if store.has_tokens else COLUMNS[:-1]
    size = " + ".join(f"coalesce(length(CAST({name} AS BLOB)), 0)" for name in columns)
    ((replies, total),) = store.execute(
        f"SELECT count(*), coalesce(sum({size}), 0) FROM replies {where}",  # noqa: S608
        values,
    )
    return replies, total


def _compact(store: Store) -> str | None:
    """Give free pages back to the file system; return why that was not possible."""
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
    """Write all replies as JSON Lines, sorted by key: equal stores make equal files.

    Args:
        path: the store; `default_store_path()` without.
        out: the file to write, all or nothing; compressed where it ends in `.gz`; `-` is standard
            output.
        model: only the replies of this model.

    Returns:
        How many replies were written.

    Raises:
        InputError: there is no such store, it is damaged, or `out` is the store itself.
    """
    with Store(path, read_only=True) as store:
        if is_same_file(store.path, out):
            raise InputError("is the store itself, expected another file to write", path=out)
        count = 0
        with atomic_text(out) as stream:
            for row in store.rows(model=model):
                stream.write(row.line() + "\n")
                count += 1
        return count


def is_same_file(one: Path, other: str | Path) -> bool:
    """Whether both names are of one file that exists."""
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return False
