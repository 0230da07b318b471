"""What every request passes: host names, the token, other sites, and what an answer may load.

Plain ASGI, so that a stream passes as it is sent.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Awaitable, Callable, Collection, Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl, urlencode, urlsplit

__all__ = ["COOKIE", "MAX_BODY", "POLICY", "Guard", "is_loopback"]

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Content Security Policy of every answer: a page loads its own files and nothing else."""

_HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_KEPT: Final = frozenset({"cache-control"})
"""Headers that an answer may set otherwise."""

MAX_BODY: Final = 1024 * 1024
"""Longest body of a request, in bytes."""

COOKIE: Final = "pnyx_token"
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_OPEN: Final = frozenset({"/healthz"})
"""Addresses that need no token."""


def is_loopback(host: str) -> bool:
    """Tell whether a host to listen on, or of a request, is this machine alone."""
    if host.casefold().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Guard:
    """ASGI middleware: refuses what may not pass, and adds headers to what does.

    - Without a token only requests to this machine's own names pass, so that no web page reaches
      the application by a name that it made lead here.
    - With one, a request brings it: `Authorization: Bearer TOKEN`, or the cookie that a visit of
      any page with `?token=TOKEN` sets.
    - A request that changes something must not come from a page of another site.
    - Bodies are at most `MAX_BODY` bytes.

    Args:
        app: what answers.
        token: what a request must bring; empty for none.
        others: further tokens that open it as well, where there is a first. Which one was brought
            is told as `scope["pnyx.token"]`.
    """

    def __init__(self, app: App, token: str = "", others: Collection[str] = ()) -> None:
        self.app, self.token, self.others = app, token, tuple(others)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        request = _Request(scope)
        refusal = self._refusal(request)
        if refusal is not None:
            await _answer(send, *refusal)
            return
        brought = self._brought(request)
        if self.token and "token" in request.query:
            await _answer(send, 303, "", _signed_in(request, brought))
            return
        scope["pnyx.token"] = brought
        await self.app(scope, _Bounded(receive), _with_headers(send))

    def _refusal(self, request: _Request) -> tuple[int, str] | None:
        """Return the status and reason of a refusal; None where the request may pass."""
        if request.length > MAX_BODY:
            return 413, f"the body has {request.length:,} bytes, expected at most {MAX_BODY:,}"
        if not self.token and not is_loopback(request.host):
            return 421, "this address serves its own machine alone"
        if self.token and request.path not in _OPEN and not self._brought(request):
            return 401, "expected the token: a header 'Authorization: Bearer TOKEN', or ?token="
        if request.method not in _SAFE and request.is_foreign:
            return 403, "this request came from a page of another site"
        return None

    def _brought(self, request: _Request) -> str:
        """Return the first of the request's tokens that opens it; empty for none."""
        known = (self.token, *self.others) if self.token else ()
        for one in request.tokens:
            for wanted in known:
                if hmac.compare_digest(one.encode(), wanted.encode()):
                    return wanted
        return ""


class _Request:
    """What a request's head says."""

    def __init__(self, scope: Scope) -> None:
        self.method, self.path = scope["method"], scope["path"]
        self.headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
        self.authority = self.headers.get("host", "")
        self.query = dict(parse_qsl(scope["query_string"].decode("latin-1")))

    @property
    def host(self) -> str:
        try:
            return urlsplit(f"//{self.authority}").hostname or ""
        except ValueError:
            return ""

    @property
    def length(self) -> int:
        given = self.headers.get("content-length", "0")
        return int(given) if given.isascii() and given.isdecimal() else 0

    @property
    def tokens(self) -> Iterable[str]:
        if self.method == "GET" and "token" in self.query:  # first: a new link makes one another
            yield self.query["token"]
        scheme, _, bearer = self.headers.get("authorization", "").partition(" ")
        if scheme.casefold() == "bearer":
            yield bearer.strip()
        try:
            cookie = SimpleCookie(self.headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            cookie = None
        if cookie is not None:
            yield cookie.value

    @property
    def is_foreign(self) -> bool:
        """Whether a browser sent it for a page of another site; other clients say neither."""
        site = self.headers.get("sec-fetch-site")
        if site is not None:
            return site not in ("same-origin", "none")
        origin = self.headers.get("origin")
        return origin is not None and urlsplit(origin).netloc != self.authority


def _signed_in(request: _Request, token: str) -> dict[str, str]:
    """Return the headers that keep the token in a cookie and lead to the page without it."""
    rest = urlencode([(k, v) for k, v in request.query.items() if k != "token"])
    # One slash: two would name another host.
    place = "/" + request.path.lstrip("/") + (f"?{rest}" if rest else "")
    cookie: SimpleCookie = SimpleCookie({COOKIE: token})
    for name, value in (("httponly", True), ("samesite", "Strict"), ("path", "/")):
        cookie[COOKIE][name] = value
    return {"location": place, "set-cookie": cookie.output(header="").strip()}


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = list(message.get("headers", ()))
            names = {name.decode("latin-1").lower() for name, _ in given}
            added = {k: v for k, v in _HEADERS.items() if not (k in _KEPT and k in names)}
            kept = [(k, v) for k, v in given if k.decode("latin-1").lower() not in added]
            message["headers"] = kept + [(k.encode(), v.encode()) for k, v in added.items()]
        await send(message)

    return sending


class _Bounded:
    """Receives a body that does not say how long it is, up to `MAX_BODY` bytes."""

    def __init__(self, receive: Receive) -> None:
        self.receive, self.left = receive, MAX_BODY

    async def __call__(self) -> Message:
        message = await self.receive()
        self.left -= len(message.get("body", b""))
        if self.left < 0:
            from starlette.exceptions import HTTPException

            raise HTTPException(413, f"the body is longer than {MAX_BODY:,} bytes")
        return message


async def _answer(
    send: Send, status: int, reason: str, headers: MutableMapping[str, str] | None = None
) -> None:
    more = {"content-type": "text/plain; charset=utf-8", **(headers or {})}
    if status == 401:
        more["www-authenticate"] = "Bearer"
    sending = _with_headers(send)
    pairs = [(k.encode("latin-1"), v.encode("latin-1")) for k, v in more.items()]
    await sending({"type": "http.response.start", "status": status, "headers": pairs})
    await sending({"type": "http.response.body", "body": f"{reason}\n".encode() if reason else b""})
