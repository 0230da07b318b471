"""Addresses that may be fetched from: public ones, each name resolved once before connecting.

A name can resolve differently the second time. So it is resolved once, each address is checked,
and the connection goes to one of these addresses, never to the name (no DNS rebinding).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeAlias

from pnyx.core.errors import InputError, shorten
from pnyx_crawl.fetch_result import NotFetchedError

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

PORTS = frozenset({80, 443})

_LONGEST_URL = 4096
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]{0,252})|[0-9a-f]*:[0-9a-f:.]{1,44}")

_NOT_PUBLIC_4 = tuple(
    ipaddress.IPv4Network(block)
    for block in (
        "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 "
        "192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 "
        "224.0.0.0/4 240.0.0.0/4"
    ).split()
)
"""IANA's special-purpose blocks."""

_PUBLIC_6 = ipaddress.IPv6Network("2000::/3")
_NOT_PUBLIC_6 = tuple(
    ipaddress.IPv6Network(block)
    # Protocol assignments with Teredo, documentation (twice), 6to4: the last hides an IPv4 address.
    for block in ("2001::/23", "2001:db8::/32", "3fff::/20", "2002::/16")
)
"""Outside of 2000::/3 nothing is global unicast."""

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
"""Through these, hosts without IPv4 reach an IPv4 address, in the last 32 bits (RFC 6052)."""

_METADATA = frozenset(
    ipaddress.ip_address(address)
    for address in ("169.254.169.254", "168.63.129.16", "100.100.100.200", "fd00:ec2::254")
)
"""Where clouds hand out a machine's secrets; the second address would otherwise be public."""


@dataclass(frozen=True, slots=True)
class WebAddress:
    """An http(s) address, normalised; `host` is lower case and ASCII, without brackets."""

    url: str
    scheme: str
    host: str
    port: int

    @property
    def origin(self) -> str:
        """Scheme, host and port: the scope of a robots.txt."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def parse_target(url: str, base: WebAddress | None = None) -> WebAddress:
    """Parse an address, possibly relative to a `base`; NotFetchedError if it is invalid."""
    import httpx2

    if len(url) > _LONGEST_URL:
        raise NotFetchedError("bad_url", f"longer than {_LONGEST_URL} characters")
    try:
        parsed = httpx2.URL(url.strip())
        if base is not None:
            parsed = httpx2.URL(base.url).join(parsed)
        host = parsed.raw_host.decode("ascii").lower()
        parsed = parsed.copy_with(fragment=None)
    except (httpx2.InvalidURL, ValueError, TypeError) as error:
        raise NotFetchedError("bad_url", shorten(str(error))) from error
    if parsed.scheme not in ("http", "https"):
        raise NotFetchedError("bad_url", f"{shorten(parsed.scheme or 'no scheme', 20)}")
    port = parsed.port if parsed.port is not None else {"http": 80, "https": 443}[parsed.scheme]
    if parsed.userinfo or not _HOST.fullmatch(host) or not 0 < port < 1 << 16:
        raise NotFetchedError("bad_url", "a user, a bad host or a bad port")
    return WebAddress(str(parsed), parsed.scheme, host, port)


def is_public(address: str | Address) -> bool:
    """Whether an address is a global unicast one; ValueError if it is not an address."""
    parsed = ipaddress.ip_address(address)
    if parsed in _METADATA:
        return False
    if isinstance(parsed, ipaddress.IPv4Address):
        return parsed.is_global and not any(parsed in block for block in _NOT_PUBLIC_4)
    if parsed.scope_id is not None:
        return False
    if parsed in _NAT64:
        return is_public(ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF))
    if parsed not in _PUBLIC_6 or any(parsed in block for block in _NOT_PUBLIC_6):
        return False
    return parsed.is_global


def network(text: str) -> Network:
    """Read a network as `10.1.2.0/24`, or one address."""
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise InputError(f"found {shorten(text, 60)!r}, expected a network: {error}") from error


@dataclass(frozen=True, slots=True)
class FetchPolicy:
    """Where pages may be fetched from: public addresses at `ports`, and `private` networks."""

    private: tuple[Network, ...] = ()
    ports: Collection[int] = PORTS

    async def addresses(self, target: WebAddress) -> list[str]:
        """Return the addresses to connect to, after checking each that the name resolves to."""
        addresses = await resolve(target.host, target.port)
        if not addresses:
            raise NotFetchedError("dns", "no address")
        for address in addresses:
            self.check(address, target.port)
        return addresses

    def check(self, address: str, port: int) -> None:
        """Raise if an address must not be connected to: `private` or `port`."""
        try:
            ip = ipaddress.ip_address(address)
        except ValueError as error:
            raise NotFetchedError("dns", f"no address: {shorten(address, 60)}") from error
        if ip not in _METADATA and any(ip in allowed for allowed in self.private):
            return
        if not is_public(ip):
            raise NotFetchedError("private", address)
        if port not in self.ports:
            raise NotFetchedError("port", str(port))


async def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a name, best first; NotFetchedError (`dns`) if it has none."""
    import socket

    import anyio

    try:
        entries = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotFetchedError("dns", shorten(str(error))) from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))
