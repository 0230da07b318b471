"""Run a job with one engine and measure it: Pnyx, or a peer with a Python binding.

`speed.py` runs it with the interpreter of the engine's environment; this file imports only the
standard library, numpy and that engine. Its only argument is JSON:

    engine    a name of ENGINES
    do        index, search or throughput
    corpus    folder with the files of `corpus.py`, and the matrices of `parity.py` for bm25s
    home      folder of the engine's index
    model     dirichlet, bm25 or touche; not for `index`
    warm_ups  number of questions at the start that are asked twice before the others are timed
    top, wc, wq
    rankings  .npz file to write, for `search`

The last line of output is JSON. Times of a question are CPU milliseconds of the whole process with
all threads; each question is asked once, so that no engine can have cached it. `throughput` prints
"ready", waits for a line on standard input, asks the questions, and reports its start and end on
the monotonic clock of the system.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

Ranking = tuple[np.ndarray, np.ndarray]
"""Document numbers and scores, best first."""

Ask = Callable[[int], Ranking]
"""Maps the number of a question to its ranking."""

MU, K1, B = 2000.0, 1.2, 0.75


class QuestionVectors:
    """An embedder with stored vectors of the questions."""

    name = "questions"

    def __init__(self, questions: Sequence[str], vectors: np.ndarray) -> None:
        self.dimensions = vectors.shape[1]
        self._vectors = {q: vectors[at : at + 1] for at, q in enumerate(questions)}

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return self._vectors[texts[0]]


def put_features(index: Path, corpus: Path) -> None:
    """Add the topics and qualities of a corpus to an index."""
    from corpus import read_features

    from pnyx.search.features.access import put_feature

    cluster, quality = read_features(corpus / "features.txt")
    centroids = np.load(corpus / "centroids.npy")
    labels = [{"label": "", "terms": [], "documents": 0}] * len(centroids)
    arrays = {
        "cluster": cluster,
        "centroids": centroids,
        "labels": np.frombuffer(json.dumps(labels).encode(), dtype=np.uint8),
    }
    meta = {"embedder": QuestionVectors.name, "space": "conclusion"}
    put_feature(index, "clusters", arrays, documents=len(cluster), meta=meta)
    put_feature(index, "quality", {"values": quality}, documents=len(cluster), meta={})


def pnyx_ask(index: Any, corpus: Path, job: dict[str, Any], *, hits: bool = False) -> Ask:
    """Return a function that ranks with Pnyx, as arrays or (`hits`) result objects with ids."""
    from corpus import read_lines

    from pnyx.search.ranking.scores import touche_rank

    questions, model, top = read_lines(corpus / "questions.txt"), job["model"], job["top"]
    if model == "touche":
        embedder: Any = QuestionVectors(questions, np.load(corpus / "vectors.npy"))
        weights = {"wc": job["wc"], "wq": job["wq"]}
        return lambda at: touche_rank(index, questions[at], embedder, top, **weights)
    if hits:
        return lambda at: index.search(questions[at], model, top)
    return lambda at: index.rank(questions[at], model, top)


class Pnyx:
    packages = ("pnyx", "numba", "numpy")

    def __init__(self) -> None:
        from pnyx.search.index import Index

        self._library = Index

    def index(self, corpus: Path, home: Path) -> dict[str, Any]:
        from corpus import read_documents

        from pnyx.core.records import Document
        from pnyx.search.build import build_index

        started = Clock()
        records = (Document(*row) for row in read_documents(corpus / "documents.txt"))
        build_index(records, home)
        took = started.passed()
        put_features(home, corpus)
        return took | self._sizes(home)

    def _sizes(self, home: Path) -> dict[str, Any]:
        """Return tokens, postings, bytes of stored documents, and bytes per posting."""
        manifest = json.loads((home / "manifest.json").read_text())
        sections: dict[str, int] = {}
        for entry in manifest["segments"]:
            for name, section in entry["sections"].items():
                sections[name] = sections.get(name, 0) + section["bytes"]
        stored = sum(size for name, size in sections.items() if name.startswith("documents."))
        # Postings may be in several sections; the offsets of terms are not postings.
        names = {name for name in sections if name.startswith("postings")} - {"postings.offsets"}
        postings = sum(sections[name] for name in names)
        return {
            "tokens": manifest["statistics"]["tokens"],
            "postings": manifest["statistics"]["postings"],
            "stored_bytes": stored,
            "posting_bytes": postings / manifest["statistics"]["postings"],
        }

    def open(self, home: Path) -> None:
        self._index = self._library.open(home, kernel="numba")

    def ask(self, corpus: Path, job: dict[str, Any]) -> Ask:
        return pnyx_ask(self._index, corpus, job)


class PnyxHits(Pnyx):
    """Pnyx, with result objects that contain document ids."""

    def ask(self, corpus: Path, job: dict[str, Any]) -> Ask:
        return pnyx_ask(self._index, corpus, job, hits=True)


class Bm25s:
    """bm25s: builds its own index for time, size and memory; ranks with `parity.write_matrix`."""

    packages = ("bm25s", "numba", "numpy")

    def __init__(self) -> None:
        import bm25s

        self._library = bm25s

    def index(self, corpus: Path, home: Path) -> dict[str, Any]:
        import Stemmer
        from corpus import read_documents

        started = Clock()
        texts = [text for _, text in read_documents(corpus / "documents.txt")]
        stemmer = Stemmer.Stemmer("porter")
        tokens = self._library.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)
        engine = self._library.BM25(method="lucene", k1=K1, b=B, backend="numba")
        engine.index(tokens, show_progress=False)
        engine.save(str(home))
        return started.passed()

    def open(self, home: Path) -> None:
        self._engine = self._library.BM25.load(str(home))

    def ask(self, corpus: Path, job: dict[str, Any]) -> Ask:
        from corpus import VOCABULARY, read_features, read_lines

        engine = self._library.BM25(method="lucene", backend="numba")
        name = "bm25" if job["model"] == "bm25" else "dirichlet"
        indptr = np.load(corpus / "indptr.npy")
        cluster, quality = read_features(corpus / "features.txt")
        engine.scores = {
            "data": np.load(corpus / f"{name}.npy"),
            "indices": np.load(corpus / "indices.npy"),
            "indptr": indptr,
            "num_docs": len(cluster),
        }
        engine.vocab_dict = {f"w{number}": number for number in range(VOCABULARY)}
        engine.unique_token_ids_set = set(engine.vocab_dict.values())
        engine.nonoccurrence_array = None
        self._engine = engine
        questions = [line.split() for line in read_lines(corpus / "questions.txt")]
        options = {"k": job["top"], "sorted": True, "show_progress": False, "n_threads": 1}

        def ask(at: int, **more: Any) -> Ranking:
            ids = [[engine.vocab_dict[word] for word in questions[at]]]
            result = engine.retrieve(ids, **options, **more)
            return result.documents[0], result.scores[0]

        if job["model"] != "touche":
            return ask
        cosines = np.loadtxt(corpus / "cosines.txt", ndmin=2)
        factors = (1 + job["wc"] * cosines).astype(np.float32)
        boost = (1 + job["wq"] * quality).astype(np.float32)
        return lambda at: ask(at, weight_mask=factors[at][cluster] * boost)


class Pisa:
    """PISA, by the compiled binding in pyterrier-pisa, without PyTerrier, which requires Java."""

    packages = ("pyterrier-pisa",)
    encoding, algorithm, stemmer = "block_simdbp", "maxscore", "porter2"

    def __init__(self) -> None:
        ctypes.CDLL(f"{sys.prefix}/lib/libtbb.so.2", mode=ctypes.RTLD_GLOBAL)
        (path,) = Path(sys.prefix).glob("lib/python*/site-packages/pyterrier_pisa/_pisathon*.so")
        spec = importlib.util.spec_from_file_location("pyterrier_pisa._pisathon", path)
        assert spec is not None
        assert spec.loader is not None
        self._library = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self._library)

    def index(self, corpus: Path, home: Path) -> dict[str, Any]:
        started = Clock()
        home.mkdir()
        source = str(corpus / "documents.txt")
        self._library.index(source, str(home), self.stemmer, 100_000, 1)
        self._prepare(home, "dirichlet")
        took = started.passed()
        # Search needs the lexicons, the compressed postings and the bounds of their blocks.
        needed = [*home.glob("qld*"), home / "fwd.termlex", home / "fwd.doclex"]
        size = folder_bytes(home)
        stored = size - sum(path.stat().st_size for path in needed)
        self._prepare(home, "bm25")  # its own bounds and postings, not counted
        return took | {"bytes": size, "stored_bytes": stored}

    def _prepare(self, home: Path, model: str) -> Any:
        context = self._library.RetrievalContext()
        if model == "bm25":
            name, parameters = "bm25", {"bm25_k1": K1, "bm25_b": B}
        else:
            name, parameters = "qld", {"qld_mu": MU}
        home_name = str(home)
        self._library.prepare_index(
            context, home_name, self.encoding, name, self.stemmer, **parameters
        )
        return context

    def open(self, home: Path) -> None:
        self._contexts = {"dirichlet": self._prepare(home, "dirichlet")}
        self._home = home

    def ask(self, corpus: Path, job: dict[str, Any]) -> Ask:
        from corpus import read_lines

        questions = read_lines(corpus / "questions.txt")
        context, top = self._prepare(self._home, job["model"]), job["top"]

        def ask(at: int) -> Ranking:
            numbers, ranks = np.empty(top, dtype=np.int32), np.empty(top, dtype=np.int32)
            names, scores = np.empty(top, dtype=object), np.empty(top, dtype=np.float32)
            count = self._library.retrieve(
                context,
                self.algorithm,
                [(0, questions[at])],
                k=top,
                threads=1,
                pretokenised=0,
                query_weighted=0,
                result_qidxs=numbers,
                result_docnos=names,
                result_ranks=ranks,
                result_scores=scores,
            )
            return names[:count], scores[:count]

        return ask


ENGINES: dict[str, type[Any]] = {
    "pnyx": Pnyx,
    "pnyx-hits": PnyxHits,
    "bm25s": Bm25s,
    "pisa": Pisa,
}


class Clock:
    """Wall and CPU seconds since its creation; CPU of the process with all threads."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def passed(self) -> dict[str, float]:
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        return {"wall": wall, "cpu": cpu}


def folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def memory() -> dict[str, float]:
    """Return this process's resident memory in MiB: all, without mapped files, peak; Linux only."""
    # Not getrusage: its peak includes that of the parent process.
    names = {"VmRSS:": "rss_mb", "RssAnon:": "anon_mb", "VmHWM:": "peak_mb"}
    rows = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
    kib = {row[0]: int(row[1]) for row in rows if row[0] in names}
    return {key: kib[name] / 1024 for name, key in names.items()}


def count_questions(corpus: Path) -> int:
    return (corpus / "questions.txt").read_text().count("\n")


def warm_up(ask: Ask, job: dict[str, Any]) -> None:
    for at in 2 * list(range(job["warm_ups"])):
        ask(at)


def times(ask: Ask, numbers: Sequence[int]) -> list[float]:
    """Return CPU milliseconds of each question."""
    out = []
    for at in numbers:
        started = time.process_time_ns()
        ask(at)
        out.append((time.process_time_ns() - started) / 1e6)
    return out


def save_rankings(path: str | Path, rankings: Iterator[Any]) -> None:
    """Write rankings to an .npz file: counts, and numbers and scores of all one after another."""
    pairs = [
        (np.asarray(n).astype(np.int64), np.asarray(s).astype(np.float64)) for n, s in rankings
    ]
    np.savez(
        path,
        counts=[len(numbers) for numbers, _ in pairs],
        numbers=np.concatenate([numbers for numbers, _ in pairs]),
        scores=np.concatenate([scores for _, scores in pairs]),
    )


