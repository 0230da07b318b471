"""A file of annotations while it grows: what a run that was killed goes on from.

Beside `OUT` lies the folder `OUT.partial`:

    manifest.json   the judge and the inputs; another judge or other inputs are refused
    rows.jsonl      the annotations of all blocks that are done, in the order of the pairs
    sums.bin        of each of them 8 bytes of the pair's hash, so that changed pairs are
                    recognised, and 8 of its line's, so that damage is
    block.jsonl     the annotations of the block under way, each written as soon as it is known:
                    [2, hash of what follows, position, hash of the pair, annotation]

A kill at any moment loses no annotation: what stands in `rows.jsonl` or `block.jsonl` is not asked
again, unless it is damaged. At the end `OUT` appears in one step, with `OUT.manifest.json`, and the
folder is gone. Folders of earlier versions (`pairs.bin`, and [position, hash, annotation]) have no
hashes of lines; they are brought up to date.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from pnyx.errors import InputError, PnyxError, shorten
from pnyx.files import atomic_text, json_line, make_folder
from pnyx.judge.questions import Support
from pnyx.search.manifest import locked

__all__ = ["PARTIAL", "Partial", "finished_manifest", "manifest_path", "pair_key", "partial_of"]

PARTIAL = ".partial"
_MANIFEST = "manifest.json"
_ROWS, _SUMS, _BLOCK = "rows.jsonl", "sums.bin", "block.jsonl"
_OLD_PAIRS = "pairs.bin"
_KEY_BYTES = _SUM_BYTES = 8
_BOTH = _KEY_BYTES + _SUM_BYTES
_MARK = b'[2, "'
_HEAD = len(_MARK) + 2 * _SUM_BYTES + len(b'", ')
_READ = 1 << 20


def pair_key(pair: Support) -> bytes:
    """Return 8 bytes that change with anything that a judge is told of a pair, or with its id."""
    parts = (pair.id, pair.text, pair.statement, pair.task, pair.question, pair.guideline)
    text = "\0".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).digest()


def manifest_path(out: str | Path) -> Path:
    """Return where the manifest of a finished file of annotations is."""
    return Path(f"{out}.{_MANIFEST}")


def partial_of(out: str | Path) -> Path:
    """Return the folder in which a file of annotations grows."""
    return Path(f"{out}{PARTIAL}")


def finished_manifest(out: str | Path, about: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the manifest of a file that this judge has finished on these inputs.

    Args:
        out: the file of annotations.
        about: what must be the same; as in `Partial`.

    Returns:
        None where there is no such file yet.

    Raises:
        InputError: there is one, but of another judge or other inputs, or not by Pnyx at all.
    """
    if not Path(out).exists():
        return None
    found = _read_json(manifest_path(out))
    if found is None:
        raise InputError("exists already, and not as annotations: name another file", path=out)
    _same(found, about, out, "holds the annotations")
    return found


def _same(found: Mapping[str, Any], about: Mapping[str, Any], path: str | Path, holds: str) -> None:
    """Refuse what was made of something else."""
    for name, what in _WHAT.items():
        if found.get(name) != json.loads(json.dumps(about.get(name))):
            raise InputError(f"{holds} {what}: name another file, or remove this one", path=path)


_WHAT = {
    "judge": "of another judge, or of the same with other settings",
    "inputs": "of other inputs",
    "with_text": "made with another choice of --with-text",
}
"""Field of the manifest that must be the same -> what is wrong where it is not."""


