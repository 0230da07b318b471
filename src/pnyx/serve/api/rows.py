"""What the API answers, as types: they make its description, and the tests hold answers to them.

Those of searches stand in `found_rows`.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pnyx.serve.api.found_rows import CountedTopicRow, CoverageRow, QuestionRow, Row, SearchRow


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
    asked: list[str] = Field(default_factory=list)
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
