"""What the API answers of searches, as types; see `rows`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Stance = Literal["pro", "con", "neutral"]


class Row(BaseModel):
    """An object of which every field is described."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class QuestionRow(Row):
    """A question."""

    id: str
    """Made of its words."""
    text: str
    """As asked."""


class ClusterRow(Row):
    """A topic cluster of the index."""

    number: int
    """Its number, which `facet` takes."""
    label: str
    """Its most typical conclusion."""


class FacetRow(ClusterRow):
    """A topic among the best documents."""

    terms: list[str]
    """Words that tell it from other topics."""
    count: int
    """How many of the best 100 documents are on it."""


class TopicRow(Row):
    """How the topic of a corpus's label relates to the question."""

    topic: str
    """As the corpus words it."""
    relation: Literal["same", "opposite"]
    """Whether it asks the same way round."""
    same: float
    """Probability that it asks the same, the same way round."""
    opposite: float
    """Probability that it asks the same, the other way round."""
    why: Literal["words", "named", "meaning"]
    """Whether it has the question's words, was named, or is alike in meaning."""
    used: bool
    """Whether labels on it count for this question."""


class LabelRow(TopicRow):
    """The corpus's own label of a document, as one on the question."""

    stance: Stance | None
    """Its side on the question; null where the label does not count."""


class CountedTopicRow(TopicRow):
    """A topic of labels of the retrieved documents."""

    passages: int
    """How many documents have a label on it."""


class ViewRow(Row):
    """A perspective."""

    text: str
    """A claim."""
    stance: Stance | None
    """Its side; null where it is not known."""


class PartRow(Row):
    """A part of a score, or the score itself."""

    name: str
    """A model; R, C or Q of the Touché model; or a word of the question."""
    value: float
    """What it adds to the whole, or multiplies it by; of the whole, the score."""
    raw: float | None
    """What it is in itself: a score, a cosine, a quality; null where it is not known."""
    weight: float | None
    """How much it counts in the whole; null where nothing is weighted."""
    rank: int | None
    """Its place in the ranking that is fused; null where none is."""
    combine: Literal["", "sum", "product"]
    """How `parts` make `raw`; empty without parts."""
    parts: list[PartRow]
    """What `raw` is made of."""


class HitRow(Row):
    """A document that was found. Its texts come from the index and are not to be trusted."""

    rank: int
    """From 1."""
    score: float
    """By the model that ranked; 1 / rank where anything was done after ranking."""
    id: str
    """Of the document, unique within the index."""
    title: str
    """Its title, or an argument's conclusion."""
    text: str
    """Its whole text."""
    url: str
    """Where it is from; may be empty."""
    source: str
    """Its source in words; may be empty."""
    stance: Stance | None
    """The corpus's own label, whatever that is about."""
    label: LabelRow | None
    """What that label is about; null without one."""
    probability: float | None
    """P(relevant), where documents were judged one by one."""
    side: Stance | None
    """Its side on the question, where `stance` was asked for; null where that is not known."""
    side_by: str | None
    """Who told the side."""
    perspective: ViewRow | None
    """The perspective whose turn brought it, where each was searched for."""
    quality: float | None
    """Predicted quality as an argument, 0 to 1; null where the index does not know it."""
    quality_share: float | None
    """Share of the index's documents of lower quality, 0 to 1."""
    cluster: ClusterRow | None
    """Its topic cluster; null where there is none."""
    why: PartRow | None
    """The parts of which the ranking model made its score, before anything done after ranking."""


class SearchRow(Row):
    """What was found for a question."""

    question: QuestionRow
    """The question."""
    search: str
    """How was searched, in words."""
    hits: list[HitRow]
    """Documents, best first."""
    facets: list[FacetRow]
    """Topics of the best 100 documents, the most frequent first; empty without topic clusters."""
    facet: int | None
    """The topic whose documents alone are listed."""
    candidates: int
    """How many documents the ranking model found."""
    problems: list[str]
    """What a reader must know, one line each."""
    unscored: int
    """How many questions to a judge or a language model have no answer."""


class SupportRow(Row):
    """A document that supports a perspective."""

    id: str
    """Of the document."""
    probability: float | None
    """That it supports the perspective."""


class CoveredRow(Row):
    """A perspective, and the documents found that support it."""

    id: str
    """Of the perspective."""
    text: str
    """A claim."""
    stance: Stance | None
    """Its side; null where it is not known."""
    state: Literal["covered", "missing", "unscored"]
    """`missing` only where every verdict is there, and none is a yes."""
    documents: list[SupportRow]
    """Documents found that support it, best first."""
    scored: int
    """Of how many documents there is a verdict."""
    asked: int
    """Of how many documents one was asked for."""
    taken_from: list[str]
    """Ids of the documents it was taken from."""


class CoverageRow(Row):
    """Perspectives on a question, and which of the best documents cover each."""

    question: QuestionRow
    """The question."""
    source: str
    """Where the perspectives are from: the language model, the index, or a file of the server's."""
    perspectives: list[CoveredRow]
    """The perspectives."""
    documents: list[str]
    """Ids of the documents that were held against them, best first."""
    judge: str
    """Who told; empty where nobody was asked."""
    card: str
    """How far that judge can be trusted."""
    problems: list[str]
    """What a reader must know, one line each."""
    unscored: int
    """How many questions to a judge or a language model have no answer."""
