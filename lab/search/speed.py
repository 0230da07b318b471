"""Speed, memory and rankings of the search engine, Lucene, PISA and bm25s in the same run.

    apt-get install -y --no-install-recommends liblucene8-java openjdk-17-jdk-headless
    pip install pnyx
    python lab/search/speed.py                       # 20,000 documents, about 4 minutes
    PNYX_DATA=DATA python lab/search/speed.py --documents 387740
    ... --write docs/lab/search-speed.md   # updates its section

The corpus is synthetic (`corpus.py`). Each engine reads it from the same text file, in its own
process and environment (`processes.py`), and gets the same questions. With PNYX_DATA, rankings are
also compared with Lucene's on real text (`parity.py`).
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from corpus import ARGS_ME, read_lines, write_corpus
from parity import Parity, compare, idebate, with_lucene, write_cosines, write_matrix
from processes import PEERS, EngineError, Lucene, Python, read_rankings, search_job

from pnyx.search.index import Index

sys.path.append(str(Path(__file__).parents[1] / "judging"))

from common import Report, arguments

TOP = 1000
MODELS = {"dirichlet": "Dirichlet", "bm25": "BM25", "touche": "Touché"}
LABELS = {name: peer.label for name, peer in PEERS.items()} | {"lucene": "Lucene"}
ORDER = ("pnyx", "pnyx-hits", "lucene", "pisa", "bm25s")
CANNOT = {("pnyx-hits", "touche"), ("pisa", "touche")}

Figures = dict[str, Any]


class Run:
    """The measurements of each engine: indexing, search, or its error."""

    def __init__(self, corpus: Path) -> None:
        self.corpus = corpus
        self.indexing: dict[str, Figures] = {}
        self.searching: dict[tuple[str, str], Figures] = {}
        self.errors: dict[str, str] = {}

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Record the error of an engine that fails."""
        try:
            yield
        except EngineError as error:
            self.errors[name] = str(error)
            print(f"{name}: {error}", file=sys.stderr, flush=True)

    def median(self, name: str, model: str) -> float | None:
        search = self.searching.get((name, model))
        return None if search is None else float(np.median(search["times"]))


def measure(run: Run, names: list[str], top: int, warm_ups: int, environments: Path) -> None:
    for name in names:
        print(f"{time.strftime('%H:%M:%S')} {name}", file=sys.stderr, flush=True)
        with run.of(name):
            if name == "lucene":
                measure_lucene(run, top, warm_ups, environments)
            else:
                measure_python(run, name, top, warm_ups, environments)


def measure_python(run: Run, name: str, top: int, warm_ups: int, environments: Path) -> None:
    engine = Python(name, environments)
    job = {"do": "index", "corpus": str(run.corpus), "home": str(run.corpus / name)}
    if name == "pnyx-hits":  # another way to ask the same index
        job["home"] = str(run.corpus / "pnyx")
    else:
        run.indexing[name] = engine.run(job)
    for model in MODELS:
        if (name, model) in CANNOT:
            continue
        asking = search_job(run.corpus, name, model, top, warm_ups) | {"home": job["home"]}
        if name == "pnyx-hits":
            asking["rankings"] = None
        search = engine.run(asking)
        run.searching[name, model] = search | {"qps": engine.throughput(asking)}
    if name == "pnyx":
        write_cosines(Index.open(run.corpus / "pnyx"), run.corpus)


def measure_lucene(run: Run, top: int, warm_ups: int, environments: Path) -> None:
    engine = Lucene(environments / "lucene")
    home = run.corpus / "lucene"
    indexing = engine.index(run.corpus, home)
    size = sum(path.stat().st_size for path in home.iterdir())
    versions = {"Lucene": indexing["version"], "Java": indexing["java"]}
    run.indexing["lucene"] = indexing | {"bytes": size, "versions": versions}
    for model in MODELS:
        run.searching["lucene", model] = engine.search(
            search_job(run.corpus, "lucene", model, top, warm_ups)
        )


# The tables --------------------------------------------------------------------------------------


