"""Hybrid search: choose the fusion on one half of the topics, and report on the other.

    PNYX_DATA=DATA python lab/search/hybrid.py --work FOLDER
    ... --write docs/lab/hybrid-search.md   # updates its section

FOLDER is that of `effectiveness.py`, which stores the indexes. The choice is the candidate with the
highest mean over the sets, among those that lose no more than the margin to any of their parts on
any set. Each run repeats the split and the choice; it fails if the choice differs from the defaults
of the package.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from effectiveness_sets import DATA
from halves import DEVELOPMENT, MARGIN, TEST, Report, Rows, arguments, halves, report_halves
from hybrid_sets import Searched, searched_sets

sys.path.insert(0, str(Path(__file__).parents[1] / "argue"))

from pages import collections

from pnyx.core.records import Question, RunEntry
from pnyx.models.embed.embedder import Embedder, embedder_from
from pnyx.search.index import Index
from pnyx.search.measures.retrieval import measure_retrieval
from pnyx.search.plan import AUTO, Scoring
from pnyx.search.ranking.fusion import RankedList, fuse_rrf, fuse_weighted
from pnyx.search.ranking.scores import choose_scoring, depth_of_parts, fuse_parts, rank_documents
from pnyx.stats.base import Bootstrap

MEASURE = "nDCG@10"
PARTS = ("bm25", "dirichlet", "dense")
DEPTH = depth_of_parts(10)
WEIGHTS = tuple(n / 10 for n in range(1, 10))
FEEDBACK = (3, 5, 10)
POOLS = ", judged pools"

Lists = Mapping[str, RankedList]
"""Part -> its ranking for one topic."""


@dataclass(frozen=True)
class Topic:
    """A topic with its rankings by the parts, its vector, and its index."""

    lists: Lists
    question: np.ndarray
    index: Index


@dataclass(frozen=True)
class Candidate:
    """A way of fusing.

    Attributes:
        lexical: the lexical parts; they share the weight that the dense part does not have.
        dense: the weight of the dense part; None leaves it out.
        fusion: as in the setting `fusion`.
        depth: number of documents of each ranking to fuse.
        feedback: number of top documents towards which the vector of the question is moved.
    """

    lexical: tuple[str, ...]
    dense: float | None
    fusion: str
    depth: int = DEPTH
    feedback: int = 0

    @property
    def parts(self) -> tuple[str, ...]:
        """All parts."""
        return self.lexical if self.dense is None else (*self.lexical, "dense")

    @property
    def name(self) -> str:
        """Its name in tables."""
        how = self.fusion
        if self.fusion != "rrf" and self.dense is not None:
            how += f", {self.dense:g} on dense"
        if self.depth != DEPTH:
            how += f", first {self.depth}"
        if self.feedback:
            how += f", feedback of {self.feedback}"
        return f"{' + '.join(self.parts)}: {how}"

    def rank(self, topic: Topic, k: int) -> np.ndarray:
        """Return the fused ranking of a topic."""
        lists = topic.lists
        if self.feedback:
            scoring = Scoring("hybrid", lexical=self.lexical[0], fusion=self.fusion,
                              dense_weight=self.dense or 0.0, feedback=self.feedback)  # fmt: skip
            ranked = [lists[part] for part in self.parts]
            return fuse_parts(topic.index, scoring, ranked, topic.question, k)[0]
        cut = [(n[: self.depth], s[: self.depth]) for n, s in (lists[p] for p in self.parts)]
        if self.fusion == "rrf":
            return fuse_rrf(cut, k=k)[0]
        rest = 1.0 - (self.dense or 0.0)
        weights = [rest / len(self.lexical)] * len(self.lexical)
        weights += [] if self.dense is None else [self.dense]
        return fuse_weighted(cut, weights, k, self.fusion)[0]  # type: ignore[arg-type]


def candidates() -> list[Candidate]:
    """Return all candidates."""
    partners = (("bm25",), ("dirichlet",), ("bm25", "dirichlet"))
    depths = (100, DEPTH)
    result = [
        Candidate(lexical, weight, fusion, depth)
        for lexical, weight, fusion, depth in itertools.product(
            partners, WEIGHTS, ("minmax", "zscore"), depths
        )
    ]
    result += [
        Candidate(lexical, weight, "minmax", feedback=feedback)
        for lexical, weight, feedback in itertools.product(partners[:2], WEIGHTS, FEEDBACK)
    ]
    result += [Candidate(lexical, 0.5, "rrf") for lexical in partners]
    result += [Candidate(partners[-1], None, fusion) for fusion in ("minmax", "zscore", "rrf")]
    return result


DEFAULT = Candidate(
    (Scoring().lexical,),
    Scoring().dense_weight,
    Scoring().fusion,
    feedback=Scoring().feedback,
)
FORMER = Candidate(("dirichlet",), 0.6, "minmax")


# --- rankings ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ranked:
    """A set with the rankings of the parts for each topic."""

    searched: Searched
    lists: Mapping[str, Topic]
    half: Mapping[str, str]

    def topics(self, half: str) -> list[str]:
        """Return the topics of one half."""
        return [topic for topic in self.lists if self.half[topic] == half]


def ranked_by_parts(searched: Searched, half: Mapping[str, str], embedder: Embedder) -> Ranked:
    """Rank all topics that have judgements by each part."""
    judged = {q.topic_id for q in searched.qrels}
    index = searched.index

    def ranked(q: Question) -> Topic:
        lists = {part: rank_documents(index, q.text, Scoring(part), DEPTH, embedder)
                 for part in PARTS}  # fmt: skip
        return Topic(lists, embedder.encode([q.text])[0], index)

    lists = {q.id: ranked(q) for q in searched.collection.questions if q.id in judged}
    return Ranked(searched, lists, half)


def runs_of(ranked: Ranked, half: str, systems: Iterable[Candidate]) -> Rows:
    """Return the runs of one set: of the graded ones also within the judged pools."""
    topics, searched = ranked.topics(half), ranked.searched
    qrels = [q for q in searched.qrels if ranked.half.get(q.topic_id) == half]
    pools = {(q.topic_id, q.doc_id) for q in qrels} if searched.graded else None
    whole: dict[str, list[RunEntry]] = {}
    # The first ten debates or judged documents may be far down in the ranking.
    k = DEPTH if searched.graded or searched.debates else 10
    for topic in topics:
        for name, numbers in _all_rankings(ranked.lists[topic], systems, k):
            ids = searched.ranked(numbers)[: DEPTH if searched.graded else 10]
            whole.setdefault(name, []).extend(
                RunEntry(topic, doc, rank, -float(rank), "pnyx") for rank, doc in enumerate(ids, 1)
            )
    rows: Rows = {searched.name: (whole, qrels)}
    if pools is not None:
        within = {
            name: [e for e in entries if (e.topic_id, e.doc_id) in pools]
            for name, entries in whole.items()
        }
        rows[searched.name + POOLS] = (within, qrels)
    return rows


def _all_rankings(
    topic: Topic, systems: Iterable[Candidate], k: int
) -> Iterable[tuple[str, np.ndarray]]:
    for part in PARTS:
        yield part, topic.lists[part][0][:k]
    for system in systems:
        yield system.name, system.rank(topic, k)


# --- choosing ---------------------------------------------------------------------------------


def means(rows: Rows) -> dict[str, dict[str, float]]:
    """Return row -> system -> mean."""
    by_row = {}
    for row, (runs, qrels) in rows.items():
        measured = measure_retrieval(runs, qrels, [MEASURE], bootstrap=Bootstrap(0))
        by_row[row] = {run.name: run.measures[MEASURE].value or 0.0 for run in measured.runs}
    return by_row


def worst_loss(values: Mapping[str, Mapping[str, float]], candidate: Candidate) -> float:
    """Return the smallest difference from the best part, over the rows."""
    return min(
        row[candidate.name] - max(row[p] for p in candidate.parts) for row in values.values()
    )


def mean_of_sets(values: Mapping[str, Mapping[str, float]], name: str) -> float:
    """Return the mean over the sets, without judged pools."""
    return float(np.mean([row[name] for label, row in values.items() if POOLS not in label]))


def choose(
    values: Mapping[str, Mapping[str, float]], among: Sequence[Candidate]
) -> Candidate | None:
    """Return the best candidate that loses no more than the margin to any part on any row."""
    eligible = [candidate for candidate in among if worst_loss(values, candidate) >= -MARGIN]
    return max(eligible, key=lambda candidate: mean_of_sets(values, candidate.name), default=None)


def development(report: Report, sets: Sequence[Ranked]) -> None:
    """Report the choice, and check that it is the package's default."""
    tried = candidates()
    rows: Rows = {}
    for ranked in sets:
        rows |= runs_of(ranked, DEVELOPMENT, tried)
    values = means(rows)
    best = _best_of_each_kind(values, tried)
    report.head(f"{MEASURE}, development halves", *_headings(rows, values), "mean of sets",
                "worst loss to a part")  # fmt: skip
    for part in PARTS:
        report.row(part, *_cells(values, part), f"{mean_of_sets(values, part):.3f}", "–")
    for candidate in best:
        loss = worst_loss(values, candidate)
        flag = "" if loss >= -MARGIN else " ✗"
        mean = f"{mean_of_sets(values, candidate.name):.3f}"
        report.row(candidate.name, *_cells(values, candidate.name), mean, f"{loss:+.3f}{flag}")
    chosen = choose(values, tried)
    by_words = choose(values, [candidate for candidate in tried if candidate.dense is None])
    single = max(PARTS[:2], key=lambda part: mean_of_sets(values, part))
    eligible = sum(worst_loss(values, candidate) >= -MARGIN for candidate in tried)
    report.line()
    report.line(
        f"Of {len(tried)} candidates {eligible} lose no more than {MARGIN:g} to a part anywhere; "
        f"the best of them: **{chosen.name if chosen else 'none'}**. Without vectors: "
        f"**{by_words.name if by_words else single}**"
        + ("." if by_words else ", since each fusion of both loses more than that somewhere.")
    )
    if chosen != DEFAULT or by_words is not None or single != DEFAULT.lexical[0]:
        raise SystemExit("the package's defaults are not what is chosen here")


