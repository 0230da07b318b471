"""One segment of an index on disk: a checked, memory-mapped file.

It holds arrays end to end in plain binary (no pickle), then the checksum of every block, and is
never changed once the manifest names it. Blocks are verified when first read, so opening takes
milliseconds and damaged data is still never scored.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from pnyx.core.errors import IndexFolderError, shorten
from pnyx.search.lexical.manifest import INDEX_AGAIN, MANIFEST, damaged, open_regular, to_disk

BLOCK_BYTES: Final = 1 << 16
"""Bytes per checksum: small enough that fetching one document checks few other bytes."""

_ALIGNMENT = 64
_CHECKSUM = np.dtype("<u4")
_DTYPES = ("u1", "i1", "<u2", "<u4", "<u8", "<f2", "<f4")


class SegmentWriter:
    """Writes one segment file, sections then checksums; an unfinished one is removed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stream: IO[bytes] = path.open("wb")
        self._position = 0
        self._crcs: list[int] = []
        self._crc = 0
        self._sections: dict[str, dict[str, Any]] = {}
        self._current: dict[str, Any] = {}
        self._finished = False

    def __enter__(self) -> SegmentWriter:
        return self

    def __exit__(self, *_: object) -> None:
        # A failed close (disk full) has released the file; report the first error.
        with contextlib.suppress(OSError):
            self._stream.close()
        if not self._finished:
            self._path.unlink(missing_ok=True)

    def begin(self, name: str, dtype: str) -> None:
        """Start a section; `write` then adds to it."""
        self._append(memoryview(bytes(-self._position % _ALIGNMENT)))
        self._sections[name] = {"offset": self._position, "dtype": dtype, "bytes": 0}
        self._current = self._sections[name]

    def write(self, data: bytes | memoryview) -> None:
        """Add bytes to the current section."""
        self._current["bytes"] += len(data)
        self._append(memoryview(data))

    def _append(self, view: memoryview) -> None:
        self._stream.write(view)
        while view:
            room = BLOCK_BYTES - self._position % BLOCK_BYTES
            part, view = view[:room], view[room:]
            self._crc = zlib.crc32(part, self._crc)
            self._position += len(part)
            if self._position % BLOCK_BYTES == 0:
                self._crcs.append(self._crc)
                self._crc = 0

    def array(self, name: str, dtype: str, values: NDArray[Any]) -> None:
        """Write a whole section from an array of any shape, cast to `dtype` (of `_DTYPES`)."""
        self.begin(name, dtype)
        self.write(np.ascontiguousarray(values, dtype=dtype).reshape(-1).view(np.uint8).data)

    def finish(self) -> dict[str, Any]:
        """Write the checksums, flush all to the disk and return the segment's manifest entry."""
        if self._position % BLOCK_BYTES:
            self._crcs.append(self._crc)
        checksums = np.array(self._crcs, dtype="<u4").tobytes()
        self._stream.write(checksums)
        to_disk(self._stream)
        self._stream.close()
        self._finished = True
        return {
            "file": self._path.name,
            "bytes": self._position + len(checksums),
            "block_bytes": BLOCK_BYTES,
            "checksums": {"offset": self._position, "crc32": zlib.crc32(checksums)},
            "sections": self._sections,
        }


