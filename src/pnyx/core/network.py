"""A limit on the connections of this process while it runs a record from another person.

All code that opens a connection calls `check_network` first. The limit is valid for the whole
process, because threads do not share a context. While nothing at all is allowed, Python's sockets
also refuse to connect, including those of plugins and of libraries written in Python.
"""

from __future__ import annotations

import contextlib
import socket
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from pnyx.core.errors import PnyxError, escaped

_CONNECTING = frozenset(
    "socket.connect socket.sendto socket.sendmsg socket.getaddrinfo socket.gethostbyname "
    "socket.gethostbyaddr".split()
)
"""Audit events (PEP 578) of connecting to another machine or looking up its address."""
_OPENAI = "api.openai.com"

_allowed: frozenset[str] | None = None
_hooked = False


class NetworkError(PnyxError):
    """A connection is refused because only a record asks for it."""


@contextlib.contextmanager
def network_limited_to(addresses: Iterable[str]) -> Iterator[None]:
    """Allow connections to these addresses only: models or data sets, as users write them.

    NetworkError is raised instead of opening any other connection.
    """
    global _allowed
    before = _allowed
    _allowed = frozenset(name for address in addresses for name in names_of(address))
    _hook()
    try:
        yield
    finally:
        _allowed = before


def check_network(*names: str) -> None:
    """Raise NetworkError unless connections to all these hosts or data sets are allowed."""
    for name in names:
        if _allowed is not None and name.lower() not in _allowed:
            raise _refused(name)


def names_of(address: str) -> Iterator[str]:
    """Yield the hosts of an address in lower case, or the address itself if it names none."""
    scheme, separator, rest = address.partition("://")
    if not separator:
        yield _OPENAI if scheme.startswith("openai:") else address.lower()
        return
    for node in rest.partition("/")[0].partition("#")[0].split(","):
        with contextlib.suppress(ValueError):
            yield (urlsplit(f"//{node}").hostname or node).lower()


def _refused(name: str) -> NetworkError:
    return NetworkError(
        f"{escaped(name)}: connection refused, because only the record asks for it and not the "
        "command line"
    )


def _hook() -> None:
    """Install the audit hook of the sockets once per process: it cannot be removed."""
    global _hooked
    if not _hooked and sys.platform != "win32":  # on Windows, event loops connect to themselves
        _hooked = True
        sys.addaudithook(_audit)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _allowed is None or _allowed or event not in _CONNECTING:
        return
    first = arguments[0]
    if isinstance(first, socket.socket):
        if first.family not in (socket.AF_INET, socket.AF_INET6):
            return
        first = arguments[1]
    if first is not None:
        raise _refused(str(first[0] if isinstance(first, tuple) else first))


SCHEMES: Final = ("opensearch://", "opensearch+https://")


def is_remote(where: object) -> bool:
    """Whether this names an index in a cluster rather than a folder."""
    return str(where).startswith(SCHEMES)


CA, INSECURE = "PNYX_OPENSEARCH_CA", "PNYX_OPENSEARCH_INSECURE"
