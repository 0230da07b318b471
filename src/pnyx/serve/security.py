"""What every request passes: host names, the token, other sites, and what an answer may load.

Plain ASGI, so that a stream passes as it is sent.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from html import escape
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

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

_DRAINED: Final = 32 * MAX_BODY
_DRAIN_SECONDS: Final = 10.0
"""How much more of a body, and for how long, is read so that its sender gets to read why not."""

COOKIE: Final = "pnyx_token"
_ASKED: Final = "pnyx_asked"
"""Cookie of a browser that was asked whether it is to be signed in."""
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
      any page with `?token=TOKEN` sets; where tokens are people's, the visitor is asked first.
    - A request that changes something must not come from a page of another site.
    - Bodies are at most `MAX_BODY` bytes.

    Args:
        app: what answers.
        token: what a request must bring; empty for none.
        people: token -> name of who has it, `token` among them, where each visitor has one. Which
            one was brought is told as `scope["pnyx.token"]`.
    """

    def __init__(self, app: App, token: str = "", people: Mapping[str, str] | None = None) -> None:
        self.app, self.token, self.people = app, token, people or {}

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
            if refusal[0] == 413:
                await _drain(receive)
            await _answer(send, *refusal)
            return
        brought = self._brought(request)
        if self.token and "token" in request.query:
            if brought in self.people and not request.is_sure(brought):
                await _ask(send, request, self.people[brought])
                return
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
        known = (self.token, *self.people) if self.token else ()
        for one in request.tokens:
            for wanted in known:
                if hmac.compare_digest(one.encode(), wanted.encode()):
                    return wanted
        return ""


class _Request:
    """What a request's head says."""

    def __init__(self, scope: Scope) -> None:
        self.method, self.path = scope["method"], scope["path"]
        self.scheme: str = scope.get("scheme", "http")
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
        if cookie := self.cookie(COOKIE):
            yield cookie

    def cookie(self, name: str) -> str:
        try:
            found = SimpleCookie(self.headers.get("cookie", "")).get(name)
        except CookieError:
            return ""
        return "" if found is None else found.value

    def is_sure(self, token: str) -> bool:
        """Whether the visitor was asked and said yes, or is signed in with this token already."""
        nonce = self.cookie(_ASKED).encode()
        said = bool(nonce) and hmac.compare_digest(self.query.get("sure", "").encode(), nonce)
        return said or hmac.compare_digest(self.cookie(COOKIE).encode(), token.encode())

    @property
    def is_encrypted(self) -> bool:
        """Whether a browser sent it over HTTPS, to a proxy that says so."""
        via = self.headers.get("x-forwarded-proto") or self.scheme
        return via.partition(",")[0].strip().casefold() == "https"

    def address(self, **more: str) -> str:
        """Return the address of the page, without a token.

        It has one slash or backslash at most in front: browsers take two for another host.
        """
        kept = {k: v for k, v in self.query.items() if k not in ("token", "sure")} | more
        place = "/" + quote(self.path.lstrip("/\\"), safe="/:@!$&'()*+,;=-._~")
        return place + (f"?{urlencode(kept)}" if kept else "")

    @property
    def is_foreign(self) -> bool:
        """Whether a browser sent it for a page of another site; other clients say neither."""
        site = self.headers.get("sec-fetch-site")
        if site is not None:
            return site not in ("same-origin", "none")
        origin = self.headers.get("origin")
        try:
            return origin is not None and urlsplit(origin).netloc != self.authority
        except ValueError:  # no address at all
            return True


def _signed_in(request: _Request, token: str) -> dict[str, str]:
    """Return the headers that keep the token in a cookie and lead to the page without it."""
    return {"location": request.address(), "set-cookie": _cookie(request, COOKIE, token)}


def _cookie(request: _Request, name: str, value: str) -> str:
    cookie: SimpleCookie = SimpleCookie({name: value})
    marks: dict[str, Any] = {"httponly": True, "samesite": "Strict", "path": "/"}
    cookie[name].update(marks | ({"secure": True} if request.is_encrypted else {}))
    return cookie.output(header="").strip()


async def _ask(send: Send, request: _Request, name: str) -> None:
    """Ask whether this browser is to be signed in; the link in the answer alone does it."""
    nonce = secrets.token_urlsafe(16)
    link = escape(request.address(token=request.query["token"], sure=nonce))
    page = (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Sign in?</title>"
        f"<h1>Go on as {escape(name)}?</h1><p>This link signs this browser in as "
        f"<b dir=auto>{escape(name)}</b>: what is answered here will stand in that name.</p>"
        f'<p><a id="sure" href="{link}">Yes, go on as {escape(name)}</a></p></html>'
    )
    headers = {
        "content-type": "text/html; charset=utf-8",
        "set-cookie": _cookie(request, _ASKED, nonce),
    }
    await _answer(send, 200, page, headers)


async def _drain(receive: Receive) -> None:
    """Read on, within bounds: who is still sending a body does not read why it was refused."""
    left = _DRAINED
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if not message.get("more_body", False):
                    return
    except TimeoutError:
        return


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

            await _drain(self.receive)
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
