"""Searching the web for every question, each query paid for once; serper.dev is one API."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from pnyx.core.errors import InputError, PnyxError, shorten
from pnyx.core.files import clean_text
from pnyx.core.records import Question
from pnyx.formats.runs.search_results import QuestionResults, SearchResult
from pnyx.models.http.addresses import Secrets, check_address, read_key
from pnyx.models.http.flow import run_all
from pnyx.models.http.responses import RetryPolicy, retry_after
from pnyx.models.http.transport import HttpResponse, HttpTransport, NoResponse
from pnyx_crawl.archive import Archive
from pnyx_crawl.fetch_result import now

SERPER_URL = "https://google.serper.dev"
SERPER_KEY = "SERPER_API_KEY"

_MOST_PER_PAGE, _LEAST_PER_PAGE = 100, 10
_AT_ONCE = 4
_FAILED_IN_A_ROW = 5
_TOO_MUCH = frozenset({408, 425, 429})
_HOPELESS = {
    401: f"the key is refused or missing (set {SERPER_KEY})",
    402: "payment is required",
    403: f"the key is refused or missing (set {SERPER_KEY})",
    404: "the address is not that of the API",
    405: "the address is not that of the API",
}

Keep = Callable[[list[SearchResult], bytes], None]
"""Receives the results of a page, ranked from 1 within it, and the raw response."""


class SearchFailedError(Exception):
    """One query was not answered; the message says why, in one line."""


@runtime_checkable
class SearchApi(Protocol):
    """A search API; its results are stored under its `name`."""

    name: str

    async def search(self, query: str, count: int, page: int, keep: Keep) -> None:
        """Fetch one page of results and store it immediately, before anything else can run.

        Args:
            query: what to search for.
            count: how many results are wanted in all; a page may hold fewer, or more.
            page: counts from 1. A page after the last one is empty, or repeats results.
            keep: called once.

        Raises:
            SearchFailedError: this query was not answered; others may be.
            PnyxError: no query will be.
        """

    async def close(self) -> None:
        """Close all connections."""


class Serper:
    """Google's results from serper.dev, or from a compatible API at another address.

    Args:
        key: sent to that address, and nowhere else.
        base_url: up to and without `/search`.
        retry: time limits and retries.

    Raises:
        InputError: there is no key, or the address is invalid.
    """

    name = "serper"

    def __init__(
        self, key: str | None, base_url: str = SERPER_URL, retry: RetryPolicy | None = None
    ) -> None:
        if not key:
            raise InputError(f"serper needs a key: set {SERPER_KEY}")
        self._url = check_address(base_url)
        self._key = key
        self._secrets = Secrets(key)
        self._retry = retry or RetryPolicy(timeout=30.0, attempts=4)
        self._wire: HttpTransport | None = None

    def __repr__(self) -> str:
        return f"Serper({self._url!r})"

    async def search(self, query: str, count: int, page: int, keep: Keep) -> None:
        """Ask for one page, however many attempts that takes; see `SearchApi.search`."""
        import anyio

        if self._wire is None:
            headers = [("X-API-KEY", self._key)]
            self._wire = HttpTransport(
                self._url, None, self._retry.timeout, path="/search", headers=headers
            )
        parameters: dict[str, Any] = {"q": query, "num": min(count, _MOST_PER_PAGE)}
        if page > 1:
            parameters["page"] = page
        body = json.dumps(parameters).encode()
        for attempt in itertools.count(1):
            trouble, wait, limit = await self._attempt(self._wire, body, keep)
            if trouble is None:
                return
            if attempt >= limit:
                raise SearchFailedError(f"{trouble} ({attempt} attempts)")
            await anyio.sleep(self._retry.wait(attempt, wait))

    async def close(self) -> None:
        """Close all connections."""
        if self._wire is not None:
            await self._wire.close()
            self._wire = None

    async def _attempt(
        self, wire: HttpTransport, body: bytes, keep: Keep
    ) -> tuple[str | None, float | None, int]:
        """Return the problem, if any, how long to wait, and how often to retry."""
        wrong: str | None = None

        def heed(answer: HttpResponse) -> None:
            nonlocal wrong
            if answer.status == 200:
                try:
                    body = self._secrets.hide_bytes(answer.body, good=True)
                    keep(read_serper(body), body)
                except ValueError as error:
                    wrong = f"malformed: {self._safe(str(error))}"

        answer = await wire.post(body, on_whole=heed)
        retry = self._retry
        if isinstance(answer, NoResponse):
            lost = answer.kind != "unreachable"
            most = retry.attempts if lost else retry.connect_attempts
            return self._safe(answer.detail), None, most
        if answer.status == 200:
            return wrong, None, 2  # it was paid for, and a retry may be charged again
        self._check_hope(answer)
        problem = f"HTTP {answer.status}: {self._safe(answer.text)}"
        if answer.status in _TOO_MUCH or answer.status >= 500:
            return problem, retry_after(answer.headers), retry.attempts
        return problem, None, 1

    def _check_hope(self, answer: HttpResponse) -> None:
        meaning = _HOPELESS.get(answer.status)
        if 300 <= answer.status < 400:
            to = self._safe(answer.headers.get("location", "")) or "elsewhere"
            meaning = f"it redirects to {to}; keys are not sent on"
        elif answer.status < 500 and "credits" in answer.text.lower():
            meaning = "the account has no credits left"
        if meaning is not None:
            where = f"{self._url} answers HTTP {answer.status}"
            raise PnyxError(f"{where}: {meaning}: {self._safe(answer.text)}")

    def _safe(self, text: str) -> str:
        """Return one short line of a server's text, without the key if it is echoed."""
        return shorten(" ".join(self._secrets.hide(text)[:4000].split()), 160)


