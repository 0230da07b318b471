"""Documents found, with all that is known of each: what a list of results shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pnyx.records import Evidence, Perspective, Stance
from pnyx.search.engine import Engine, Hit, Topic
from pnyx.search.sides import Sided, label_on, match_labels
from pnyx.search.topics import TopicMatch

if TYPE_CHECKING:
    from pnyx.search.explain import Explanation
    from pnyx.search.pipeline import Found, Searcher


@dataclass(frozen=True, slots=True)
class Listed:
    """A document that was found.

    Attributes:
        hit: its id, rank and score.
        document: its record.
        match: how the topic of its label relates to the question; None without a label.
        side_of_label: its label as one on the question; None where the topic is another.
        sided: its side, where that was asked for.
        probability: P(relevant), where documents were judged one by one.
        perspective: whose turn brought it, where each perspective was searched for.
        topic: its topic cluster; None where there is none.
        quality: predicted, in [0, 1]; None where the engine does not know it.
        quality_share: share of the engine's documents of lower quality, in [0, 1]; None likewise.
        why: the parts of its score, where they were asked for.
    """

    hit: Hit
    document: Evidence
    match: TopicMatch | None = None
    side_of_label: Stance | None = None
    sided: Sided | None = None
    probability: float | None = None
    perspective: Perspective | None = None
    topic: Topic | None = None
    quality: float | None = None
    quality_share: float | None = None
    why: Explanation | None = None

    @property
    def stance(self) -> Stance | None:
        """Its label, whatever that is about."""
        return getattr(self.document, "stance", None)

    def row(self) -> dict[str, Any]:
        """Return it as JSON values; what is not known is left out."""
        row: dict[str, Any] = {
            "rank": self.hit.rank,
            "score": self.hit.score,
            "id": self.hit.doc_id,
            "title": self.document.title,
            "stance": self.stance,
            "text": self.document.text,
        }
        if self.match is not None:
            row["label"] = {**self.match.row(), "stance": self.side_of_label}
        if self.probability is not None:
            row["probability"] = self.probability
        if self.sided is not None:
            row |= {"side": self.sided.side, "side_by": self.sided.by or None}
        if self.perspective is not None:
            row["perspective"] = {
                "text": self.perspective.text,
                "stance": self.perspective.stance,
            }
        return row


def has_all(engine: Engine, feature: str) -> bool:
    """Tell whether an engine knows a feature of all its documents."""
    known = engine.feature_info(feature)
    return known is not None and known.documents == len(engine)


def list_hits(
    found: Found,
    hits: Sequence[Hit],
    searcher: Searcher,
    why: Mapping[str, Explanation] | None = None,
) -> list[Listed]:
    """Return what is known of some of the documents found; `why` is by document id."""
    engine = searcher.engine
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
    return [
        Listed(
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
            (why or {}).get(hit.doc_id),
        )
        for hit, document, match, topic, known, share in zip(
            hits, documents, matches, topics, quality, shares, strict=True
        )
    ]


def _known(value: float) -> float | None:
    return None if value != value else value  # NaN