def searching_table(report: Report, run: Run, names: list[str]) -> None:
    report.head(
        "engine", "model", "median ms", "p99 ms", "× pnyx", "questions/s, 2 cores", "× pnyx"
    )
    for model, label in MODELS.items():
        base = run.searching.get(("pnyx", model))
        for name in names:
            if (name, model) in CANNOT:
                continue
            search = run.searching.get((name, model))
            if search is None:
                problem = f"failed: {run.errors.get(name, 'not measured')}"
                report.row(LABELS[name], problem, "-", "-", "-", "-", "-")
                continue
            median, rate = float(np.median(search["times"])), search["qps"]
            report.row(
                LABELS[name],
                label,
                f"{median:.2f}",
                f"{np.percentile(search['times'], 99):.2f}",
                f"{median / np.median(base['times']):.2f}" if base else "-",
                f"{rate:,.0f}",
                f"{rate / base['qps']:.2f}" if base else "-",
            )
    report.line()
    report.line(
        "Milliseconds of CPU for one question at top 1000: of the whole process for Python "
        "engines, of the asking thread for Lucene (its whole process: "
        + ", ".join(
            f"{MODELS[model]} {search['process_ms']:.2f} on average"
            for (name, model), search in run.searching.items()
            if name == "lucene"
        )
        + "). Each question is asked once, after half as many others, twice each, to warm up. "
        "Questions a second: wall time, two processes at once, for Lucene two threads of one. "
        "All return arrays of numbers and scores, except PISA's binding (ids as strings) and 'hits "
        "with ids' (result objects). PISA cannot express the Touché score; Lucene has it as a "
        "FunctionScoreQuery over doc values and is given the question's cosines, which Pnyx works "
        "out within its time; bm25s as a weight mask that is made for each question. bm25s ranks "
        "by the same weights, put into its matrix."
    )


def indexing_table(report: Report, run: Run, names: list[str]) -> None:
    report.head(
        "engine", "index: wall s", "CPU s", "MB to search", "MB of documents", "open ms",
        "resident MB", "of it private", "peak MB of indexing", "versions",
    )  # fmt: skip
    for name in names:
        indexing, searching = run.indexing.get(name), run.searching.get((name, "dirichlet"))
        if indexing is None or searching is None:
            if name in run.errors:
                report.row(LABELS[name], f"failed: {run.errors[name]}", *["-"] * 8)
            continue
        stored = indexing.get("stored_bytes", 0)
        report.row(
            LABELS[name],
            f"{indexing['wall']:.1f}",
            f"{indexing['cpu']:.1f}",
            f"{(indexing['bytes'] - stored) / 1e6:.1f}",
            f"{stored / 1e6:.1f}",
            f"{searching['open_ms']:.1f}",
            f"{searching['rss_mb']:.0f}",
            f"{searching['anon_mb']:.0f}",
            f"{indexing['peak_mb']:.0f}",
            ", ".join(f"{key} {value}" for key, value in indexing["versions"].items()),
        )
    report.line()
    merge = run.indexing.get("lucene", {}).get("merge_wall")
    report.line(
        "Indexing from the text file, tokenizing, stopping and stemming included, with each "
        "engine's own English analysis"
        + ("" if merge is None else f"; Lucene merges to one segment at the end ({merge:.1f} s)")
        + ". MB of documents: what Pnyx stores to give records back, and PISA's forward index and "
        "uncompressed postings; the others keep none. Opening: wall time in a fresh process, after "
        "imports. Resident: after the Dirichlet questions, the interpreter or JVM (-Xmx1g) "
        "included; private: without mapped files."
    )


def memory_speed() -> float:
    """Return the bytes per second at which one thread reads a large array."""
    values = np.ones(1 << 25)
    taken = []
    for _ in range(7):
        for read in (values.sum, values.max):
            started = time.thread_time()
            read()
            taken.append(time.thread_time() - started)
    return values.nbytes / min(taken)


def memory_table(report: Report, run: Run, documents: int, touched: float) -> None:
    if "pnyx" not in run.indexing:
        return
    rate = memory_speed()
    compact = run.indexing["pnyx"]["posting_bytes"] * touched + documents
    eager = 8 * touched + 8 * documents
    rows = {
        ("this index", "dirichlet"): compact,
        ("this index", "touche"): compact + 2 * documents,
        ("float weights", "dirichlet"): eager,
        ("float weights", "touche"): eager + 6 * documents,
    }
    report.head("bytes of", "model", "MB a question", "ms at memory speed", "pnyx takes ×")
    for (layout, model), moved in rows.items():
        floor, median = 1e3 * moved / rate, run.median("pnyx", model)
        times = "-" if median is None else f"{median / floor:.2f}"
        report.row(layout, MODELS[model], f"{moved / 1e6:.2f}", f"{floor:.3f}", times)
    report.line()
    report.line(
        f"Memory speed: {rate / 1e9:.1f} GB/s, one thread reading 256 MiB, in this run. This "
        f"index: {run.indexing['pnyx']['posting_bytes']:.2f} bytes a posting and each document's "
        "length byte, for Touché its two-byte code too; its scores stay in the cache. Float "
        "weights: 8 bytes a posting (number and weight) and each document's float32 score written "
        "and read, for Touché its two-byte topic and float32 quality too."
    )


