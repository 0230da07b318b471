"""Addresses and keys of endpoints as the user gives them, and how keys are kept secret."""

from __future__ import annotations

import base64
import html.entities
import ipaddress
import os
import re
import urllib.parse
from collections.abc import Iterable

from pnyx.core.errors import InputError, printable, shorten

_LONGEST = 2000
_LONGEST_HOST, _LONGEST_LABEL = 253, 63
_HIDDEN = "***"
_QUERY = re.compile("[?&=]")
_KIND = re.compile(r"(?:[a-z][a-z0-9+.-]*://|https?:/?|openai:|gguf:)", re.IGNORECASE)

_HEAD = 12
"""This many first characters of a longer key already reveal it."""
_TELLING = 8
"""A shorter key (EMPTY, test) may be an ordinary word: it is not removed from valid replies."""
_ENCODED = re.compile(r"\\u|\\x|%[2-7][0-9A-Fa-f]|&#|&[a-z]+;")


def read_key(variable: str) -> str | None:
    """Return the key in an environment variable; None if it is empty."""
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise InputError(f"{variable} contains characters that cannot be part of a key")
    return key or None


def is_address(url: str) -> bool:
    """Whether an http(s) address is usable and contains nothing secret."""
    if len(url) > _LONGEST or not url.isprintable() or re.search(r"[\s?#\\]", url):
        return False
    try:
        parts = urllib.parse.urlsplit(url)
        plain = parts.scheme in ("http", "https") and bool(parts.hostname)
        port = parts.port is None or parts.port > 0
    except ValueError:
        return False
    return plain and port and parts.username is None and _has_host(url)


def _has_host(url: str) -> bool:
    """Whether the HTTP client understands an address and its host is a valid name."""
    import httpx2

    try:
        host = httpx2.URL(url).raw_host.decode("ascii")
    except (httpx2.InvalidURL, ValueError):
        return False
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        labels = host.removesuffix(".").split(".")
        short = len(host) <= _LONGEST_HOST and all(0 < len(x) <= _LONGEST_LABEL for x in labels)
        return short and re.fullmatch(r"[\w.-]+", host, re.ASCII) is not None
    return True


def check_address(url: str) -> str:
    """Return an address without its trailing slash; InputError if it is not valid."""
    if not is_address(url):
        raise InputError(
            f"found {shorten(shown_address(url))!r}, expected the address of an API: "
            "http://HOST:PORT/PATH, without a user, a password or a query"
        )
    return url.rstrip("/")


def read_spec(spec: str) -> tuple[str, str] | None:
    """Return (base URL, model) of `http://HOST:PORT/v1#MODEL`, or None."""
    base_url, _, model = spec.partition("#")
    name = urllib.parse.unquote(model)
    # A query instead of the model's name, or after it, may contain a key.
    if not model or _QUERY.search(model) or name != printable(name) or not is_address(base_url):
        return None
    return base_url, name


def shown_address(spec: str) -> str:
    """Return an address that may be displayed; it hides too much rather than too little."""
    match = _KIND.match(spec)
    kind, rest = (match[0], spec[match.end() :]) if match else ("", spec)
    if "@" in rest:
        rest = f"{_HIDDEN}@{rest.rpartition('@')[2]}"
    rest, query, _ = rest.partition("?")
    base, fragment, name = rest.partition("#")
    name = _HIDDEN if _QUERY.search(name) else name
    return f"{kind}{base}{fragment}{name}{f'?{_HIDDEN}' if query else ''}"


class Secrets:
    """Texts that must never be displayed; None and empty values are ignored."""

    def __init__(self, *values: str | None) -> None:
        distinct = sorted({value for value in values if value}, key=len, reverse=True)
        self._all = tuple(_Secret(value) for value in distinct)
        self._telling = tuple(secret for secret in self._all if len(secret.value) >= _TELLING)

    def __repr__(self) -> str:
        return f"Secrets({len(self._all)})"

    def hide(self, text: str) -> str:
        """Return a text for display without any secret."""
        return _without(self._all, text)

    def hide_in_reply(self, text: str) -> str:
        """Return a model's text without the secrets that cannot be ordinary words."""
        return _without(self._telling, text)

    def hide_bytes(self, body: bytes, *, good: bool = False) -> bytes:
        """Return a response body without secrets; a `good` one as `hide_in_reply` does."""
        secrets = self._telling if good else self._all
        if not secrets:
            return body
        text = body.decode("latin-1")  # keys are ASCII, and every byte is preserved
        hidden = _without(secrets, text)
        return body if hidden is text else hidden.encode("latin-1")


def _without(secrets: Iterable[_Secret], text: str) -> str:
    for secret in secrets:
        text = secret.hide(text)
    return text


class _Secret:
    """One key or password, and the forms in which it may appear."""

    def __init__(self, value: str) -> None:
        self.value = value
        self._literal = value[:_HEAD]
        forms = [_forms(character) for character in value]
        self._head = re.compile("".join(forms[:_HEAD]))
        self._tail = [re.compile(form) for form in forms[_HEAD:]]
        self._base64 = tuple(_base64_of(value)) if len(value) >= _TELLING else ()

    def hide(self, text: str) -> str:
        if self._literal in text or _ENCODED.search(text):
            text = self._hidden(text)
        for core in self._base64:
            if core in text:
                text = text.replace(core, _HIDDEN)
        return text

    def _hidden(self, text: str) -> str:
        parts: list[str] = []
        at = 0
        while (match := self._head.search(text, at)) is not None:
            parts += text[at : match.start()], _HIDDEN
            at = match.end()
            for form in self._tail:  # as far as the key continues
                if (more := form.match(text, at)) is None:
                    break
                at = more.end()
        return "".join([*parts, text[at:]]) if parts else text


def _forms(character: str) -> str:
    """Return a pattern of all forms of a character; possessive, so that it never backtracks."""
    code = ord(character)
    digits = "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in f"{code:02x}")
    names = [name for name, value in html.entities.html5.items() if value == character]
    named = [re.escape(f"&{name}") for name in sorted(names, key=len, reverse=True)]
    escaped = r"(?:\\{1,8}+)?" if character == "/" else ""
    many = rf"\\{{1,8}}+(?:u(?:00|\{{0{{0,4}}){digits}\}}?|x{digits})"
    entity = rf"&#(?:0{{0,8}}{code}|[xX]0{{0,8}}{digits});?"
    forms = [escaped + re.escape(character), many, f"%(?:25)?{digits}", entity, *named]
    return f"(?:{'|'.join(forms)})"


def _base64_of(value: str) -> Iterable[str]:
    """Yield the common part of the base64 of any text that contains the value."""
    raw = value.encode()
    for before in range(3):
        packed = base64.b64encode(b"\0" * before + raw + b"\0\0").decode()
        core = packed[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]
        yield core
        urlsafe = core.translate(str.maketrans("+/", "-_"))
        if urlsafe != core:
            yield urlsafe
