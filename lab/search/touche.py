"""Time of the full Touché score, compared with plain Dirichlet and with memory speed.

    pip install pnyx
    python lab/search/touche.py --documents 387740    # the size of args.me

The corpus, the questions, their topics and qualities are those of `speed.py`, which compares with
other engines; this script measures only Pnyx, in a minute. Times are CPU milliseconds of the
calling thread, the best of five for each question, to reduce the effect of other load. They do not
include embedding the question, which takes longer.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from corpus import read_lines, write_corpus
from engines import Pnyx, QuestionVectors
from speed import TOP, memory_speed, postings_touched

from pnyx.search.index import Index
from pnyx.search.ranking.scores import touche_rank, touche_scores

sys.path.append(str(Path(__file__).parents[1] / "judging"))

from common import machine


def best_times(run: Callable[[str], Any], questions: list[str]) -> np.ndarray:
    for question in questions[:10]:
        run(question)
    out = []
    for question in questions:
        times = []
        for _ in range(5):
            started = time.thread_time_ns()
            run(question)
            times.append((time.thread_time_ns() - started) / 1e6)
        out.append(min(times))
    return np.array(out)


def report(index: Index, embedder: Any, questions: list[str]) -> None:
    rate, documents = memory_speed(), len(index)
    postings = postings_touched(index, questions)
    # 4 bytes per posting; per document its length and the codes of cluster and quality.
    compact = 4 * postings + documents * (1 + 2)
    # With float weights: 8 bytes per posting; per document score, cluster and quality.
    eager = 8 * postings + documents * (8 + 2 + 4)
    print(f"memory: {rate / 1e9:.1f} GB/s; {postings:,.0f} postings a question, top {TOP}\n")
    print("| what | median ms | p99 ms | over plain Dirichlet |\n|---|---|---|---|")
    plain = best_times(lambda q: index.rank(q, "dirichlet", TOP), questions)
    rows = {
        "Dirichlet": plain,
        "Touché, exact over all": best_times(
            lambda q: touche_rank(index, q, embedder, TOP), questions
        ),
        "Touché, R fixed to 1": best_times(
            lambda q: touche_rank(index, q, embedder, TOP, flat=True), questions[:50]
        ),
        "Touché, scores of all": best_times(
            lambda q: touche_scores(index, q, embedder), questions[:50]
        ),
    }
    for name, times in rows.items():
        ratio = np.median(times) / np.median(plain)
        print(f"| {name} | {np.median(times):.2f} | {np.percentile(times, 99):.2f} | {ratio:.2f} |")
    full = float(np.median(rows["Touché, exact over all"]))
    for name, moved in (("this index", compact), ("float weights, dense scores", eager)):
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
    parser.add_argument("--corpus", type=Path, help="keep corpus and index here and use them again")
    options = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.corpus or Path(temporary)
        if not (folder / "pnyx").exists():
            folder.mkdir(parents=True, exist_ok=True)
            write_corpus(folder, options.documents, options.queries, options.seed)
            Pnyx().index(folder, folder / "pnyx")
        questions = read_lines(folder / "questions.txt")
        embedder = QuestionVectors(questions, np.load(folder / "vectors.npy"))
        report(Index.open(folder / "pnyx", kernel="numba"), embedder, questions)


if __name__ == "__main__":
    main()
