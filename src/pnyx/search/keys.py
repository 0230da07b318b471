"""Strings to numbers, memory-mapped: the term dictionary and the document ids.

Sections `NAME.bytes` and `NAME.offsets` hold the UTF-8 strings by number, `NAME.hashes` their
64-bit hashes in order, `NAME.numbers` the number behind each hash. A look-up is one binary search.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pnyx.search.manifest import damaged
from pnyx.search.storage import SegmentFile, SegmentWriter

__all__ = ["Keys", "hash_keys", "write_keys"]


def _hash(key: bytes) -> bytes:
    return blake2b(key, digest_size=8).digest()


def hash_keys(keys: Sequence[bytes]) -> NDArray[np.uint64]:
    """Return the 64-bit hash of each key, in the given order."""
    return np.frombuffer(b"".join(map(_hash, keys)), dtype="<u8")


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
    """A key table as it lies in a segment file."""

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
        """Return the number of a key, or None where there is no such key."""
        wanted = key.encode("utf-8", "surrogatepass")
        hashes = self._hashes.whole()
        code = np.frombuffer(_hash(wanted), dtype="<u8")[0]
        at = int(np.searchsorted(hashes, code))
        while at < len(hashes) and hashes[at] == code:
            number = int(self._numbers.read(at, at + 1)[0])
            if self._raw(number) == wanted:
                return number
            at += 1
        return None

    def _raw(self, number: int) -> bytes:
        first, stop = self._offsets.read(number, number + 2).tolist()
        return self._bytes.read(first, stop).tobytes()

    def key(self, number: int) -> str:
        """Return the key with this number."""
        return self._text(self._raw(number))

    def _text(self, key: bytes) -> str:
        try:
            return key.decode()
        except UnicodeDecodeError as error:
            raise damaged(self._folder, f"one of its {self._name} is no text") from error

    def some(self, numbers: NDArray[np.int64]) -> list[str]:
        """Return the keys with these numbers."""
        firsts = self._offsets.take(numbers).astype(np.int64)
        stops = self._offsets.take(numbers + 1).astype(np.int64)
        return list(map(self._text, self._bytes.slices(firsts, stops)))

    def all(self) -> list[str]:
        """Return every key by number."""
        text = self._bytes.whole().tobytes()
        return [self._text(text[a:b]) for a, b in pairwise(self._offsets.whole().tolist())]

    def clashes(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return which of these hashes occur here: keys that may be, and mostly are, present."""
        own = self._hashes.whole()
        at = np.searchsorted(own, hashes)
        found: NDArray[np.bool_] = own[np.minimum(at, len(own) - 1)] == hashes
        return found
