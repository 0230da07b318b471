"""A hit as JSON: what `pnyx search --json` prints, `/v1/search` and the tools of MCP answer.

Every field has a description, since these types define the HTTP API.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer

if TYPE_CHECKING:
    from pnyx.core.records import Question

Stance = Literal["pro", "con", "neutral"]


class DescribedRow(BaseModel):
    """An object of which every field is described."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, from_attributes=True)


class PartialRow(DescribedRow):
    """A row in which fields with a default appear only if they are known."""

    @model_serializer(mode="wrap")
    # Without a return type, the schema stays that of the fields.
    def _known(self, handler: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]  # noqa: ANN202
        return {k: v for k, v in handler(self).items() if k in self.model_fields_set}


class QuestionRow(DescribedRow):
    """A question."""

    id: str
    """Derived from its words."""
    text: str
    """As asked."""


class ClusterRow(DescribedRow):
    """A topic cluster of the index."""

    number: int
    """Its number, which `facet` takes."""
    label: str
    """Its most typical conclusion."""


class TopicRow(DescribedRow):
    """How the topic of a corpus's label relates to the question."""

    topic: str
    """As the corpus words it."""
    relation: Literal["same", "opposite"]
    """Whether its yes is the question's yes."""
    same: float
    """Probability that it asks the same, the same way round."""
    opposite: float
    """Probability that it asks the same, the other way round."""
    why: Literal["words", "named", "meaning"]
    """Whether it has the question's words, was named, or has a similar meaning."""
    used: bool
    """Whether labels on it count for this question."""


class LabelRow(DescribedRow):
    """The corpus's own label of a document, as one on the question.

    `relation`, `same`, `opposite` and `why` are those of a topic; they are null where the topic was
    not compared in meaning, because its words alone rule out that the label counts.
    """

    topic: str
    """What the label is about, as the corpus words it."""
    relation: Literal["same", "opposite"] | None
    """Whether its yes is the question's yes."""
    same: float | None
    """Probability that it asks the same, the same way round."""
    opposite: float | None
    """Probability that it asks the same, the other way round."""
    why: Literal["words", "named", "meaning"] | None
    """Whether it has the question's words, was named, or has a similar meaning."""
    used: bool
    """Whether the label counts for this question."""
    stance: Stance | None
    """Its side on the question; null where the label does not count."""


class ViewRow(DescribedRow):
    """A perspective."""

    text: str
    """A claim."""
    stance: Stance | None
    """Its side; null if it is not known."""


class PartRow(DescribedRow):
    """A part of a score, or the score itself."""

    name: str
    """A model; R, C or Q of the Touché model; a word of the question; or, where good arguments were
    put first (`good`), relevance, neighbours, quality or copy."""
    value: float
    """What it contributes to the whole as a summand or factor; for the whole, the score."""
    raw: float | None
    """Its unweighted value: a score, a cosine, a quality; null if it is not known."""
    weight: float | None
    """Its weight in the whole; null if nothing is weighted."""
    rank: int | None
    """Its rank in the ranking that is fused; null if none is."""
    combine: Literal["", "sum", "product"]
    """How `parts` make `raw`; empty without parts."""
    parts: list[PartRow]
    """What `raw` is made of."""


class PassageRow(DescribedRow):
    """Where in its document a passage is."""

    number: int
    """Its place in the document, from 1."""
    count: int
    """How many passages the document has; 1 for a whole document."""
    heading: str
    """The headings above it, from the outermost; may be empty."""
    speaker: str
    """Who says or wrote it; may be empty."""


class HitRow(DescribedRow):
    """A document that was found. Its texts come from the index and must not be trusted."""

    rank: int
    """From 1."""
    score: float
    """By the model that ranked or, of `auto`, what puts good arguments first (`why`); 1 / rank
    where anything else was done after ranking."""
    id: str
    """Of the document or passage, unique within the index."""
    document: str
    """Of the document that a passage is from; of a whole document, its own id."""
    passage: PassageRow | None
    """Where in that document; null for a whole document without headings and speakers."""
    title: str
    """Its title, or an argument's conclusion."""
    stance: Stance | None
    """The corpus's own label, on whatever topic."""
    text: str
    """Its whole text, without the headings above it."""
    url: str
    """Where it is from; may be empty."""
    source: str
    """Its source in words; may be empty."""
    label: LabelRow | None
    """What that label is about; null without one."""
    probability: float | None
    """P(relevant), where documents were judged one by one."""
    side: Stance | None
    """Its side on the question, if `stance` was requested; null if it is not known."""
    side_by: str | None
    """Who decided the side."""
    perspective: ViewRow | None
    """The perspective it was retrieved for, if each was searched for."""
    quality: float | None
    """Predicted quality as an argument, 0 to 1; null if the index does not have it."""
    quality_share: float | None
    """Share of the index's documents of lower quality, 0 to 1."""
    cluster: ClusterRow | None
    """Its topic cluster; null if there is none."""
    why: PartRow | None
    """The parts of its score, before any other stage than putting good arguments first."""


def question_row(question: Question) -> QuestionRow:
    """Return a question as a JSON row."""
    return QuestionRow(id=question.id, text=question.text)