class Partial:
    """The growing file of annotations; a context manager that holds its folder's lock.

    Args:
        out: the file to be.
        about: `judge` (an object that changes with whatever changes its answers), `inputs` and
            `with_text`.

    Attributes:
        done: how many pairs, from the first, are annotated for good.
        damaged: how many annotations of an earlier run are damaged and made again.
        begun: how many annotations of the block under way are there already.

    Raises:
        InputError: the folder was begun with another judge or other inputs, or is damaged.
        PnyxError: another process is at work on it, or it cannot be written.
    """

    def __init__(self, out: str | Path, about: Mapping[str, Any]) -> None:
        self.out = Path(out)
        self.folder = partial_of(out)
        self._about = about
        self._open = contextlib.ExitStack()
        self.done = self.begun = self.damaged = 0

    def __enter__(self) -> Partial:
        with self._errors():
            make_folder(self.folder)
        try:
            self._open.enter_context(locked(self.folder, "these annotations"))
            with self._errors():
                self._begin()
        except BaseException:
            self._open.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self.done + self.begun == 0:  # nothing to go on from; gone before the lock is
            shutil.rmtree(self.folder, ignore_errors=True)
        with contextlib.suppress(OSError):  # a full disk was reported already
            self._open.close()

    def _begin(self) -> None:
        manifest = self.folder / _MANIFEST
        if manifest.exists():
            found = _read_json(manifest)
            if found is None:
                raise InputError(_DAMAGED, path=self.folder)
            _same(found, self._about, self.folder, "was begun with annotations")
        else:
            with atomic_text(manifest) as stream:
                json.dump(self._about, stream)
        if (self.folder / _OLD_PAIRS).exists():
            self._bring_up_to_date()
        self._rows = self._append(_ROWS)
        self._sums = self._append(_SUMS)
        self._block = self._append(_BLOCK)
        known = dict(self._of_block())
        self._take_sound_rows(known)
        self._known = {at: row for at, row in known.items() if at >= self.done}
        self.begun = len(self._known)

    def _bring_up_to_date(self) -> None:
        """Write the hashes that an earlier version did not; a kill at any moment does no harm."""
        lines = _lines(self.folder / _ROWS)
        old = (self.folder / _OLD_PAIRS).read_bytes()
        keys = [old[at : at + _KEY_BYTES] for at in range(0, len(old), _KEY_BYTES)]
        if len(keys) < len(lines):
            raise InputError(_DAMAGED, path=self.folder)
        block = []
        for line in _lines(self.folder / _BLOCK):
            if line.startswith(_MARK):  # by an attempt at this that was killed
                block.append(line)
                continue
            with contextlib.suppress(ValueError, TypeError, RecursionError):
                position, key, row = json.loads(line)
                block.append(_block_line(int(position), bytes.fromhex(key), dict(row)))
        sums = (key + _sum(key, line) for key, line in zip(keys, lines, strict=False))
        for name, content in ((_SUMS, b"".join(sums)), (_BLOCK, b"".join(block))):
            new = self.folder / f"{name}.new"
            new.write_bytes(content)
            new.replace(self.folder / name)
        (self.folder / _OLD_PAIRS).unlink()

    def _take_sound_rows(self, known: dict[int, tuple[bytes, dict[str, Any]]]) -> None:
        """Take the rows up to the first damaged one as done; those behind it become known."""
        self.done, end = _whole_lines(self._rows), 0
        self._rows.seek(0)
        sums = np.fromfile(self.folder / _SUMS, dtype=[("key", "V8"), ("sum", "V8")])
        for place, line in enumerate(self._rows):
            key, its_sum = sums[place].tolist() if place < len(sums) else (b"", b"")
            if _sum(key, line) != its_sum:
                self.done = min(self.done, place)
                self.damaged += 1
            elif place < self.done:
                end += len(line)
            else:
                known[place] = key, json.loads(line)
                self._block.write(_block_line(place, *known[place]))
        self._block.flush()  # before they are cut off here
        self._rows.truncate(end)
        self._sums.truncate(self.done * _BOTH)
        self._keys = sums["key"][: self.done]

    def _append(self, name: str) -> IO[bytes]:
        return self._open.enter_context((self.folder / name).open("a+b"))

    def _of_block(self) -> Iterator[tuple[int, tuple[bytes, dict[str, Any]]]]:
        """Yield what the block under way has: position -> key and row.

        What a kill has cut off goes, lest the next line is written behind it.
        """
        _whole_lines(self._block)
        self._block.seek(0)
        for line in self._block:
            # Only what was written is read, to the last byte.
            if line != (_MARK + _sum(line[_HEAD:]).hex().encode() + b'", ' + line[_HEAD:]):
                self.damaged += 1  # this pair is annotated again
                continue
            _, _, position, key, row = json.loads(line)
            yield position, (bytes.fromhex(key), row)

    def check(self, position: int, pair: Support) -> None:
        """Check that a pair that is done is still the same.

        Raises:
            InputError: it is not.
        """
        if self._keys[position].tobytes() != pair_key(pair):
            raise self._changed(pair)

    def known(self, position: int, pair: Support, key: bytes) -> dict[str, Any] | None:
        """Return the annotation of a pair of the block under way, if it is there already.

        Raises:
            InputError: it is there, but of another pair.
        """
        before, row = self._known.get(position, (key, None))
        if before != key:
            raise self._changed(pair)
        return row

    def _changed(self, pair: Support) -> InputError:
        shown = shorten(pair.id, 40)
        problem = f"was begun with other inputs (pair {shown!r} is not the same)"
        return InputError(f"{problem}: name another file, or remove this one", path=self.folder)

    def record(self, position: int, key: bytes, row: Mapping[str, Any]) -> None:
        """Write down an annotation as soon as it is known."""
        with self._errors():
            self._block.write(_block_line(position, key, row))
            self._block.flush()
        self.begun += 1

    def commit(self, keys: Sequence[bytes], rows: Sequence[Mapping[str, Any]]) -> None:
        """Write down a whole block, in the order of its pairs."""
        with self._errors():
            lines = [f"{json_line(row)}\n".encode(errors="replace") for row in rows]
            both = (key + _sum(key, line) for key, line in zip(keys, lines, strict=True))
            self._sums.write(b"".join(both))
            self._sums.flush()
            self._rows.write(b"".join(lines))
            self._rows.flush()
            self.done += len(rows)
            self._known = {at: row for at, row in self._known.items() if at >= self.done}
            if not self._known:  # else the block of the earlier run was longer than this one
                self._block.truncate(0)
        self.begun = len(self._known)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the annotations that are there for good, from the first.

        Raises:
            InputError: a line is damaged.
        """
        with (self.folder / _ROWS).open("rb") as stream:
            for number, line in enumerate(stream, 1):
                try:
                    row = dict(json.loads(line))
                except (ValueError, TypeError, RecursionError) as error:
                    problem = f"{_DAMAGED} (line {number} of {_ROWS})"
                    raise InputError(problem, path=self.folder) from error
                yield row

    def take_rows(self) -> None:
        """Put the lines as they are in place of the file to be."""
        with self._errors():
            (self.folder / _ROWS).replace(self.out)

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


_DAMAGED = "is damaged: remove it, and the pairs are annotated again"


def _sum(*parts: bytes) -> bytes:
    return hashlib.blake2b(b"".join(parts), digest_size=_SUM_BYTES).digest()


def _block_line(position: int, key: bytes, row: Mapping[str, Any]) -> bytes:
    content = f"{json_line([position, key.hex(), row])[1:]}\n".encode(errors="replace")
    return _MARK + _sum(content).hex().encode() + b'", ' + content


def _lines(path: Path) -> list[bytes]:
    """Return the lines of a file, without one that is cut off."""
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    return [line for line in lines if line.endswith(b"\n")]


def _whole_lines(stream: IO[bytes]) -> int:
    """Count the lines of a file, and cut off what follows the last one."""
    stream.seek(0)
    lines = end = at = 0
    while part := stream.read(_READ):
        lines += part.count(b"\n")
        last = part.rfind(b"\n")
        end = at + last + 1 if last >= 0 else end
        at += len(part)
    stream.truncate(end)
    return lines


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
