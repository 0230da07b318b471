"""Pages of the web, politely and within limits: robots.txt, redirects, sizes, times, types."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pnyx._version import __version__
from pnyx.core.errors import InputError, shorten
from pnyx.models.http.flow import run_all
from pnyx_crawl.addresses import FetchPolicy, WebAddress, parse_target
from pnyx_crawl.archive import Archive
from pnyx_crawl.fetch_result import FETCHED, Fetched, NotFetchedError, now
from pnyx_crawl.http import PageClient, PageResponse, TimeBudget
from pnyx_crawl.reader import Reader

if TYPE_CHECKING:
    import anyio
    from protego import Protego

TOKEN = "pnyx"  # noqa: S105 - a product token (RFC 9309, 2.2.1)
"""Our product token in a robots.txt."""

ROBOTS_BYTES = 500 * 1024
"""Bytes of a robots.txt that are read: the minimum of RFC 9309 (2.5)."""

_AGENT = re.compile(r"\s*user[- \t]*agent(?:[ \t]*:|[ \t])[ \t]*([^#]*)", re.IGNORECASE)
_NOBODY = "nobody-else"

_PAGES = frozenset({"text/html", "application/xhtml+xml", "text/plain"})
_PDF = frozenset({"application/pdf", "application/x-pdf"})
_OF_THE_SITE = frozenset({"private", "port", "dns", "unreachable"})
_LONGEST_DELAY = 60.0


class Rules:
    """The rules of one robots.txt for us; None allows everything."""

    def __init__(self, text: str | None) -> None:
        self._rules: Protego | None = None
        if text is not None:
            from protego import Protego

            self._rules = Protego.parse("\n".join(map(_ours, text.splitlines())))

    def allow(self, url: str) -> bool:
        """Whether an address may be fetched."""
        if self._rules is None:
            return True
        try:
            return bool(self._rules.can_fetch(url, TOKEN))
        except Exception:  # A hostile file may make the parser raise anything.
            return False

    @property
    def delay(self) -> float:
        """Seconds that the site wants between two requests; 0 if unspecified."""
        return (self._rules.crawl_delay(TOKEN) or 0.0) if self._rules is not None else 0.0


def _ours(line: str) -> str:
    """Merge all other agents into one: the parser keeps rules for each agent, without limit."""
    match = _AGENT.match(line)
    if match is None:
        return line
    agent = match[1].strip().lower()
    # RFC 9309 (2.2.1): only the product token counts, without a version.
    token = re.match(r"[a-z_-]*", agent)
    if agent == "*" or (token is not None and token[0] == TOKEN):
        return f"User-agent: {TOKEN if agent != '*' else '*'}"
    return f"User-agent: {_NOBODY}"


class HostThrottle:
    """Schedules requests by host, with `delay` seconds after each; for one event loop."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._hosts: dict[str, tuple[anyio.Lock, list[float]]] = {}

    @asynccontextmanager
    async def turn(self, host: str, delay: float = 0.0) -> AsyncIterator[None]:
        """Wait for a host's turn; the longer of its `delay` and ours counts."""
        import anyio

        lock, rested = self._hosts.setdefault(host, (anyio.Lock(), [0.0]))
        async with lock:
            await anyio.sleep(max(0.0, rested[0] - time.monotonic()))
            try:
                yield
            finally:
                rested[0] = time.monotonic() + max(self._delay, delay)


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """How far a page is followed.

    Attributes:
        seconds: for one page with its redirects, excluding robots.txt and waits between requests.
        bytes: of a page, before and after decompression.
        redirects: the most redirects to follow.
        delay: seconds between two requests to a host; a longer delay in its robots.txt counts; one
            above a minute forbids the host.
        concurrency: hosts asked at once.
    """

    seconds: float = 30.0
    bytes: int = 5_000_000
    redirects: int = 5
    delay: float = 1.0
    concurrency: int = 16


def agent_of(contact: str) -> str:
    """Return the header `User-Agent`; `contact` is the user's e-mail address or web page."""
    page = re.fullmatch(r"https?://[!-'*-:<-~]+", contact)
    if not page and not re.fullmatch(r"[!-'*-:<-?A-~]+@[!-'*-:<-?A-~]+\.[A-Za-z]+", contact):
        short = shorten(contact, 60)
        raise InputError(f"contact: found {short!r}, expected an e-mail address or a web page")
    return f"{TOKEN}/{__version__} (+{contact})"