def _best_of_each_kind(
    values: Mapping[str, Mapping[str, float]], tried: Sequence[Candidate]
) -> list[Candidate]:
    """Return the best candidate of each kind (parts, fusion, depth, feedback), best first."""
    kinds: dict[tuple[object, ...], list[Candidate]] = {}
    for candidate in tried:
        kinds.setdefault(
            (candidate.parts, candidate.fusion, candidate.depth, candidate.feedback), []
        ).append(candidate)
    best = [choose(values, some) or max(some, key=lambda o: mean_of_sets(values, o.name))
            for some in kinds.values()]  # fmt: skip
    return sorted(best, key=lambda candidate: -mean_of_sets(values, candidate.name))


def _headings(rows: Rows, values: Mapping[str, Mapping[str, float]]) -> list[str]:
    return [f"{row} ({len({q.topic_id for q in rows[row][1]})})" for row in values]


def _cells(values: Mapping[str, Mapping[str, float]], name: str) -> list[str]:
    return [f"{row[name]:.3f}" for row in values.values()]


# --- reporting --------------------------------------------------------------------------------


def test(report: Report, sets: Sequence[Ranked]) -> None:
    """Report the choice on the test halves."""
    rows: Rows = {}
    for ranked in sets:
        rows |= runs_of(ranked, TEST, [FORMER, DEFAULT])
    labels = {FORMER.name: " (the former default)", DEFAULT.name: " (default)"}
    report_halves(report, rows, DEFAULT.name, [*PARTS, FORMER.name], MEASURE, labels)


