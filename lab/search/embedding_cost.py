"""Cost and benefit of embeddings: fewer tokens, batches, threads, static vectors.

    PNYX_DATA=DATA python lab/search/embedding_cost.py --work FOLDER --tokens 192,128
    ... --static WORDLLAMA     # the unpacked wheel of wordllama: uses its weights, not its code

FOLDER is that of `effectiveness.py`, which stores the indexes; other vectors are written into
copies of them. Rates are per CPU second, measured alternately within one run. nDCG@10 is for the
development halves of `hybrid.py`, with intervals over questions within each set.
"""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from halves import DEVELOPMENT, halves
from hybrid import DEPTH, MEASURE
from hybrid_sets import Searched, searched_sets
from numpy.typing import NDArray

from pnyx.core.native import load_onnxruntime
from pnyx.core.records import RunEntry
from pnyx.models.embed.embedder import Embedder
from pnyx.models.embed.encoder import load_encoder
from pnyx.search.features.access import put_feature
from pnyx.search.features.vectors import VECTORS
from pnyx.search.index import Index
from pnyx.search.lexical.record_codec import searched_text
from pnyx.search.measures.retrieval import measure_retrieval
from pnyx.search.plan import Scoring
from pnyx.search.ranking.scores import rank_documents
from pnyx.stats.base import Bootstrap

Rows = NDArray[np.float32]
Encode = Callable[[Sequence[str]], Rows]
PARTS = ("idebate", "debatewise")
"""Sets that provide the documents of Touché's topics."""


class FunctionEmbedder:
    """An embedder that calls a function."""

    def __init__(self, name: str, encode: Encode) -> None:
        self.name, self.encode, self.dimensions = name, encode, encode(["a"]).shape[1]


# --- speed ------------------------------------------------------------------------------------


def session(threads: int, *, spins: bool) -> Any:
    """Open the packaged model with this number of threads."""
    ort = load_onnxruntime()
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    options.add_session_config_entry("session.intra_op.allow_spinning", str(int(spins)))
    weights = resources.files("pnyx.models") / "weights/minilm/model.onnx"
    return ort.InferenceSession(weights.read_bytes(), options, providers=["CPUExecutionProvider"])


def in_batches(run: Any, ids: Sequence[Sequence[int]], size: int) -> Rows:
    """Embed token ids in padded batches of similar length."""
    out = np.empty((len(ids), 384), dtype=np.float32)
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    for start in range(0, len(order), size):
        batch = order[start : start + size]
        width = max(len(ids[i]) for i in batch)
        fed, mask = (np.zeros((len(batch), width), dtype=np.int64) for _ in range(2))
        for row, i in enumerate(batch):
            fed[row, : len(ids[i])], mask[row, : len(ids[i])] = ids[i], 1
        out[batch] = run.run(None, {"input_ids": fed, "attention_mask": mask})[0]
    return out


def speed(texts: Sequence[str], tokens: Sequence[int], rounds: int) -> None:
    """Print documents per CPU second, and cosines with the vector of a text embedded alone."""
    encoded = [e.ids for e in load_encoder()._tokenizer.encode_batch_fast(list(texts))]
    single = session(1, spins=True)
    ways: dict[str, tuple[Any, int, int]] = {"alone": (single, 1, 256)}
    ways |= {f"first {n} tokens": (single, 1, n) for n in tokens}
    ways |= {f"batches of {n}": (single, n, 256) for n in (4, 8, 32)}
    ways["two threads, sleeping"] = (session(2, spins=False), 1, 256)
    ways["two threads, spinning"] = (session(2, spins=True), 1, 256)
    seconds, cosines = dict.fromkeys(ways, 0.0), {name: np.zeros(0) for name in ways}
    rng = np.random.default_rng(0)
    for _ in range(rounds):
        some = [encoded[i] for i in rng.choice(len(encoded), 64, replace=False)]
        alone = None
        for name, (run, size, most) in ways.items():
            began = time.process_time()
            rows = in_batches(run, [ids[:most] for ids in some], size)
            seconds[name] += time.process_time() - began
            alone = rows if alone is None else alone
            cosines[name] = np.append(cosines[name], (alone * rows).sum(1))
    for name, spent in seconds.items():
        print(
            f"{name:24} {64 * rounds / spent:6.1f}/CPU s  x {seconds['alone'] / spent:.2f}  "
            f"cosine {cosines[name].mean():.4f}, at least {cosines[name].min():.4f}"
        )


# --- effectiveness ----------------------------------------------------------------------------


def cut(tokens: int) -> Encode:
    """Return the packaged encoder with a smaller maximum number of tokens."""
    encoder = load_encoder()

    def encode(texts: Sequence[str]) -> Rows:
        encoder._tokenizer.enable_truncation(tokens)
        try:
            out = np.empty((len(texts), encoder.dimensions), dtype=np.float32)
            encoder._fill(out, list(texts), lambda feeds: encoder._session.run(None, feeds)[0][0])
            return out
        finally:
            encoder._tokenizer.enable_truncation(encoder.max_tokens)

    return encode


