"""Fetching every page that was found, and taking its text out; each once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from pnyx.models.flow import run_all
from pnyx.web.archive import Archive
from pnyx.web.fetch import Fetcher
from pnyx.web.outcomes import FETCHED
from pnyx.web.reader import Reader

__all__ = ["addresses", "fetch_all"]


def addresses(urls: Iterable[str]) -> list[str]:
    """Return the distinct addresses without fragments, in order."""
    return list(dict.fromkeys(url.partition("#")[0] for url in urls))


async def fetch_all(
    urls: Iterable[str],
    fetcher: Fetcher,
    archive: Archive,
    on_progress: Callable[[int, int, str], None],
    *,
    retry: bool = False,
) -> int:
    """Fetch and read what the archive has not.

    The addresses of one host follow each other; the hosts with most of them come first.

    Args:
        urls: as of `addresses`.
        fetcher: fetches them.
        archive: gets each page as it comes, and its text as it is read.
        on_progress: called with addresses done, of how many, and a word.
        retry: whether what failed in a way that may pass is fetched again.

    Returns:
        How many were fetched in this run.
    """
    hosts: dict[str, list[str]] = {}
    for url in urls:
        hosts.setdefault(_host(url), []).append(url)
    total = sum(map(len, hosts.values()))
    done = fetched = 0

    async with Reader() as reader:

        async def host(its: list[str]) -> None:
            nonlocal done, fetched
            for url in its:
                page = archive.page(url)
                if page is None or (retry and page.passing):
                    page = await fetcher.fetch(url)
                    archive.keep_page(page)
                    fetched += 1
                if page.outcome == FETCHED:
                    whole = archive.page(url, body=True)
                    read = await reader.read(whole or page)
                    archive.keep_text(url, read.outcome, read.detail, read.title, read.text)
                done += 1
                on_progress(done, total, "fetching")

        longest_first = sorted(hosts.values(), key=len, reverse=True)
        await run_all(longest_first, host, workers=fetcher.limits.concurrency)
    return fetched


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
