"""The addresses and keys of endpoints, as the user gives them."""

from __future__ import annotations

import os
import re
import urllib.parse

from pnyx.errors import InputError

__all__ = ["is_address", "read_key", "without_user"]


def read_key(variable: str) -> str | None:
    """Return the key that an environment variable holds; None where it is empty.

    Raises:
        InputError: it holds what no header can carry.
    """
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise InputError(f"{variable} holds characters that cannot be part of a key")
    return key or None


def is_address(url: str) -> bool:
    """Say whether an http(s) address has a host and no user, password, query or bad port."""
    try:
        parts = urllib.parse.urlsplit(url)
        return (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and parts.username is None
            and not parts.query
            and (parts.port is None or parts.port > 0)
        )
    except ValueError:
        return False


def without_user(spec: str) -> str:
    """Return an address that may be shown: without a user and a password."""
    return re.sub(r"//[^/@]*@", "//***@", spec)
