"""The texts of sources that are known by a link, a title or both (ConQRet, appendix B).

A source is fetched by its link; one without a link, or with one that leads to no text, is searched
for by its title. Everything goes through the archive, so nothing is asked for twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pnyx.corpora.benchmarks.search_results import QuestionResults
from pnyx.models.http.flow import run_blocking
from pnyx.records import Question
from pnyx.web.addresses import FetchPolicy
from pnyx.web.archive import Archive
from pnyx.web.corpus import WebPlan
from pnyx.web.fetch import Fetcher, addresses, fetch_all, require_robots
from pnyx.web.fetched import TEXT, Fetched
from pnyx.web.search import SearchApi, Searched, look_up, search_all

_FORBIDDEN = frozenset({"robots", "robots_unknown", "private"})
"""Outcomes after which no other copy is searched for: the site, or we, do not want it."""

Report = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class WantedSource:
    """A source to be found; at least one of `title` and `url` is not empty."""

    id: str
    title: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class FoundSource:
    """What became of a source.

    `outcome` is one of `fetched.OUTCOMES`, or `not_searched` or `not_found` where it has no link;
    `via` is `link` or `search`, what led to `page`. `detail` says more of what went wrong.
    """

    id: str
    outcome: str
    via: str = ""
    page: Fetched | None = None
    detail: str = ""


def fetch_sources(
    wanted: Sequence[WantedSource],
    archive: Archive,
    plan: WebPlan,
    search: SearchApi | Mapping[str, QuestionResults] | None,
    on_progress: Report = lambda _done, _of, _word: None,
) -> tuple[list[FoundSource], Searched]:
    """Fetch what is wanted, and return it in order, with the searches.

    Args:
        wanted: with distinct ids.
        archive: what was searched and fetched before, and now.
        plan: `results` is how many results of a search are fetched, best first, until one has text.
        search: what to search with, results by id, or None: nothing is searched for.
        on_progress: called with steps done, of how many, and what is being done.

    Raises:
        MissingExtra: what reads web pages is not installed.
        PnyxError: the search API answers nothing more; what was fetched is kept.
    """
    require_robots()
    fetcher = Fetcher(plan.contact, archive, FetchPolicy(plan.private), plan.limits, pdf=True)

    def fetch(urls: Iterable[str]) -> None:
        asked = addresses(urls)
        retry = plan.retry
        run_blocking(lambda: fetch_all(asked, fetcher, archive, on_progress, retry=retry))

    fetch(one.url for one in wanted if one.url)
    missing = [one for one in wanted if one.title and _searchable(_page(archive, one.url))]
    searched = Searched()
    questions = [Question(one.id, one.title) for one in missing]
    if isinstance(search, Mapping):
        look_up(questions, search, plan.results, searched)
    elif search is not None and questions:
        api = search
        run_blocking(
            lambda: search_all(questions, api, archive, plan.results, searched, on_progress)
        )
    for rank in range(plan.results):
        fetch(_next_urls(missing, searched, archive, rank))
    return [_found(one, archive, searched) for one in wanted], searched


def _page(archive: Archive, url: str, *, text: bool = False) -> Fetched | None:
    return archive.page(addresses([url])[0], text=text) if url else None


def _searchable(page: Fetched | None) -> bool:
    return page is None or (page.outcome != TEXT and page.outcome not in _FORBIDDEN)


def _next_urls(
    missing: Sequence[WantedSource], searched: Searched, archive: Archive, rank: int
) -> list[str]:
    """Return the results at a rank for those that no better result has given a text."""
    urls = []
    for one in missing:
        found = searched.results.get(one.id)
        results = found.results if found is not None else ()
        pages = [_page(archive, result.url) for result in results[:rank]]
        done = any(page is not None and page.outcome == TEXT for page in pages)
        if not done and rank < len(results):
            urls.append(results[rank].url)
    return urls


def _found(one: WantedSource, archive: Archive, searched: Searched) -> FoundSource:
    """Return the first text that a source led to, or why there is none."""
    linked = _page(archive, one.url, text=True)
    if linked is not None and linked.outcome == TEXT:
        return FoundSource(one.id, TEXT, "link", linked)
    results = searched.results.get(one.id)
    last: Fetched | None = None
    for result in results.results if results is not None else ():
        page = _page(archive, result.url, text=True)
        if page is not None and page.outcome == TEXT:
            return FoundSource(one.id, TEXT, "search", page)
        last = page or last
    if linked is not None:
        return FoundSource(one.id, linked.outcome, "link", linked, linked.detail)
    if last is not None:
        return FoundSource(one.id, last.outcome, "search", last, last.detail)
    outcome = "not_found" if results is not None else "not_searched"
    return FoundSource(one.id, outcome, detail=searched.failed.get(one.id, ""))
