"""Ranking by the cosine of vectors: exact, or by a graph (docs/decisions/dense.md)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from pnyx.errors import InputError, PnyxError, shorten
from pnyx.native import load_usearch
from pnyx.search.features import put_feature
from pnyx.search.fusion import RankedList
from pnyx.search.graph import LIBRARY, check_graph, new_graph
from pnyx.search.index import Index
from pnyx.search.manifest import damaged
from pnyx.search.plan import check_least
from pnyx.search.vectors import document_vectors

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ANN_FROM", "build_ann", "cosine_top", "dense_rank", "graph_library"]

ANN_FROM: Final = 1_000_000
"""Documents from which the graph is used where there is one: exact search then takes 0.2 s."""

ANN = "vectors_ann"
"""Name of the feature that holds the graph."""

_BLOCK_BYTES: Final = 384 * 1024
"""Size of a block in float32: it stays in the second cache between its three passes."""

_SHIFT, _MASK = 13, np.array(0x8FFFE000, dtype=np.uint32).view(np.int32)
_SCALE = np.float32(2.0**112)

_ALONE = 1000
"""Vectors that are added one after the other: those added side by side do not see each other, which
costs a small graph links."""
_BUILD: Final = "pnyx index --update INDEX --ann"
_WANTED: Final = 256
"""As many are looked for in a graph, at least, and as many as it keeps while it searches."""


def dense_rank(
    index: Index, question_vector: NDArray[np.float32], k: int, *, ann: bool | None = None
) -> RankedList:
    """Rank documents by the cosine of their vectors to a question's; ties in document order.

    Exact search sums the stored float16 in float64, so a cosine is right to about 0.0005.

    Args:
        index: its documents were embedded (`embed_documents`).
        question_vector: from `embed_question`, of length 1.
        k: how many documents at most, at least 1.
        ann: whether to search the graph of `build_ann`, which may miss some documents; None
            searches it from `ANN_FROM` documents on if it is there and fits the vectors.

    Returns:
        Numbers int64 and cosines float64, best first.

    Raises:
        InputError: no vectors, a vector of another length, `k` below 1, or `ann` without a graph.
        IndexFolderError: the vectors are damaged.
        MissingExtra: the graph is to be searched and its library is not installed.
    """
    rows = document_vectors(index).rows
    question = _question(question_vector, rows.shape[1], k)
    graph = None
    if ann or (ann is None and len(index) >= ANN_FROM):
        graph = index.once(ANN, lambda: _open_graph(index))
    if graph is not None:
        return _graph_top(graph[0], rows, question, k)
    if ann:
        raise InputError(f"the index has no graph of these vectors: {_BUILD}", path=index.path)
    return cosine_top(rows, question, k)


def cosine_top(rows: NDArray[np.float16], question: NDArray[np.float32], k: int) -> RankedList:
    """Return the `k` of rows [n, d] with the largest dot product with a vector [d]; ties by row.

    A scan in float32 finds all candidates; they are then summed in float64, so that equal rows tie.
    """
    scores = _scan(rows, question)
    candidates = np.arange(len(rows))
    if len(rows) > k:
        # A sum of d products of unit vectors is off by at most d units of rounding (Higham,
        # "Accuracy and Stability of Numerical Algorithms", 3.1), the k-th best and the others.
        slack = 2.1 * len(question) * np.finfo(np.float32).eps / 2
        candidates = np.flatnonzero(scores >= np.partition(scores, -k)[-k] - slack)
    return _exactly(rows, candidates, question, k)


def _exactly(
    rows: NDArray[np.float16], numbers: NDArray[np.int64], question: NDArray[np.float32], k: int
) -> RankedList:
    """Rank some rows by their dot product in float64."""
    exact = question.astype(np.float64)
    scores = np.empty(len(numbers))
    for start in range(0, len(numbers), 4096):  # all rows may be equal, so it may be all of them
        part = numbers[start : start + 4096]
        # Not a matrix product: its rounding depends on where in the matrix a row stands.
        scores[start : start + 4096] = (rows[part].astype(np.float64) * exact).sum(axis=1)
    order = np.argsort(-scores, kind="stable")[:k]
    return numbers[order], scores[order]


def _scan(rows: NDArray[np.float16], question: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the dot product of each row with a vector, in float32."""
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
        found = "x".join(map(str, question.shape))
        raise InputError(f"the question's vector has {found} numbers, expected {dimensions}")
    if not abs(float(np.linalg.norm(question.astype(np.float64))) - 1) < 0.01:
        raise InputError("the question's vector has another length than 1")
    return question


# The graph ---------------------------------------------------------------------------------------


def build_ann(
    index_folder: str | Path, *, on_progress: Callable[[int], None] | None = None
) -> None:
    """Build the graph (HNSW, by usearch) over the vectors of an index, and keep it there.

    It is memory-mapped when searched, and not used once the vectors have changed. `on_progress` is
    called now and then with how many documents are in it.

    Raises:
        InputError: the index has no vectors.
        MissingExtra: usearch is not installed.
        PnyxError: the disk is full or read-only, or another process is writing.
    """
    index = Index.open(index_folder)
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
    check_graph(content, rows)  # as it will be when it is opened: a usearch that writes otherwise
    meta = {"library": LIBRARY, "of": dict(vectors.identity)}
    put_feature(index.path, ANN, {"graph": content}, documents=len(rows), meta=meta)


def graph_library() -> Any:
    """Return the class of graphs, or raise MissingExtra."""
    return load_usearch().Index


def _open_graph(index: Index) -> tuple[Any, NDArray[np.uint8]] | None:
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
        said = f"feature {ANN} is not understood ({shorten(str(error))})"
        raise damaged(index.path, said) from error
    if (len(graph), graph.ndim) != vectors.rows.shape:
        raise damaged(index.path, f"feature {ANN} is of other vectors")
    # The graph reads where the file is mapped, so the mapping has to live as long.
    return graph, content


def _graph_top(
    graph: Any, rows: NDArray[np.float16], question: NDArray[np.float32], k: int
) -> RankedList:
    """Rank what the graph finds, by the same cosines as exact search."""
    # As many as are asked for are kept while searching; twice as many finds more of the best.
    wanted = min(len(rows), max(2 * k, _WANTED))
    found = graph.search(question, wanted, threads=1).keys.astype(np.int64)
    if len(found) and not 0 <= found.min() <= found.max() < len(rows):
        raise PnyxError("the graph of vectors names documents that are not there: build it again")
    return _exactly(rows, np.unique(found), question, k)
