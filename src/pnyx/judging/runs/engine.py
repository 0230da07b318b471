"""Ask a judge about very many items, streaming; a run that was killed can resume.

The folder `OUT.partial` contains manifest.json, with all that affects the answers, and
answers.jsonl with a line `["HASH", POSITION, "KEY", ROW]` for each answer as soon as it is known: a
hash of the rest, the item's position, the item's hash, and the row of the answer in OUT.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import FileIO
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from pnyx.core.errors import InputError, ModelError, shorten
from pnyx.core.files import atomic_text, disk_errors, json_line, parse_json_object, read_json
from pnyx.core.folders import locked, refuse_devices
from pnyx.core.placement import append, make_folder, temporary_of
from pnyx.judging.answers import Answer, Unscored
from pnyx.judging.base import Judge, answer_once
from pnyx.judging.questions import JudgeQuestion
from pnyx.models.http.flow import run_blocking

BLOCK = 1024
"""Items given to a judge together: enough to keep every core or request busy, few enough for
memory. The next ones follow when a quarter is left, so that nothing waits for the last answer."""

_CALLS = 4
"""Maximum number of concurrent blocks."""
_LEAST = 256
"""A block of long texts is shorter, but has at least this many items ..."""
_CHARACTERS = 32 * 1024 * 1024
"""... unless its texts, each counted once, are longer than twice this."""

RowOf: TypeAlias = Callable[[Any, Answer], Any]
"""Returns the row written for an item and its answer, ready for JSON."""

Item: TypeAlias = tuple[int, Any]
"""An item with its position."""


def answer_items(
    judge: Judge,
    items: Iterable[JudgeQuestion],
    journal: Journal,
    row_of: RowOf,
    *,
    block: int = BLOCK,
    first: int | None = None,
) -> int:
    """Ask about items missing in the journal (from position `first`); return their number."""
    count = unscored = 0

    def unknown() -> Iterator[Item]:
        nonlocal count
        for position, item in enumerate(items, first or 0):
            count += 1
            if not journal.has(position, item):
                yield position, item

    def receive(numbered: Item, answer: Answer) -> None:
        nonlocal unscored
        unscored += isinstance(answer, Unscored)
        journal.add(*numbered, row_of(numbered[1], answer))

    blocks = _blocks(unknown(), block)
    begun = next(blocks, None)  # read here, where Ctrl-C gets through, past all known answers
    if begun is not None:
        try:
            run_blocking(lambda: _slide(judge, chain([begun], blocks), block, receive))
        except ModelError as error:
            scored = len(journal) > unscored
            note = f"; {len(journal)} answers are kept for the next run" if scored else ""
            raise ModelError(f"{error}{note}") from error
    if first is None:
        journal.check_count(count)
    return count


async def _slide(
    judge: Judge, blocks: Iterable[list[Item]], block: int, receive: Callable[[Item, Answer], None]
) -> None:
    """Give block after block to the judge; the next one when few items are left open."""
    import anyio

    open_items = calls = 0
    moved = anyio.Event()
    failures: list[Exception] = []

    async def call(some: list[Item]) -> None:
        nonlocal calls

        def emit(row: int, answer: Answer) -> None:
            nonlocal open_items
            receive(some[row], answer)
            open_items -= 1
            moved.set()

        try:
            await answer_once(judge, [item for _, item in some], emit)
        except Exception as error:  # raised below, outside the exception group
            failures.append(error)
            tasks.cancel_scope.cancel()
        calls -= 1
        moved.set()

    async with anyio.create_task_group() as tasks:
        try:
            for some in blocks:
                open_items += len(some)
                calls += 1
                tasks.start_soon(call, some)
                while open_items > block // 4 or calls >= _CALLS:
                    moved = anyio.Event()
                    await moved.wait()
        except Exception as error:
            failures.append(error)
            tasks.cancel_scope.cancel()
    if failures:
        raise failures[0]


def _blocks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield items in blocks, shorter ones for long texts; keep equal beginnings together."""
    some: list[Item] = []
    texts: set[int] = set()
    length = 0
    last: object = None
    full = False
    for position, item in items:
        beginning = getattr(item, "beginning", position)
        if full and beginning != last:
            yield some
            some, texts, length = [], set(), 0
        last = beginning
        some.append((position, item))
        text = getattr(item, "text", "")
        if id(text) not in texts:  # a text shared by several items is in memory once
            texts.add(id(text))
            length += len(text)
        long = length >= _CHARACTERS and (len(some) >= _LEAST or length >= 2 * _CHARACTERS)
        full = len(some) >= size or long
        if len(some) >= 2 * size:
            yield some
            some, texts, length, full = [], set(), 0, False
    if some:
        yield some


_MANIFEST, _ANSWERS = "manifest.json", "answers.jsonl"
_MARK = b'["'
_HEAD = len(_MARK) + 16 + len(b'", ')
_DAMAGED = "is damaged: remove it to start again"


def partial_of(out: str | Path) -> Path:
    """Return the folder in which the answers for a file are collected."""
    return Path(f"{out}.partial")


def only_begun(partial: Path) -> bool:
    """Return whether a folder has only what a kill leaves before the first manifest."""
    expected = {_MANIFEST, _ANSWERS}
    names = {entry.name for entry in partial.iterdir()}
    return all(name in expected or temporary_of(name) in expected for name in names)


def item_bytes(item: JudgeQuestion) -> bytes:
    """Return all fields of an item for a judge, and those copied to the answer, as bytes."""
    carried = json.dumps(item.extra, sort_keys=True)
    return repr(item).encode("utf-8", "surrogatepass") + carried.encode()


