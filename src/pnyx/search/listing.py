"""Retrieved documents with all that is known of each: the one shape of a hit (`rows`: as JSON)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pnyx.records import Evidence, Perspective, Stance
from pnyx.search.engine import Engine, Hit, Topic
from pnyx.search.perspectives import query_for
from pnyx.search.sides import Sided, label_on, match_labels
from pnyx.search.topics import TopicMatch

if TYPE_CHECKING:
    from pnyx.search.explain import Explanation
    from pnyx.search.pipeline import Found, Searcher

FACETED: Final = 100
"""Best documents among which topics are counted, and from which those of one are taken."""


@dataclass(frozen=True, slots=True)
class RetrievedDocument:
    """A hit with its document."""

    hit: Hit
    document: Evidence
    match: TopicMatch | None = None  # how the topic of its label relates to the question
    side_of_label: Stance | None = None  # None where the topic is another
    sided: Sided | None = None  # its side, where that was asked for
    probability: float | None = None  # P(relevant), judged one by one
    perspective: Perspective | None = None  # whose turn brought it
    topic: Topic | None = None  # its topic cluster
    quality: float | None = None  # predicted, in [0, 1]
    quality_share: float | None = None  # share of documents of lower quality
    why: Explanation | None = None  # the parts of its score

    @property
    def stance(self) -> Stance | None:
        """Its label, whatever that is about."""
        return getattr(self.document, "stance", None)


def has_all(engine: Engine, feature: str) -> bool:
    """Tell whether an engine knows a feature of all its documents."""
    known = engine.feature_info(feature)
    return known is not None and known.documents == len(engine)


def list_hits(
    found: Found, searcher: Searcher, hits: Sequence[Hit] | None = None, *, explained: bool = False
) -> list[RetrievedDocument]:
    """Return what is known of the documents found, or of `hits`, with the parts of their scores."""
    engine = searcher.engine
    hits = found.hits if hits is None else hits
    ids = [hit.doc_id for hit in hits]
    documents = engine.fetch(ids)
    matches = match_labels(found.question, documents, searcher.matcher)
    nothing = [None] * len(ids)
    topics: Sequence[Topic | None] = engine.topics(ids) if has_all(engine, "clusters") else nothing
    quality: Sequence[float | None] = nothing
    shares: Sequence[float | None] = nothing
    if has_all(engine, "quality"):
        quality = [_known(value) for value in engine.quality(ids).tolist()]
        shares = [_known(value) for value in engine.quality_shares(ids).tolist()]
    why = explain_hits(found, searcher, ids) if explained else {}
    return [
        RetrievedDocument(
            hit,
            document,
            match,
            label_on(document, match),
            found.sides.get(hit.doc_id),
            found.probabilities.get(hit.doc_id),
            found.found_for.get(hit.doc_id),
            topic,
            known,
            share,
            why.get(hit.doc_id),
        )
        for hit, document, match, topic, known, share in zip(
            hits, documents, matches, topics, quality, shares, strict=True
        )
    ]


def explain_hits(found: Found, searcher: Searcher, ids: Sequence[str]) -> dict[str, Explanation]:
    """Return the parts of each document's score for what it was searched by, by document id."""
    from pnyx.search.explain import explain, explain_good
    from pnyx.search.index import Index

    index = searcher.engine
    if not isinstance(index, Index):
        return {}
    by_text: dict[str, list[str]] = {}
    for doc_id in ids:
        perspective = found.found_for.get(doc_id)
        asked = found.question
        text = asked.text if perspective is None else query_for(asked, perspective)
        by_text.setdefault(text, []).append(doc_id)
    why: dict[str, Explanation] = {}
    depth = searcher.plan.depth if searcher.plan.staged else 0
    shown = max(len(found.good), len(found.hits))
    k = max(shown, depth, FACETED)  # what was ranked: a hybrid's scores depend on it
    for text, some in by_text.items():
        parts = explain(index, text, searcher.plan.scoring, some, searcher.embedder, k=k)
        why |= dict(zip(some, parts, strict=True))
    return why | {
        doc_id: explain_good(why[doc_id], found.good[doc_id])
        for doc_id in ids
        if doc_id in found.good
    }


def _known(value: float) -> float | None:
    return None if value != value else value  # NaN
