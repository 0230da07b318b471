"""Compare an index folder with OpenSearch: rankings, load time, bytes, time per question.

    lab/opensearch.sh start
    PNYX_DATA=DATA python lab/search/opensearch_speed.py --address opensearch://127.0.0.1:9200
    ... --documents 100000    # also a synthetic corpus of this size; the real one has 10,725
    ... --documents 387740 --no-real --words --shards 3    # only words, which load faster

Vectors, topics and qualities are random, which has the same cost. Times are wall time, and CPU time
of this process and of the nodes, which does not depend on other work on the machine.
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

from pnyx.core.records import Document
from pnyx.search.build import build_index
from pnyx.search.features.access import put_feature
from pnyx.search.index import Index
from pnyx.search.open_engine import open_index
from pnyx.search.opensearch.client import Cluster, ClusterAddress
from pnyx.search.opensearch.load import LoadPlan, copy
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
    """An embedder of random vectors, always the same for a text."""

    name, dimensions = "random", SIZE

    def encode(self, questions: Sequence[str]) -> np.ndarray:
        return unit(np.stack([np.random.default_rng(len(t)).normal(size=SIZE) for t in questions]))


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


def cpu(address: str) -> tuple[float, float]:
    """Return the CPU seconds used by this process, and by the nodes of a cluster."""
    cluster = Cluster(ClusterAddress.parse(f"{address}/any"))
    nodes = cluster.ask("GET", "/_nodes/stats/process").value["nodes"].values()
    used = sum(node["process"]["cpu"]["total_in_millis"] for node in nodes)
    return time.process_time(), used / 1000


def compare(
    name: str, documents: Iterable[Document], questions: list[str], spec: argparse.Namespace
) -> None:
    address = spec.address
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "index"
        started = time.perf_counter()
        before = time.process_time()
        count = len(build_index(documents, folder))
        indexed, used = time.perf_counter() - started, time.process_time() - before
        if not spec.words:
            put_features(folder, count)
        size = sum(file.stat().st_size for file in folder.rglob("*"))
        print(f"\n{name}: {count:,} documents, {len(questions)} questions, the best 100\n")
        print(f"folder: words in {indexed:.1f} s ({used:.1f} s CPU), {size / 1e6:.1f} MB")
        here = Index.open(folder)
        for shards in spec.shards:
            where, before_all = f"{address}/bench-{shards}", cpu(address)
            stats = copy(str(folder), where, LoadPlan(shards=shards, replace=True))
            local, nodes = (now - b for now, b in zip(cpu(address), before_all, strict=True))
            print(
                f"OpenSearch, shards: {shards}: {stats.seconds:.1f} s ({local:.1f} s CPU here, "
                f"{nodes:.1f} in the nodes), {stats.bytes / 1e6:.1f} MB"
            )
            print("| model | folder ms | OpenSearch ms | same ids | largest relative difference |")
            print("|---|---|---|---|---|")
            for label, scoring in SCORINGS.items():
                if spec.words and (scoring.embeds or scoring.model == "touche"):
                    continue
                print(f"| {label} |{row(here, open_index(where), scoring, questions)}")


def row(here: Any, there: Any, scoring: Scoring, questions: list[str]) -> str:
    times: dict[int, list[float]] = {0: [], 1: []}
    unequal, same, worst = 0, 0, 0.0
    for text in [questions[0], *questions]:
        results = []
        for at, index in enumerate((here, there)):
            begun = time.perf_counter()
            results.append(index.retrieve(text, scoring, 100, Random()))
            times[at].append(1000 * (time.perf_counter() - begun))
        a, b = results
        same += [h.doc_id for h in a] == [h.doc_id for h in b]
        unequal += len(a) != len(b)
        pairs = [(x.score, y.score) for x, y in zip(a, b, strict=False)]
        worst = max([worst, *(abs(x - y) / max(abs(x), 1e-3) for x, y in pairs)])
    local, remote = (statistics.median(times[at][1:]) for at in (0, 1))
    note = f" {same}/{len(questions) + 1}" + (f", {unequal} of other lengths" if unequal else "")
    return f" {local:.1f} | {remote:.1f} |{note} | {worst:.1e} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--address", default="opensearch://127.0.0.1:9200")
    parser.add_argument("--documents", type=int, default=0, help="of a synthetic corpus, too")
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--shards", type=int, nargs="+", default=[1, 3])
    parser.add_argument("--words", action="store_true", help="neither vectors, topics nor quality")
    parser.add_argument("--real", action=argparse.BooleanOptionalAction, default=True)
    spec = parser.parse_args()
    if spec.real:
        documents, titles = idebate(Path(os.environ["PNYX_DATA"]))
        compare("idebate", documents, titles[: spec.questions], spec)
    if spec.documents:
        questions = synthetic_questions(spec.questions, spec.documents, 7)
        compare("synthetic", synthetic(spec.documents), questions, spec)


if __name__ == "__main__":
    main()
