"""Results of web searches as JSONL: a search that was paid for once, to be used again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

from pnyx.corpora.base import Row, encode, parse_rows, scan_json_objects, strict, unique
from pnyx.corpora.fields import Fields, merged
from pnyx.errors import InputError, shorten

__all__ = [
    "QuestionResults",
    "SearchResult",
    "read_search_results",
    "result_row",
    "scan_search_results",
    "write_search_results",
]

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
    """All results for one question, best first; none where the search found nothing.

    `api` is what was searched with, `retrieved_at` when (UTC, ISO 8601); both may be empty.
    """

    question_id: str
    query: str
    results: tuple[SearchResult, ...]
    api: str = ""
    retrieved_at: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)


def result_row(result: SearchResult) -> dict[str, Any]:
    """Return a result as an object of JSON."""
    return {
        "rank": result.rank,
        "url": result.url,
        "title": result.title,
        "snippet": result.snippet,
    }


def scan_search_results(source: str) -> Iterator[Row[QuestionResults]]:
    """One question a line, with its results in order; `rank` is their place in the list."""
    rows = parse_rows(scan_json_objects(source), _parse, source)
    yield from unique(rows, lambda found: found.question_id, source, "question_id")


def read_search_results(path: str) -> Iterator[QuestionResults]:
    """Yield the results of each question.

    Raises:
        InputError: at the first fault, naming file and line; also where nothing is there.
    """
    for _, found in strict(scan_search_results(path), path, "search results"):
        yield found


def write_search_results(stream: IO[str], records: Iterable[QuestionResults]) -> None:
    """Write one question a line.

    Raises:
        InputError: an unknown field bears the name of a known one.
    """
    for record in records:
        row = {
            "question_id": record.question_id,
            "query": record.query,
            "api": record.api,
            "retrieved_at": record.retrieved_at,
            "results": [result_row(result) for result in record.results],
        }
        stream.write(encode(merged(row, record.extra, _FIELDS), record.question_id))


def _parse(row: dict[str, Any]) -> QuestionResults:
    fields = Fields(row)
    identifier = fields.identifier("question_id")
    results = fields.take("results")
    if not isinstance(results, list):
        raise InputError(f"results: found {shorten(results, 40)}, expected a list")
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
    if not isinstance(value, dict):
        found = shorten(value, 40)
        raise InputError(f"results[{rank}]: found {found}, expected an object with a url")
    fields = Fields(value)
    try:
        url = fields.required("url", "link")
        return SearchResult(url, fields.text("title"), fields.text("snippet"), rank)
    except InputError as error:
        raise InputError(f"results[{rank}]: {error.problem}") from error
