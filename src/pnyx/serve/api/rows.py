"""What the API answers, as types: they make its description, and the tests hold answers to them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

__all__ = [
    "ROWS",
    "AnswerRow",
    "AnswersRow",
    "CaseRow",
    "ClusterRow",
    "CountedTopicRow",
    "CountsRow",
    "CoverageRow",
    "CoveredRow",
    "ErrorRow",
    "FacetRow",
    "FaultRow",
    "HealthRow",
    "HitRow",
    "LabelRow",
    "MeasureRow",
    "PartRow",
    "QuestionRow",
    "Row",
    "SearchRow",
    "SideRow",
    "Stance",
    "SupportRow",
    "TopicRow",
    "UndecidedRow",
    "VerdictFieldsRow",
    "VerdictRow",
    "ViewRow",
    "WeighedRow",
]

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


class VerdictFieldsRow(Row):
    """A judge's answer."""

    value: bool | float | str | list[Any] | None
    """The answer; null where it is unscored."""
    probability: float | None
    """Of yes; null where none is stated."""
    unscored: str | None
    """Why there is no answer: a word, then detail; null where there is one."""
    explanation: str
    """The judge's reason."""
    evidence: str
    """What the judge quotes."""
    judge: str
    """Who answered."""
    method: str
    """How the answer came about."""
    prompt_hash: str
    """Of the prompt; empty where none was used."""
    notes: dict[str, Any] | None
    """What else the judge said."""
    threshold: float | None = None
    """Probability from which on it says yes; only of judges that have one."""
    asked: list[str] = []
    """Keys of the judgement store: the calls behind the answer; only of language models."""


class VerdictRow(VerdictFieldsRow):
    """A verdict on a part of an argument: a line of answers.jsonl."""

    id: str
    """Of the verdict."""
    task: Literal["support", "relevance", "stance"]
    """What was asked: does the document support the sentence, help the question, serve the side?"""
    group: str
    """Id of the question."""
    dimension: str | None
    """Of ratings; null here."""
    side: Literal["pro", "con"]
    """The side that is argued."""
    doc_id: str
    """The document."""
    sentence: int | None = None
    """Place of the sentence in the answer, from 0; of `support` alone."""


class MeasureRow(Row):
    """A measured value with its base."""

    value: float | None
    """Null where nothing was scored: never 0 in its place."""
    low: float | None
    """Lower end of the 95 % interval; null where none was computed."""
    high: float | None
    """Upper end of the 95 % interval."""
    scored: int
    """How many answers the value rests on."""
    asked: int
    """How many questions were asked."""


class SideRow(Row):
    """One side's argument."""

    stance: Literal["pro", "con"]
    """`pro` answers the question with yes."""
    response: dict[str, Any]
    """The argument in the layout of TREC RAG 2025: `metadata`, `references`, `answer`."""
    verdicts: list[VerdictRow]
    """What the judges say of each part."""
    measures: dict[str, MeasureRow]
    """`sentence_precision`, `citation_precision`, `on_the_question`, `on_this_side`."""
    considered: int
    """How many retrieved documents were put on this side."""
    problems: list[str]
    """What was removed or went wrong while writing."""


class UndecidedRow(Row):
    """A document about the question that was put on no side."""

    doc_id: str
    """The document."""
    relevance: VerdictFieldsRow
    """Does it help to answer the question?"""
    pro: VerdictFieldsRow | None = None
    """Does it serve this side?"""
    con: VerdictFieldsRow | None = None
    """Does it serve this side?"""


class WeighedRow(Row):
    """How much a language model counted in telling sides."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)

    model: str
    """Its name."""
    weight: float
    """From 0, it does not count, to 1."""
    why: str
    """In words."""


class CaseRow(Row):
    """Both sides of a question, cited and judged: what `pnyx argue --json` prints."""

    question: QuestionRow
    """The question."""
    sides: list[SideRow]
    """The sides that were asked for, pro before con."""
    judges: dict[str, str]
    """Judge -> how far it can be trusted."""
    settings: dict[str, str]
    """How this was made."""
    undecided: list[UndecidedRow]
    """Documents about the question that were put on no side."""
    passed_over: int
    """How many retrieved documents are not about the question."""
    unscored: int
    """How many verdicts are missing."""
    search_problems: list[str]
    """What a reader must know of the search."""
    weighed: WeighedRow | None
    """Null where no language model told sides."""
    topics: list[CountedTopicRow]
    """What the labels of the retrieved documents are on."""


class AnswerRow(VerdictFieldsRow):
    """A line of answers.jsonl; fields of the item that are unknown are carried along."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)

    id: str
    """Of the item."""
    task: str
    """What was asked."""
    group: str
    """Of the item."""
    dimension: str | None
    """Of a rating, which has a line for each dimension."""


class CountsRow(Row):
    """How many lines have a value."""

    asked: int
    """Lines."""
    scored: int
    """Lines with a value."""
    unscored: int
    """Lines without one."""
    reasons: dict[str, int]
    """Why -> how many, the most frequent first."""


class AnswersRow(Row):
    """A judge's answers to items."""

    task: str
    """What was asked."""
    judge: str
    """Who answered."""
    card: str
    """How far that judge can be trusted."""
    answers: list[AnswerRow]
    """In the order of the items."""
    counts: CountsRow
    """How many are scored of how many asked."""


class HealthRow(Row):
    """Whether the server answers."""

    status: Literal["ok", "warming"]
    """`warming` while what the first question needs is loaded; requests are answered meanwhile."""
    version: str
    """Of Pnyx."""


class FaultRow(Row):
    """What is wrong."""

    status: int
    """The HTTP status."""
    message: str
    """One line."""


class ErrorRow(Row):
    """An error."""

    error: FaultRow
    """What is wrong."""


ROWS: dict[str, type[BaseModel]] = {
    "Search": SearchRow,
    "Coverage": CoverageRow,
    "Case": CaseRow,
    "Answers": AnswersRow,
    "Health": HealthRow,
    "Error": ErrorRow,
}
"""Name in the description -> what a route answers."""