_PEERS_SAY = {
    "bm25s": "bm25s orders ties in its own way.",
    "pisa": "PISA's scores are not the same: it takes lengths as they are, not rounded to Lucene's "
    "byte.",
}


def parity_table(report: Report, rows: list[tuple[str, str, str, Parity]]) -> None:
    report.head(
        "rankings beside", "corpus", "model", "questions", "identical", "but for ties", "overlap",
        "largest score difference",
    )  # fmt: skip
    for name, text, model, parity in rows:
        report.row(
            LABELS[name],
            text,
            MODELS[model],
            parity.questions,
            f"{parity.identical:.2%}",
            "-" if name == "pisa" else f"{parity.tied:.2%}",
            f"{parity.overlap:.6f}",
            "-" if name == "pisa" else f"{parity.difference:.1e}",
        )
    report.line()
    report.line(
        "Top 1000. Identical: the same documents in the same order; but for ties: scores within "
        "1e-5 of the best count as tied (Lucene sums in float32, Pnyx in float64). Overlap: share "
        "of our documents that the other has. Pnyx and Lucene index the same text, idebate's as it "
        "was written, each by its own analysis."
        + " ".join(
            ["", *(remark for name, remark in _PEERS_SAY.items() if name in {r[0] for r in rows})]
        )
    )


def parities(run: Run, names: list[str]) -> list[tuple[str, str, str, Parity]]:
    out = []
    for name, model in run.searching:
        theirs = Path(search_job(run.corpus, name, model, TOP)["rankings"])
        ours = run.corpus / f"pnyx-{model}.npz"
        if name in names and name not in ("pnyx", "pnyx-hits") and ours.exists():
            # bm25s fills its list with documents that contain no word of the question.
            parity = compare(read_rankings(ours), read_rankings(theirs), positive=name == "bm25s")
            out.append((name, "synthetic", model, parity))
    return out


def real_text(run: Run, folder: Path, environments: Path) -> list[tuple[str, str, str, Parity]]:
    data = Path(os.environ.get("PNYX_DATA", ""))
    if not os.environ.get("PNYX_DATA") or not (data / "arguana_counterargs").is_dir():
        print("no idebate corpus under PNYX_DATA: no parity on real text", file=sys.stderr)
        return []
    records, titles = idebate(data)
    by_model: dict[str, Parity] = {}
    with run.of("lucene"):
        by_model = with_lucene(records, titles, folder, Lucene(environments / "lucene"), TOP)
    text = f"idebate, {len(records):,} arguments"
    return [("lucene", text, model, parity) for model, parity in by_model.items()]


def postings_touched(index: Index, questions: list[str]) -> float:
    """Return the mean number of postings per question."""
    entries = [[index._queries.find(word) for word in question.split()] for question in questions]
    return float(np.mean([sum(o.term.document_frequency for o in row if o) for row in entries]))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--documents", type=int, default=20_000, help=f"args.me has {ARGS_ME}")
    parser.add_argument("--queries", type=int, default=1000, help="timed; half more warm up")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engines", nargs="+", choices=ORDER, default=list(ORDER))
    parser.add_argument("--environments", type=Path, help="keep the peers' environments here")
    options = parser.parse_args()
    names = [name for name in ORDER if name in options.engines]
    report = Report("search speed")
    with tempfile.TemporaryDirectory() as temporary:
        corpus = Path(temporary) / "corpus"
        corpus.mkdir()
        environments = (options.environments or Path(temporary) / "environments").absolute()
        warm_ups = options.queries // 2
        queries = options.queries + warm_ups
        tokens = write_corpus(corpus, options.documents, queries, options.seed)
        if "bm25s" in names:
            write_matrix(corpus, options.documents, options.seed)
        run = Run(corpus)
        measure(run, names, min(TOP, options.documents), warm_ups, environments)
        rows = parities(run, names)
        rows += real_text(run, Path(temporary) / "real", environments) if "lucene" in names else []
        questions = read_lines(corpus / "questions.txt")
        touched, postings = 0.0, 0
        if "pnyx" in run.indexing:
            touched = postings_touched(Index.open(corpus / "pnyx"), questions)
            postings = run.indexing["pnyx"]["postings"]
        report.line(
            f"{options.documents:,} synthetic documents, {tokens:,} tokens, {postings:,} postings; "
            f"{len(questions) - warm_ups:,} questions of 5 to 8 words, {touched:,.0f} postings "
            f"each on average; top {TOP:,}."
        )
        searching_table(report, run, names)
        memory_table(report, run, options.documents, touched)
        indexing_table(report, run, names)
        parity_table(report, rows)
        report.line()
        report.line(f"Load average {os.getloadavg()[0]:.1f} at the end.")
    report.write(options.write)


if __name__ == "__main__":
    main()
