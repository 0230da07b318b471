"""The topic space of the Touché model: choose on one half of the topics, report on the other.

    PNYX_DATA=DATA python lab/search/spaces.py --work FOLDER
    ... --write docs/lab/topic-spaces.md   # updates its section

FOLDER is that of `effectiveness.py`. The choice has the highest mean nDCG@5 over five sets; for
sets with quality labels, the mean of relevance and quality counts. The run fails if the choice is
not the default of the package.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from effectiveness_sets import Collection, debates, sigir, webis, without_sides
from effectiveness_systems import OTHER_SPACES, prepare
from halves import DEVELOPMENT, TEST, Report, Rows, arguments, halves, report_halves
from hybrid_sets import touche_topics

from pnyx.core.records import RunEntry
from pnyx.models.embed.embedder import Embedder, embedder_from
from pnyx.search.features.clusters import DEFAULT_SPACE
from pnyx.search.index import Index
from pnyx.search.measures.retrieval import measure_retrieval
from pnyx.search.ranking.scores import touche_rank
from pnyx.stats.base import Bootstrap

MEASURE = "nDCG@5"
DIRICHLET = "Dirichlet"
DEPTH = 5


def rankings(
    collection: Collection, spaces: dict[str, Index], embedder: Embedder
) -> dict[str, list[RunEntry]]:
    """Rank all topics by Dirichlet and by the Touché model with the topics of each space."""
    runs: dict[str, list[RunEntry]] = {name: [] for name in (DIRICHLET, *spaces)}
    for question in collection.questions:
        for name, entries in runs.items():
            index = spaces[DEFAULT_SPACE if name == DIRICHLET else name]
            if name == DIRICHLET:
                numbers = index.rank(question.text, "dirichlet", DEPTH)[0]
            else:
                numbers = touche_rank(index, question.text, embedder, DEPTH)[0]
            entries += [
                RunEntry(question.id, doc, rank, -float(rank), "pnyx")
                for rank, doc in enumerate(index.doc_ids(numbers), 1)
            ]
    return runs


def of_half(
    collections: dict[str, Collection],
    runs: dict[str, dict[str, list[RunEntry]]],
    half: dict[str, dict[str, str]],
    wanted: str,
) -> Rows:
    """Return the rows of one half: relevance of each set, and quality if it is labelled."""
    rows: Rows = {}
    for name, collection in collections.items():
        topics = {topic for topic, which in half[name].items() if which == wanted}
        half_runs = {
            system: [e for e in entries if e.topic_id in topics]
            for system, entries in runs[name].items()
        }
        gains = {"": without_sides(collection.qrels["sides"])} if "sides" in collection.qrels else {
            f", {gain}": collection.qrels[gain] for gain in ("relevance", "quality")
        }  # fmt: skip
        for gain, qrels in gains.items():
            rows[name + gain] = half_runs, [q for q in qrels if q.topic_id in topics]
    return rows


def development(report: Report, rows: Rows, systems: list[str]) -> None:
    """Report the choice, and check that it is the package's default."""
    values = {}
    for row, (runs, qrels) in rows.items():
        measured = measure_retrieval(runs, qrels, [MEASURE], bootstrap=Bootstrap(0))
        values[row] = {run.name: run.measures[MEASURE].value or 0.0 for run in measured.runs}
    headings = [f"{row} ({len({q.topic_id for q in rows[row][1]})})" for row in values]
    report.head(f"{MEASURE}, development halves", *headings, "mean of sets")
    sets = list(dict.fromkeys(row.split(",")[0] for row in values))
    means = {}
    for name in systems:
        parts = [
            np.mean([v[name] for row, v in values.items() if row.split(",")[0] == set_name])
            for set_name in sets
        ]
        means[name] = float(np.mean(parts))
        cells = [f"{v[name]:.3f}" for v in values.values()]
        report.row(name, *cells, f"{means[name]:.3f}")
    chosen = max(systems[1:], key=lambda name: means[name])
    report.line()
    report.line(f"Chosen: **{chosen}**.")
    if chosen != DEFAULT_SPACE:
        raise SystemExit("the package's default is not what is chosen here")


class _CachedEmbedder:
    """An embedder with a cache, because each question is asked of several indexes."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder, self._cache = embedder, {}
        self.name, self.dimensions = embedder.name, embedder.dimensions

    def encode(self, texts: list[str]) -> np.ndarray:
        for text in texts:
            if text not in self._cache:
                self._cache[text] = self._embedder.encode([text])[0]
        return np.stack([self._cache[text] for text in texts])


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", type=Path, metavar="FOLDER", required=True)
    options = parser.parse_args()
    report, start = Report("topic spaces"), time.process_time()
    embedder = embedder_from()
    collections = {c.name: c for c in (webis(), sigir(), *debates())}
    half = halves([*collections.values(), touche_topics(list(collections.values()))], embedder)
    systems = [DIRICHLET, DEFAULT_SPACE, *OTHER_SPACES]
    runs = {}
    for name, collection in collections.items():
        prepared = prepare(collection, options.work, embedder)
        spaces = {DEFAULT_SPACE: prepared.index, **prepared.spaces}
        runs[name] = rankings(collection, spaces, _CachedEmbedder(embedder))
    report.line(
        "The Touché model at wC = 10, wQ = 5 by what its topics are found by: whole texts, "
        "conclusions alone (as in the paper), conclusions beside premises (dual). The space was "
        "chosen on the development halves, by the mean over the sets (of relevance and quality "
        "where both are labelled); wC and wQ are the paper's. Number of questions in brackets."
    )
    development(report, of_half(collections, runs, half, DEVELOPMENT), systems)
    rows = of_half(collections, runs, half, TEST)
    others = [name for name in systems if name != DEFAULT_SPACE]
    report_halves(report, rows, DEFAULT_SPACE, others, MEASURE, {DEFAULT_SPACE: " (default)"})
    report.line()
    report.line(f"{time.process_time() - start:.0f} CPU seconds, reusing what was in FOLDER.")
    report.write(options.write)


if __name__ == "__main__":
    main()
