"""Retrieved documents with all that is known about each (`rows`: as JSON)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, Protocol

from pnyx.core.errors import count_of, escaped
from pnyx.core.records import (
    Evidence,
    Passage,
    Perspective,
    Question,
    RunEntry,
    Stance,
    document_id,
)
from pnyx.core.tabular import Result
from pnyx.search.engine import Engine, Explainable, Hit, Topic
from pnyx.search.sides import SideVerdict, label_on, label_topic, match_labels
from pnyx.search.topics import TopicMatch

if TYPE_CHECKING:
    from pnyx.models.embed.embedder import Embedder
    from pnyx.search.explain import Explanation
    from pnyx.search.plan import SearchPlan
    from pnyx.search.ranking.good_first import Goodness
    from pnyx.search.rows import HitRow
    from pnyx.search.topics import TopicMatcher

FACETED: Final = 100
"""Number of best documents among which topics are counted, and filtered by one topic."""


_SHOWN: Final = ("rank", "score", "id", "title", "text", "stance", "side", "probability", "quality")
"""Fields of a hit that a notebook shows, if a hit has them."""


class SearchedBy(Protocol):
    """What was searched, and how: a `Searcher`."""

    engine: Engine
    plan: SearchPlan
    embedder: Embedder | None
    matcher: TopicMatcher


@dataclass(frozen=True, slots=True, repr=False)
class SearchHits(Result, Sequence["HitRow"]):
    """The documents found for one question: `hits[0].text`, `hits.to_frame()`.

    Attributes:
        question: the question.
        hits: best first; the score is 1 / rank if later stages reordered them.
        sides: document id -> its side, if it was determined.
        found_for: document id -> the perspective it was retrieved for.
        problems: warnings for the reader, one line each.
        unscored: how many questions to a judge or a language model were not answered.
        probabilities: document id -> P(relevant), of the hits that were judged individually.
        candidates: how many documents the scoring model found, before any threshold.
        good: document id -> the parts of its score, if good arguments were put first.
        document_ids: passage id -> document id, if documents are ranked by their best passage.
        by: the searcher that found them.
    """

    question: Question
    hits: tuple[Hit, ...]
    sides: Mapping[str, SideVerdict] = field(default_factory=dict)
    found_for: Mapping[str, Perspective] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    unscored: int = 0
    probabilities: Mapping[str, float] = field(default_factory=dict)
    candidates: int = 0
    good: Mapping[str, Goodness] = field(default_factory=dict)
    document_ids: Mapping[str, str] = field(default_factory=dict)
    by: SearchedBy | None = field(default=None, compare=False)
    _listed: list[HitRow] = field(default_factory=list, init=False, compare=False)

    def __len__(self) -> int:
        return len(self.hits)

    def run_entries(self, tag: str = "pnyx") -> Iterator[RunEntry]:
        """Yield the hits as lines of a run: documents if these were ranked, else passages."""
        for hit in self.hits:
            doc_id = self.document_ids.get(hit.doc_id, hit.doc_id)
            yield RunEntry(self.question.id, doc_id, hit.rank, hit.score, tag)

    def __iter__(self) -> Iterator[HitRow]:
        return iter(self._all())

    def __getitem__(self, position: Any) -> Any:
        return self._all()[position]

    def __getstate__(self) -> dict[str, Any]:
        """Return all fields, including the documents found, but not the searcher."""
        self._all()
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"by": None}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)

    def rows(self) -> list[dict[str, Any]]:
        """Return one flat object for each hit: its rank, score, texts, sides and quality."""
        columns = set(_SHOWN) | {"url", "source", "side_by", "quality_share"}
        return [
            {**hit.model_dump(include=columns), "cluster": hit.cluster and hit.cluster.label}
            for hit in self
        ]

    def _all(self) -> list[HitRow]:
        if not self._listed and self.hits and self.by is not None:
            self._listed.extend(map(hit_row, list_hits(self, self.by)))
        return self._listed

    def _heading(self) -> list[str]:
        return [f"{count_of(len(self), 'document')} for: {escaped(self.question.text)}"]

    def _ending(self) -> list[str]:
        return [f"Note: {escaped(problem)}" for problem in self.problems[:2]]

    def _main_rows(self, rows: Sequence[dict[str, Any]]) -> Sequence[Mapping[str, Any]]:
        nothing = dict.fromkeys(_SHOWN)
        return [{name: row.get(name) for name in _SHOWN} for row in rows] or [nothing]


@dataclass(frozen=True, slots=True)
class RetrievedDocument:
    """A hit with its document."""

    hit: Hit
    document: Evidence
    match: TopicMatch | None = None  # how its label's topic relates to the question
    side_of_label: Stance | None = None  # None if the label is on another topic
    sided: SideVerdict | None = None  # its side, if requested
    probability: float | None = None  # P(relevant), judged individually
    perspective: Perspective | None = None  # the perspective it was retrieved for
    topic: Topic | None = None  # its topic cluster
    quality: float | None = None  # predicted, in [0, 1]
    quality_share: float | None = None  # share of documents of lower quality
    why: Explanation | None = None  # the parts of its score

    @property
    def stance(self) -> Stance | None:
        """Its label, on whatever topic."""
        return getattr(self.document, "stance", None)


def has_all(engine: Engine, feature: str) -> bool:
    """Return whether all documents of an engine have a feature."""
    info = engine.feature_info(feature)
    return info is not None and info.documents == len(engine)


def list_hits(
    result: SearchHits,
    searcher: SearchedBy,
    hits: Sequence[Hit] | None = None,
    *,
    explained: bool = False,
    every_topic: bool = False,
) -> list[RetrievedDocument]:
    """Return all details of the documents found, or of `hits`.

    `explained` adds the parts of their scores. `every_topic` compares the topics of all labels with
    the question, also where the words alone rule out that the labels count.
    """
    engine = searcher.engine
    hits = result.hits if hits is None else hits
    ids = [hit.doc_id for hit in hits]
    documents = engine.fetch(ids)
    matches = match_labels(result.question, documents, searcher.matcher, every=every_topic)
    nothing = [None] * len(ids)
    topics: Sequence[Topic | None] = engine.topics(ids) if has_all(engine, "clusters") else nothing
    quality: Sequence[float | None] = nothing
    shares: Sequence[float | None] = nothing
    if has_all(engine, "quality"):
        quality = [_without_nan(value) for value in engine.quality(ids).tolist()]
        shares = [_without_nan(value) for value in engine.quality_shares(ids).tolist()]
    why = explain_hits(result, searcher, ids) if explained else {}
    return [
        RetrievedDocument(
            hit,
            document,
            match,
            label_on(document, match),
            result.sides.get(hit.doc_id),
            result.probabilities.get(hit.doc_id),
            result.found_for.get(hit.doc_id),
            topic,
            quality_of_hit,
            share,
            why.get(hit.doc_id),
        )
        for hit, document, match, topic, quality_of_hit, share in zip(
            hits, documents, matches, topics, quality, shares, strict=True
        )
    ]


def explain_hits(
    result: SearchHits, searcher: SearchedBy, ids: Sequence[str]
) -> dict[str, Explanation]:
    """Return the parts of each document's score for its query, by document id."""
    from pnyx.search.explain import explain, explain_good

    index = searcher.engine
    if not isinstance(index, Explainable):
        return {}
    by_text: dict[str, list[str]] = {}
    for doc_id in ids:
        perspective = result.found_for.get(doc_id)
        question = result.question
        text = question.text
        if perspective is not None:
            from pnyx.search.perspectives import query_for

            text = query_for(question, perspective)
        by_text.setdefault(text, []).append(doc_id)
    why: dict[str, Explanation] = {}
    depth = searcher.plan.depth if searcher.plan.staged else 0
    shown_count = max(len(result.good), len(result.hits))
    k = max(shown_count, depth, FACETED)  # as many as were ranked: a hybrid's scores depend on it
    for text, some in by_text.items():
        parts = explain(index, text, searcher.plan.scoring, some, searcher.embedder, k=k)
        why |= dict(zip(some, parts, strict=True))
    return why | {
        doc_id: explain_good(why[doc_id], result.good[doc_id])
        for doc_id in ids
        if doc_id in result.good
    }


