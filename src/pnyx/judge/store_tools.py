"""What `pnyx store` does with one judgement store: count, clear out, export."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pnyx.errors import InputError, PnyxError, shorten
from pnyx.files import atomic_text
from pnyx.judge.store import Store, default_store_path
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

    def add(self, total: int | None, replies: int) -> None:
        """Add the sum over some more replies."""
        if total is not None:
            self.total = (self.total or 0) + total
            self.replies += replies


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
        replies: of all models.
        models: by name.
    """

    path: str
    bytes: int
    version: int
    replies: int
    models: list[ModelStats]

    def as_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return asdict(self)


def store_stats(path: str | Path | None = None) -> StoreStats:
    """Count what a store holds, without changing it.

    Args:
        path: the store; `default_store_path()` without.

    Raises:
        InputError: there is none, or it is damaged.
    """
    counts = ", ".join(
        f"sum(json_extract(usage, '$.{name}')), count(json_extract(usage, '$.{name}'))"
        for name in _TOKEN_COUNTS
    )
    with Store(path, read_only=True) as store:
        tokens = "tokens" if store.has_tokens else "NULL"
        rows = store.execute(
            f"SELECT model, finish_reason, count(*), min(created_at), max(created_at),"  # noqa: S608
            f" count({tokens}), {counts} FROM replies GROUP BY model, finish_reason"
            " ORDER BY model, count(*) DESC, finish_reason"
        )
        models: dict[str, ModelStats] = {}
        for row in rows:
            _add_group(models, row, store.path)
        total = sum(model.replies for model in models.values())
        size = _bytes_on_disk(store.path)
        return StoreStats(str(store.path), size, store.version, total, list(models.values()))


def _add_group(models: dict[str, ModelStats], row: Sequence[Any], path: Path) -> None:
    """Add the replies of one model that ended in the same way."""
    name, finish, replies, first, last, with_tokens, *sums = row
    if not all(isinstance(value, str) for value in (name, finish, first, last)) or any(
        not isinstance(value, int | None) for value in sums
    ):
        raise InputError(
            f"the replies of {shorten(name, 60)} are damaged, expected names and dates as text, "
            "and counts",
            path=path,
        )
    model = models.setdefault(name, ModelStats(name, first, last))
    model.first, model.last = min(model.first, first), max(model.last, last)
    model.replies += replies
    model.finish_reasons[finish] = replies
    model.with_alternatives += with_tokens
    for count, total, stated in zip(_TOKEN_COUNTS, sums[::2], sums[1::2], strict=True):
        model.tokens[count].add(total, stated)


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
        dry_run: only count them.

    Raises:
        ValueError: no criterion is given.
        InputError: there is no such store.
        PnyxError: another process does not let go of it.
    """
    where, values = _condition(older_than, model, finish)
    path = default_store_path() if path is None else Path(path)
    # Opened for reading first: this must not make a store where there is none.
    with Store(path, read_only=True) as store:
        before = _bytes_on_disk(path)
        if dry_run:
            replies, size = _measured(store, where, values)
            return Cleared(str(path), replies, size, dry_run, before, before)
    with Store(path) as store:
        with store.transaction():
            replies, size = _measured(store, where, values)
            store.execute(f"DELETE FROM replies WHERE {where}", values)  # noqa: S608
        problem = _compact(store)
        return Cleared(str(path), replies, size, dry_run, before, _bytes_on_disk(path), problem)


def _condition(
    older_than: timedelta | None, model: str | None, finish: str | None
) -> tuple[str, list[str]]:
    """Return an SQL condition and its parameters."""
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
    if not criteria:
        raise ValueError("expected a criterion: older_than, model or finish")
    return " AND ".join(criteria), list(criteria.values())


def _measured(store: Store, where: str, values: Sequence[str]) -> tuple[int, int]:
    columns = COLUMNS if store.has_tokens else COLUMNS[:-1]
    size = " + ".join(f"coalesce(length(CAST({name} AS BLOB)), 0)" for name in columns)
    ((replies, total),) = store.execute(
        f"SELECT count(*), coalesce(sum({size}), 0) FROM replies WHERE {where}",  # noqa: S608
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
