"""Speed and recall of dense search, compared with faiss and usearch in the same run.

    pip install 'pnyx[dense]' faiss-cpu
    python lab/search/dense.py                        # 387,740 random vectors of 384 numbers
    python lab/search/dense.py --vectors documents.npy --questions questions.npy

`--vectors` (float32 [n, d] of length 1, for example from `load_encoder().encode`) are repeated with
a little noise up to `--documents` for the times of exact search, and used unchanged for the recall
of graphs. Times are milliseconds of one thread, median / 99th percentile: CPU time, which depends
least on other load, and wall time. All engines rank the same vectors in float16, unless a row says
float32.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_name] = "1"  # read as numpy and faiss are loaded

import numpy as np  # noqa: E402

from pnyx.search.ranking.dense import _EXPANSION_SEARCH, cosine_top, new_graph  # noqa: E402

NOISE = 0.02
"""Standard deviation of the noise on each number of a repeated vector; a number is about 0.05."""


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


def enlarged(rows: np.ndarray | None, count: int, dimensions: int) -> np.ndarray:
    """Return `count` vectors in float16: random, or the given ones, with noise on repetitions."""
    rng = np.random.default_rng(7)
    out = np.empty((count, dimensions if rows is None else rows.shape[1]), dtype=np.float16)
    for first in range(0, count, 20_000):
        numbers = np.arange(first, min(first + 20_000, count))
        noise = rng.standard_normal((len(numbers), out.shape[1]), dtype=np.float32)
        if rows is not None:
            repeated = (numbers >= len(rows))[:, None]
            noise = rows[numbers % len(rows)] + NOISE * noise * repeated
        out[numbers] = unit(noise)
    return out


def report(name: str, run: Callable[[np.ndarray], Any], questions: np.ndarray, note: str) -> None:
    run(questions[0])
    cpu, wall = [], []
    for question in questions:
        began, began_cpu = time.perf_counter(), time.process_time()
        run(question)
        cpu.append((time.process_time() - began_cpu) * 1e3)
        wall.append((time.perf_counter() - began) * 1e3)
    times = " | ".join(f"{np.median(t):.2f} / {np.percentile(t, 99):.2f}" for t in (cpu, wall))
    print(f"| {name} | {times} | {note} |", flush=True)


def exact(rows: np.ndarray, questions: np.ndarray, k: int) -> None:
    """Print the times of exact search."""
    from usearch.index import MetricKind, search

    print(f"\n| exact, {len(rows):,} x {rows.shape[1]}, top {k} | CPU ms | wall ms | |")
    print("|---|---|---|---|")
    report("pnyx", lambda q: cosine_top(rows, q, k), questions, "exact in float64")

    def plainly(q: np.ndarray) -> Any:
        parts = [rows[i : i + 256].astype(np.float32) @ q for i in range(0, len(rows), 256)]
        return np.argpartition(np.concatenate(parts), -k)[-k:]

    report("numpy, astype block by block", plainly, questions[:5], "")
    metric = MetricKind.IP
    report(
        "usearch exact",
        lambda q: search(rows, q.astype(np.float16), k, metric, exact=True, threads=1),
        questions,
        "",
    )
    if (faiss := _faiss()) is None:
        return
    for name, kind in (("faiss scalar quantizer fp16", "SQfp16"), ("faiss flat, float32", "Flat")):
        index = faiss.index_factory(rows.shape[1], kind, faiss.METRIC_INNER_PRODUCT)
        index.train(rows[:1000].astype(np.float32))
        for first in range(0, len(rows), 50_000):
            index.add(rows[first : first + 50_000].astype(np.float32))
        report(name, lambda q, index=index: index.search(q[None], k), questions, "")
        del index


def graphs(rows: np.ndarray, questions: np.ndarray, k: int) -> None:
    """Print times and recall of approximate search."""
    halves = rows.astype(np.float16)
    truth = [set(cosine_top(halves, q, k)[0].tolist()) for q in questions]

    def recall(search: Callable[[np.ndarray], Any]) -> str:
        ids = [set(np.asarray(search(q)).tolist()) for q in questions]
        shares = [len(a & b) / k for a, b in zip(ids, truth, strict=True)]
        return f"recall {np.mean(shares):.4f}, worst {min(shares):.2f}"

    print(f"\n| graph, {len(rows):,} x {rows.shape[1]}, top {k} | CPU ms | wall ms | |")
    print("|---|---|---|---|")
    began = time.process_time()
    graph = new_graph(rows.shape[1])
    graph.add(np.arange(len(rows), dtype=np.uint64), halves, threads=1)
    built, content = time.process_time() - began, graph.save()
    began_wall = time.perf_counter()
    graph = new_graph(rows.shape[1])
    graph.view(content)
    opened = (time.perf_counter() - began_wall) * 1e3
    size = f"built in {built:.0f} CPU s, {len(content) / 1e6:.0f} MB, opened in {opened:.0f} ms"

    def mapped(q: np.ndarray) -> Any:
        return graph.search(q, max(2 * k, _EXPANSION_SEARCH), threads=1).keys[:k]

    report("pnyx (usearch HNSW 32)", mapped, questions, f"{recall(mapped)}, {size}")
    if (faiss := _faiss()) is None:
        return
    index = faiss.index_factory(rows.shape[1], "HNSW32_SQfp16", faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction, index.hnsw.efSearch = 200, max(2 * k, _EXPANSION_SEARCH)
    began = time.process_time()
    index.train(rows)
    index.add(rows)
    built, content = time.process_time() - began, faiss.serialize_index(index)
    began_wall = time.perf_counter()
    index = faiss.deserialize_index(content)
    opened = (time.perf_counter() - began_wall) * 1e3
    size = f"built in {built:.0f} CPU s, {len(content) / 1e6:.0f} MB, read in {opened:.0f} ms"

    def read(q: np.ndarray) -> Any:
        return index.search(q[None], k)[1][0]

    report("faiss HNSW 32, fp16", read, questions, f"{recall(read)}, {size}")


def _faiss() -> Any | None:
    try:
        import faiss
    except ImportError:
        return None
    faiss.omp_set_num_threads(1)
    return faiss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=387_740)
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--asked", type=int, default=30)
    parser.add_argument("-k", type=int, default=100)
    options = parser.parse_args()
    _faiss()  # before usearch: loaded after it, faiss 1.15.1's index_factory crashes
    real = np.load(options.vectors) if options.vectors else None
    rng = np.random.default_rng(11)
    questions = unit(rng.normal(size=(options.asked, options.dimensions)))
    if options.questions:
        questions = np.load(options.questions)
    for name in ("numpy", "usearch", "faiss-cpu"):
        try:
            print(name, version(name))
        except PackageNotFoundError:
            print(name, "is not installed, so it is not measured")
    exact(
        enlarged(real, options.documents, options.dimensions), questions[: options.asked], options.k
    )
    if real is not None:
        graphs(real, questions[:300], options.k)


if __name__ == "__main__":
    main()
