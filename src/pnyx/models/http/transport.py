"""HTTP requests, bounded in time and size, over persistent connections.

Each open request has its own httpx2 transport (docs/explain/decisions/pace-and-budget.md).
Redirects are not followed: a key is only for the address that the user gave. Error messages contain
none of the keys and passwords that were sent.
"""

from __future__ import annotations

import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pnyx._version import __version__
from pnyx.core.errors import ModelError, shorten
from pnyx.core.files import MAX_LINE_BYTES
from pnyx.core.network import check_network
from pnyx.models.http.addresses import Secrets, is_address, shown_address
from pnyx.models.http.body import DamagedError, read_body
from pnyx.models.http.flow import MemoryBudget, wanted

if TYPE_CHECKING:
    import ssl

    import httpx2

_MB = 1024 * 1024
MAX_REPLY_BYTES = MAX_LINE_BYTES
"""Longest body that is read as a completion: a longer one does not fit in a line of a file."""

MAX_BODY_BYTES = 64 * _MB
"""Longest body that is read at all: vectors of a batch of texts, as decimal numbers."""

ROOM = MemoryBudget(64 * _MB)
"""Bytes of all open responses together, for any concurrency."""

_CONNECT_SECONDS = 20.0
_THE_PROXY = "the proxy that the environment names for this address"
_BAD_PROXY = f"{_THE_PROXY} cannot be used, expected http://HOST:PORT"


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """The response of an endpoint: `body` is decompressed; header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class NoResponse:
    """No complete response."""

    kind: str  # `unreachable` (nothing was sent), `connection`, `timeout` or `too_big`
    detail: str


class HttpTransport:
    """The connections of one event loop to one address.

    `timeout` is in seconds, from connecting to the last byte; `headers` are secret; `longest` is
    the limit in bytes of a response. `on_silence` gets the seconds and the number of open requests
    when nothing has arrived for another `silence` seconds. `own_process` says that this process
    started the server. ModelError: the address, or its proxy, cannot be used.
    """

    def __init__(
        self,
        base_url: str,
        key: str | None,
        timeout: float,
        *,
        path: str = "/chat/completions",
        headers: Sequence[tuple[str, str]] = (),
        longest: int = MAX_REPLY_BYTES,
        on_silence: Callable[[float, int], None] | None = None,
        silence: float = 15.0,
        own_process: bool = False,
    ) -> None:
        import httpx2

        try:
            self._url = httpx2.URL(base_url + path)
        except httpx2.InvalidURL as error:
            where = shorten(shown_address(base_url))
            raise ModelError(f"{where!r} is not a usable address") from error
        self._longest = longest
        self._timeout = timeout
        self._headers = [
            ("Host", self._url.netloc.decode("ascii")),
            ("Accept", "application/json"),
            ("Accept-Encoding", "identity"),
            ("Content-Type", "application/json"),
            ("User-Agent", f"pnyx/{__version__}"),
            *([("Authorization", f"Bearer {key}")] if key else []),
            *headers,
        ]
        waits = {"connect": min(timeout, _CONNECT_SECONDS), "read": None, "write": None, "pool": 5}
        self._extensions = {"timeout": waits}
        self._trust: ssl.SSLContext | None = None
        self._proxy = _proxy(base_url)
        self.secrets = Secrets(key, *(value for _, value in headers), *_password(self._proxy))
        self._idle: list[httpx2.AsyncHTTPTransport] = []
        self.sent = 0
        self._under_way = 0
        self._heard = 0.0
        self._on_silence = on_silence
        self._silence = silence
        self._own_process = own_process
        self._cancel_timer: Callable[[], None] | None = None
        self._token: Any = None

    async def post(
        self, body: bytes, *, on_whole: Callable[[HttpResponse], None] | None = None
    ) -> HttpResponse | NoResponse:
        """Send a request, read the response; pass it to `on_whole` before anything can lose it."""
        return await self._send(self._url, body, on_whole)

    async def ask(self, path: str, body: bytes | None = None) -> HttpResponse | NoResponse:
        """Read another path of the same server (`/v1/models`), or post to it (`/tokenize`)."""
        return await self._send(self._url.copy_with(raw_path=path.encode()), body)

    async def _send(
        self,
        url: httpx2.URL,
        body: bytes | None,
        on_whole: Callable[[HttpResponse], None] | None = None,
    ) -> HttpResponse | NoResponse:
        import anyio
        import httpx2

        wanted()()  # here, so that no retry and no other wording is sent for a client that left
        self._began()
        method, headers = "GET", self._headers
        if body is not None:
            method, headers = "POST", [*headers, ("Content-Length", str(len(body)))]
        transport = self._idle.pop() if self._idle else self._transport()
        whole = False
        try:
            with anyio.fail_after(self._timeout):
                request = httpx2.Request(
                    method, url, content=body, headers=headers, extensions=self._extensions
                )
                answer = await self._exchange(transport, request, on_whole)
            whole = isinstance(answer, HttpResponse)
            return answer
        except httpx2.ConnectTimeout:
            return NoResponse("unreachable", "timeout: no connection came about")
        except (TimeoutError, httpx2.TimeoutException):
            return NoResponse("timeout", f"timeout: no complete reply within {self._timeout:g} s")
        except (httpx2.ConnectError, httpx2.ProxyError, httpx2.UnsupportedProtocol) as error:
            return self._broken("unreachable", error)
        except UnicodeError as error:  # the resolver does not accept the name
            return self._broken("unreachable", error)
        except (httpx2.TransportError, httpx2.StreamError, DamagedError) as error:
            self._heard = time.monotonic()
            return self._broken("connection", error)
        finally:
            self._under_way -= 1
            if whole:
                self._idle.append(transport)
            else:
                await _closed([transport])

    def _broken(self, kind: str, error: Exception) -> NoResponse:
        why = self.secrets.hide(str(error)) or type(error).__name__
        return NoResponse(kind, f"connection: {why}")

    @property
    def silent(self) -> float:
        """Seconds since the last data arrived."""
        # Not the event loop's clock: a timer under a plain asyncio.run cannot read it.
        return time.monotonic() - self._heard if self._heard else 0.0

    async def close(self) -> None:
        """Close all connections."""
        if self._cancel_timer is not None:
            self._cancel_timer()
        await _closed(self._idle)
        self._idle = []

    async def _exchange(
        self,
        transport: httpx2.AsyncHTTPTransport,
        request: httpx2.Request,
        on_whole: Callable[[HttpResponse], None] | None,
    ) -> HttpResponse | NoResponse:
        import anyio

        response = await transport.handle_async_request(request)
        response.request = request
        self._heard = time.monotonic()
        try:
            async with ROOM.share() as share:
                body, longer = await read_body(response, self._longest, take=share.take)
                if longer:
                    size = self._longest // _MB
                    return NoResponse("too_big", f"malformed: the body is longer than {size} MB")
                # Secrets are always removed from headers, and also from the body of an error.
                headers = {n.lower(): self.secrets.hide(v) for n, v in response.headers.items()}
                body = body if response.status_code == 200 else self.secrets.hide_bytes(body)
                answer = HttpResponse(response.status_code, headers, body)
                if on_whole is not None:
                    on_whole(answer)
                return answer
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(1):
                await response.aclose()

    def _transport(self) -> httpx2.AsyncHTTPTransport:
        import httpx2

        if not self._own_process:
            check_network(self._url.host)
        if self._trust is None:
            self._trust = _trust(self._url.scheme, self._proxy)
        limits = httpx2.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=5)
        try:
            return httpx2.AsyncHTTPTransport(
                verify=self._trust, trust_env=False, limits=limits, proxy=self._proxy
            )
        except ImportError as error:
            raise ModelError(
                f"{_THE_PROXY} is a SOCKS proxy, which needs a package: pip install socksio"
            ) from error
        except (ValueError, httpx2.InvalidURL) as error:
            raise ModelError(_BAD_PROXY) from error

    def _began(self) -> None:
        if self._under_way == 0:
            self._heard = time.monotonic()
        self._under_way += 1
        self.sent += 1
        if self._cancel_timer is None and self._on_silence is not None:
            from anyio.lowlevel import current_token

            self._token = current_token()
            self._cancel_timer = _later(self._token, self._silence, self._look)

    def _look(self) -> None:
        """Report that nothing has arrived for long, and schedule the next check."""
        if not self._under_way or self._on_silence is None:
            self._cancel_timer = None
            return
        silent = self.silent
        if silent >= self._silence * 0.99:
            self._on_silence(silent, self._under_way)
            silent = 0.0
        self._cancel_timer = _later(self._token, self._silence - silent, self._look)


def _proxy(base_url: str) -> str | None:
    """Return the proxy that the environment names for an address; none for this machine."""
    parts = urllib.parse.urlsplit(base_url)
    host = parts.hostname or ""
    if host in ("localhost", "::1") or host.startswith("127."):
        return None
    if urllib.request.proxy_bypass(host):
        return None
    proxies = urllib.request.getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy:
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    proxy_host = proxy.partition("://")[2].rpartition("@")[2]
    if not is_address(f"http://{proxy_host}"):
        raise ModelError(_BAD_PROXY)  # without quoting it: it may contain a password
    return proxy


def _password(proxy: str | None) -> list[str]:
    """Return the password or token in a proxy's address, encoded and decoded."""
    user, _, password = (proxy or "").partition("://")[2].rpartition("@")[0].partition(":")
    secret = password or user
    return [secret, urllib.parse.unquote(secret)]


def _trust(scheme: str, proxy: str | None) -> ssl.SSLContext:
    """Return the trusted certificates; loading them (70 ms) is skipped for a plain address."""
    import ssl

    import httpx2

    if scheme == "http" and not (proxy or "").startswith("https"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts no certificate
    return httpx2.create_ssl_context()


async def _closed(transports: list[httpx2.AsyncHTTPTransport]) -> None:
    import anyio

    with anyio.CancelScope(shield=True), anyio.move_on_after(2):
        for transport in transports:
            await transport.aclose()


def _later(token: Any, seconds: float, call: Callable[[], None]) -> Callable[[], None]:
    """Schedule a call in the event loop of a token; return a function that cancels it."""
    loop = getattr(token, "native_token", token)
    if hasattr(loop, "call_later"):
        cancel: Callable[[], None] = loop.call_later(seconds, call).cancel
        return cancel
    import trio

    scope = trio.CancelScope()

    async def wait() -> None:
        with scope:
            await trio.sleep(seconds)
            call()

    trio.lowlevel.spawn_system_task(wait)
    return scope.cancel