class Journal:
    """The answers so far; a context manager that holds its folder's lock.

    `same` decides whether the answers of an earlier run on `about` count. `lasting` answers are
    kept for another run. `reused` counts answers of an earlier run, `damaged` those asked for
    again.
    """

    def __init__(
        self,
        out: str | Path,
        about: Mapping[str, Any],
        same: Callable[[Mapping[str, Any]], bool],
        *,
        lasting: bool = True,
    ) -> None:
        self.folder = partial_of(out)
        self._about, self._same, self._lasting = about, same, lasting
        self._open = contextlib.ExitStack()
        self._offsets, self._keys = array("q"), array("Q")
        self.reused = self.damaged = self._known = self._end = 0

    def __enter__(self) -> Journal:
        try:
            while not self._has_lock():
                pass  # another run has just ended, and removed the folder to be locked
            with disk_errors(self.folder):
                self._begin()
        except BaseException:
            self._open.close()
            raise
        return self

    def _has_lock(self) -> bool:
        """Create the folder and lock it; False if it was removed meanwhile."""
        with disk_errors(self.folder):
            make_folder(self.folder)
            try:
                status = self.folder.stat()
                self._open.enter_context(locked(self.folder, "these answers"))
                if os.path.samestat(status, self.folder.stat()):
                    return True
            except FileNotFoundError:
                pass
            except InputError:
                if self.folder.exists():
                    raise
        self._open.close()
        return False

    def __exit__(self, *_: object) -> None:
        if not self._lasting or len(self) == 0:  # removed before the lock is released
            self.remove()
        with contextlib.suppress(OSError):  # a full disk was reported already
            self._open.close()

    def __len__(self) -> int:
        """Return the number of answers."""
        return self._known

    def _begin(self) -> None:
        manifest, answers, same = self.folder / _MANIFEST, self.folder / _ANSWERS, False
        refuse_devices(self.folder)
        if manifest.exists():
            about = read_json(manifest)
            if about is None:
                raise InputError(_DAMAGED, path=self.folder)
            same = self._same(about)
        if not same:
            answers.unlink(missing_ok=True)  # before another run is recorded as its owner
        with atomic_text(manifest) as stream:
            json.dump(self._about, stream)
        self._stream: FileIO = self._open.enter_context(answers.open("ab", buffering=0))
        with answers.open("rb") as stream:
            for line in stream:
                if not line.endswith(b"\n"):  # truncated by a kill
                    break
                if line == _sealed(line[_HEAD:]):
                    position, key, _ = line[_HEAD:].split(b", ", 2)
                    self._place(int(position), self._end, int(key[1:-1], 16))
                else:
                    self.damaged += 1
                self._end += len(line)
        self._stream.truncate(self._end)
        self.reused = self._known

    def _place(self, position: int, offset: int, key: int) -> None:
        missing = position + 1 - len(self._offsets)
        if missing > 0:
            self._offsets.extend([-1] * missing)
            self._keys.extend([0] * missing)
        self._known += self._offsets[position] < 0
        self._offsets[position], self._keys[position] = offset, key

    def has(self, position: int, item: JudgeQuestion) -> bool:
        """Return whether an item's answer is known; InputError if it is another item's."""
        if position >= len(self._offsets) or self._offsets[position] < 0:
            return False
        if self._keys[position] != _key(item):
            raise self._changed(f"item {shorten(item.id, 40)!r} is not the same")
        return True

    def check_count(self, count: int) -> None:
        """Raise InputError if there are answers beyond the `count` items."""
        if count < len(self._offsets):
            raise self._changed(f"{count} items are left of at least {len(self._offsets)}")

    def _changed(self, what: str) -> InputError:
        problem = f"was begun with other inputs ({what}): name another file, or remove this one"
        return InputError(problem, path=self.folder)

    def add(self, position: int, item: JudgeQuestion, row: Any) -> None:
        """Write an answer as soon as it is known."""
        key = _key(item)
        content = f'{position}, "{key:016x}", {json_line(row)}]\n'.encode(errors="replace")
        line = _sealed(content)
        start = self._end
        with disk_errors(self.folder):
            self._end = append(self._stream, start, line)
        self._place(position, start, key)

    def rows(self, first: int = 0) -> Iterator[Any]:
        """Yield the row of each answer, in the order of the items, from a position on."""
        with (self.folder / _ANSWERS).open("rb") as stream:
            for row in range(first, len(self._offsets)):
                stream.seek(self._offsets[row])
                line = stream.readline()
                if line != _sealed(line[_HEAD:]):
                    raise InputError(_DAMAGED, path=self.folder)
                yield json.loads(line)[3]

    def remove(self) -> None:
        """Remove the folder once the file exists."""
        shutil.rmtree(self.folder, ignore_errors=True)


def rows_in(line: str, path: str | Path, number: int) -> list[dict[str, Any]]:
    """Return the rows in a line of answers, or of a journal, which has one line per item."""
    if not line.startswith('["'):
        return [parse_json_object(line, path=path, number=number)]
    entry = parse_json_object(f'{{"known": {line}}}', path=path, number=number)["known"]
    content = entry[3] if len(entry) == 4 else None
    rows: list[Any] = content if isinstance(content, list) else [content]
    if not all(isinstance(row, dict) for row in rows):
        raise InputError("expected a line of a journal of answers", path=path, line=number)
    return rows


def _key(item: JudgeQuestion) -> int:
    return int.from_bytes(hashlib.blake2b(item_bytes(item), digest_size=8).digest())


def _sealed(content: bytes) -> bytes:
    return _MARK + hashlib.blake2b(content, digest_size=8).hexdigest().encode() + b'", ' + content
