"""Ranking by the cosine of vectors: exact, or by a graph (docs/explain/decisions/dense.md)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from pnyx.core.errors import InputError, PnyxError, shorten
from pnyx.core.native import load_usearch
from pnyx.search.features.access import put_feature
from pnyx.search.features.vectors import document_vectors
from pnyx.search.lexical.index import WordIndex
from pnyx.search.lexical.manifest import damaged
from pnyx.search.plan import check_least
from pnyx.search.ranking.fusion import RankedList

if TYPE_CHECKING:
    from collections.abc import Callable

ANN_FROM: Final = 1_000_000
"""From this number of documents on, an existing graph is used: exact search then takes 0.2 s."""

ANN, LIBRARY = "vectors_ann", "usearch 2"
"""Name of the feature that contains the graph."""

_BLOCK_BYTES: Final = 384 * 1024
"""Size of a block in float32: it stays in the L2 cache between its three passes."""

Rows = NDArray[np.float16] | NDArray[np.float32]

_FEW: Final = 1 << 24
"""Up to this many numbers, vectors are also cached in float32 (64 MB) and scanned twice as fast."""

_SHIFT, _MASK = 13, np.array(0x8FFFE000, dtype=np.uint32).view(np.int32)
_SCALE = np.float32(2.0**112)

_ALONE = 1000
"""Vectors added one by one at first: those added in parallel do not become neighbours."""
_BUILD: Final = "pnyx index --update INDEX --ann"
_WANTED: Final = 256
"""Minimum number of neighbours to look for in a graph, and candidates it keeps while searching."""


def dense_rank(
    index: WordIndex, question_vector: NDArray[np.float32], k: int, *, ann: bool | None = None
) -> RankedList:
    """Rank documents by the cosine of their vectors to a question's; ties in document order.

    `question_vector` is from `embed_question`. Exact search sums the stored float16 in float64, so
    a cosine is accurate to about 0.0005. `ann` says whether to search the graph of `build_ann`,
    which may miss some documents; None searches it from `ANN_FROM` documents on if it fits the
    vectors. Returns numbers int64 and cosines float64, best first.

    Raises:
        InputError: no vectors, a vector of another length, `k` below 1, or `ann` without a graph.
        IndexFolderError: the vectors are damaged.
        MissingExtra: the graph is to be searched and its library is not installed.
    """
    rows: Rows = document_vectors(index).rows
    if rows.size <= _FEW:
        rows = index.once("vectors in float32", partial(rows.astype, np.float32))
    question = _question(question_vector, rows.shape[1], k)
    graph = None
    if ann or (ann is None and len(index) >= ANN_FROM):
        graph = index.once(ANN, lambda: _open_graph(index))
    if graph is not None:
        return _graph_top(graph[0], rows, question, k)
    if ann:
        raise InputError(f"the index has no graph of these vectors: {_BUILD}", path=index.path)
    return cosine_top(rows, question, k)


def cosine_top(rows: Rows, question: NDArray[np.float32], k: int) -> RankedList:
    """Return the `k` rows with the largest dot product, summed in float64; ties by row."""
    scores = _scan(rows, question)
    candidates = np.arange(len(rows))
    if len(rows) > k:
        # A sum of d products of unit vectors has an error of at most d units of rounding (Higham,
        # "Accuracy and Stability of Numerical Algorithms", 3.1), the k-th best and the others.
        slack = 2.1 * len(question) * np.finfo(np.float32).eps / 2
        candidates = np.flatnonzero(scores >= np.partition(scores, -k)[-k] - slack)
    return _exactly(rows, candidates, question, k)


def cosines_of(
    index: WordIndex, question_vector: NDArray[np.float32], numbers: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the cosines of documents, by number, as `dense_rank` has them."""
    rows = document_vectors(index).rows
    return _dots(rows, numbers, _question(question_vector, rows.shape[1], 1))


def _exactly(
    rows: Rows, numbers: NDArray[np.int64], question: NDArray[np.float32], k: int
) -> RankedList:
    """Rank some rows by their dot product in float64."""
    scores = _dots(rows, numbers, question)
    order = np.argsort(-scores, kind="stable")[:k]
    return numbers[order], scores[order]


def _dots(
    rows: Rows, numbers: NDArray[np.int64], question: NDArray[np.float32]
) -> NDArray[np.float64]:
    exact = question.astype(np.float64)
    scores = np.empty(len(numbers))
    for start in range(0, len(numbers), 4096):  # all rows may be equal, so it may be all of them
        part = rows[numbers[start : start + 4096]].astype(np.float64)
        part *= exact  # not a matrix product: its rounding depends on the position of a row
        part.sum(axis=1, out=scores[start : start + 4096])
    return scores


