"""Results of web searches as JSONL, so that a paid search can be reused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from pnyx.formats.base import json_lines, row_writer
from pnyx.formats.fields import Fields, a_list, an_object, merged, within

_FIELDS = ("question_id", "query", "api", "retrieved_at", "results")


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One result of a search; `rank` counts from 1."""

    url: str
    title: str = ""
    snippet: str = ""
    rank: int = 0


@dataclass(frozen=True, slots=True)
class QuestionResults:
    """All results for one question, best first; empty if the search found nothing.

    `api` is the search API, `retrieved_at` the time (UTC, ISO 8601); both may be empty.
    """

    question_id: str
    query: str
    results: tuple[SearchResult, ...]
    api: str = ""
    retrieved_at: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)


def result_row(result: SearchResult) -> dict[str, Any]:
    """Return a result as a JSON object."""
    return {name: getattr(result, name) for name in ("rank", "url", "title", "snippet")}


def read_search_results(path: str) -> Iterator[QuestionResults]:
    """Yield the results of each question; InputError at the first fault or if empty."""
    return FORMATS[0].reader(path)


def _row(record: QuestionResults) -> dict[str, Any]:
    row = {name: getattr(record, name) for name in _FIELDS}
    row["results"] = [result_row(result) for result in record.results]
    return dict(merged(row, record.extra, _FIELDS))


def _parse(row: dict[str, Any]) -> QuestionResults:
    fields = Fields(row)
    identifier = fields.identifier("question_id")
    results = a_list(fields.take("results"), "results")
    return QuestionResults(
        question_id=identifier,
        query=fields.text("query"),
        results=tuple(_result(value, rank) for rank, value in enumerate(results, start=1)),
        api=fields.text("api"),
        retrieved_at=fields.text("retrieved_at"),
        extra=fields.rest,
    )


def _result(value: Any, rank: int) -> SearchResult:
    if isinstance(value, str):
        value = {"url": value}
    fields = Fields(an_object(value, f"results[{rank}]", "an object with a url"))
    with within(f"results[{rank}]"):
        url = fields.required("url", "link")
        return SearchResult(url, fields.text("title"), fields.text("snippet"), rank)


write_search_results = row_writer(_row, attrgetter("question_id"))

FORMATS = (json_lines("search-results", _parse, key=attrgetter("question_id"), what="question_id"),)
