"""How long an endpoint is waited for, and what it asks for itself."""

from __future__ import annotations

import email.utils
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Patience", "retry_after"]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long an endpoint is waited for.

    Attributes:
        timeout: seconds for one attempt, from connecting to the last byte.
        attempts: attempts for one request.
        connect_attempts: attempts while nothing even listens.
        first_wait: seconds before the second attempt; doubles from there, with jitter.
        longest_wait: the most seconds ever waited between attempts, whatever Retry-After says.
        silence: seconds without any sign of life after which a first one is given to the user.
    """

    timeout: float = 120.0
    attempts: int = 6
    connect_attempts: int = 3
    first_wait: float = 0.5
    longest_wait: float = 60.0
    silence: float = 15.0

    def wait(self, attempt: int, retry_after: float | None) -> float:
        """Return the seconds to wait after the 1-based `attempt` failed."""
        if retry_after is not None:
            return min(retry_after, self.longest_wait)
        ceiling = min(self.first_wait * 2.0 ** (attempt - 1), self.longest_wait)
        return ceiling * random.uniform(0.5, 1.0)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait: `Retry-After` as seconds or as a date."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) * scale
        except ValueError:
            try:
                seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
            except (ValueError, OverflowError):
                continue
        if 0 <= seconds < float("inf"):
            return seconds
        if seconds < 0:  # a date that has passed, or a clock that is off
            return 0.0
    return None