def search(engine: Any, job: dict[str, Any], corpus: Path) -> dict[str, Any]:
    opening = time.perf_counter()
    engine.open(Path(job["home"]))
    opened = 1000 * (time.perf_counter() - opening)
    ask, count = engine.ask(corpus, job), count_questions(corpus)
    warm_up(ask, job)
    taken = times(ask, range(job["warm_ups"], count))
    result = {"open_ms": opened, "times": taken} | memory()
    if job["rankings"]:
        save_rankings(job["rankings"], (ask(at) for at in range(count)))
    return result


def throughput(engine: Any, job: dict[str, Any], corpus: Path) -> dict[str, Any]:
    engine.open(Path(job["home"]))
    ask, count = engine.ask(corpus, job), count_questions(corpus)
    warm_up(ask, job)
    print("ready", flush=True)
    sys.stdin.readline()
    began = time.monotonic()
    for at in range(job["warm_ups"], count):
        ask(at)
    return {"began": began, "ended": time.monotonic(), "questions": count - job["warm_ups"]}


def main() -> None:
    job = json.loads(sys.argv[1])
    corpus, engine = Path(job["corpus"]), ENGINES[job["engine"]]()
    if job["do"] == "index":
        home = Path(job["home"])
        result = engine.index(corpus, home) | memory()
        result.setdefault("bytes", folder_bytes(home))
        result["versions"] = {name: version(name) for name in engine.packages}
    else:
        result = {"search": search, "throughput": throughput}[job["do"]](engine, job, corpus)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
