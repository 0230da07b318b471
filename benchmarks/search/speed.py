"""Speed of the embedded search engine, beside bm25s in the same run.

    pip install pnyx bm25s
    python benchmarks/search/speed.py                       # 50,000 documents, about a minute
    python benchmarks/search/speed.py --documents 387740    # the size of args.me

The corpus is synthetic: words by Zipf's law, document lengths log-normal around 196 words. A query
is five to eight words of one document without the hundred most frequent. Times are CPU
milliseconds of the whole process (all threads), which other load on the machine disturbs least.
bm25s is handed the same weights in its own matrix, so both rank the same scores.
"""

from __future__ import annotations

import argparse
import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from pnyx.records import Document
from pnyx.search.index import Index, build_index
from pnyx.search.lengths import LENGTHS
from pnyx.search.models import Term, make_model

VOCABULARY = 300_000
TOP = 1000
FREQUENT = 100


def texts(count: int, seed: int) -> Iterator[np.ndarray]:
    """Yield the word numbers of each document."""
    rng = np.random.default_rng(seed)
    share = np.cumsum(1.0 / (np.arange(VOCABULARY) + 10.0))
    share /= share[-1]
    lengths = np.maximum(3, rng.lognormal(5.0, 0.75, count)).astype(int)
    for first in range(0, count, 10_000):
        part = lengths[first : first + 10_000]
        words = np.searchsorted(share, rng.random(part.sum()))
        yield from np.split(words, np.cumsum(part)[:-1])


def questions(count: int, documents: int, seed: int) -> list[list[str]]:
    rng = np.random.default_rng(seed + 1)
    out: list[list[str]] = []
    for words in islice(texts(documents, seed), 20 * count):
        rest = words[words >= FREQUENT]
        chosen = np.unique(rng.choice(rest, rng.integers(5, 9))) if len(rest) else rest
        if len(chosen) >= 5 and len(out) < count:
            out.append([f"w{word}" for word in chosen])
    return out


def measure(run: Callable[[list[str]], Any], asked: list[list[str]]) -> tuple[float, float]:
    """Return median and 99th percentile in CPU milliseconds."""
    for question in asked[:20]:
        run(question)
    times = []
    for question in asked:
        started = time.process_time_ns()
        run(question)
        times.append((time.process_time_ns() - started) / 1e6)
    return float(np.median(times)), float(np.percentile(times, 99))


def bm25s_engine(index: Index, model_name: str) -> Any:
    """Return a bm25s retriever that holds the model's weights for every posting of the index."""
    import bm25s

    (segment,) = index._segments
    postings, offsets = segment.postings.whole(), segment.offsets.whole().astype(np.int64)
    frequencies = segment.frequencies.whole()
    model = make_model(model_name, {})
    length_bytes = segment.lengths.whole()
    by_length = model.length_values(LENGTHS.astype(float), index.collection)
    data = np.empty(len(postings), dtype=np.float32)
    for term, (first, stop) in enumerate(pairwise(offsets)):
        part = postings[first:stop]
        known = Term(int(stop - first), int(frequencies[term]))
        # A frequency above 255 (stored as 0) does not occur among words this varied.
        a = model.term_values((part & 255).astype(float), known, index.collection)
        b = by_length[length_bytes[part >> 8]]
        weight = model.weight(known, index.collection)
        data[first:stop] = (
            np.maximum(a + b, 0) if model.combine == "add" else weight - weight / (1 + a * b)
        )
    engine = bm25s.BM25(method="lucene", backend="numba")
    engine.scores = {
        "data": data,
        "indices": (postings >> 8).astype(np.int32),
        "indptr": offsets,
        "num_docs": len(index),
    }
    engine.vocab_dict = {term: number for number, term in enumerate(segment.terms.all())}
    engine.unique_token_ids_set = set(engine.vocab_dict.values())
    engine.nonoccurrence_array = None
    return engine


def ask_bm25s(engine: Any, question: list[str]) -> Any:
    ids = [[engine.vocab_dict[word] for word in question]]
    return engine.retrieve(ids, k=TOP, sorted=True, show_progress=False, n_threads=1)


def overlap(index: Index, engine: Any, model: str, asked: list[list[str]]) -> float:
    """Return the mean share of our top documents that bm25s has too."""
    shares = []
    for question in asked[:50]:
        ours, scores = index.rank(" ".join(question), model, TOP)
        theirs = np.asarray(ask_bm25s(engine, question).documents)[0]
        # Ties at the cut are anyone's choice.
        sure = ours[scores > scores[-1] + 1e-5]
        shares.append(np.isin(sure, theirs).mean() if len(sure) else 1.0)
    return float(np.mean(shares))


def postings_touched(index: Index, asked: list[list[str]]) -> float:
    return float(
        np.mean([sum(index._find(w).term.document_frequency for w in set(q)) for q in asked])
    )


def installed(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"{name} not installed"


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if "model name" in line), "unknown")


def build(count: int, seed: int, folder: Path) -> None:
    making = 0.0

    def records() -> Iterator[Document]:
        nonlocal making
        started = time.process_time()
        for number, words in enumerate(texts(count, seed)):
            record = Document(str(number), " ".join(map("w{}".format, words.tolist())))
            making += time.process_time() - started
            yield record
            started = time.process_time()

    started = time.process_time()
    stats = build_index(records(), folder)
    cpu = time.process_time() - started - making
    print(
        f"index: {stats.documents:,} documents, {stats.tokens:,} tokens, "
        f"{stats.postings:,} postings, {stats.segments} segment(s); {cpu:.1f} CPU s from text; "
        f"{stats.bytes / 1e6:.0f} MB with documents, {4e-6 * stats.postings:.0f} MB of it postings"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=50_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(
        f"{processor()}, Python {platform.python_version()}, "
        + ", ".join(installed(name) for name in ("numpy", "numba", "bm25s", "pnyx"))
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "index"
        build(options.documents, options.seed, folder)
        started = time.perf_counter()
        index = Index.open(folder, kernel="numba")
        opened = 1000 * (time.perf_counter() - started)
        asked = questions(options.queries, options.documents, options.seed)
        print(
            f"open: {opened:.1f} ms; {len(asked)} queries of 5 to 8 words, "
            f"{postings_touched(index, asked):,.0f} postings a query on average, top {TOP}\n"
        )
        report(index, folder, asked)


def report(index: Index, folder: Path, asked: list[list[str]]) -> None:
    print("| engine | model | median ms | p99 ms |\n|---|---|---|---|")

    def row(engine: str, model: str, run: Callable[[list[str]], Any]) -> None:
        median, p99 = measure(run, asked)
        print(f"| {engine} | {model} | {median:.2f} | {p99:.2f} |", flush=True)

    slow = Index.open(folder, kernel="numpy")
    shares = {}
    for model in ("dirichlet", "bm25"):
        row("pnyx numba, arrays", model, lambda q, m=model: index.rank(" ".join(q), m, TOP))
        row(
            "pnyx numba, hits with ids", model, lambda q, m=model: index.search(" ".join(q), m, TOP)
        )
        row("pnyx numpy, arrays", model, lambda q, m=model: slow.rank(" ".join(q), m, TOP))
        try:
            engine = bm25s_engine(index, model)
        except ImportError:
            continue
        row("bm25s numba, same weights", model, lambda q, e=engine: ask_bm25s(e, q))
        shares[model] = overlap(index, engine, model, asked)
    for model, share in shares.items():
        print(f"\n{model}: {share:.4f} of our top {TOP} are in bm25s's top {TOP}", end="")
    print()


if __name__ == "__main__":
    main()