def leave_out(sets: Sequence[Searched], half: dict[str, dict[str, str]]) -> None:
    """Remove the test questions of lab/argue from the development halves."""
    tests = {
        _plain(item.question.text)
        for collection in collections(DATA).values()
        for item in collection.questions
        if item.part == "test"
    }
    for searched in sets:
        for question in searched.collection.questions:
            if (
                _plain(question.text) in tests
                and half[searched.name].get(question.id) == DEVELOPMENT
            ):
                half[searched.name][question.id] = "left out"


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", type=Path, metavar="FOLDER", required=True)
    options = parser.parse_args()
    report = Report("hybrid")
    embedder = embedder_from()
    start = time.process_time()
    searched_all = searched_sets(options.work, embedder)
    half = halves([searched.collection for searched in searched_all], embedder)
    leave_out(searched_all, half)
    sets = [ranked_by_parts(searched, half[searched.name], embedder) for searched in searched_all]
    assert choose_scoring(searched_all[0].index, Scoring(AUTO)).scoring == Scoring("hybrid")
    report.line(
        "Partner, fusion, weight, depth and feedback were chosen on the development halves alone, "
        f"by the highest mean over the six sets among those that lose no more than {MARGIN:g} to "
        "any part on any set; ✗: loses more. Of each kind the best weight is shown. Number of "
        "questions in brackets; cells of the test halves: mean or difference [95 % interval over "
        "questions]."
    )
    development(report, sets)
    test(report, sets)
    report.line()
    report.line(f"{time.process_time() - start:.0f} CPU seconds, reusing what was in FOLDER.")
    report.write(options.write)


if __name__ == "__main__":
    main()
