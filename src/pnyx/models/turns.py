"""Waiting in line across event loops and threads."""

from __future__ import annotations

import math
import threading
from collections import deque
from typing import Any

__all__ = ["Line", "Turn"]


class Turn:
    """A place in a line. Its task waits on it; any thread may call it."""

    __slots__ = ("_event", "_native", "_thread", "called", "granted", "left", "wanted")

    def __init__(self, wanted: Any = None) -> None:
        from anyio.lowlevel import current_token

        token: Any = current_token()
        self._native = getattr(token, "native_token", token)
        self._thread = threading.get_ident()
        self.wanted = wanted
        self.granted = False
        self.left = False
        self.renew()

    def renew(self) -> None:
        """Make it possible to wait again."""
        import anyio

        self._event = anyio.Event()
        self.called = False

    async def wait(self, seconds: float = math.inf) -> None:
        """Wait to be called, at most for so many seconds."""
        import anyio

        if seconds == math.inf:
            await self._event.wait()
        else:
            with anyio.move_on_after(seconds):
                await self._event.wait()

    def call(self) -> bool:
        """Wake the waiting task; False where its event loop is no more."""
        if self.called:
            return True
        self.called = True
        try:
            if hasattr(self._native, "run_sync_soon"):  # trio
                self._native.run_sync_soon(self._event.set)
            elif self._native.is_closed():
                return False
            elif self._thread == threading.get_ident():
                self._event.set()
            else:
                self._native.call_soon_threadsafe(self._event.set)
        except RuntimeError:  # closed in between, or (trio) finished
            return False
        return True


class Line:
    """Turns in order of arrival. Not locked: its owner holds a lock around each use."""

    def __init__(self) -> None:
        self._turns: deque[Turn] = deque()
        self._waiting = 0

    def __len__(self) -> int:
        return self._waiting

    def join(self, wanted: Any = None) -> Turn:
        """Go to the end of the line."""
        turn = Turn(wanted)
        self._turns.append(turn)
        self._waiting += 1
        return turn

    def head(self) -> Turn | None:
        """Return who is next, if anybody waits."""
        while self._turns and self._turns[0].left:
            self._turns.popleft()
        return self._turns[0] if self._turns else None

    def grant(self) -> bool:
        """Let the head of the line go ahead; False where nobody is there to take it."""
        turn = self.head()
        if turn is None:
            return False
        self._turns.popleft()
        self._waiting -= 1
        turn.granted = True
        return turn.call()

    def call_all(self) -> None:
        """Have all who wait look again."""
        for turn in self._turns:
            if not turn.left:
                turn.call()

    def leave(self, turn: Turn) -> None:
        """Take a turn that was not granted out of the line."""
        if not turn.left and not turn.granted:
            turn.left = True
            self._waiting -= 1
            self.head()
