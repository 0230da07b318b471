"""One GET request to a checked address, limited in time and size."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pnyx.core.errors import shorten
from pnyx.core.network import check_network
from pnyx.models.http.body import DamagedError, Inflate, read_body
from pnyx_crawl.addresses import FetchPolicy, WebAddress
from pnyx_crawl.fetch_result import NotFetchedError

if TYPE_CHECKING:
    import ssl

    import httpx2

_CONNECT_SECONDS = 10.0
_MOST_ADDRESSES = 4
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class TimeBudget:
    """A time budget shared by several requests."""

    def __init__(self, seconds: float) -> None:
        self.given = self.left = seconds

    def spend(self, since: float) -> None:
        """Subtract the time since a reading of `time.monotonic`."""
        self.left = max(0.0, self.left - (time.monotonic() - since))


@dataclass(frozen=True, slots=True)
class PageResponse:
    """An answer; its header names are lower case, its `body` decompressed, empty for redirects."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def leads_to(self) -> str | None:
        """Where a redirect leads; None for other answers."""
        return self.headers.get("location", "") if self.status in _REDIRECTS else None


class PageClient:
    """Sends requests; no cookies, no proxy (it would look names up itself), no kept connections."""

    def __init__(self, agent: str, reach: FetchPolicy) -> None:
        self._agent = agent
        self._reach = reach
        self._trust: ssl.SSLContext | None = None

    async def get(
        self,
        target: WebAddress,
        seconds: TimeBudget,
        limit: int,
        *,
        accept: Callable[[Mapping[str, str]], None] = lambda _: None,
        cut: bool = False,
    ) -> PageResponse:
        """Ask for one address within `seconds`, without redirects; `accept` raises to refuse."""
        import anyio

        check_network(target.host)
        since = time.monotonic()
        failed = NotFetchedError("unreachable")
        try:
            with anyio.fail_after(seconds.left):
                for address in (await self._reach.addresses(target))[:_MOST_ADDRESSES]:
                    try:
                        return await self._exchange(address, target, limit, accept, cut)
                    except NotFetchedError as error:  # the first that accepts a connection
                        if error.outcome != "unreachable":
                            raise
                        failed = error
                raise failed
        except TimeoutError as error:
            raise NotFetchedError(
                "timeout", f"no complete response in {seconds.given:g} s"
            ) from error
        finally:
            seconds.spend(since)

    async def _exchange(
        self,
        address: str,
        target: WebAddress,
        limit: int,
        accept: Callable[[Mapping[str, str]], None],
        cut: bool,
    ) -> PageResponse:
        import anyio
        import httpx2

        request = self._request(address, target)
        transport = self._transport(target.scheme)
        try:
            response = await transport.handle_async_request(request)
            response.request = request
            headers = {name.lower(): value for name, value in response.headers.items()}
            if not 200 <= response.status_code < 300:
                return PageResponse(response.status_code, headers)
            accept(headers)
            encoding = Inflate(headers.get("content-encoding", ""))
            if not encoding.known:
                raise NotFetchedError("encoding", shorten(encoding.encoding, 40))
            body, longer = await read_body(response, limit, cut=cut)
            if longer and not cut:
                raise NotFetchedError("too_large", f"more than {limit:,} bytes")
            return PageResponse(response.status_code, headers, body)
        except httpx2.ConnectTimeout as error:
            raise NotFetchedError("unreachable", "no connection could be made in time") from error
        except httpx2.ConnectError as error:
            raise NotFetchedError("unreachable", shorten(str(error) or "refused", 120)) from error
        except DamagedError as error:
            raise NotFetchedError("encoding", shorten(str(error))) from error
        except (httpx2.TransportError, httpx2.StreamError) as error:
            why = str(error) or type(error).__name__
            raise NotFetchedError("connection", shorten(why, 120)) from error
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(1):
                await transport.aclose()

    def _request(self, address: str, target: WebAddress) -> httpx2.Request:
        """Return a request that connects to the address, with the host's name in its headers."""
        import httpx2

        url = httpx2.URL(target.url)
        headers = [
            ("Host", url.netloc.decode("ascii")),
            ("User-Agent", self._agent),
            ("Accept", "text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.1"),
            ("Accept-Encoding", "gzip, deflate"),
            ("Connection", "close"),
        ]
        extensions = {
            "timeout": {"connect": _CONNECT_SECONDS, "read": None, "write": None, "pool": None},
            "sni_hostname": target.host.rstrip("."),  # also what the certificate must be for
        }
        pinned = url.copy_with(host=address)
        return httpx2.Request("GET", pinned, headers=headers, extensions=extensions)

    def _transport(self, scheme: str) -> httpx2.AsyncHTTPTransport:
        """Return a transport of one connection: one to an address may be for any of its hosts."""
        import ssl

        import httpx2

        trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if scheme == "https":
            self._trust = trust = self._trust or httpx2.create_ssl_context()
        limits = httpx2.Limits(max_connections=1, max_keepalive_connections=0)
        return httpx2.AsyncHTTPTransport(verify=trust, trust_env=False, limits=limits)
