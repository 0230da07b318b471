"""Time of the full Touché score, beside plain Dirichlet and beside memory speed.

    pip install pnyx
    python benchmarks/search/touche.py --documents 387740    # the size of args.me

The corpus and the questions are those of `speed.py`, with random topics and qualities. The cosines
of a question to 300 topics are like those of real questions: nearly all small, a few large. Times
are CPU milliseconds of the calling thread, each question's best of five, so that other load on the
machine disturbs them least. Embedding the question is left out: it takes longer than all of this.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import speed

from pnyx.search.features import put_feature
from pnyx.search.index import Index
from pnyx.search.touche import touche_rank, touche_scores

TOPICS = 300
DIMENSIONS = 384


class Questions:
    """An embedder that knows the vectors of the questions."""

    name = "questions"
    dimensions = DIMENSIONS

    def __init__(self, asked: list[str], centroids: np.ndarray, seed: int) -> None:
        rng = np.random.default_rng(seed + 2)
        self.vectors = {}
        for question in asked:
            near = centroids[rng.integers(0, TOPICS, 3)] * rng.random((3, 1))
            vector = near.sum(axis=0) + rng.normal(scale=0.03, size=DIMENSIONS)
            self.vectors[question] = (vector / np.linalg.norm(vector)).astype(np.float32)[None]

    def encode(self, texts: list[str]) -> np.ndarray:
        return self.vectors[texts[0]]


def put_features(folder: Path, documents: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centroids = rng.normal(size=(TOPICS, DIMENSIONS)).astype(np.float32)
    centroids /= np.linalg.norm(centroids, axis=1, keepdims=True)
    labels = [{"label": "", "terms": [], "documents": 0}] * TOPICS
    arrays = {
        "cluster": rng.integers(0, TOPICS, documents).astype(np.uint32),
        "centroids": centroids,
        "labels": np.frombuffer(json.dumps(labels).encode(), dtype=np.uint8),
    }
    meta = {"embedder": Questions.name, "space": "conclusion"}
    put_feature(folder, "clusters", arrays, documents=documents, meta=meta)
    quality = {"values": rng.beta(4, 4, documents).astype(np.float32)}
    put_feature(folder, "quality", quality, documents=documents, meta={})
    return centroids


def best_times(run: Callable[[str], Any], asked: list[str]) -> np.ndarray:
    for question in asked[:10]:
        run(question)
    out = []
    for question in asked:
        times = []
        for _ in range(5):
            started = time.thread_time_ns()
            run(question)
            times.append((time.thread_time_ns() - started) / 1e6)
        out.append(min(times))
    return np.array(out)


def memory_speed() -> float:
    """Return the bytes a second at which one thread adds up a large array."""
    values = np.ones(1 << 26, dtype=np.float32)
    times = []
    for _ in range(5):
        started = time.thread_time()
        values.sum()
        times.append(time.thread_time() - started)
    return values.nbytes / min(times)


def report(index: Index, embedder: Questions, asked: list[str]) -> None:
    rate, documents = memory_speed(), len(index)
    postings = speed.postings_touched(index, [question.split() for question in asked])
    # A posting, its document's length, cluster and quality code; and the score, out and back.
    own = 4 * postings + documents * (1 + 2)
    # What engines with a float weight a posting and a score a document must move.
    eager = 8 * postings + documents * (8 + 2 + 4)
    print(f"memory: {rate / 1e9:.1f} GB/s; {postings:,.0f} postings a question, top {speed.TOP}\n")
    print("| what | median ms | p99 ms | over plain Dirichlet |\n|---|---|---|---|")
    plain = best_times(lambda q: index.rank(q, "dirichlet", speed.TOP), asked)
    rows = {
        "Dirichlet": plain,
        "Touché, exact over all": best_times(
            lambda q: touche_rank(index, q, embedder, speed.TOP), asked
        ),
        "Touché, R fixed to 1": best_times(
            lambda q: touche_rank(index, q, embedder, speed.TOP, flat=True), asked[:50]
        ),
        "Touché, scores of all": best_times(
            lambda q: touche_scores(index, q, embedder), asked[:50]
        ),
    }
    for name, times in rows.items():
        ratio = np.median(times) / np.median(plain)
        print(f"| {name} | {np.median(times):.2f} | {np.percentile(times, 99):.2f} | {ratio:.2f} |")
    full = float(np.median(rows["Touché, exact over all"]))
    for name, moved in (("this index", own), ("float weights, dense scores", eager)):
        floor = 1e3 * moved / rate
        print(
            f"\nbytes of {name}: {moved / 1e6:.2f} MB, {floor:.3f} ms at memory speed; "
            f"Touché takes {full / floor:.1f} times that",
            end="",
        )
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=50_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--index", type=Path, help="keep the index here and use it again")
    options = parser.parse_args()
    print(
        f"{speed.processor()}, Python {platform.python_version()}, "
        + ", ".join(speed.installed(name) for name in ("numpy", "numba", "pnyx"))
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.index or Path(temporary) / "index"
        if not folder.exists():
            speed.build(options.documents, options.seed, folder)
        centroids = put_features(folder, options.documents, options.seed)
        asked = [
            " ".join(words)
            for words in speed.questions(options.queries, options.documents, options.seed)
        ]
        index = Index.open(folder, kernel="numba")
        report(index, Questions(asked, centroids, options.seed), asked)


if __name__ == "__main__":
    main()
