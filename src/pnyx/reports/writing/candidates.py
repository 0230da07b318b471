"""Evidence for a report: several searches of one index, made one list that covers the request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pnyx.cases.qualities import MIDDLING, quality_of
from pnyx.cases.report_plan import WritingPlan
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
"""Searches for one request: a background may be a page long."""

_TELLS = re.compile(
    r"(?:i|we|my|our)\b(?!.{0,200}\b(?:know|want|wish|like|need|look|interest|learn|find|ask)).*[^?]$",
    re.IGNORECASE | re.DOTALL,
)
"""A sentence of a problem statement that tells of its author and asks for nothing."""


@dataclass(frozen=True, slots=True)
class Query:
    """One search."""

    text: str
    weight: float = 1.0  # how much it counts
    brings: bool = True  # whether it can bring documents
    part: bool = False  # whether it is a part of what the request asks for


@dataclass(frozen=True, slots=True)
class Gathered:
    """The evidence of a report."""

    documents: tuple[Evidence, ...]  # of different texts, in the order of their choice
    relevance: dict[str, float]  # id -> probability that it is about a query
    worth: dict[str, float]  # id -> relevance, less for a low quality
    queries: tuple[Query, ...]  # those that bring documents are the request's facets
    found: int  # documents that any query found
    lacking: tuple[str, ...] = ()  # parts of the request without evidence
    doubtful: tuple[str, ...] = ()  # parts that no document is about, by their ranking
    problems: tuple[str, ...] = ()  # what a reader must know
    judged: int = 0  # documents that a language model read to say whether they are evidence

    @property
    def facets(self) -> tuple[str, ...]:
        """What the report must be about, the most general first."""
        return tuple(one.text for one in self.queries if one.brings)


def queries_of(
    request: ReportRequest, plan: WritingPlan, questions: Sequence[str] = ()
) -> tuple[Query, ...]:
    """Return what is searched for: request, parts with own words, sub-questions, background."""
    general = [Query(request.asked, 2.0)] if request.problem else []
    asked = split_sentences(request.problem)
    wanted = [Query(request.title), *(Query(text, part=not _TELLS.match(text)) for text in asked)]
    wanted += map(Query, questions)
    if plan.background > 0:
        told = split_sentences(request.background)
        wanted += [Query(text, plan.background, brings=False) for text in told]
    found: dict[tuple[str, ...], Query] = {}
    for one in (*general, *wanted):
        if len(content_words(one.text)) >= 2 or one.text == request.title:
            found.setdefault(words_of(one.text), one)
    return tuple(found.values())[:_MOST_QUERIES]


@dataclass(frozen=True, slots=True)
class Candidates:
    """What the searches for a report found."""

    queries: tuple[Query, ...]
    fused: dict[str, float]  # id -> reciprocal ranks of all searches
    known: dict[str, Evidence]  # documents of the queries that bring some
    relevance: dict[str, float]  # id -> probability by the rankings that it is about a query
    doubtful: tuple[str, ...]  # parts of the request that no document is about, by their ranking
    problems: tuple[str, ...]

    def first(self, count: int) -> list[Evidence]:
        """Return the first documents of different texts by the fused rankings."""
        return self.different(self.known)[:count]

    def different(self, ids: Iterable[str]) -> list[Evidence]:
        """Return the documents with these ids in the order of the fused rankings, no text twice."""
        ordered = sorted(ids, key=lambda doc_id: (-self.fused[doc_id], doc_id))
        once: dict[str, Evidence] = {}
        for doc_id in ordered:
            once.setdefault(self.known[doc_id].text, self.known[doc_id])
        return list(once.values())


def gather(
    searcher: Searcher, request: ReportRequest, plan: WritingPlan, queries: Sequence[Query]
) -> Gathered:
    """Search and choose without a language model; see `search_candidates`, `choose_evidence`."""
    return choose_evidence(searcher, search_candidates(searcher, request, plan, queries), plan)


def search_candidates(
    searcher: Searcher, request: ReportRequest, plan: WritingPlan, queries: Sequence[Query]
) -> Candidates:
    """Search for each query and fuse the rankings by reciprocal rank; a background brings none.

    Raises InputError where the index lacks what the search needs.
    """
    asked = [Question(f"{request.id}-{n}", one.text) for n, one in enumerate(queries)]
    searches = list(searcher.search(asked, max(plan.retrieve, NEARBY)))
    judge = RankedRelevance(searcher.engine, searcher.embedder)
    fused: dict[str, float] = {}
    relevance: dict[str, float] = {}
    known: dict[str, Evidence] = {}
    doubtful: list[str] = []
    for query, found in zip(queries, searches, strict=True):
        for hit in found.hits[: plan.retrieve]:
            place = query.weight / (RRF_CONSTANT + hit.rank)
            fused[hit.doc_id] = fused.get(hit.doc_id, 0.0) + place
        if query.brings:
            hits = found.hits
            documents = searcher.engine.fetch([h.doc_id for h in hits[: plan.retrieve]])
            chances = judge.chances(query.text, hits, documents)
            for one, chance in zip(documents, chances, strict=True):
                known[one.id] = one
                relevance[one.id] = max(relevance.get(one.id, 0.0), chance)
            if query.part and max(chances, default=0.0) < plan.relevant:
                doubtful.append(query.text)
    problems = tuple(dict.fromkeys(line for found in searches for line in found.problems))
    return Candidates(tuple(queries), fused, known, relevance, tuple(doubtful), problems)


def choose_evidence(
    searcher: Searcher,
    found: Candidates,
    plan: WritingPlan,
    judged: Mapping[str, float] | None = None,
) -> Gathered:
    """Choose documents that are about a query, by MMR.

    A document counts where a language model says so, or, where it was not asked, the ranking of a
    query (`search.relevance`). If the model finds no evidence at all, the ranking decides, and the
    writer may still find nothing to say.

    Args:
        searcher: what found the documents.
        found: what it found.
        plan: sizes and options.
        judged: id -> probability that it is evidence, by a language model.
    """
    judged = judged or {}
    relevance, least = {**found.relevance, **judged}, dict.fromkeys(judged, plan.helpful)
    kept = [i for i in found.known if relevance[i] >= least.get(i, plan.relevant)]
    if judged and not any(judged[i] >= plan.helpful for i in judged):
        relevance = found.relevance
        kept = [i for i in found.known if relevance[i] >= plan.relevant]
    once = found.different(kept)
    shares, _ = quality_of(searcher.engine, once)
    worth = {
        one.id: relevance[one.id] * (1 - plan.quality * (1 - shares.get(one.id, MIDDLING)))
        for one in once
    }
    chosen = _different(searcher, once, found.fused, worth, plan)
    parts = [one.text for one in found.queries if one.part]
    lacking = [one for one in parts if not chosen or _absent(one, found.known.values())]
    return Gathered(
        tuple(chosen),
        {one.id: relevance[one.id] for one in chosen},
        {one.id: worth[one.id] for one in chosen},
        found.queries,
        len(found.fused),
        tuple(lacking),
        tuple(one for one in found.doubtful if one not in lacking),
        found.problems,
        len(judged),
    )


def _absent(part: str, documents: Iterable[Evidence]) -> bool:
    """Tell whether a part names somebody, a place or a year that no document names."""
    names = {word for word in named_words(part) if not word[0].isdigit() or len(word) == 4}
    wanted = set(map(content_words, names)) - {frozenset()}
    if not wanted:
        return False
    held = frozenset().union(*(content_words(searched_text(one)) for one in documents))
    return any(not one <= held for one in wanted)


def _different(
    searcher: Searcher,
    documents: Sequence[Evidence],
    fused: Mapping[str, float],
    worth: Mapping[str, float],
    plan: WritingPlan,
) -> list[Evidence]:
    """Return documents chosen for their place in the rankings, worth, and being unlike others."""
    if not documents:
        return []
    places = np.array([fused[one.id] for one in documents])
    relevance = places / places.max() * np.array([worth[one.id] for one in documents])
    vectors = _vectors(searcher, documents)
    chosen = mmr(relevance / relevance.max(), vectors, plan.documents, plan.lam)
    return [documents[place] for place in chosen]


def _vectors(searcher: Searcher, documents: Sequence[Evidence]) -> NDArray[np.float32]:
    """Return vectors of documents: those of the index, else made now."""
    from pnyx.models.embed.encoder import load_encoder
    from pnyx.search.features.vectors import VECTORS

    known = searcher.engine.feature_info(VECTORS)
    if known is not None and known.documents == len(searcher.engine):
        return searcher.engine.vectors([one.id for one in documents])
    return load_encoder().encode([searched_text(one) for one in documents])
