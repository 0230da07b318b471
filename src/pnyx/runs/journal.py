"""The answers of a run under way, from which a run that was killed continues.

The folder `OUT.partial` holds manifest.json, which says what decides the answers, and answers.jsonl
with a line `["HASH", POSITION, "KEY", ROW]` for each answer as soon as it is known: a hash of what
follows, the item's position, the item's hash, and what OUT says of the answer.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from array import array
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from pnyx.errors import InputError, PnyxError, shorten
from pnyx.files import atomic_text, json_line, make_folder
from pnyx.judge.questions import JudgeQuestion
from pnyx.search.manifest import locked

__all__ = ["Journal", "item_bytes", "partial_of", "read_json"]

_MANIFEST, _ANSWERS = "manifest.json", "answers.jsonl"
_MARK = b'["'
_HEAD = len(_MARK) + 16 + len(b'", ')
_DAMAGED = "is damaged: remove it, and all is asked again"


def partial_of(out: str | Path) -> Path:
    """Return the folder in which the answers for a file are collected."""
    return Path(f"{out}.partial")


def item_bytes(item: JudgeQuestion) -> bytes:
    """Return all that a judge is told of an item, and what is carried along, as bytes."""
    carried = json.dumps(item.extra, sort_keys=True)
    return repr(item).encode("utf-8", "surrogatepass") + carried.encode()


def read_json(path: Path) -> dict[str, Any] | None:
    """Return the JSON object that a file holds; None where it holds none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


class Journal:
    """The answers that are known; a context manager that holds its folder's lock."""

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
        self.kept = self.damaged = self._known = 0

    def __enter__(self) -> Journal:
        with self._errors():
            make_folder(self.folder)
        try:
            self._open.enter_context(locked(self.folder, "these answers"))
            with self._errors():
                self._begin()
        except BaseException:
            self._open.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if not self._lasting or len(self) == 0:  # gone before the lock is
            self.remove()
        with contextlib.suppress(OSError):  # a full disk was reported already
            self._open.close()

    def __len__(self) -> int:
        """How many answers are known."""
        return self._known

    def _begin(self) -> None:
        manifest, mode = self.folder / _MANIFEST, "w+b"
        if manifest.exists():
            found = read_json(manifest)
            if found is None:
                raise InputError(_DAMAGED, path=self.folder)
            mode = "a+b" if self._same(found) else "w+b"
        if mode == "w+b":
            (self.folder / _ANSWERS).unlink(missing_ok=True)  # before it is called another run's
        with atomic_text(manifest) as stream:
            json.dump(self._about, stream)
        self._stream: IO[bytes] = self._open.enter_context((self.folder / _ANSWERS).open(mode))
        self._stream.seek(0)
        end = 0
        for line in self._stream:
            if not line.endswith(b"\n"):  # cut off by a kill
                break
            if line == _sealed(line[_HEAD:]):
                position, key, _ = line[_HEAD:].split(b", ", 2)
                self._place(int(position), end, int(key[1:-1], 16))
            else:
                self.damaged += 1
            end += len(line)
        self._stream.truncate(end)
        self._end, self.kept = end, self._known

    def _place(self, position: int, offset: int, key: int) -> None:
        missing = position + 1 - len(self._offsets)
        if missing > 0:
            self._offsets.extend([-1] * missing)
            self._keys.extend([0] * missing)
        self._known += self._offsets[position] < 0
        self._offsets[position], self._keys[position] = offset, key

    def has(self, position: int, item: JudgeQuestion) -> bool:
        """Say whether an item's answer is known; InputError where it is another item's."""
        if position >= len(self._offsets) or self._offsets[position] < 0:
            return False
        if self._keys[position] != _key(item):
            raise self._changed(f"item {shorten(item.id, 40)!r} is not the same")
        return True

    def check_count(self, count: int) -> None:
        """Raise InputError where there are answers beyond the `count` items."""
        if count < len(self._offsets):
            raise self._changed(f"{count} items are left of at least {len(self._offsets)}")

    def _changed(self, what: str) -> InputError:
        problem = f"was begun with other inputs ({what}): name another file, or remove this one"
        return InputError(problem, path=self.folder)

    def add(self, position: int, item: JudgeQuestion, row: Any) -> None:
        """Write down an answer as soon as it is known."""
        key = _key(item)
        content = f'{position}, "{key:016x}", {json_line(row)}]\n'.encode(errors="replace")
        line = _sealed(content)
        with self._errors():
            self._stream.write(line)
            self._stream.flush()
        self._place(position, self._end, key)
        self._end += len(line)

    def rows(self) -> Iterator[Any]:
        """Yield what is written of each answer, in the order of the items."""
        with (self.folder / _ANSWERS).open("rb") as stream:
            for offset in self._offsets:
                stream.seek(offset)
                line = stream.readline()
                if line != _sealed(line[_HEAD:]):
                    raise InputError(_DAMAGED, path=self.folder)
                yield json.loads(line)[3]

    def remove(self) -> None:
        """Remove the folder: the file is there."""
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            place = shorten(str(self.folder), 200)
            raise PnyxError(f"{place}: cannot be written: {error.strerror}") from error


def _key(item: JudgeQuestion) -> int:
    return int.from_bytes(hashlib.blake2b(item_bytes(item), digest_size=8).digest())


def _sealed(content: bytes) -> bytes:
    return _MARK + hashlib.blake2b(content, digest_size=8).hexdigest().encode() + b'", ' + content
