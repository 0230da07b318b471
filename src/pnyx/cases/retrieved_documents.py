"""The documents that a question is argued from, by one search or several, and their quality."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pnyx.cases.plan import Plan
from pnyx.core.errors import count_of
from pnyx.core.records import Evidence, Question
from pnyx.search.engine import Engine
from pnyx.search.hits import SearchHits
from pnyx.search.pipeline import Searcher
from pnyx.search.ranking.fusion import RRF_CONSTANT


def search_text(question: Question) -> str:
    """Return the query: the question and its definition, if it has one."""
    return f"{question.text} {question.definition}".strip()


@dataclass(frozen=True, slots=True)
class RetrievedDocuments:
    """Documents with different texts, best first, and how many copies were skipped."""

    documents: list[Evidence]
    copies: int
    all: SearchHits  # the results for the question's own words
    searches: int = 0  # searches in other words, fused with it

    def described(self, searcher: Searcher, question: Question) -> str:
        """Describe the search, and the number of documents."""
        searched = "question and definition" if question.definition else "question"
        if self.searches:
            searched += f" and {self.searches} searches in other words"
        copies = count_of(self.copies, "copy", "copies")
        passed = f", {copies} passed over" if self.copies else ""
        documents = count_of(len(self.documents), "document")
        return f"{searcher.plan}, by {searched}; {documents} retrieved{passed}"


def retrieve(
    searcher: Searcher,
    question: Question,
    plan: Plan,
    searches: Sequence[str] = (),
    first: RetrievedDocuments | None = None,
) -> RetrievedDocuments:
    """Return the `plan.retrieve` best documents with different texts. Raises as `argue` does.

    The results of `searches` in other words are fused with the first ones by reciprocal rank,
    unless a step after ranking would have to be repeated for each search. `first` is the result
    without them.
    """
    count = 4 * plan.retrieve
    if first is not None and (not searches or searcher.plan.staged):
        return first
    if first is None:
        (result,) = searcher.search([replace(question, text=search_text(question))], count)
    else:
        result = first.all
    others = [replace(question, id=f"{question.id}-s{n}", text=text)
              for n, text in enumerate(searches, 1)]  # fmt: skip
    rankings = [result, *(searcher.search(others, count) if others else [])]
    ids = _fused([[hit.doc_id for hit in ranking.hits] for ranking in rankings])
    different: dict[str, Evidence] = {}
    copies = 0
    for document in searcher.engine.fetch(ids[:count]):
        if len(different) == plan.retrieve:
            break
        copies += document.text in different
        different.setdefault(document.text, document)
    return RetrievedDocuments(list(different.values()), copies, result, len(others))


def _fused(rankings: Sequence[Sequence[str]]) -> list[str]:
    """Return ids by the sum of their reciprocal ranks; a single ranking is unchanged."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, doc_id in enumerate(ranking, 1):
            scores[doc_id] = scores.get(doc_id, 0.0) + 1.0 / (RRF_CONSTANT + rank)
    return sorted(scores, key=lambda doc_id: -scores[doc_id])


MIDDLING = 0.5
"""Assumed quality, only for ordering, of a document of unknown quality."""


def quality_of(engine: Engine, documents: Sequence[Evidence]) -> tuple[dict[str, float], bool]:
    """Return the share of documents of lower quality by id, and whether among all documents."""
    ids = [document.id for document in documents]
    info = engine.feature_info("quality")
    of_all = info is not None and info.documents == len(engine)
    if of_all:
        shares = engine.quality_shares(ids)
    else:
        from pnyx.judging.students.surface_quality import QualityModel, predictions
        from pnyx.search.document_quality import rated_text

        scores, _ = predictions(
            QualityModel.load(), [rated_text(document) for document in documents]
        )
        shares = np.searchsorted(np.sort(scores), scores) / max(1, len(scores))
    pairs = zip(ids, map(float, shares), strict=True)
    return {doc_id: share for doc_id, share in pairs if not math.isnan(share)}, of_all
