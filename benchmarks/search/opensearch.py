"""An index folder and OpenSearch in the same run: rankings, load time, bytes, time of a question.

    tools/opensearch.sh start
    PNYX_DATA=DATA python benchmarks/search/opensearch.py --address opensearch://127.0.0.1:9200
    ... --documents 100000    # a synthetic corpus of so many, beside the real one of 10,725

Vectors, topics and qualities are random (they cost the same), times are of the wall.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from corpus import questions as synthetic_questions
from corpus import texts
from parity import idebate

from pnyx.records import Document
from pnyx.search.build import build_index
from pnyx.search.features.access import put_feature
from pnyx.search.index import Index
from pnyx.search.opening import open_index
from pnyx.search.opensearch.loading import LoadPlan, copy
from pnyx.search.plan import Scoring

SCORINGS = {
    "Dirichlet": Scoring("dirichlet"),
    "BM25": Scoring("bm25"),
    "Dirichlet, mu 1000": Scoring("dirichlet", {"mu": 1000.0}),
    "Touché": Scoring("touche"),
    "dense": Scoring("dense"),
    "hybrid": Scoring("hybrid"),
}
TOPICS, SIZE = 300, 384


class Random:
    """Embeds by chance, each text as always."""

    name, dimensions = "random", SIZE

    def encode(self, asked: Sequence[str]) -> np.ndarray:
        return unit(np.stack([np.random.default_rng(len(t)).normal(size=SIZE) for t in asked]))


def unit(rows: np.ndarray) -> np.ndarray:
    scaled: np.ndarray = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return scaled


def put_features(folder: Path, count: int) -> None:
    rng = np.random.default_rng(1)
    rows = np.concatenate([
        unit(rng.normal(size=(min(10_000, count - at), SIZE))).astype(np.float16)
        for at in range(0, count, 10_000)
    ])  # fmt: skip
    meta: dict[str, Any] = {"embedder": "random", "dimensions": SIZE, "text": ""}
    put_feature(folder, "vectors", {"vectors": rows}, documents=count, meta=meta)
    quality = {"values": rng.beta(4, 4, count).astype(np.float32)}
    put_feature(folder, "quality", quality, documents=count, meta={"model": "random"})
    labels = b"[" + b",".join([b'{"label":"","terms":[],"documents":0}'] * TOPICS) + b"]"
    arrays = {
        "cluster": rng.integers(0, TOPICS, count).astype(np.uint32),
        "centroids": unit(rng.normal(size=(TOPICS, SIZE))),
        "labels": np.frombuffer(labels, dtype=np.uint8),
    }
    meta = {"embedder": "random", "space": "text", "k": TOPICS}
    put_feature(folder, "clusters", arrays, documents=count, meta=meta)


def synthetic(count: int) -> Iterable[Document]:
    for number, words in enumerate(texts(count, 7)):
        yield Document(str(number), " ".join(f"w{word}" for word in words))


def compare(name: str, documents: Iterable[Document], asked: list[str], address: str) -> None:
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "index"
        started = time.perf_counter()
        count = len(build_index(documents, folder))
        indexed = time.perf_counter() - started
        put_features(folder, count)
        size = sum(file.stat().st_size for file in folder.rglob("*"))
        print(f"\n{name}: {count:,} documents, {len(asked)} questions, the best 100\n")
        print(f"folder: words in {indexed:.1f} s, {size / 1e6:.1f} MB")
        here = Index.open(folder)
        for shards in (1, 3):
            where = f"{address}/bench-{shards}"
            stats = copy(str(folder), where, LoadPlan(shards=shards, replace=True))
            print(
                f"OpenSearch, shards: {shards}: {stats.seconds:.1f} s, {stats.bytes / 1e6:.1f} MB"
            )
            print("| model | folder ms | OpenSearch ms | same ids | largest relative difference |")
            print("|---|---|---|---|---|")
            for label, scoring in SCORINGS.items():
                print(f"| {label} |{row(here, open_index(where), scoring, asked)}")


def row(here: Any, there: Any, scoring: Scoring, asked: list[str]) -> str:
    times: dict[int, list[float]] = {0: [], 1: []}
    apart, same, worst = 0, 0, 0.0
    for text in [asked[0], *asked]:
        found = []
        for at, index in enumerate((here, there)):
            begun = time.perf_counter()
            found.append(index.retrieve(text, scoring, 100, Random()))
            times[at].append(1000 * (time.perf_counter() - begun))
        a, b = found
        same += [h.doc_id for h in a] == [h.doc_id for h in b]
        apart += len(a) != len(b)
        pairs = [(x.score, y.score) for x, y in zip(a, b, strict=False)]
        worst = max([worst, *(abs(x - y) / max(abs(x), 1e-3) for x, y in pairs)])
    own, remote = (statistics.median(times[at][1:]) for at in (0, 1))
    told = f" {same}/{len(asked) + 1}" + (f", {apart} of other lengths" if apart else "")
    return f" {own:.1f} | {remote:.1f} |{told} | {worst:.1e} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--address", default="opensearch://127.0.0.1:9200")
    parser.add_argument("--documents", type=int, default=0, help="of a synthetic corpus, too")
    parser.add_argument("--questions", type=int, default=60)
    spec = parser.parse_args()
    documents, titles = idebate(Path(os.environ["PNYX_DATA"]))
    compare("idebate", documents, titles[: spec.questions], spec.address)
    if spec.documents:
        asked = synthetic_questions(spec.questions, spec.documents, 7)
        compare("synthetic", synthetic(spec.documents), asked, spec.address)


if __name__ == "__main__":
    main()
