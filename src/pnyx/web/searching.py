"""Searching for every question, each query paid for once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pnyx.corpora.search_results import QuestionResults, SearchResult
from pnyx.errors import PnyxError
from pnyx.models.flow import run_all
from pnyx.records import Question
from pnyx.web.archive import Archive
from pnyx.web.fetch import now
from pnyx.web.search import SearchApi, SearchFailedError

__all__ = ["Searched", "look_up", "search_all"]

_LEAST_PER_PAGE = 10
_AT_ONCE = 4
_FAILED_IN_A_ROW = 5


@dataclass(slots=True)
class Searched:
    """What was found so far.

    Attributes:
        results: question id -> its results.
        failed: question id -> why it has none.
        asked: pages of results that were asked for in this run.
    """

    results: dict[str, QuestionResults] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    asked: int = 0


def look_up(
    questions: Sequence[Question], known: Mapping[str, QuestionResults], count: int, into: Searched
) -> None:
    """Take the results that are there already, the first `count` of each question."""
    for question in questions:
        found = known.get(question.id)
        if found is None:
            into.failed[question.id] = "it is not among the results given"
            continue
        into.results[question.id] = QuestionResults(
            question.id,
            found.query or question.text,
            found.results[:count],
            found.api,
            found.retrieved_at,
            found.extra,
        )


async def search_all(
    questions: Sequence[Question],
    api: SearchApi,
    archive: Archive,
    count: int,
    into: Searched,
    on_progress: Callable[[int, int, str], None],
) -> None:
    """Search for each question, unless the archive has its results.

    Args:
        questions: whose texts are the queries.
        api: what is searched with; closed at the end.
        archive: gets each page of results as it comes.
        count: results wanted for a question; a page that holds fewer is followed by the next, up
            to one page for each ten.
        into: is filled.
        on_progress: called with questions done, of how many, and a word.

    Raises:
        PnyxError: the API answers nothing more.
    """
    in_a_row = 0

    async def one(question: Question) -> None:
        nonlocal in_a_row
        try:
            found = await _search(question, api, archive, count, into)
        except SearchFailedError as error:
            into.failed[question.id] = str(error)
            in_a_row += 1
            if in_a_row >= _FAILED_IN_A_ROW:
                raise PnyxError(
                    f"{api.name} has answered none of the last {in_a_row} queries: {error}"
                ) from error
        else:
            into.results[question.id] = found
            in_a_row = 0
        on_progress(len(into.results) + len(into.failed), len(questions), "searching")

    try:
        await run_all(questions, one, workers=_AT_ONCE)
    finally:
        await api.close()


async def _search(
    question: Question, api: SearchApi, archive: Archive, count: int, into: Searched
) -> QuestionResults:
    query = " ".join(question.text.split())
    found: dict[str, SearchResult] = {}
    for number in range(1, math.ceil(count / _LEAST_PER_PAGE) + 1):
        page = archive.search(api.name, query, count, number)
        if page is None:
            page = await _paid(api, archive, query, count, number)
            into.asked += 1
        before = len(found)
        for result in page:
            if result.url not in found:
                ranked = SearchResult(result.url, result.title, result.snippet, len(found) + 1)
                found[result.url] = ranked
        if len(found) == before or len(found) >= count:
            break
    at = archive.searched_at(api.name, query, count)
    results = tuple(found.values())[:count]
    return QuestionResults(question.id, query, results, api.name, at)


async def _paid(
    api: SearchApi, archive: Archive, query: str, count: int, number: int
) -> list[SearchResult]:
    """Ask for a page of results; it is in the archive before it is returned."""
    kept: list[list[SearchResult]] = []

    def keep(results: list[SearchResult], raw: bytes) -> None:
        archive.keep_search(api.name, query, count, number, results, raw, now())
        kept.append(results)

    await api.search(query, count, number, keep)
    if not kept:
        raise SearchFailedError(f"{api.name} kept no page of results")
    return kept[0]
