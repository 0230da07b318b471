"""The graph of vectors (HNSW) as usearch writes it, checked before usearch reads it.

usearch trusts a graph: a neighbour that is not there, or a level too many, and it reads foreign
memory. So all of it is checked. The layout of usearch 2, little-endian and without gaps:

    rows, bytes of a row: two uint32, then the vectors
    head, 64 bytes: magic, version, kinds, number of vectors, dimensions, and zeros
    n, connectivity, connectivity of level 0, top level, entry: five uint64
    level of each node: int16
    each node: key uint64, level int16, then for each of its levels a list of neighbours:
        their number, uint32, and room for connectivity of them, uint32 each
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pnyx.native import load_usearch

__all__ = ["LIBRARY", "check_graph", "new_graph"]

LIBRARY: Final = "usearch 2"

_CONNECTIVITY, _EXPANSION_ADD, _EXPANSION_SEARCH = 32, 200, 256
_BASE: Final = 2 * _CONNECTIVITY
"""Neighbours at level 0."""

_HEAD: Final = 64
_MAJOR, _REST_OF_VERSION, _COUNT = slice(0, 9), slice(9, 13), slice(17, 25)
"""Within the head: magic and major version, which must be ours; minor version and patch, which need
not; the number of vectors."""
_KEY, _LEVEL = 8, 2
_LIST: Final = 4
_NODE: Final = _KEY + _LEVEL + _LIST + 4 * _BASE
_UPPER: Final = _LIST + 4 * _CONNECTIVITY
_AT_ONCE: Final = 1 << 14

Bytes = NDArray[np.uint8]


def new_graph(dimensions: int) -> Any:
    """Return an empty graph, or raise MissingExtra."""
    return load_usearch().Index(
        ndim=dimensions,
        metric="ip",
        dtype="f16",
        connectivity=_CONNECTIVITY,
        expansion_add=_EXPANSION_ADD,
        expansion_search=_EXPANSION_SEARCH,
    )


def check_graph(content: Bytes, rows: NDArray[np.float16]) -> None:
    """Raise ValueError for anything but a graph of just these vectors [n, d], keyed by row."""
    count, dimensions = rows.shape
    width = dimensions * rows.itemsize
    stored, content = _cut(content, 8 + count * width)
    if stored[:8].view("<u4").tolist() != [count, width]:
        raise ValueError("it is of other vectors")
    head, content = _cut(content, _HEAD)
    _check_head(head, count, dimensions)
    top, entry, levels, content = _levels(content, count)
    if int(levels[entry]) != top or int(levels.min()) < 0 or int(levels.max()) != top:
        raise ValueError("its levels do not fit")
    starts = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(_NODE + levels.astype(np.int64) * _UPPER, out=starts[1:])
    if len(content) != int(starts[-1]):
        raise ValueError("its size does not fit its levels")
    keys = _check_nodes(content, starts[:-1], levels)
    if not np.array_equal(np.sort(keys), np.arange(count, dtype=np.uint64)):
        raise ValueError("its keys are not those of the vectors")
    bits = rows.view(np.uint16)
    vectors = stored[8:].view("<u2").reshape(count, dimensions)
    for at in _parts(count):
        if not np.array_equal(vectors[at], bits[keys[at].astype(np.int64)]):
            raise ValueError("it is of other vectors")


def _cut(content: Bytes, size: int) -> tuple[Bytes, Bytes]:
    if len(content) < size:
        raise ValueError("it is cut off")
    return content[:size], content[size:]


def _check_head(head: Bytes, count: int, dimensions: int) -> None:
    """Compare with the head that this usearch writes."""
    empty = np.frombuffer(new_graph(dimensions).save(), dtype=np.uint8)
    expected, found = empty[8 : 8 + _HEAD].copy(), head.copy()
    if not np.array_equal(found[_MAJOR], expected[_MAJOR]):
        raise ValueError("another library wrote it")
    expected[_COUNT] = np.frombuffer(np.uint64(count).tobytes(), dtype=np.uint8)
    found[_REST_OF_VERSION] = expected[_REST_OF_VERSION]
    if not np.array_equal(found, expected):
        raise ValueError("it is of another kind")


def _levels(content: Bytes, count: int) -> tuple[int, int, NDArray[np.int16], Bytes]:
    numbers, content = _cut(content, 40)
    size, connectivity, base, top, entry = numbers.copy().view("<u8").tolist()
    if (size, connectivity, base) != (count, _CONNECTIVITY, _BASE) or entry >= count:
        raise ValueError("its numbers do not fit")
    levels, content = _cut(content, 2 * count)
    return top, entry, levels.copy().view("<i2"), content


def _check_nodes(
    content: Bytes, starts: NDArray[np.int64], levels: NDArray[np.int16]
) -> NDArray[np.uint64]:
    """Check each node's own level and its neighbours; return the keys."""
    keys = np.empty(len(levels), dtype=np.uint64)
    for at in _parts(len(levels)):
        node = _rows_at(content, starts[at], _NODE)
        keys[at] = _numbers(node[:, :_KEY], "<u8")[:, 0]
        if not np.array_equal(_numbers(node[:, _KEY : _KEY + _LEVEL], "<i2")[:, 0], levels[at]):
            raise ValueError("its levels do not fit")
        _check_list(node[:, _KEY + _LEVEL :], levels, 0)
    for level in range(1, int(levels.max()) + 1):
        there = starts[levels >= level] + _NODE + (level - 1) * _UPPER
        for at in _parts(len(there)):
            _check_list(_rows_at(content, there[at], _UPPER), levels, level)
    return keys


def _check_list(lists: Bytes, levels: NDArray[np.int16], level: int) -> None:
    """Check lists of neighbours [nodes, bytes]: each is there, and at that level too."""
    sizes, slots = _numbers(lists[:, :_LIST], "<u4"), _numbers(lists[:, _LIST:], "<u4")
    if (sizes > slots.shape[1]).any():
        raise ValueError("a list of neighbours is too long")
    named = slots[np.arange(slots.shape[1]) < sizes]
    if (named >= len(levels)).any() or (level and (levels[named] < level).any()):
        raise ValueError("a neighbour is not there")


def _rows_at(content: Bytes, starts: NDArray[np.int64], size: int) -> Bytes:
    rows: Bytes = np.lib.stride_tricks.sliding_window_view(content, size)[starts]
    return rows


def _numbers(columns: Bytes, dtype: str) -> NDArray[Any]:
    return np.ascontiguousarray(columns).view(dtype)


def _parts(count: int) -> Iterator[slice]:
    for start in range(0, count, _AT_ONCE):
        yield slice(start, start + _AT_ONCE)
