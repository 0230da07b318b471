"""The addresses and keys of endpoints, as the user gives them.

An accepted address has no user, password, query or fragment; `shown_address` shows a refused one.
"""

from __future__ import annotations

import ipaddress
import os
import re
import urllib.parse

from pnyx.errors import InputError, shorten
from pnyx.models.replies import printable

__all__ = ["check_address", "is_address", "read_key", "read_spec", "shown_address"]

_LONGEST = 2000
_LONGEST_HOST, _LONGEST_LABEL = 253, 63
_HIDDEN = "***"
_QUERY = re.compile("[?&=]")
_KIND = re.compile(r"(?:[a-z][a-z0-9+.-]*://|https?:/?|openai:|gguf:)", re.IGNORECASE)


def read_key(variable: str) -> str | None:
    """Return the key in an environment variable; None where it is empty."""
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise InputError(f"{variable} holds characters that cannot be part of a key")
    return key or None


def is_address(url: str) -> bool:
    """Whether an http(s) address can be asked and has nothing that must not be shown."""
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
    """Whether the HTTP client understands an address, and its host can be a host's name."""
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
    """Return an address without the slash at its end; InputError if it is not valid."""
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
    # A query in the place of the model's name, or behind it, may hold a key.
    if not model or _QUERY.search(model) or name != printable(name) or not is_address(base_url):
        return None
    return base_url, name


def shown_address(spec: str) -> str:
    """Return an address that may be shown; it hides too much rather than too little."""
    found = _KIND.match(spec)
    kind, rest = (found[0], spec[found.end() :]) if found else ("", spec)
    if "@" in rest:
        rest = f"{_HIDDEN}@{rest.rpartition('@')[2]}"
    rest, query, _ = rest.partition("?")
    base, fragment, name = rest.partition("#")
    name = _HIDDEN if _QUERY.search(name) else name
    return f"{kind}{base}{fragment}{name}{f'?{_HIDDEN}' if query else ''}"
