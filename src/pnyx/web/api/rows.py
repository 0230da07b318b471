"""What the HTTP API and the tools of MCP answer, as types.

They make the description of the API; hits and cases are those of `--json` (`pnyx.search.rows`,
`pnyx.cases.rows`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import ConfigDict

from pnyx.cases.rows import CaseRow, CellRow, VerdictFieldsRow
from pnyx.search.hits import hit_values
from pnyx.search.rows import ClusterRow, DescribedRow, HitRow, PartialRow, QuestionRow, Stance

if TYPE_CHECKING:
    from pnyx.web.ask.search_answer import SearchAnswer


class FacetRow(ClusterRow):
    """A topic among the best documents."""

    terms: list[str]
    """Words that tell it from other topics."""
    count: int
    """How many of the best 100 documents are on it."""


class SearchRow(DescribedRow):
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


class SupportRow(DescribedRow):
    """A document that supports a perspective."""

    id: str
    """Of the document."""
    probability: float | None
    """That it supports the perspective."""


class CoveredRow(DescribedRow):
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


class CoverageRow(DescribedRow):
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


class AnswerRow(VerdictFieldsRow, CellRow):
    """A line of answers.jsonl; fields of the item that are unknown are carried along."""

    model_config = ConfigDict(extra="allow")


class CountsRow(PartialRow):
    """How many lines have a value."""

    asked: int
    """Lines."""
    scored: int
    """Lines with a value."""
    unscored: int
    """Lines without one."""
    reasons: dict[str, int]
    """Why -> how many, the most frequent first."""
    partly_ranked: int = 0
    """Rankings that lack documents; only where there are some."""
    read_leniently: int = 0
    """Replies that were read although they kept to no form; only where there are some."""


class AnswersRow(DescribedRow):
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


class HealthRow(DescribedRow):
    """Whether the server answers."""

    status: Literal["ok", "warming"]
    """`warming` while what the first question needs is loaded; requests are answered meanwhile."""
    version: str
    """Of Pnyx."""


class FaultRow(DescribedRow):
    """What is wrong."""

    status: int
    """The HTTP status."""
    message: str
    """One line."""


class ErrorRow(DescribedRow):
    """An error."""

    error: FaultRow
    """What is wrong."""


ROWS: dict[str, type[DescribedRow]] = {
    "Search": SearchRow,
    "Coverage": CoverageRow,
    "Case": CaseRow,
    "Answers": AnswersRow,
    "Health": HealthRow,
    "Error": ErrorRow,
}
"""Name in the description -> what a route answers."""


def search_row(answer: SearchAnswer) -> SearchRow:
    """Return what was found as JSON has it."""
    return SearchRow.model_validate(search_values(answer))


def search_values(answer: SearchAnswer) -> dict[str, Any]:
    """Return what `search_row` holds, as JSON values that are not checked again."""
    return {
        "question": {"id": answer.question.id, "text": answer.question.text},
        "search": answer.described,
        "hits": list(map(hit_values, answer.hits)),
        "facets": [
            {"number": f.cluster, "label": f.label, "terms": list(f.terms), "count": f.count}
            for f in answer.facets
        ],
        "facet": answer.facet,
        "candidates": answer.candidates,
        "problems": list(answer.problems),
        "unscored": answer.unscored,
    }
