"""Validation of nugget banks by dialect; other fields are kept."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from pnyx.formats.rows import Filled, FilledId, Row, must, says, wrong


def _is_grade(value: Any) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)


def _an_id_alone(value: Any) -> Any:
    if isinstance(value, str):
        return {"doc_id": value}
    if not isinstance(value, dict):
        raise wrong("a document id or an object")
    return value


def _answered(value: Any) -> Any:
    if value == []:
        raise says(" is empty: nuggetizer would count the question as a claim")
    return value


_Blank = BeforeValidator(lambda value: value or None if isinstance(value, str) else value)
_Grade = Annotated[Any, must(_is_grade, "text or an integer")]
_Name = Annotated[FilledId | None, _Blank]
_Title = Annotated[str | None, _Blank]
_Object = dict[str, Any] | None
_Joins = Literal["AND", "OR", "NOT", "SUM", "Default"]


class CreatorRow(Row):
    """The creator of an entry."""

    is_human: bool
    assessor_id: str | None = None
    llm_model: str | None = None
    llm_backend: str | None = None
    llm_prompt: list[str] | None = None
    llm_prompt_strategy: str | None = None
    source_data: list[ReferenceRow] | None = None
    creation_date: str | None = None
    contact: list[str] | None = None
    format: str | None = None


class CommonRow(Row):
    """Fields that version 3 knows at every level."""

    quality: _Grade | None = None
    importance: _Grade | None = None
    creator: list[CreatorRow] | None = None
    metadata: _Object = None


class OffsetsRow(Row):
    """The position of a reference in its document."""

    start_offset: int
    end_offset: int
    encoding: str
    metadata: _Object = None


class ReferenceRow(CommonRow):
    """A document that attests something."""

    doc_id: FilledId
    collection: str | None = None
    text: str | None = None
    offsets: OffsetsRow | None = None


class NuggetAnswerRow(Row):
    """An answer in a list."""

    answer: Filled
    references: list[Annotated[ReferenceRow, BeforeValidator(_an_id_alone)]] | None = None
    metadata: _Object = None


class NuggetAnswerRowV3(NuggetAnswerRow, CommonRow):
    """An answer of version 3."""


class NuggetRow(Row):
    """Fields of a nugget that any dialect can hold, if only among its further fields."""

    aggregator_type: _Joins | None = None
    importance: _Grade | None = None
    answers: Any = None
    references: list[Annotated[ReferenceRow, BeforeValidator(_an_id_alone)]] | None = None
    sub_nuggets: list[dict[str, Any]] | None = None


class NuggetRowV3(NuggetRow, CommonRow):
    """Common fields of questions and claims of version 3."""

    test_collection: str | None = None
    query_id: _Grade | None = None


class NuggetQuestionRow(NuggetRowV3):
    """A question of version 3."""

    question: Filled
    question_id: _Name = None


class ClaimRow(NuggetRowV3):
    """A claim of version 3."""

    claim: Filled
    claim_id: _Name = None


class SubmittedRow(NuggetRow):
    """A question as submitted to RAGTIME 2026."""

    question: Filled
    question_id: _Name = None
    claim_id: _Name = None
    answers: list[Any] | None = None
    aggregator_type: Literal["AND", "OR"] | None = None
    metadata: _Object = None


class TextRow(NuggetRow):
    """A nugget of nuggetizer."""

    text: Filled
    question_id: _Name = None
    claim_id: _Name = None
    aggregator_type: Literal["AND", "OR", "SUM", "Default"] | None = None
    importance: Annotated[Literal["vital", "okay", "failed"] | None, _Blank] = None
    answers: Annotated[list[Any] | None, BeforeValidator(_answered)] = None
    assignment: Literal["support", "partial_support", "not_support", "failed"] | None = None
    reasoning: str | None = None


class BankRowV3(CommonRow):
    """A bank of version 3."""

    query_id: _Name = None
    title_query: _Title = None
    test_collection: str | None = None
    format_version: str | None = None
    nugget_bank: Any = None
    claim_bank: Any = None


class SubmittedBy(Row):
    """The metadata of a submission to RAGTIME 2026."""

    topic_id: FilledId
    team_id: _Title = None
    run_id: _Title = None
    title_query: _Title = None
    run_desc: str | None = None


class SubmittedBankRow(Row):
    """A bank as submitted to RAGTIME 2026."""

    metadata: SubmittedBy
    nugget_bank: list[Any]
    format_version: str | None = None


class TextBankRow(Row):
    """A bank of nuggetizer, or of TREC RAG 2025."""

    qid: FilledId
    nuggets: list[Any]
    query: _Title = None
    run_id: _Title = None
    team_id: _Title = None
    metadata: _Object = None
    answer_text: str | None = None
    response_length: int | None = None
