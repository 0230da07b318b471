"""Types of the answers of the HTTP API and the MCP tools.

The API's description is made from them; hits and cases are those of `--json` (`pnyx.search.rows`,
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
    """Words that distinguish it from other topics."""
    count: int
    """How many of the best 100 documents belong to it."""


class SearchRow(DescribedRow):
    """Search results for a question."""

    question: QuestionRow
    """The question."""
    search: str
    """How the search was done, in words."""
    hits: list[HitRow]
    """Documents, best first."""
    facets: list[FacetRow]
    """Topics of the best 100 documents, the most frequent first; empty without topic clusters."""
    facet: int | None
    """The topic to which the list is restricted."""
    candidates: int
    """How many documents the ranking model retrieved."""
    problems: list[str]
    """Notes for the reader, one line each."""
    unscored: int
    """How many questions to a judge or a language model were left unanswered."""


class SupportRow(DescribedRow):
    """A document that supports a perspective."""

    id: str
    """Id of the document."""
    probability: float | None
    """Probability that it supports the perspective."""


class CoveredRow(DescribedRow):
    """A perspective, and the retrieved documents that support it."""

    id: str
    """Of the perspective."""
    text: str
    """A claim."""
    stance: Stance | None
    """Its side; null where it is not known."""
    state: Literal["covered", "missing", "unscored"]
    """`missing` only if every verdict was given and none is a yes."""
    documents: list[SupportRow]
    """Retrieved documents that support it, best first."""
    scored: int
    """For how many documents there is a verdict."""
    asked: int
    """For how many documents a verdict was requested."""
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
    """Ids of the documents that were compared with them, best first."""
    judge: str
    """The judge; empty if none was asked."""
    card: str
    """How reliable that judge is."""
    problems: list[str]
    """Notes for the reader, one line each."""
    unscored: int
    """How many questions to a judge or a language model were left unanswered."""


class AnswerRow(VerdictFieldsRow, CellRow):
    """A line of answers.jsonl; unknown fields of the item are kept."""

    model_config = ConfigDict(extra="allow")


class CountsRow(PartialRow):
    """Counts of lines with and without a value."""

    asked: int
    """Lines."""
    scored: int
    """Lines with a value."""
    unscored: int
    """Lines without one."""
    reasons: dict[str, int]
    """Reason -> number of lines, the most frequent first."""
    partly_ranked: int = 0
    """Incomplete rankings; only if there are some."""
    read_leniently: int = 0
    """Replies that were read although malformed; only if there are some."""


class AnswersRow(DescribedRow):
    """A judge's answers to items."""

    task: str
    """What was asked."""
    judge: str
    """Who answered."""
    card: str
    """How reliable that judge is."""
    answers: list[AnswerRow]
    """In the order of the items."""
    counts: CountsRow
    """How many of the items are scored."""


class HealthRow(DescribedRow):
    """Whether the server answers."""

    status: Literal["ok", "warming"]
    """`warming` while models for the first question are loaded; requests are answered meanwhile."""
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
"""Name in the description -> type of a route's answer."""


def search_row(answer: SearchAnswer) -> SearchRow:
    """Return search results as JSON values."""
    return SearchRow.model_validate(search_values(answer))


def search_values(answer: SearchAnswer) -> dict[str, Any]:
    """Return the values of `search_row` as JSON, without validating them again."""
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
