"""A search with all that pages and programs show of it, and the perspectives that it covers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pnyx.judge.answers import Judged, Unscored
from pnyx.judge.base import Judge, ask
from pnyx.judge.perspectives import ask_perspectives
from pnyx.records import Evidence, Perspective, Question, judged_text
from pnyx.search.features.clusters import Facet, facets
from pnyx.search.listing import FACETED, RetrievedDocument, has_all, list_hits
from pnyx.search.perspectives import PerspectiveSource, perspectives_of
from pnyx.search.pipeline import Searcher
from pnyx.search.sides import label_topic

if TYPE_CHECKING:
    from pnyx.judge.questions import Support
    from pnyx.search.index import Index


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """What was found for a question.

    Attributes:
        question: as asked.
        described: how was searched, in words.
        hits: best first, each with the parts of its score (`RetrievedDocument.why`).
        facets: topics of the best 100 documents, the most frequent first; empty without clusters.
        facet: the topic whose documents alone are in `hits`; None for all.
        candidates: how many documents the scoring model found.
        problems: what a reader must know, one line each.
        unscored: how many questions to a judge or a language model have no answer.
    """

    question: Question
    described: str
    hits: tuple[RetrievedDocument, ...]
    facets: tuple[Facet, ...]
    facet: int | None
    candidates: int
    problems: tuple[str, ...]
    unscored: int


def find(
    searcher: Searcher, index: Index, question: Question, k: int, facet: int | None = None
) -> SearchAnswer:
    """Search, and say why each document stands where it does; `index` is what is searched."""
    (found,) = searcher.search([question], max(k, FACETED))
    ids = [hit.doc_id for hit in found.hits[:FACETED]]
    clustered = has_all(index, "clusters")
    topics = tuple(facets(index, ids)) if clustered else ()
    hits = list(found.hits)
    if facet is not None:
        known = index.topics(ids) if clustered else [None] * len(ids)
        hits = [h for h, t in zip(hits, known, strict=False) if t is not None and t.number == facet]
    listed = list_hits(found, searcher, hits[:k], explained=True)
    labels = searcher.matcher.problems(label_topic(one.document) for one in listed)
    note = [searcher.note] if searcher.note else []
    return SearchAnswer(
        question,
        str(searcher.plan),
        tuple(listed),
        topics,
        facet,
        found.candidates,
        (*note, *found.problems, *labels),
        found.unscored,
    )


# Perspectives ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Covered:
    """A perspective, and the documents found that support it.

    Attributes:
        perspective: with its side; `extra["documents"]` are those it was taken from.
        documents: document id -> P(the document supports it), of those that do.
        scored: of how many documents there is a verdict.
        asked: of how many one was asked for.
    """

    perspective: Perspective
    documents: Mapping[str, float | None]
    scored: int
    asked: int

    @property
    def state(self) -> Literal["covered", "missing", "unscored"]:
        """`missing` only where every verdict is there, and none is a yes."""
        if self.documents:
            return "covered"
        return "missing" if self.scored == self.asked else "unscored"


@dataclass(frozen=True, slots=True)
class Coverage:
    """Perspectives on a question, and which of them the best documents cover.

    Attributes:
        question: as asked.
        source: where the perspectives are from.
        perspectives: in the order of the source.
        doc_ids: the documents that were held against them, best first.
        judge: who told, by name; empty where nobody was asked.
        card: how far that judge can be trusted.
        problems: what a reader must know, one line each.
        failed: whether the source gave nothing usable.
    """

    question: Question
    source: str
    perspectives: tuple[Covered, ...]
    doc_ids: tuple[str, ...]
    judge: str
    card: str
    problems: tuple[str, ...]
    failed: bool

    @property
    def unscored(self) -> int:
        """How many questions to a judge or a language model have no answer."""
        return sum(one.asked - one.scored for one in self.perspectives) + self.failed


def cover(
    question: Question, source: PerspectiveSource, documents: Sequence[Evidence], judge: Judge
) -> Coverage:
    """Take the perspectives on a question, and hold the documents found against each.

    A document supports a perspective where one of its passages does (BERDS, Appendix A).
    """
    found = perspectives_of(question, source)
    views = found.perspectives
    asked: list[Support] = []
    for document in documents:
        asked += ask_perspectives(document.id, judged_text(document), views)
    verdicts: dict[tuple[str, str], list[Judged | Unscored]] = {}
    for one, answer in zip(asked, ask(judge, asked) if asked else [], strict=True):
        key = (one.extra["perspective_id"], one.extra["doc_id"])
        verdicts.setdefault(key, []).append(answer)
    return Coverage(
        question,
        found.source,
        tuple(_covered(view, documents, verdicts) for view in views),
        tuple(document.id for document in documents),
        judge.name if asked else "",
        judge.card if asked else "",
        found.problems,
        bool(found.failed),
    )


def _covered(
    view: Perspective,
    documents: Sequence[Evidence],
    verdicts: Mapping[tuple[str, str], Sequence[Judged | Unscored]],
) -> Covered:
    supporting: dict[str, float | None] = {}
    scored = 0
    for document in documents:
        answers = verdicts.get((view.id, document.id), ())
        yes = [a for a in answers if isinstance(a, Judged) and a.value is True]
        if yes:
            stated = [a.probability for a in yes if a.probability is not None]
            supporting[document.id] = max(stated, default=None)
        scored += bool(yes) or not any(isinstance(a, Unscored) for a in answers)
    return Covered(view, supporting, scored, len(documents))