class Fetcher:
    """Fetches pages within limits, robots.txt files kept in the archive; for one event loop."""

    def __init__(
        self,
        contact: str,
        archive: Archive,
        reach: FetchPolicy | None = None,
        limits: FetchLimits | None = None,
        *,
        pdf: bool = False,
    ) -> None:
        self._accept = _check_readable if pdf else _check_page
        self.limits = limits or FetchLimits()
        self._getter = PageClient(agent_of(contact), reach or FetchPolicy())
        self._manners = HostThrottle(self.limits.delay)
        self._archive = archive
        self._rules: dict[str, Rules | NotFetchedError] = {}
        self._locks: dict[str, anyio.Lock] = {}

    async def fetch(self, url: str) -> Fetched:
        """Return a page, or why there is none."""
        trail = [url]
        try:
            got = await self._page(url, trail)
        except NotFetchedError as error:
            return Fetched(url, error.outcome, error.detail, trail[-1], error.status, "", now())
        kind = shorten(got.headers.get("content-type", ""), 200)
        return Fetched(url, FETCHED, "", trail[-1], got.status, kind, now(), got.body)

    async def _page(self, url: str, trail: list[str]) -> PageResponse:
        """Follow an address to a page; each step is added to the trail."""
        seconds = TimeBudget(self.limits.seconds)
        target = parse_target(url)
        for _ in range(self.limits.redirects + 1):
            trail.append(target.url)
            got = await self._step(target, seconds)
            where = got.leads_to
            if where is None:
                if not 200 <= got.status < 300:
                    raise NotFetchedError("http_error", f"HTTP {got.status}", got.status)
                return got
            target = _next(where, target, trail)
        raise NotFetchedError("redirects", f"more than {self.limits.redirects}")

    async def _step(self, target: WebAddress, seconds: TimeBudget) -> PageResponse:
        rules = await self._allowed_by(target)
        if not rules.allow(target.url):
            raise NotFetchedError("robots", target.origin)
        if rules.delay > _LONGEST_DELAY:
            raise NotFetchedError("robots", f"wants {rules.delay:g} s between two requests")
        async with self._manners.turn(target.host, rules.delay):
            return await self._getter.get(target, seconds, self.limits.bytes, accept=self._accept)

    async def _allowed_by(self, target: WebAddress) -> Rules:
        """Return the rules of a target's site, read once; NotFetchedError if unavailable."""
        import anyio

        async with self._locks.setdefault(target.origin, anyio.Lock()):
            if target.origin not in self._rules:
                try:
                    self._rules[target.origin] = await self._read_rules(target)
                except NotFetchedError as error:
                    self._rules[target.origin] = error
        rules = self._rules[target.origin]
        if isinstance(rules, NotFetchedError):
            raise NotFetchedError(rules.outcome, rules.detail, rules.status)
        return rules

    async def _read_rules(self, target: WebAddress) -> Rules:
        stored = self._archive.robots(target.origin)
        if stored is None:
            stored = await self._fetch_rules(target)
            self._archive.keep_robots(target.origin, *stored)
        try:
            return Rules(stored[1])
        except Exception as error:  # A hostile file may make the parser raise anything.
            raise NotFetchedError("robots_unknown", shorten(str(error))) from error

    async def _fetch_rules(self, site: WebAddress) -> tuple[str, str | None]:
        """Fetch a robots.txt by RFC 9309 (2.3.1): 4xx allows everything, 5xx nothing."""
        seconds = TimeBudget(self.limits.seconds)
        target = parse_target("/robots.txt", site)
        trail: list[str] = []
        for _ in range(self.limits.redirects + 1):
            trail.append(target.url)
            try:
                async with self._manners.turn(target.host):
                    got = await self._getter.get(target, seconds, ROBOTS_BYTES, cut=True)
            except NotFetchedError as error:
                if len(trail) == 1 and error.outcome in _OF_THE_SITE:
                    raise  # the page itself would fail as well
                raise NotFetchedError("robots_unknown", str(error), error.status) from error
            if 200 <= got.status < 300:
                return "text", got.body.decode("utf-8-sig", "replace")
            if got.status == 429 or got.status >= 500:
                raise NotFetchedError("robots_unknown", f"HTTP {got.status}", got.status)
            if got.leads_to is None:
                return "none", None
            try:
                target = _next(got.leads_to, target, trail)
            except NotFetchedError:
                return "none", None
        return "none", None  # RFC 9309, 2.3.1.2: too many redirects count as no file


def _next(where: str, target: WebAddress, trail: list[str]) -> WebAddress:
    """Return where a redirect leads; NotFetchedError if nowhere, or in a circle."""
    if not where:
        raise NotFetchedError("redirects", "to nowhere")
    redirect = parse_target(where, target)
    if redirect.url in trail:
        raise NotFetchedError("redirects", "in a circle")
    return redirect


def _check_page(headers: Mapping[str, str]) -> None:
    """Raise if a body is not a page of text: `pdf` or `content_type`."""
    kind = _kind(headers)
    if kind in _PDF:
        raise NotFetchedError("pdf")
    if kind and kind not in _PAGES:
        raise NotFetchedError("content_type", shorten(kind, 60))


def _check_readable(headers: Mapping[str, str]) -> None:
    """Raise if a body is neither a page of text nor a PDF file: `content_type`."""
    if _kind(headers) not in _PDF:
        _check_page(headers)


def _kind(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


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
    """Fetch and read the pages missing from the archive, host by host; return how many."""
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
                    archive.keep_text(await reader.read(archive.page(url, body=True) or page))
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
