"""Every combination of `pnyx search`'s stages on a large index, through the command line.

    python lab/search/combinations.py                       # 300,000 documents, some minutes
    ... --write docs/lab/search-combinations.md   # updates its section

The documents are made of sentences and conclusions of the bundled example, all different. The
language model and the embedder are servers of the test suite on 127.0.0.1, so the results show only
that each combination works on an index of this size, and how long it takes. Seconds are wall time
of the whole command, including the start of the interpreter and the opening of the index. The exit
status is 1 if a combination fails, repeats a document or returns fewer than ten.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "lab" / "judging")]

from common import Report, arguments  # noqa: E402

from chat_server import ChatServer  # noqa: E402
from embedding_server import EmbeddingServer  # noqa: E402
from pnyx.formats.bundled_example import load_example  # noqa: E402
from pnyx.formats.text.segment import split_sentences  # noqa: E402
from pnyx.search.index import Index  # noqa: E402

MODELS = ("bm25", "dirichlet", "touche", "dense", "hybrid")
RERANKS = ("", "encoder", "listwise", "pointwise")
DIVERSIFY = ("", "mmr", "perspectives")
QUESTION = "Should zoos be phased out?"
DEPTH = 20
"""Number of documents to rerank, diversify or assign to a side; the packaged encoder reads about 20
per second, and with perspectives as many for each."""


def write_corpus(path: Path, count: int, seed: int) -> None:
    """Write arguments of two to eight sentences from passages on a question, and a conclusion."""
    rng = random.Random(seed)
    example = load_example()
    pools = {
        question.id: [
            sentence
            for argument in example.arguments
            if argument.id.startswith(question.id)
            for sentence in split_sentences(argument.text)
        ]
        for question in example.questions
    }
    views = {
        question.id: [p for p in example.perspectives if p.question_id == question.id]
        for question in example.questions
    }
    with path.open("w", encoding="utf-8") as stream:
        for number in range(count):
            question = example.questions[number % len(example.questions)]
            view = rng.choice(views[question.id])
            sentences = rng.sample(pools[question.id], rng.randint(2, 8))
            row = {
                "id": f"d{number}",
                "conclusion": f"{view.text} ({number % 3000})",
                "premises": [" ".join([*sentences, f"Case {number}."])],
                "stance": view.stance,
                "topic": question.text if number % 2 else "",
            }
            stream.write(json.dumps(row) + "\n")


def pnyx(folder: Path, *arguments: str) -> tuple[int, str, str, float]:
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "pnyx", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PNYX_STORE": str(folder / "store.sqlite"), "PNYX_LLM": ""},
    )
    return done.returncode, done.stdout, done.stderr, time.perf_counter() - started


def fault(status: int, out: str, error: str) -> str:
    """Return what is wrong with a result; empty if nothing is."""
    if status != 0:
        return f"exit {status}: {error.strip().splitlines()[-1:]}"
    rows = json.loads(out)
    ids = [row["id"] for row in rows]
    scores = [row["score"] for row in rows]
    if len(ids) != 10 or len(set(ids)) != 10:
        return f"{len(ids)} hits, {len(set(ids))} different"
    return "" if scores == sorted(scores, reverse=True) else "not in the order of the scores"


def combination(
    index: str, model: str, stages: tuple[str, str, str], embedder: str, llm: str
) -> list[str]:
    """Return the command line of one combination."""
    rerank, diversify, stance = stages
    line = ["search", index, QUESTION, "--model", model, "--json"]
    line += ["--set", f"embedder={embedder}"] if model in ("touche", "dense", "hybrid") else []
    line += ["--rerank"] if rerank else []
    line += ["--depth", str(DEPTH)] if rerank or diversify or stance else []
    line += ["--pointwise"] if rerank == "pointwise" else []
    line += ["--llm", llm] if rerank in ("listwise", "pointwise") else []
    line += ["--diversify", diversify] if diversify else []
    line += ["--stance", stance] if stance else []
    return line


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--documents", type=int, default=300_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, metavar="FOLDER", help="keep the index here")
    options = parser.parse_args()
    report = Report("search combinations")
    failures = 0
    with (
        tempfile.TemporaryDirectory() as name,
        EmbeddingServer(dimensions=64) as embeddings,
        ChatServer() as chat,
    ):
        folder = options.work or Path(name)
        index = str(folder / "i")
        if not Path(index).exists():
            folder.mkdir(parents=True, exist_ok=True)
            write_corpus(folder / "corpus.jsonl", options.documents, options.seed)
            knowing = ("--quality", "--clusters", "--vectors", "--embedder", embeddings.spec)
            indexing = pnyx(folder, "index", str(folder / "corpus.jsonl"), "--out", index, *knowing)
            if indexing[0] != 0:
                sys.exit(indexing[2])
            report.line(f"Indexed with all features in {indexing[3]:.0f} s.")
        report.line(f"{len(Index.open(index)):,} documents; of rankings, the first {DEPTH}.")
        report.head("rerank", "diversify", "stance", *MODELS)
        for stages in itertools.product(RERANKS, DIVERSIFY, ("", "con")):
            cells = []
            for model in MODELS:
                line = combination(index, model, stages, embeddings.spec, chat.spec)
                *result, seconds = pnyx(folder, *line)
                wrong = fault(*result)
                failures += bool(wrong)
                cells.append(wrong or f"{seconds:.2f}")
            report.row(*(stage or "-" for stage in stages), *cells)
    report.write(options.write)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
