"""The texts of sources with a link, a title or both (ConQRet, appendix B).

A source is fetched by its link; one without a link, or with one that leads to no text, is searched
for by its title. Everything goes through the archive, so nothing is requested twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pnyx.core.records import Question
from pnyx.formats.runs.search_results import QuestionResults
from pnyx.models.http.flow import run_blocking
from pnyx_build.debates.judged_pairs import GatheredSource
from pnyx_crawl.addresses import FetchPolicy
from pnyx_crawl.archive import Archive
from pnyx_crawl.corpus import WebPlan
from pnyx_crawl.fetch import Fetcher, addresses, fetch_all
from pnyx_crawl.fetch_result import TEXT, Fetched
from pnyx_crawl.search import SearchApi, Searched, look_up, search_all

_FORBIDDEN = frozenset({"robots", "robots_unknown", "private"})
"""Outcomes after which no other copy is searched for, because the site or our policy forbids it."""

Report: TypeAlias = Callable[[int, int, str], None]
Search: TypeAlias = SearchApi | Mapping[str, QuestionResults]


@dataclass(frozen=True, slots=True)
class FoundSource:
    """The outcome of a source.

    `outcome` is one of `fetched.OUTCOMES`, or `not_searched` or `not_found` if it has no link;
    `via` (`link` or `search`) is how `page` was reached. `detail` says more of what went wrong.
    """

    outcome: str
    via: str = ""
    page: Fetched | None = None
    detail: str = ""


def fetch_sources(
    sources: Sequence[GatheredSource],
    archive: Archive,
    plan: WebPlan,
    search: Search | None,
    on_progress: Report,
) -> tuple[dict[str, FoundSource], Searched]:
    """Fetch sources, and return the outcome of each by its id, with the searches.

    Results of a search are fetched, best first, up to the plan's number, until one has text.
    """
    fetcher = Fetcher(plan.contact, archive, FetchPolicy(plan.private), plan.limits, pdf=True)

    def fetch(urls: Iterable[str]) -> None:
        pages = addresses(urls)
        run_blocking(lambda: fetch_all(pages, fetcher, archive, on_progress, retry=plan.retry))

    fetch(source.url for source in sources if source.url)
    missing = []
    for source in sources:
        page = _page(archive, source.url)
        if source.title and (page is None or page.outcome not in (TEXT, *_FORBIDDEN)):
            missing.append(Question(source.id, source.title))
    searched = Searched()
    if isinstance(search, Mapping):
        look_up(missing, search, plan.results, searched)
    elif search is not None and missing:
        api = search
        run_blocking(lambda: search_all(missing, api, archive, plan.results, searched, on_progress))
    for rank in range(plan.results):
        fetch(_next_urls(missing, searched, archive, rank))
    return {source.id: _found(source, archive, searched) for source in sources}, searched


def _page(archive: Archive, url: str, *, text: bool = False) -> Fetched | None:
    return archive.page(addresses([url])[0], text=text) if url else None


def _next_urls(
    missing: Sequence[Question], searched: Searched, archive: Archive, rank: int
) -> Iterable[str]:
    """Yield the results at a rank for sources without a text from a better result."""
    for question in missing:
        answer = searched.results.get(question.id)
        results = answer.results if answer is not None else ()
        pages = (_page(archive, result.url) for result in results[:rank])
        if rank < len(results) and not any(page and page.outcome == TEXT for page in pages):
            yield results[rank].url


def _found(source: GatheredSource, archive: Archive, searched: Searched) -> FoundSource:
    """Return the first text found for a source, or why there is none."""
    linked = _page(archive, source.url, text=True)
    if linked is not None and linked.outcome == TEXT:
        return FoundSource(TEXT, "link", linked)
    answer = searched.results.get(source.id)
    last: Fetched | None = None
    for result in answer.results if answer is not None else ():
        page = _page(archive, result.url, text=True)
        if page is not None and page.outcome == TEXT:
            return FoundSource(TEXT, "search", page)
        last = page or last
    if linked is not None:
        return FoundSource(linked.outcome, "link", linked, linked.detail)
    if last is not None:
        return FoundSource(last.outcome, "search", last, last.detail)
    outcome = "not_found" if answer is not None else "not_searched"
    return FoundSource(outcome, detail=searched.failed.get(source.id, ""))
