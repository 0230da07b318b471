"""Bytes in memory at once: a limit that all answers under way share.

An answer takes room as it is read. Where there is none left, one answer at a time may go beyond
the limit and the others wait, so that something always gets done: at most the limit and one whole
answer are held.
"""

from __future__ import annotations

import threading
from types import TracebackType

from pnyx.models.turns import Line

__all__ = ["Room", "Share"]


class Room:
    """A number of bytes, shared. Safe in several threads and event loops at once.

    Args:
        size: the bytes.

    Attributes:
        held: bytes that are taken now.
        most: the most that were ever taken at once.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.held = self.most = 0
        self._beyond: Share | None = None
        self._line = Line()
        self._lock = threading.Lock()

    def share(self) -> Share:
        """Return what an answer enters (`async with`) while it is in memory."""
        return Share(self)

    def _fits(self, share: Share, count: int) -> bool:
        """Take bytes if they are free, or if this share may go beyond."""
        if self.held + count > self.size and self._beyond is not share:
            if self._beyond is not None:
                return False
            self._beyond = share
        self.held += count
        self.most = max(self.most, self.held)
        share.held += count
        return True

    async def _take(self, share: Share, count: int) -> None:
        with self._lock:
            # Whoever may go beyond waits for nobody: those in line wait for it.
            if (not len(self._line) or self._beyond is share) and self._fits(share, count):
                return
            turn = self._line.join((share, count))
        try:
            while True:
                with self._lock:
                    self._grant()
                    if turn.granted:
                        return
                    turn.renew()
                await turn.wait()
        except BaseException:
            with self._lock:
                self._line.leave(turn)
                self._grant()
            raise

    def _grant(self) -> None:
        while (head := self._line.head()) is not None:
            share, count = head.wanted
            if not self._fits(share, count):
                return
            if not self._line.grant():  # its event loop is no more
                self._free(share)

    def _leave(self, share: Share) -> None:
        with self._lock:
            self._free(share)
            self._grant()

    def _free(self, share: Share) -> None:
        self.held -= share.held
        share.held = 0
        if self._beyond is share:
            self._beyond = None


class Share:
    """The bytes of one answer; given back when it is left."""

    __slots__ = ("_room", "held")

    def __init__(self, room: Room) -> None:
        self._room = room
        self.held = 0

    async def take(self, count: int) -> None:
        """Take so many more bytes, as soon as there is room."""
        await self._room._take(self, count)

    async def __aenter__(self) -> Share:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._room._leave(self)
