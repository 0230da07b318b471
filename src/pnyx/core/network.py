"""A limit on what this process connects to, while it runs the record of a stranger.

Whatever opens a connection calls `check_network` first. For the whole process, as threads do not
share a context. As long as nothing at all is allowed, sockets refuse to connect as well, also those
of plugins and of libraries that are written in Python.
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
"""Events of Python's audit hooks (PEP 578) that lead to another machine, or ask for its address."""
_OPENAI = "api.openai.com"

_allowed: frozenset[str] | None = None
_hooked = False


class NetworkError(PnyxError):
    """A connection is not opened, as only a record asks for it."""


@contextlib.contextmanager
def network_limited_to(addresses: Iterable[str]) -> Iterator[None]:
    """Allow connections to these addresses only, which may be models or data sets as users write.

    NetworkError is raised where another connection would be opened.
    """
    global _allowed
    before = _allowed
    _allowed = frozenset(name for address in addresses for name in _names_of(address))
    _hook()
    try:
        yield
    finally:
        _allowed = before


def check_network(*names: str) -> None:
    """Raise NetworkError unless connections to all these hosts, or data sets, are allowed."""
    for name in names:
        if _allowed is not None and name.lower() not in _allowed:
            raise _refused(name)


def _names_of(address: str) -> Iterator[str]:
    """Yield the hosts of an address, in lower case; the address itself if it names none."""
    scheme, separator, rest = address.partition("://")
    if not separator:
        yield _OPENAI if scheme.startswith("openai:") else address.lower()
        return
    for node in rest.partition("/")[0].partition("#")[0].split(","):
        with contextlib.suppress(ValueError):
            yield (urlsplit(f"//{node}").hostname or node).lower()


def _refused(name: str) -> NetworkError:
    return NetworkError(
        f"{escaped(name)}: no connection is opened, as the record alone asks for it and the "
        "command line does not"
    )


def _hook() -> None:
    """Have sockets ask, once for the life of this process: an audit hook cannot be removed."""
    global _hooked
    if not _hooked and sys.platform != "win32":  # where event loops connect to themselves
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
    """Whether this names an index of a cluster, not a folder."""
    return str(where).startswith(SCHEMES)


CA, INSECURE = "PNYX_OPENSEARCH_CA", "PNYX_OPENSEARCH_INSECURE"
