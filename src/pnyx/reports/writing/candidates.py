"""Evidence for a report: several searches of one index, merged to cover the whole request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pnyx.cases.report_plan import WritingPlan
from pnyx.cases.retrieved_documents import MIDDLING, quality_of
from pnyx.core.records import Evidence, Question
from pnyx.formats import ReportRequest
from pnyx.formats.text.segment import named_words, split_sentences
from pnyx.formats.text.words import words_of
from pnyx.search.lexical.record_codec import searched_text
from pnyx.search.pipeline import Searcher
from pnyx.search.ranking.diversify import mmr
from pnyx.search.ranking.fusion import RRF_CONSTANT
from pnyx.search.relevance import NEARBY, RankedRelevance, content_words

_MOST_QUERIES = 24
"""Maximum searches for one request: a background may be a page long."""

_TELLS = re.compile(
    r"(?:i|we|my|our)\b(?!.{0,200}\b(?:know|want|wish|like|need|look|interest|learn|find|ask)).*[^?]$",
    re.IGNORECASE | re.DOTALL,
)
"""A sentence of a problem statement that is about its author and asks for nothing."""


@dataclass(frozen=True, slots=True)
class Query:
    """One search."""

    text: str
    weight: float = 1.0  # in the fused ranking
    brings: bool = True  # whether it can add documents
    part: bool = False  # whether it is part of what the request asks for


@dataclass(frozen=True, slots=True)
class Gathered:
    """The evidence of a report."""

    documents: tuple[Evidence, ...]  # with different texts, in the order of their choice
    relevance: dict[str, float]  # id -> probability that it is about a query
    worth: dict[str, float]  # id -> relevance, reduced for low quality
    queries: tuple[Query, ...]  # those that add documents are the request's facets
    documents_found: int  # by any query
    without_evidence: tuple[str, ...] = ()  # parts of the request without evidence
    doubtful: tuple[str, ...] = ()  # parts that no document is about, by their ranking
    problems: tuple[str, ...] = ()  # notes for the reader
    judged: int = 0  # documents that a language model judged as evidence or not

    @property
    def facets(self) -> tuple[str, ...]:
        """The subjects that the report must cover, the most general first."""
        return tuple(query.text for query in self.queries if query.brings)


def queries_of(
    request: ReportRequest, plan: WritingPlan, questions: Sequence[str] = ()
) -> tuple[Query, ...]:
    """Return the queries: request, parts with their own words, sub-questions, background."""
    general = [Query(request.asked, 2.0)] if request.problem else []
    problem_sentences = split_sentences(request.problem)
    wanted = [
        Query(request.title),
        *(Query(text, part=not _TELLS.match(text)) for text in problem_sentences),
    ]
    wanted += map(Query, questions)
    if plan.background > 0:
        background_sentences = split_sentences(request.background)
        wanted += [Query(text, plan.background, brings=False) for text in background_sentences]
    by_words: dict[tuple[str, ...], Query] = {}
    for query in (*general, *wanted):
        if len(content_words(query.text)) >= 2 or query.text == request.title:
            by_words.setdefault(words_of(query.text), query)
    return tuple(by_words.values())[:_MOST_QUERIES]


@dataclass(frozen=True, slots=True)
class Candidates:
    """The results of the searches for a report."""

    queries: tuple[Query, ...]
    fused: dict[str, float]  # id -> sum of reciprocal ranks over all searches
    documents: dict[str, Evidence]  # documents of the queries that add some
    relevance: dict[str, float]  # id -> probability, by the rankings, that it is about a query
    doubtful: tuple[str, ...]  # parts of the request that no document is about, by their ranking
    problems: tuple[str, ...]

    def first(self, count: int) -> list[Evidence]:
        """Return the first documents with different texts in the fused rankings."""
        return self.different(self.documents)[:count]

    def different(self, ids: Iterable[str]) -> list[Evidence]:
        """Return the documents with these ids in the order of the fused rankings, no text twice."""
        ordered = sorted(ids, key=lambda doc_id: (-self.fused[doc_id], doc_id))
        once: dict[str, Evidence] = {}
        for doc_id in ordered:
            once.setdefault(self.documents[doc_id].text, self.documents[doc_id])
        return list(once.values())


def gather(
    searcher: Searcher, request: ReportRequest, plan: WritingPlan, queries: Sequence[Query]
) -> Gathered:
    """Search and choose without a language model; see `search_candidates`, `choose_evidence`."""
    return choose_evidence(searcher, search_candidates(searcher, request, plan, queries), plan)


def search_candidates(
    searcher: Searcher, request: ReportRequest, plan: WritingPlan, queries: Sequence[Query]
) -> Candidates:
    """Search for each query and fuse the rankings by reciprocal rank; a background adds none.

    Raises InputError if the index lacks data that the search needs.
    """
    search_questions = [
        Question(f"{request.id}-{n}", query.text) for n, query in enumerate(queries)
    ]
    searches = list(searcher.search(search_questions, max(plan.retrieve, NEARBY)))
    judge = RankedRelevance(searcher.engine, searcher.embedder)
    fused: dict[str, float] = {}
    relevance: dict[str, float] = {}
    documents_by_id: dict[str, Evidence] = {}
    doubtful: list[str] = []
    for query, result in zip(queries, searches, strict=True):
        for hit in result.hits[: plan.retrieve]:
            score = query.weight / (RRF_CONSTANT + hit.rank)
            fused[hit.doc_id] = fused.get(hit.doc_id, 0.0) + score
        if query.brings:
            hits = result.hits
            documents = searcher.engine.fetch([h.doc_id for h in hits[: plan.retrieve]])
            chances = judge.chances(query.text, hits, documents)
            for document, chance in zip(documents, chances, strict=True):
                documents_by_id[document.id] = document
                relevance[document.id] = max(relevance.get(document.id, 0.0), chance)
            if query.part and max(chances, default=0.0) < plan.relevant:
                doubtful.append(query.text)
    problems = tuple(dict.fromkeys(line for result in searches for line in result.problems))
    return Candidates(tuple(queries), fused, documents_by_id, relevance, tuple(doubtful), problems)


def choose_evidence(
    searcher: Searcher,
    candidates: Candidates,
    plan: WritingPlan,
    judged: Mapping[str, float] | None = None,
) -> Gathered:
    """Choose documents that are about a query, by MMR.

    A document counts if a language model says so or, if it was not asked, by the ranking of a query
    (`search.relevance`). If the model finds no evidence at all, the ranking decides, and the writer
    may still find nothing to say.

    Args:
        searcher: the searcher that found the documents.
        candidates: the results of the searches.
        plan: sizes and options.
        judged: id -> probability that it is evidence, by a language model.
    """
    judged = judged or {}
    relevance, least = {**candidates.relevance, **judged}, dict.fromkeys(judged, plan.helpful)
    ids = [i for i in candidates.documents if relevance[i] >= least.get(i, plan.relevant)]
    if judged and not any(judged[i] >= plan.helpful for i in judged):
        relevance = candidates.relevance
        ids = [i for i in candidates.documents if relevance[i] >= plan.relevant]
    once = candidates.different(ids)
    shares, _ = quality_of(searcher.engine, once)
    worth = {
        document.id: relevance[document.id]
        * (1 - plan.quality * (1 - shares.get(document.id, MIDDLING)))
        for document in once
    }
    chosen = _different(searcher, once, candidates.fused, worth, plan)
    parts = [query.text for query in candidates.queries if query.part]
    without_evidence = [
        part for part in parts if not chosen or _absent(part, candidates.documents.values())
    ]
    return Gathered(
        tuple(chosen),
        {document.id: relevance[document.id] for document in chosen},
        {document.id: worth[document.id] for document in chosen},
        candidates.queries,
        len(candidates.fused),
        tuple(without_evidence),
        tuple(part for part in candidates.doubtful if part not in without_evidence),
        candidates.problems,
        len(judged),
    )


def _absent(part: str, documents: Iterable[Evidence]) -> bool:
    """Return whether a part names a person, place or year that no document names."""
    names = {word for word in named_words(part) if not word[0].isdigit() or len(word) == 4}
    wanted = set(map(content_words, names)) - {frozenset()}
    if not wanted:
        return False
    present = frozenset().union(*(content_words(searched_text(document)) for document in documents))
    return any(not words <= present for words in wanted)


def _different(
    searcher: Searcher,
    documents: Sequence[Evidence],
    fused: Mapping[str, float],
    worth: Mapping[str, float],
    plan: WritingPlan,
) -> list[Evidence]:
    """Return documents chosen for their rank, their worth and being unlike the others."""
    if not documents:
        return []
    places = np.array([fused[document.id] for document in documents])
    relevance = places / places.max() * np.array([worth[document.id] for document in documents])
    vectors = _vectors(searcher, documents)
    chosen = mmr(relevance / relevance.max(), vectors, plan.documents, plan.lam)
    return [documents[index] for index in chosen]


def _vectors(searcher: Searcher, documents: Sequence[Evidence]) -> NDArray[np.float32]:
    """Return vectors of documents: those of the index, or new ones."""
    from pnyx.models.embed.encoder import load_encoder
    from pnyx.search.features.vectors import VECTORS

    vectors_info = searcher.engine.feature_info(VECTORS)
    if vectors_info is not None and vectors_info.documents == len(searcher.engine):
        return searcher.engine.vectors([document.id for document in documents])
    return load_encoder().encode([searched_text(document) for document in documents])