class SegmentFile:
    """One memory-mapped segment; every byte is verified before it is first returned."""

    def __init__(self, folder: Path, entry: dict[str, Any]) -> None:
        """Map the file that an entry of a manifest (`read_manifest`) names."""
        self.folder, self._name = folder, entry["file"]
        size, end = entry["bytes"], entry["checksums"]["offset"]
        blocks = -(-end // BLOCK_BYTES)
        if entry["block_bytes"] != BLOCK_BYTES or size != end + blocks * _CHECKSUM.itemsize:
            raise damaged(folder, f"{self._name} has the wrong number of checksums")
        self.bytes = self._open(size)
        checksums = self.bytes[end:]
        if zlib.crc32(checksums) != entry["checksums"]["crc32"]:
            raise damaged(folder, f"{self._name} fails its checksum")
        self._crcs = np.frombuffer(checksums, dtype=_CHECKSUM)
        self._end = end
        self._verified = bytearray(blocks)
        self.pending = blocks
        self._sections = entry["sections"]

    def _open(self, size: int) -> mmap.mmap:
        path = self.folder / self._name
        try:
            with open_regular(path) as stream:
                actual = os.fstat(stream.fileno()).st_size
                if actual != size:
                    raise damaged(self.folder, f"{self._name} has {actual} bytes, expected {size}")
                return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            problem = f"{self._name} cannot be read ({reason}): {INDEX_AGAIN}"
            raise IndexFolderError(problem, path=self.folder) from error

    def section(self, name: str, dtype: str | None = None) -> Section:
        """Return one section, of dtype `dtype` unless that is None; nothing is read yet."""
        entry = self._sections.get(name)
        if entry is None or entry["dtype"] not in _DTYPES or dtype not in (None, entry["dtype"]):
            raise damaged(self.folder, f"{self._name} has no section {shorten(name, 40)}")
        return Section(self, name, entry)

    def map(self, offset: int, size: int, dtype: str) -> NDArray[Any]:
        """Return unverified bytes as an array: for `Section` only."""
        kind = np.dtype(dtype)
        within = 0 <= offset <= offset + size <= self._end
        if offset % _ALIGNMENT or size % kind.itemsize or not within:
            raise damaged(self.folder, f"{MANIFEST} misplaces a section")
        return np.frombuffer(self.bytes, dtype=kind, count=size // kind.itemsize, offset=offset)

    def verify(self, first: int, stop: int) -> None:
        """Check the blocks that hold bytes `first` to `stop`, unless that was done before."""
        if not self.pending or first >= stop:
            return
        last = -(-stop // BLOCK_BYTES)
        block = self._verified.find(0, first // BLOCK_BYTES, last)
        while block >= 0:
            self._verify_block(block)
            block = self._verified.find(0, block + 1, last)

    def verify_each(self, positions: NDArray[np.int64]) -> None:
        """Check the blocks that hold these scattered byte positions."""
        if self.pending:
            # An empty range may start directly after the last block.
            blocks = np.minimum(positions // BLOCK_BYTES, len(self._verified) - 1)
            unseen = blocks[np.frombuffer(self._verified, dtype=np.bool_)[blocks] == 0]
            for block in set(unseen.tolist()):
                self._verify_block(block)

    def _verify_block(self, block: int) -> None:
        first = block * BLOCK_BYTES
        part = memoryview(self.bytes)[first : min(first + BLOCK_BYTES, self._end)]
        if zlib.crc32(part) != self._crcs[block]:
            raise damaged(self.folder, f"{self._name} fails its checksum at byte {first}")
        self._verified[block] = 1
        self.pending -= 1

    def verify_all(self) -> None:
        """Check every block again: the file may have changed since it was first read."""
        self._verified = bytearray(len(self._crcs))
        self.pending = len(self._crcs)
        self.verify(0, self._end)


class Section:
    """A typed array in a segment file whose parts are verified before they are returned."""

    def __init__(self, file: SegmentFile, name: str, entry: dict[str, Any]) -> None:
        self.name = name
        self._file = file
        self._offset = entry["offset"]
        self._array = file.map(self._offset, entry["bytes"], entry["dtype"])
        self._item = self._array.itemsize

    def __len__(self) -> int:
        return len(self._array)

    def read(self, first: int, stop: int) -> NDArray[Any]:
        """Return elements `first` to `stop`, verified; a read-only view, nothing is copied."""
        if not 0 <= first <= stop <= len(self._array):
            raise damaged(self._file.folder, f"section {self.name} is too short")
        self._file.verify(self._offset + first * self._item, self._offset + stop * self._item)
        return self._array[first:stop]

    def unverified(self) -> NDArray[Any]:
        """Return the whole section; only parts that were `read` before are verified."""
        return self._array

    def whole(self) -> NDArray[Any]:
        """Return the whole section, verified."""
        return self.read(0, len(self._array))

    def insertion_point(self, value: int) -> int:
        """Return the position of the first element that is not below `value`; they ascend."""
        return bisect_left(self.whole().data, value)

    def take(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Return scattered elements, verified."""
        if len(positions) and not 0 <= positions.min() <= positions.max() < len(self._array):
            raise damaged(self._file.folder, f"section {self.name} is too short")
        self._file.verify_each(self._offset + positions * self._item)
        taken: NDArray[Any] = self._array[positions]
        return taken

    def joined(self, firsts: NDArray[np.int64], stops: NDArray[np.int64]) -> bytes:
        """Return scattered, short slices of a section of bytes, verified, a 0 between each two."""
        if (firsts > stops).any() or not 0 <= firsts.min() <= stops.max() <= len(self):
            raise damaged(self._file.folder, f"section {self.name} is too short")
        both = np.concatenate([firsts, np.maximum(firsts, stops - 1)])
        self._file.verify_each(both + self._offset)
        for long in np.flatnonzero(stops - firsts > BLOCK_BYTES).tolist():
            self.read(int(firsts[long]), int(stops[long]))
        ends = np.cumsum(stops - firsts + 1)
        places = np.arange(ends[-1]) + np.repeat(stops + 1 - ends, stops - firsts + 1)
        content = self._array.take(places, mode="clip")
        content[ends - 1] = 0
        return content[:-1].tobytes()


def hash_keys(keys: Sequence[bytes]) -> NDArray[np.uint64]:
    """Return the 64-bit hash of each key, in the given order."""
    hashes = (blake2b(key, digest_size=8).digest() for key in keys)
    return np.frombuffer(b"".join(hashes), dtype="<u8")


def write_keys(writer: SegmentWriter, name: str, keys: Sequence[bytes]) -> None:
    """Write the sections of a key table; the keys are distinct, their positions the numbers."""
    writer.begin(f"{name}.bytes", "u1")
    writer.write(b"".join(keys))
    offsets = np.zeros(len(keys) + 1, dtype=np.uint64)
    np.cumsum(np.fromiter(map(len, keys), dtype=np.uint64, count=len(keys)), out=offsets[1:])
    writer.array(f"{name}.offsets", "<u8", offsets)
    hashes = hash_keys(keys)
    order = np.argsort(hashes, kind="stable")
    writer.array(f"{name}.hashes", "<u8", hashes[order])
    writer.array(f"{name}.numbers", "<u4", order)


class Keys:
    """A key table in a segment file."""

    def __init__(self, file: SegmentFile, name: str) -> None:
        self._folder, self._name = file.folder, name
        self._bytes = file.section(f"{name}.bytes", "u1")
        self._offsets = file.section(f"{name}.offsets", "<u8")
        self._hashes = file.section(f"{name}.hashes", "<u8")
        self._numbers = file.section(f"{name}.numbers", "<u4")
        if not len(self._numbers) == len(self._hashes) == len(self._offsets) - 1:
            raise damaged(file.folder, f"the tables of its {name} do not fit each other")

    def __len__(self) -> int:
        return len(self._numbers)

    def find(self, key: str) -> int | None:
        """Return the number of a key, or None if there is no such key."""
        wanted = key.encode("utf-8", "surrogatepass")
        hashes = self._hashes.whole()
        code = hash_keys([wanted])[0]
        at = self._hashes.insertion_point(int(code))
        while at < len(hashes) and hashes[at] == code:
            number = int(self._numbers.read(at, at + 1)[0])
            first, stop = self._offsets.read(number, number + 2).tolist()
            if self._bytes.read(first, stop).tobytes() == wanted:
                return number
            at += 1
        return None

    def _texts(self, keys: Iterable[bytes]) -> list[str]:
        try:
            return [key.decode() for key in keys]
        except UnicodeDecodeError as error:
            raise damaged(self._folder, f"one of its {self._name} is not text") from error

    def some(self, numbers: NDArray[np.int64]) -> list[str]:
        """Return the keys with these numbers."""
        if not len(numbers):
            return []
        firsts, stops = (self._offsets.take(at).astype(np.int64) for at in (numbers, numbers + 1))
        keys = self._texts([self._bytes.joined(firsts, stops)])[0].split("\0")
        if len(keys) != len(numbers):  # some keys contain a 0
            spans = zip(firsts.tolist(), stops.tolist(), strict=True)
            keys = self._texts(self._bytes.read(a, b).tobytes() for a, b in spans)
        return keys

    def all(self) -> list[str]:
        """Return every key by number."""
        text = self._bytes.whole().tobytes()
        return self._texts(text[a:b] for a, b in pairwise(self._offsets.whole().tolist()))

    def clashes(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return which of these hashes occur here: keys that may be, and mostly are, present."""
        sorted_hashes = self._hashes.whole()
        at = np.searchsorted(sorted_hashes, hashes)
        clashing: NDArray[np.bool_] = (
            sorted_hashes[np.minimum(at, len(sorted_hashes) - 1)] == hashes
        )
        return clashing
