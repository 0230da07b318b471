"""Checks of every request (host name, token, origin), and security headers of responses.

Plain ASGI, so that streams are not buffered.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import html
import ipaddress
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

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
"""Headers that a response may override."""

MAX_BODY: Final = 1024 * 1024
"""Longest body of a request, in bytes."""

_BODY_SECONDS: Final = 60.0
"""Longest time to wait for a body."""
_DRAIN: Final = 64 * MAX_BODY
_DRAIN_SECONDS: Final = 10.0
"""How much of a rejected body is read: bytes beyond `MAX_BODY`, and for how long."""

COOKIE: Final = "pnyx_token"
_SIGN_IN: Final = "/sign-in"
_QUESTION: Final = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Sign in</title>
<h1>Sign in with this link?</h1>
<p>The link is for one person: what you do here from now on is done in that person's name,
whoever this browser was signed in as before.</p>
<form method="post" action="{action}"><button>Sign in</button> <a href="/">Stay as I am</a></form>
"""
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_OPEN: Final = frozenset({"/healthz"})
"""Addresses that require no token."""


def is_loopback(host: str) -> bool:
    """Return whether a host to listen on, or of a request, is this machine only."""
    if host.casefold().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_secure(scheme: str, headers: Mapping[str, str]) -> bool:
    """Return whether a browser uses HTTPS, as far as the proxy.

    A false claim only affects the client's own cookie.
    """
    forwarded = headers.get("x-forwarded-proto", "").partition(",")[0].strip()
    first = headers.get("forwarded", "").partition(",")[0].replace('"', "").casefold()
    parts = [part.strip() for part in first.split(";")]
    return "https" in (forwarded.casefold(), scheme) or "proto=https" in parts


class Guard:
    """ASGI middleware: rejects forbidden requests, and adds security headers to responses.

    - Without a token, only requests to this machine's own names pass, so that no web page can
    reach the application by DNS rebinding.
    - With one, a request brings it: `Authorization: Bearer TOKEN`, or the cookie that a visit of
      any page with `?token=TOKEN` sets.
    - Where there are several tokens, each stands for a person: a link with one asks before it signs
      in a browser that has another, or that may have (it does not tell when it comes from another
      site).
    - A request that changes something must not come from a page of another site.
    - Bodies are at most `MAX_BODY` bytes, and come within a minute.

    Args:
        app: what answers.
        token: what a request must bring; empty for none.
        others: further tokens that open it as well, where there is a first. Which one was brought
            is told as `scope["pnyx.token"]`.
    """

    def __init__(self, app: App, token: str = "", others: Collection[str] = ()) -> None:
        self.app, self.token, self.others = app, token, tuple(others)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reject a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        request = _Request(scope)
        bounded = _Bounded(receive)
        if "expect" not in request.headers:  # with it, a client has sent nothing yet
            send = bounded.draining(send)
        refusal = self._refusal(request)
        if refusal is not None:
            await _answer(send, *refusal)
            return
        brought = self._brought(request.tokens)
        if self.token and "token" in request.query:
            if self._asks(request, brought):
                action = f"{_SIGN_IN}?{urlencode({'token': brought})}"
                page = _QUESTION.format(action=html.escape(action))
                await _answer(send, 200, page, {"content-type": "text/html; charset=utf-8"})
            else:
                await _answer(send, 303, "", _signed_in(request, brought))
            return
        scope["pnyx.token"] = brought
        await self.app(scope, bounded, _with_headers(send))

    def _refusal(self, request: _Request) -> tuple[int, str] | None:
        """Return the status and reason of a rejection; None if the request may pass."""
        if request.length > MAX_BODY:
            return 413, f"the body has {request.length:,} bytes, expected at most {MAX_BODY:,}"
        if not self.token and not is_loopback(request.host):
            return 421, "this address serves only its own machine"
        if self.token and request.path not in _OPEN and not self._brought(request.tokens):
            return 401, "expected the token: a header 'Authorization: Bearer TOKEN', or ?token="
        if request.method not in _SAFE and request.is_foreign:
            return 403, "this request came from a page of another site"
        return None

    def _brought(self, tokens: Iterable[str]) -> str:
        """Return the first valid token; empty for none."""
        tokens_known = (self.token, *self.others) if self.token else ()
        for token in tokens:
            for wanted in tokens_known:
                if hmac.compare_digest(token.encode(), wanted.encode()):
                    return wanted
        return ""

    def _asks(self, request: _Request, brought: str) -> bool:
        """Whether a link's token may be another person's than the browser's."""
        if not self.others or request.signs_in:
            return False
        session = self._brought(request.cookies)
        if session:
            return session != brought
        # The cookie is not sent with requests from another site.
        return request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin")


