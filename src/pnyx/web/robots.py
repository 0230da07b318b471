"""What a site's robots.txt allows (RFC 9309), read by Protego."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pnyx.errors import MissingExtra

if TYPE_CHECKING:
    from protego import Protego

__all__ = ["ROBOTS_BYTES", "TOKEN", "Rules", "require_robots"]

TOKEN = "pnyx"  # noqa: S105 - a product token (RFC 9309, 2.2.1)
"""What a robots.txt calls us."""

ROBOTS_BYTES = 500 * 1024
"""How much of a robots.txt is read: what RFC 9309 (2.5) asks for at least."""

_AGENT = re.compile(r"\s*user[- \t]*agent(?:[ \t]*:|[ \t])[ \t]*([^#]*)", re.IGNORECASE)
_NOBODY = "nobody-else"


class Rules:
    """What one robots.txt says to us.

    Args:
        text: the file; None allows everything.
    """

    def __init__(self, text: str | None) -> None:
        self._rules: Protego | None = None
        if text is not None:
            self._rules = require_robots().parse("\n".join(map(_ours, text.splitlines())))

    def allow(self, url: str) -> bool:
        """Say whether an address may be fetched."""
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
    """Return the parser.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        from protego import Protego
    except ImportError as error:
        raise MissingExtra("fetching web pages", "ingest") from error
    return Protego


def _ours(line: str) -> str:
    """Make one agent of all others.

    The parser keeps each rule once for each agent that it is for: with thousands of agents above
    thousands of rules, an unbounded amount of memory.
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