def static(folder: Path) -> Encode:
    """Return the mean of wordllama's word vectors, of length 1."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    (table,) = load_file(folder / "wordllama/weights/l2_supercat_256.safetensors").values()
    table = table.astype(np.float32)
    file = folder / "wordllama/tokenizers/l2_supercat_tokenizer_config.json"
    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_padding()
    tokenizer.no_truncation()

    def encode(texts: Sequence[str]) -> Rows:
        encodings = tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        rows = np.array([table[e.ids].mean(0) if e.ids else table[0] for e in encodings])
        unit: Rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    return encode


def with_vectors(
    sets: Sequence[Searched], work: Path, embedder: FunctionEmbedder
) -> list[Searched]:
    """Return the sets with other vectors, in copies of their indexes."""
    rows: dict[str, NDArray[np.float16]] = {}
    out = []
    for searched in sets:
        if searched.name == "touche":
            rows[searched.name] = np.concatenate([rows[name] for name in PARTS])
        else:
            texts = [searched_text(record) for record in searched.index.documents()]
            rows[searched.name] = embedder.encode(texts).astype(np.float16)
        folder = work / f"{searched.name}-{embedder.name}"
        shutil.copytree(searched.index.path, folder, dirs_exist_ok=True)
        values = rows[searched.name]
        meta = {"embedder": embedder.name, "dimensions": values.shape[1], "text": "title and text"}
        put_feature(folder, VECTORS, {VECTORS: values}, documents=len(values), meta=meta)
        out.append(replace(searched, index=Index.open(folder)))
    return out


def scores(searched: Searched, half: dict[str, str], scoring: Scoring, embedder: Embedder) -> Rows:
    """Return nDCG@10 of each question of the development half."""
    qrels = [q for q in searched.qrels if half.get(q.topic_id) == DEVELOPMENT]
    judged = {q.topic_id for q in qrels}
    run = []
    for q in searched.collection.questions:
        if q.id in judged:
            k = DEPTH if searched.graded or searched.debates else 10
            numbers = rank_documents(searched.index, q.text, scoring, k, embedder)[0]
            best = searched.ranked(numbers)[:10]
            run += [RunEntry(q.id, doc, r, -float(r), "pnyx") for r, doc in enumerate(best, 1)]
    measured = measure_retrieval({"run": run}, qrels, [MEASURE], bootstrap=Bootstrap(0)).runs[0]
    return np.array([measured.per_topic[topic][MEASURE].value for topic in sorted(judged)])


def worth(sets: Sequence[Searched], work: Path, others: Sequence[FunctionEmbedder]) -> None:
    """Print the mean over the sets, and the difference from the packaged vectors."""
    packaged = load_encoder()
    half = halves([searched.collection for searched in sets], packaged)
    for model in ("dense", "hybrid"):
        base = [
            scores(searched, half[searched.name], Scoring(model), packaged) for searched in sets
        ]
        print(f"{model:8} packaged {np.mean([values.mean() for values in base]):.4f}")
        for other in others:
            embedder = (
                other
                if other.name.startswith("static")
                else FunctionEmbedder(other.name, packaged.encode)
            )
            copies = with_vectors(sets, work, other)
            per_question = [
                scores(searched, half[searched.name], Scoring(model), embedder)
                for searched in copies
            ]
            less = [a - b for a, b in zip(per_question, base, strict=True)]
            rng = np.random.default_rng(0)
            drawn = [d[rng.integers(0, len(d), (2000, len(d)))].mean(1) for d in less]
            low, high = np.quantile(np.mean(drawn, axis=0), [0.025, 0.975])
            mean = np.mean([d.mean() for d in less])
            print(f"{model:8} {other.name:16} {mean:+.4f} [{low:+.4f}, {high:+.4f}]")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, metavar="FOLDER", required=True)
    parser.add_argument("--tokens", default="192,128", help="numbers between commas")
    parser.add_argument("--static", type=Path, metavar="WORDLLAMA")
    parser.add_argument("--rounds", type=int, default=6, help="of 64 texts, for the rates")
    options = parser.parse_args()
    tokens = [int(n) for n in options.tokens.split(",") if n]
    sets = searched_sets(options.work, load_encoder())
    (debatewise,) = (searched.index for searched in sets if searched.name == "debatewise")
    speed([searched_text(record) for record in debatewise.documents()], tokens, options.rounds)
    others = [FunctionEmbedder(f"first-{n}", cut(n)) for n in tokens]
    others += [FunctionEmbedder("static", static(options.static))] if options.static else []
    worth(sets, options.work, others)


if __name__ == "__main__":
    main()