class _Request:
    """The headers of a request."""

    def __init__(self, scope: Scope) -> None:
        self.method, self.path, self.scheme = scope["method"], scope["path"], scope["scheme"]
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
        length = self.headers.get("content-length", "0")
        return int(length) if length.isascii() and length.isdecimal() else 0

    @property
    def tokens(self) -> Iterable[str]:
        if (
            self.method == "GET" or self.signs_in
        ) and "token" in self.query:  # first: a new link may sign in as another person
            yield self.query["token"]
        scheme, _, bearer = self.headers.get("authorization", "").partition(" ")
        if scheme.casefold() == "bearer":
            yield bearer.strip()
        yield from self.cookies

    @property
    def signs_in(self) -> bool:
        """Whether it answers the question whether to sign in."""
        return self.method == "POST" and self.path == _SIGN_IN and "token" in self.query

    @property
    def cookies(self) -> Iterable[str]:
        try:
            cookie = SimpleCookie(self.headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            cookie = None
        if cookie is not None:
            yield cookie.value

    @property
    def is_foreign(self) -> bool:
        """Whether a browser sent it for a page of another site; other clients do not say."""
        site = self.headers.get("sec-fetch-site")
        if site is not None:
            return site not in ("same-origin", "none")
        origin = self.headers.get("origin")
        if origin is None:
            return False
        try:
            return bool(urlsplit(origin).netloc != self.authority)
        except ValueError:  # not a valid address
            return True


def _signed_in(request: _Request, token: str) -> dict[str, str]:
    """Return the headers that store the token in a cookie and redirect to the page without it."""
    rest = urlencode([(k, v) for k, v in request.query.items() if k != "token"])
    # One slash, and no backslash: two of either would name another host.
    path = "" if request.signs_in else quote(request.path.lstrip("/"), errors="replace")
    target = f"/{path}" + (f"?{rest}" if rest else "")
    cookie: SimpleCookie = SimpleCookie({COOKIE: token})
    secure = is_secure(request.scheme, request.headers)
    attributes = {"httponly": True, "samesite": "Strict", "path": "/", "secure": secure}
    for name, value in attributes.items():
        cookie[COOKIE][name] = value
    return {"location": target, "set-cookie": cookie.output(header="").strip()}


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            names = {name.decode("latin-1").lower() for name, _ in headers}
            added = {k: v for k, v in _HEADERS.items() if not (k in _KEPT and k in names)}
            remaining = [(k, v) for k, v in headers if k.decode("latin-1").lower() not in added]
            message["headers"] = remaining + [(k.encode(), v.encode()) for k, v in added.items()]
        await send(message)

    return sending


class _Bounded:
    """Receives a body of at most `MAX_BODY` bytes, whatever its headers say, within a minute."""

    def __init__(self, receive: Receive) -> None:
        self.receive, self.left = receive, MAX_BODY
        self.until: float | None = None
        self.whole = False

    async def __call__(self) -> Message:
        from starlette.exceptions import HTTPException

        if self.whole:  # the next message is the disconnect
            return await self.receive()
        self.until = self.until or asyncio.get_running_loop().time() + _BODY_SECONDS
        try:
            async with asyncio.timeout_at(self.until):
                message = await self.receive()
        except TimeoutError:
            raise HTTPException(408, "the body did not come in time") from None
        self._count(message)
        if self.left < 0:
            raise HTTPException(413, f"the body is longer than {MAX_BODY:,} bytes")
        return message

    def _count(self, message: Message) -> None:
        self.left -= len(message.get("body", b""))
        self.whole = not message.get("more_body", False)

    def draining(self, send: Send) -> Send:
        """Return a sender that first reads the body's rest: a reset would lose the response."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_DRAIN_SECONDS):
                        while not self.whole and self.left > -_DRAIN:
                            self._count(await self.receive())
            await send(message)

        return sending


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