def read_serper(body: bytes) -> list[SearchResult]:
    """Return the results of an answer of serper.dev that have a link; ValueError for others."""
    try:
        value = json.loads(body)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    organic = value.get("organic") if isinstance(value, dict) else None
    if organic is None and isinstance(value, dict) and "searchParameters" in value:
        organic = []  # as it is where nothing was found
    if not isinstance(organic, list):
        raise ValueError(f"found {shorten(value, 60)}, expected an object with a list `organic`")
    entries = [entry for entry in organic if isinstance(entry, dict) and _text(entry, "link")]
    return [
        SearchResult(_text(entry, "link"), _text(entry, "title"), _text(entry, "snippet"), rank)
        for rank, entry in enumerate(entries, start=1)
    ]


def _text(entry: dict[str, Any], name: str) -> str:
    value = entry.get(name)
    return clean_text(value).strip() if isinstance(value, str) else ""


APIS: dict[str, Callable[[str | None], SearchApi]] = {
    "serper": lambda base_url: Serper(read_key(SERPER_KEY), base_url or SERPER_URL)
}
"""Search APIs by the name that `--search` takes; made with their address, or None."""


@dataclass(slots=True)
class Searched:
    """Results so far, why questions have none, and the number of `requests` of this run."""

    results: dict[str, QuestionResults] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    requests: int = 0


def look_up(
    questions: Sequence[Question], stored: Mapping[str, QuestionResults], count: int, into: Searched
) -> None:
    """Use the stored results, the first `count` of each question."""
    for question in questions:
        result = stored.get(question.id)
        if result is None:
            into.failed[question.id] = "the given results do not contain it"
            continue
        into.results[question.id] = replace(
            result,
            question_id=question.id,
            query=result.query or question.text,
            results=result.results[:count],
        )


async def search_all(
    questions: Sequence[Question],
    api: SearchApi,
    archive: Archive,
    count: int,
    into: Searched,
    on_progress: Callable[[int, int, str], None],
) -> None:
    """Search for each question missing from the archive, ten results per page; close the API."""
    in_a_row = 0

    async def one(question: Question) -> None:
        nonlocal in_a_row
        try:
            result = await _search(question, api, archive, count, into)
        except SearchFailedError as error:
            into.failed[question.id] = str(error)
            in_a_row += 1
            if in_a_row >= _FAILED_IN_A_ROW:
                raise PnyxError(
                    f"{api.name} has answered none of the last {in_a_row} queries: {error}"
                ) from error
        else:
            into.results[question.id] = result
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
    by_url: dict[str, SearchResult] = {}
    for number in range(1, math.ceil(count / _LEAST_PER_PAGE) + 1):
        page = archive.search(api.name, query, count, number)
        if page is None:
            page = await _paid(api, archive, query, count, number)
            into.requests += 1
        before = len(by_url)
        for result in page:
            if result.url not in by_url:
                by_url[result.url] = replace(result, rank=len(by_url) + 1)
        if len(by_url) == before or len(by_url) >= count:
            break
    at = archive.searched_at(api.name, query, count)
    results = tuple(by_url.values())[:count]
    return QuestionResults(question.id, query, results, api.name, at)


async def _paid(
    api: SearchApi, archive: Archive, query: str, count: int, number: int
) -> list[SearchResult]:
    """Request a page of results; it is archived before it is returned."""
    pages: list[list[SearchResult]] = []

    def keep(results: list[SearchResult], raw: bytes) -> None:
        archive.keep_search(api.name, query, count, number, results, raw, now())
        pages.append(results)

    await api.search(query, count, number, keep)
    if not pages:
        raise SearchFailedError(f"{api.name} stored no page of results")
    return pages[0]
