"""How good are the quoted arguments? On sets rated by people: Webis, SIGIR, the bundled example.

    PNYX_DATA=DATA python lab/argue/quoted_quality.py --work FOLDER [--part development]
    ... --write docs/lab/argue.md

Arguments have no labels in the index. The candidates of a question are the arguments that people
found relevant. A figure is the mean percentile of the cited arguments among the candidates: the
share that people rated lower, plus half of the share with the same rating. Chance is 0.5. The
quality in the Webis index is predicted by models that saw neither topic nor text. The halves are
those of lab/search/halves.py, and FOLDER is that of lab/search/effectiveness.py.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "judging"))
sys.path.insert(0, str(Path(__file__).parents[1] / "search"))

from cached_judge import CachedJudge
from common import Report, arguments
from effectiveness_sets import Collection, debates, sigir, webis
from effectiveness_systems import prepare
from halves import DEVELOPMENT, TEST, halves

from pnyx.cases.argument import argue
from pnyx.cases.case import Writer
from pnyx.cases.extractive import ExtractiveWriter
from pnyx.cases.plan import Plan
from pnyx.core.records import Document, Question, judged_text
from pnyx.formats.bundled_example import load_example
from pnyx.judging.base import Judge
from pnyx.judging.students.judge import PackagedJudge
from pnyx.judging.students.surface_quality import QualityModel
from pnyx.models.embed.embedder import Embedder, embedder_from
from pnyx.search.build import build_index
from pnyx.search.document_quality import score_documents
from pnyx.search.features.vectors import embed_documents
from pnyx.search.index import Index

DRAWS = 2000


Ratings = Mapping[str, Mapping[str, float]]
"""Question -> document -> rating."""


def ratings_of(collection: Collection) -> Ratings:
    """Return the quality ratings of the relevant arguments of each topic."""
    ratings: dict[str, dict[str, float]] = defaultdict(dict)
    relevant = {(q.topic_id, q.doc_id) for q in collection.qrels["relevance"] if q.grade > 0}
    gains = [collection.qrels[n] for n in ("quality",) if n in collection.qrels] or [
        collection.qrels[n] for n in ("rhetorical", "logical", "dialectical")
    ]
    for qrels in gains:
        for q in qrels:
            if (q.topic_id, q.doc_id) in relevant:
                topic_ratings = ratings[q.topic_id]
                topic_ratings[q.doc_id] = topic_ratings.get(q.doc_id, 0.0) + q.grade
    return ratings


def share_below(ratings: Mapping[str, float], doc_id: str) -> float:
    """Return the share of lower ratings plus half of the share of equal ones."""
    values, rating = np.array(list(ratings.values())), ratings[doc_id]
    return float((values < rating).mean() + (values == rating).mean() / 2)


def quoted(
    index: Index,
    question: Question,
    ratings: Mapping[str, float],
    plan: Plan,
    writer: Writer,
    judge: Judge,
) -> list[float]:
    """Return the percentile of each cited document among the candidates."""
    case = argue(index, question, judge=judge, writer=writer, plan=plan)
    cited = {c.doc_id for s in case.sides for t in s.response.sentences for c in t.citations}
    return [share_below(ratings, doc_id) for doc_id in sorted(cited) if doc_id in ratings]


def example(work: Path, embedder: Embedder) -> tuple[Index, list[Question], Ratings]:
    """Return the bundled example without labels in its index."""
    loaded, folder = load_example(), work / "example-plain"
    if not folder.exists():
        build_index((Document(a.id, judged_text(a)) for a in loaded.arguments), folder)
        embed_documents(folder, embedder)
        score_documents(folder, QualityModel.load())
    ratings: dict[str, dict[str, float]] = defaultdict(dict)
    for label in loaded.labels:
        if label.relevance > 0:
            ratings[label.question_id][label.doc_id] = float(label.quality)
    questions = [replace(q, definition="") for q in loaded.questions]
    return Index.open(folder), questions, ratings


def cell(values: Sequence[Sequence[float]]) -> str:
    """Return the mean over all citations, with an interval over questions."""
    rated = [shares for shares in values if shares]
    rng = np.random.default_rng(0)
    draws = [np.mean(np.concatenate([rated[i] for i in rng.integers(0, len(rated), len(rated))]))
             for _ in range(DRAWS)]  # fmt: skip
    low, high = np.quantile(draws, [0.025, 0.975])
    every = np.concatenate(rated)
    return f"{every.mean():.2f} [{low:.2f}, {high:.2f}] ({len(every)} of {len(rated)} questions)"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", type=Path, metavar="FOLDER", required=True)
    parser.add_argument("--part", choices=(TEST, DEVELOPMENT), default=TEST)
    parser.add_argument("--quality", type=float, nargs="*", default=[Plan().quality, 0.0])
    parser.add_argument("--order", type=float, default=ExtractiveWriter().order)
    options = parser.parse_args()
    report, embedder = Report("argue-quality"), embedder_from()
    sets = [webis(), sigir()]
    half = halves([*sets, *debates()], embedder)
    prepared = {
        c.name: (prepare(c, options.work, embedder).index,
                 [q for q in c.questions if half[c.name].get(q.id) == options.part],
                 ratings_of(c))
        for c in sets
    }  # fmt: skip
    if options.part == TEST:
        prepared["example"] = example(options.work, embedder)
    writer, judge = ExtractiveWriter(order=options.order), CachedJudge(PackagedJudge())
    report.head(f"quality of what is quoted, {options.part}", *prepared)
    for weight in options.quality:
        cells = []
        for index, questions, ratings in prepared.values():
            plan = Plan(quality=weight, by_passages=True)
            shares = [
                quoted(index, q, ratings[q.id], plan, writer, judge)
                for q in questions
                if q.id in ratings
            ]
            cells.append(cell(shares))
        report.row(f"weight {weight:g} of quality", *cells)
    report.write(options.write)


if __name__ == "__main__":
    main()
