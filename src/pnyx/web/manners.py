"""One request to a host at a time, and a rest after each."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import anyio

__all__ = ["Manners"]


class Manners:
    """Who may ask which host when; for one event loop.

    Args:
        delay: seconds between the end of a request and the next one to the same host.
    """

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._hosts: dict[str, tuple[anyio.Lock, list[float]]] = {}

    @asynccontextmanager
    async def turn(self, host: str, delay: float = 0.0) -> AsyncIterator[None]:
        """Wait for a host to be free and rested; it is ours meanwhile.

        Args:
            host: by its name.
            delay: seconds that the host itself asks for; the longer of both counts.
        """
        import anyio

        lock, rested = self._hosts.setdefault(host, (anyio.Lock(), [0.0]))
        async with lock:
            await anyio.sleep(max(0.0, rested[0] - time.monotonic()))
            try:
                yield
            finally:
                rested[0] = time.monotonic() + max(self._delay, delay)
