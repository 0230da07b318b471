"""Good arguments first: the displayed order, compared with rankings by the model alone.

    PNYX_DATA=DATA python lab/search/good_first.py --work FOLDER
    ... --write docs/lab/good-first.md   # updates its section

FOLDER is that of `effectiveness.py`. The formula and its weights were chosen on the development
halves (docs/explain/decisions/good-first.md lists the candidates). The run fails if relevance on
one of these halves is lower than that of the hybrid by more than the margin. The whole bundled
example is a test set.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from effectiveness_sets import Collection, debates, sigir, webis
from effectiveness_systems import prepare
from halves import DEVELOPMENT, MARGIN, TEST, Report, Rows, arguments, halves, report_halves
from hybrid_sets import touche_topics
from spaces import MEASURE, of_half

from pnyx.core.records import Qrel, RunEntry
from pnyx.formats.bundled_example import load_example
from pnyx.models.embed.embedder import Embedder, embedder_from
from pnyx.search.engine import Hit
from pnyx.search.index import Index
from pnyx.search.measures.retrieval import measure_retrieval
from pnyx.search.plan import Scoring
from pnyx.search.ranking.good_first import POOL, good_first
from pnyx.stats.base import Bootstrap

DIRICHLET, HYBRID, SHOWN = SYSTEMS = ("Dirichlet", "hybrid", "good first")
GRADED = ("webis", "sigir", "example")
DEPTH = 5


def example() -> Collection:
    """Return the bundled example; irrelevant documents have quality 0."""
    loaded = load_example()
    relevance = [Qrel(label.question_id, label.doc_id, label.relevance) for label in loaded.labels]
    quality = [Qrel(label.question_id, label.doc_id, label.quality if label.relevance else 0)
               for label in loaded.labels]  # fmt: skip
    qrels = {"relevance": relevance, "quality": quality}
    return Collection(
        "example", list(loaded.arguments), list(loaded.questions), qrels, None, "", {}
    )


def rankings(collection: Collection, index: Index, embedder: Embedder) -> dict[str, list[RunEntry]]:
    """Rank all questions by the models, and by the displayed order of the hybrid."""
    runs: dict[str, list[RunEntry]] = {name: [] for name in SYSTEMS}
    for question in collection.questions:
        ranked = index.retrieve(question.text, Scoring("hybrid"), POOL, embedder)
        by_system: dict[str, list[Hit]] = {
            DIRICHLET: index.retrieve(question.text, Scoring("dirichlet"), DEPTH),
            HYBRID: ranked,
            SHOWN: good_first(index, ranked)[0],
        }
        for name, hits in by_system.items():
            runs[name] += [
                RunEntry(question.id, hit.doc_id, rank, -float(rank), "pnyx")
                for rank, hit in enumerate(hits[:DEPTH], 1)
            ]
    return runs


def development(report: Report, rows: Rows) -> None:
    """Report the means, and check that relevance does not lose more than the margin."""
    report.head(f"{MEASURE}, development halves", *SYSTEMS)
    for row, (runs, qrels) in rows.items():
        measured = measure_retrieval(runs, qrels, [MEASURE], bootstrap=Bootstrap(0))
        means = {run.name: run.measures[MEASURE].value or 0.0 for run in measured.runs}
        questions = len({q.topic_id for q in qrels})
        report.row(f"{row} ({questions})", *(f"{means[name]:.3f}" for name in SYSTEMS))
        if not row.endswith("quality") and means[SHOWN] < means[HYBRID] - MARGIN:
            raise SystemExit(f"{row}: relevance loses more than {MARGIN:g}")
    report.line()


def together(rows: Rows) -> Rows:
    """Add quality on all sets with quality grades together; topics are prefixed by the set."""
    runs: dict[str, list[RunEntry]] = {name: [] for name in SYSTEMS}
    every: list[Qrel] = []
    for name in GRADED:
        system_runs, qrels = rows[f"{name}, quality"]
        for system, entries in system_runs.items():
            runs[system] += [replace(e, topic_id=f"{name} {e.topic_id}") for e in entries]
        every += [replace(q, topic_id=f"{name} {q.topic_id}") for q in qrels]
    return {**rows, f"{', '.join(GRADED)}, quality": (runs, every)}


def main() -> None:
    """Rank, compare, print."""
    parser = arguments(__doc__)
    parser.add_argument("--work", type=Path, metavar="FOLDER", required=True)
    options = parser.parse_args()
    report, start = Report("good first"), time.process_time()
    embedder = embedder_from()
    collections = {c.name: c for c in (webis(), sigir(), *debates())}
    half = halves([*collections.values(), touche_topics(list(collections.values()))], embedder)
    collections["example"] = example()
    half["example"] = {q.id: TEST for q in collections["example"].questions}
    runs = {
        name: rankings(collection, prepare(collection, options.work, embedder).index, embedder)
        for name, collection in collections.items()
    }
    real_sets = {name: collection for name, collection in collections.items() if name != "example"}
    development(report, of_half(real_sets, runs, half, DEVELOPMENT))
    rows = together(of_half(collections, runs, half, TEST))
    report_halves(report, rows, SHOWN, [DIRICHLET, HYBRID], MEASURE, {})
    report.line()
    report.line(f"{time.process_time() - start:.0f} CPU seconds, reusing what was in FOLDER.")
    report.write(options.write)


if __name__ == "__main__":
    main()