def _without_nan(value: float) -> float | None:
    return None if value != value else value  # NaN


def hit_row(retrieved: RetrievedDocument) -> HitRow:
    """Return a retrieved document as a JSON row."""
    from pnyx.search.rows import HitRow

    return HitRow.model_validate(hit_values(retrieved))


def passage_values(passage: Passage | None) -> dict[str, Any] | None:
    """Return where in its document a passage is, as JSON values."""
    if passage is None:
        return None
    return {name: getattr(passage, name) for name in ("number", "count", "heading", "speaker")}


def _label_values(retrieved: RetrievedDocument) -> dict[str, Any] | None:
    if retrieved.match is not None:
        return {**retrieved.match.row(), "stance": retrieved.side_of_label}
    if not (topic := label_topic(retrieved.document).strip()):
        return None
    unknown = dict.fromkeys(("relation", "same", "opposite", "why", "stance"))
    return {"topic": topic, **unknown, "used": False}


def hit_values(retrieved: RetrievedDocument) -> dict[str, Any]:
    """Return the values of `hit_row` without validating them."""
    document, sided = retrieved.document, retrieved.sided
    view, topic = retrieved.perspective, retrieved.topic
    return {
        "rank": retrieved.hit.rank,
        "score": retrieved.hit.score,
        "id": retrieved.hit.doc_id,
        "document": document_id(document),
        "passage": passage_values(document.passage),
        "title": document.title,
        "stance": retrieved.stance,
        "text": document.text,
        "url": document.url,
        "source": document.source,
        "label": _label_values(retrieved),
        "probability": retrieved.probability,
        "side": sided and sided.side,
        "side_by": (sided and sided.by) or None,
        "perspective": view and {"text": view.text, "stance": view.stance},
        "quality": retrieved.quality,
        "quality_share": retrieved.quality_share,
        "cluster": topic and {"number": topic.number, "label": topic.label},
        "why": retrieved.why and retrieved.why.row(),
    }
