"""A search with all that pages and the API show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pnyx.core.records import Question
from pnyx.formats.text.language import other_language
from pnyx.search.features.clusters import Facet, facets
from pnyx.search.hits import FACETED, RetrievedDocument, has_all, list_hits
from pnyx.search.pipeline import Searcher
from pnyx.search.sides import label_topic

if TYPE_CHECKING:
    from pnyx.search.engine import DocumentIndex


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """Search results for a question."""

    question: Question  # as asked
    described: str  # how the search was done, in words
    hits: tuple[RetrievedDocument, ...]  # best first
    facets: tuple[Facet, ...]  # topics of the best 100, the most frequent first
    facet: int | None  # the topic to which `hits` are restricted
    candidates: int  # how many documents the scoring model retrieved
    problems: tuple[str, ...]  # notes for the reader
    unscored: int  # questions to a judge or model without an answer


def find(
    searcher: Searcher,
    index: DocumentIndex,
    question: Question,
    k: int,
    facet: int | None = None,
    *,
    every_topic: bool = False,
) -> SearchAnswer:
    """Search, and explain the rank of each document; `index` is the searched index.

    `every_topic` is that of `list_hits`.
    """
    results = searcher.show(question, max(k, FACETED))
    ids = [hit.doc_id for hit in results.hits[:FACETED]]
    clustered = has_all(index, "clusters")
    topics = tuple(facets(index, ids)) if clustered else ()
    hits = list(results.hits)
    if facet is not None:
        hit_topics = index.topics(ids) if clustered else [None] * len(ids)
        hits = [
            h for h, t in zip(hits, hit_topics, strict=False) if t is not None and t.number == facet
        ]
    listed = list_hits(results, searcher, hits[:k], explained=True, every_topic=every_topic)
    labels = searcher.matcher.problems(label_topic(hit.document) for hit in listed)
    language = other_language(question.text, (hit.document.text for hit in listed))
    notes = filter(None, (searcher.note, language))
    return SearchAnswer(
        question,
        searcher.described,
        tuple(listed),
        topics,
        facet,
        results.candidates,
        (*notes, *results.problems, *labels),
        results.unscored,
    )
