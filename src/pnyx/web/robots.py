"""What a site asks of us: its robots.txt (RFC 9309, read by Protego), and a rest in between."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from pnyx.errors import MissingExtra

if TYPE_CHECKING:
    import anyio
    from protego import Protego

__all__ = ["ROBOTS_BYTES", "TOKEN", "Manners", "Rules", "require_robots"]

TOKEN = "pnyx"  # noqa: S105 - a product token (RFC 9309, 2.2.1)
"""What a robots.txt calls us."""

ROBOTS_BYTES = 500 * 1024
"""How much of a robots.txt is read: what RFC 9309 (2.5) asks for at least."""

_AGENT = re.compile(r"\s*user[- \t]*agent(?:[ \t]*:|[ \t])[ \t]*([^#]*)", re.IGNORECASE)
_NOBODY = "nobody-else"


class Rules:
    """What one robots.txt says to us; None allows everything."""

    def __init__(self, text: str | None) -> None:
        self._rules: Protego | None = None
        if text is not None:
            self._rules = require_robots().parse("\n".join(map(_ours, text.splitlines())))

    def allow(self, url: str) -> bool:
        """Whether an address may be fetched."""
        if self._rules is None:
            return True
        try:
            return bool(self._rules.can_fetch(url, TOKEN))
        except Exception:  # a hostile file may trip the parser anywhere
            return False

    @property
    def delay(self) -> float:
        """Seconds that the site wants between two requests; 0 where it does not say."""
        return (self._rules.crawl_delay(TOKEN) or 0.0) if self._rules is not None else 0.0


def require_robots() -> Any:
    """Return the parser; MissingExtra if it is not installed."""
    try:
        from protego import Protego
    except ImportError as error:
        raise MissingExtra("fetching web pages", "ingest") from error
    return Protego


def _ours(line: str) -> str:
    """Make one agent of all others.

    The parser keeps each rule once for each of its agents: an unbounded amount of memory.
    """
    found = _AGENT.match(line)
    if found is None:
        return line
    agent = found[1].strip().lower()
    # RFC 9309 (2.2.1): the product token is what counts, without a version behind it.
    token = re.match(r"[a-z_-]*", agent)
    if agent == "*" or (token is not None and token[0] == TOKEN):
        return f"User-agent: {TOKEN if agent != '*' else '*'}"
    return f"User-agent: {_NOBODY}"


class Manners:
    """Who may ask which host when, with `delay` seconds after each request; for one event loop."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._hosts: dict[str, tuple[anyio.Lock, list[float]]] = {}

    @asynccontextmanager
    async def turn(self, host: str, delay: float = 0.0) -> AsyncIterator[None]:
        """Wait for a host to be free and rested; the longer of its `delay` and ours counts."""
        import anyio

        lock, rested = self._hosts.setdefault(host, (anyio.Lock(), [0.0]))
        async with lock:
            await anyio.sleep(max(0.0, rested[0] - time.monotonic()))
            try:
                yield
            finally:
                rested[0] = time.monotonic() + max(self._delay, delay)
