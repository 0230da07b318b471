"""A case as JSON: what `pnyx argue --json` prints, `/v1/argue` and the tools of MCP answer."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from pnyx.cases.case import Case, Undecided, verdict_rows, warning, why_empty
from pnyx.formats import response_row
from pnyx.judging.answers import verdict_fields
from pnyx.search.rows import DescribedRow, PartialRow, QuestionRow, TopicRow, question_row


class CellRow(DescribedRow):
    """What a verdict is on."""

    id: str
    """Of the verdict, or of the item."""
    task: str
    """What was asked."""
    group: str
    """Id of the question, or the item's group."""
    dimension: str | None
    """Of a rating, which has a line for each dimension."""


class VerdictFieldsRow(PartialRow):
    """A judge's answer."""

    value: bool | int | float | str | list[Any] | None
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


class VerdictRow(VerdictFieldsRow, CellRow):
    """A verdict on a part of an argument: a line of answers.jsonl."""

    task: Literal["support", "relevance", "stance"]
    """What was asked: does the document support the sentence, help the question, serve the side?"""
    side: Literal["pro", "con"]
    """The side that is argued."""
    doc_id: str
    """The document."""
    sentence: int | None = None
    """Place of the sentence in the answer, from 0; of `support` alone."""


class MeasureRow(PartialRow):
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
    no_interval: str | None = None
    """Why there is no interval, where something was scored and there is none."""


class UndecidedRow(PartialRow):
    """A document about the question that is not argued with."""

    doc_id: str
    """The document."""
    relevance: VerdictFieldsRow
    """Does it help to answer the question?"""
    pro: VerdictFieldsRow | None = None
    """Does it serve this side?"""
    con: VerdictFieldsRow | None = None
    """Does it serve this side?"""


class SideRow(DescribedRow):
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
    likely: float | None
    """How likely the documents read argue this side at all; null where nobody can say."""
    warning: str | None
    """What is said above a side that the documents may not argue; null for others."""
    chances: dict[str, float]
    """Cited document -> how likely it argues this side."""
    less_sure: list[UndecidedRow]
    """Documents likelier on this side than on the other, not likely enough to argue with."""
    uncited: list[UndecidedRow]
    """Documents on this side that no sentence cites."""
    empty: str | None
    """Why nothing is argued for this side; null where something is."""
    problems: list[str]
    """What was removed or went wrong while writing."""


class WeighedRow(DescribedRow):
    """How far a language model decided which side each passage argues."""

    model: str
    """Its name."""
    weight: float
    """Share of the passages it was asked about on which it decides; 0 if it failed the control."""
    why: str
    """In words."""
    asked: int
    """How many passages it was asked about."""
    scored: int
    """On how many of these it gave an answer; the packaged judge decides the others."""
    again: int
    """About how many it was asked in both orders."""
    agreed: int
    """On how many of these both answers were the same."""
    unscored: int
    """How many answers are missing: passages, or 1 for the control."""
    reason: str
    """Why most of these are missing; empty where none is."""


class CountedTopicRow(TopicRow):
    """A topic of labels of the retrieved documents."""

    passages: int
    """How many documents have a label on it."""


class NearTopicRow(DescribedRow):
    """A topic of labels that the question may mean."""

    topic: str
    """As the corpus words it: asked as a question, its labels count."""
    passages: int
    """How many retrieved documents have a label on it."""


class ExpectedRow(DescribedRow):
    """How many of the documents read argue a side of the question."""

    value: float | None
    """The sum of their probabilities; null where none has one."""
    scored: int
    """How many documents have a verdict."""
    read: int
    """How many were read: what else the collection holds is not counted."""


class CaseRow(DescribedRow):
    """Both sides of a question, cited and judged: what `pnyx argue --json` prints."""

    question: QuestionRow
    """The question."""
    claims: list[str]
    """What it is read as, or was asked to be: what pro and what con asserts."""
    sides: list[SideRow]
    """The sides that were asked for, pro before con."""
    judges: dict[str, str]
    """Judge -> how far it can be trusted."""
    settings: dict[str, str]
    """How this was made."""
    undecided: list[UndecidedRow]
    """Documents about the question that lean to none of these sides."""
    about: int
    """How many retrieved documents are about the question, on whatever side."""
    expected_about: ExpectedRow
    """How many retrieved documents argue a side of the question, by their probabilities."""
    certainty: float
    """The least probability of arguing a side with which a document is argued with."""
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
    near_topics: list[NearTopicRow]
    """Up to three that the question may mean, the likeliest first; none where one counts."""


def case_row(case: Case) -> CaseRow:
    """Return a case as JSON has it."""
    verdicts = list(verdict_rows(case))
    return CaseRow.model_validate(
        {
            "question": question_row(case.question),
            "claims": case.claims,
            "sides": [
                {
                    "stance": side.side,
                    "response": response_row(side.response),
                    "verdicts": [row for row in verdicts if row["side"] == side.side],
                    "measures": {name: m.row() for name, m in side.measures.items()},
                    "considered": side.considered,
                    "likely": side.likely,
                    "warning": warning(side) or None,
                    "chances": side.chances,
                    "less_sure": list(map(_open_row, side.less_sure)),
                    "uncited": list(map(_open_row, side.uncited)),
                    "empty": why_empty(case, side) or None,
                    "problems": side.problems,
                }
                for side in case.sides
            ],
            "judges": case.judges,
            "settings": case.settings,
            "undecided": list(map(_open_row, case.undecided)),
            "about": case.about,
            "expected_about": case.expected_about,
            "certainty": case.certainty,
            "passed_over": case.passed_over,
            "unscored": case.unscored + case.search_unscored + case.model_unscored,
            "search_problems": case.search_problems,
            "weighed": case.weighed,
            "near_topics": [
                {"topic": match.topic, "passages": count} for match, count in case.near_topics
            ],
            "topics": [{**match.row(), "passages": count} for match, count in case.topics],
        }
    )


def _open_row(passage: Undecided) -> dict[str, Any]:
    sides = {str(side): verdict_fields(answer) for side, answer in passage.stance.items()}
    return {"doc_id": passage.doc_id, "relevance": verdict_fields(passage.relevance), **sides}