def _scan(rows: Rows, question: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the dot product of each row with a vector, in float32."""
    if rows.dtype == np.float32:
        return rows @ question
    size = max(1, _BLOCK_BYTES // (4 * max(1, rows.shape[1])))
    bits = np.ascontiguousarray(rows).view(np.int16)
    scaled = question * _SCALE
    scores = np.empty(len(rows), dtype=np.float32)
    buffer = np.empty((size, rows.shape[1]), dtype=np.int32)
    for start in range(0, len(rows), size):
        stop = min(start + size, len(rows))
        block = buffer[: stop - start]
        np.copyto(block, bits[start:stop])
        np.left_shift(block, _SHIFT, out=block)
        np.bitwise_and(block, _MASK, out=block)
        np.dot(block.view(np.float32), scaled, out=scores[start:stop])
    return scores


def _question(vector: NDArray[np.float32], dimensions: int, k: int) -> NDArray[np.float32]:
    check_least("k", k, 1)
    question = np.ascontiguousarray(vector, dtype=np.float32)
    if question.shape != (dimensions,):
        shape = "x".join(map(str, question.shape))
        raise InputError(f"the question's vector has {shape} numbers, expected {dimensions}")
    if not abs(float(np.linalg.norm(question.astype(np.float64))) - 1) < 0.01:
        raise InputError("the question's vector does not have the length 1")
    return question


def build_ann(
    index_folder: str | Path, *, on_progress: Callable[[int], None] | None = None
) -> None:
    """Build the graph (HNSW, by usearch) over the vectors of an index, and keep it there.

    It is not used once the vectors have changed. `on_progress` is called from time to time with
    the number of documents in it. Raises InputError without vectors, MissingExtra without usearch,
    PnyxError if the disk is full or read-only, or another process is writing.
    """
    index = WordIndex.open(index_folder)
    vectors = document_vectors(index)
    rows = vectors.rows
    graph = new_graph(rows.shape[1])
    for start in range(0, len(rows), 10_000):
        part = rows[start : start + 10_000]
        keys = np.arange(start, start + len(part), dtype=np.uint64)
        alone = max(0, _ALONE - start)
        if alone:
            graph.add(keys[:alone], part[:alone], threads=1)
        if len(part) > alone:
            graph.add(keys[alone:], part[alone:])
        if on_progress is not None:
            on_progress(start + len(part))
    content = np.frombuffer(graph.save(), dtype=np.uint8)
    check_graph(content, rows)  # checked as when opened, in case usearch writes another layout
    meta = {"library": LIBRARY, "of": dict(vectors.identity)}
    put_feature(index.path, ANN, {"graph": content}, documents=len(rows), meta=meta)


def graph_library() -> Any:
    """Return the class of graphs, or raise MissingExtra."""
    return load_usearch().Index


def _open_graph(index: WordIndex) -> tuple[Any, NDArray[np.uint8]] | None:
    feature = index.known(ANN)
    vectors = document_vectors(index)
    wanted = {"library": LIBRARY, "of": dict(vectors.identity)}
    if feature is None or dict(feature.meta) != wanted:
        return None
    graph = new_graph(vectors.rows.shape[1])
    content = feature.array("graph")
    try:
        check_graph(content, vectors.rows)
        graph.view(content.data)
    except (RuntimeError, ValueError) as error:
        problem = f"feature {ANN} cannot be read ({shorten(str(error))})"
        raise damaged(index.path, problem) from error
    if (len(graph), graph.ndim) != vectors.rows.shape:
        raise damaged(index.path, f"feature {ANN} is of other vectors")
    # The graph reads from the mapped file, so it must keep the mapping alive.
    return graph, content


def _graph_top(graph: Any, rows: Rows, question: NDArray[np.float32], k: int) -> RankedList:
    # A search keeps as many candidates as it returns; twice as many find more of the best.
    wanted = min(len(rows), max(2 * k, _WANTED))
    nearest = graph.search(question, wanted, threads=1).keys.astype(np.int64)
    if len(nearest) and not 0 <= nearest.min() <= nearest.max() < len(rows):
        raise PnyxError("the graph of vectors names documents that do not exist: build it again")
    return _exactly(rows, np.unique(nearest), question, k)


# The graph as usearch writes it -------------------------------------------------------------------

# usearch trusts a graph: with a missing neighbour or a level too many, it reads memory outside of
# the graph. So all of it is checked once per open index. The layout,
# little-endian and without gaps, is that of usearch 2:
#
#     rows, bytes of a row: two uint32, then the vectors
#     head, 64 bytes: magic, version, kinds, number of vectors, dimensions, and zeros
#     n, connectivity, connectivity of level 0, top level, entry: five uint64
#     level of each node: int16
#     each node: key uint64, level int16, then for each of its levels a list of neighbours:
#         their number, uint32, and room for connectivity of them, uint32 each

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
    return graph_library()(
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
    empty = np.frombuffer(new_graph(dimensions).save(), dtype=np.uint8)
    expected, actual = empty[8 : 8 + _HEAD].copy(), head.copy()
    if not np.array_equal(actual[_MAJOR], expected[_MAJOR]):
        raise ValueError("it was written by another library")
    expected[_COUNT] = np.frombuffer(np.uint64(count).tobytes(), dtype=np.uint8)
    actual[_REST_OF_VERSION] = expected[_REST_OF_VERSION]
    if not np.array_equal(actual, expected):
        raise ValueError("it is of a different kind")


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
    """Check lists of neighbours [nodes, bytes]: each exists, also at that level."""
    sizes, slots = _numbers(lists[:, :_LIST], "<u4"), _numbers(lists[:, _LIST:], "<u4")
    if (sizes > slots.shape[1]).any():
        raise ValueError("a list of neighbours is too long")
    named = slots[np.arange(slots.shape[1]) < sizes]
    if (named >= len(levels)).any() or (level and (levels[named] < level).any()):
        raise ValueError("a neighbour does not exist")


def _rows_at(content: Bytes, starts: NDArray[np.int64], size: int) -> Bytes:
    return np.lib.stride_tricks.sliding_window_view(content, size)[starts]  # a copy


def _numbers(columns: Bytes, dtype: str) -> NDArray[Any]:
    return np.ascontiguousarray(columns).view(dtype)


def _parts(count: int) -> Iterator[slice]:
    for start in range(0, count, _AT_ONCE):
        yield slice(start, start + _AT_ONCE)
