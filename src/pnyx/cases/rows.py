"""A case as JSON, for `pnyx argue --json`, `/v1/argue` and the MCP tools."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import Field

from pnyx.cases.case import Case, Undecided, verdict_rows, warning, why_empty
from pnyx.formats import response_row
from pnyx.judging.answers import verdict_fields
from pnyx.search.rows import DescribedRow, PartialRow, QuestionRow, TopicRow, question_row


class CellRow(DescribedRow):
    """The subject of a verdict."""

    id: str
    """Id of the verdict, or of the item."""
    task: str
    """The task."""
    group: str
    """Id of the question, or the item's group."""
    dimension: str | None
    """Dimension of a rating, which has a line for each."""


class VerdictFieldsRow(PartialRow):
    """A judge's answer."""

    value: bool | int | float | str | list[Any] | None
    """The answer; null if unscored."""
    probability: float | None
    """Probability of yes; null if none is stated."""
    unscored: str | None
    """Why there is no answer: a word, then detail; null if there is one."""
    explanation: str
    """The judge's reason."""
    evidence: str
    """The judge's quotation."""
    judge: str
    """Who answered."""
    method: str
    """How the answer was obtained."""
    prompt_hash: str
    """Hash of the prompt; empty if none was used."""
    notes: dict[str, Any] | None
    """Further details from the judge."""
    threshold: float | None = None
    """Probability from which it says yes; only for judges that have one."""
    asked: list[str] = Field(default_factory=list)
    """Keys of the judgement store: the calls behind the answer; only of language models."""


class VerdictRow(VerdictFieldsRow, CellRow):
    """A verdict on a part of an argument: a line of answers.jsonl."""

    task: Literal["support", "relevance", "stance"]
    """The task: does the document support the sentence, help the question, serve the side?"""
    side: Literal["pro", "con"]
    """The side that is argued."""
    doc_id: str
    """The document."""
    sentence: int | None = None
    """Position of the sentence in the answer, from 0; only for `support`."""


class MeasureRow(PartialRow):
    """A measured value with its base."""

    value: float | None
    """Null if nothing was scored, never 0 instead."""
    low: float | None
    """Lower end of the 95 % interval; null if none was computed."""
    high: float | None
    """Upper end of the 95 % interval."""
    scored: int
    """How many answers the value is based on."""
    asked: int
    """How many questions were asked."""
    no_interval: str | None = None
    """Why there is no interval although something was scored."""


class UndecidedRow(PartialRow):
    """A document about the question that is not used in the argument."""

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
    """The judges' verdicts on each part."""
    measures: dict[str, MeasureRow]
    """`sentence_precision`, `citation_precision`, `on_the_question`, `on_this_side`."""
    considered: int
    """How many retrieved documents were put on this side."""
    likely: float | None
    """Probability that the documents read argue this side at all; null if unknown."""
    warning: str | None
    """Warning about a side that the documents may not argue; null for others."""
    chances: dict[str, float]
    """Cited document -> probability that it argues this side."""
    less_sure: list[UndecidedRow]
    """Documents more likely on this side than on the other, but not likely enough to use."""
    uncited: list[UndecidedRow]
    """Documents on this side that no sentence cites."""
    empty: str | None
    """Why this side has no argument; null if it has one."""
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
    """How many of these it answered; the packaged judge decides the others."""
    again: int
    """How many it was asked about in both orders."""
    agreed: int
    """How many of these had the same answer both times."""
    unscored: int
    """How many answers are missing: passages, or 1 for the control."""
    reason: str
    """Why most of these are missing; empty if none is."""


class CountedTopicRow(TopicRow):
    """A topic of labels of the retrieved documents."""

    passages: int
    """How many documents have a label on it."""


class NearTopicRow(DescribedRow):
    """A topic of labels that the question may mean."""

    topic: str
    """In the corpus's words: if it is asked as the question, its labels count."""
    passages: int
    """How many retrieved documents have a label on it."""


class ExpectedRow(DescribedRow):
    """The number of documents read that argue a side of the question."""

    value: float | None
    """The sum of their probabilities; null if none has one."""
    scored: int
    """How many documents have a verdict."""
    read: int
    """How many were read; the rest of the collection is not counted."""


class CaseRow(DescribedRow):
    """Both sides of a question, cited and judged: what `pnyx argue --json` prints."""

    question: QuestionRow
    """The question."""
    claims: list[str]
    """The claims of pro and con, as given or as read from the question."""
    sides: list[SideRow]
    """The requested sides, pro before con."""
    judges: dict[str, str]
    """Judge -> how reliable it is."""
    settings: dict[str, str]
    """How this was made."""
    undecided: list[UndecidedRow]
    """Documents about the question that lean to none of these sides."""
    about: int
    """How many retrieved documents are about the question, on whatever side."""
    expected_about: ExpectedRow
    """How many retrieved documents argue a side of the question, by their probabilities."""
    certainty: float
    """The least probability of arguing a side from which a document is used."""
    passed_over: int
    """How many retrieved documents are not about the question."""
    unscored: int
    """How many verdicts are missing."""
    search_problems: list[str]
    """Notes for the reader on the search."""
    weighed: WeighedRow | None
    """Null if no language model decided sides."""
    topics: list[CountedTopicRow]
    """Topics of the retrieved documents' labels."""
    near_topics: list[NearTopicRow]
    """Up to three that the question may mean, the most likely first; none if one counts."""


def case_row(case: Case) -> CaseRow:
    """Return a case as JSON values."""
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


def render_json(case: Case) -> str:
    """Return the case in the format of `pnyx argue --json`."""
    return json.dumps(case_row(case).model_dump(), ensure_ascii=False, indent=2) + "\n"
