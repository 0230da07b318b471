"""The outcome of fetching a page: its text, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

TEXT = "text"
FETCHED = "fetched"
"""The body is stored but not read yet."""

OUTCOMES: dict[str, str] = {
    TEXT: "its text is there",
    "no_text": "it was fetched, but contains no text",
    "unreadable": "it was fetched, but its text could not be extracted (in time)",
    "robots": "the site's robots.txt forbids it",
    "robots_unknown": "the site's robots.txt could not be read, which forbids everything (RFC "
    "9309)",
    "private": "it is at an address that is not public",
    "port": "its port is not 80 or 443",
    "bad_url": "it is not an http or https address, or it contains a user name",
    "dns": "its host has no address",
    "unreachable": "no connection could be made",
    "connection": "the connection broke",
    "timeout": "it took too long",
    "too_large": "it is too large",
    "redirects": "it redirects too often, in a circle, or nowhere",
    "http_error": "the server answered with an error",
    "pdf": "it is a PDF file, which is left out",
    "content_type": "it is not a page of text",
    "encoding": "its compression is unknown or damaged",
}
"""Meaning of each outcome; the manifest counts pages by outcome."""

PASSING = frozenset({"robots_unknown", "dns", "unreachable", "connection", "timeout"})
"""Transient outcomes; so is an `http_error` with `Fetched.passing`."""

_PASSING_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})


class NotFetchedError(Exception):
    """Why a page is not fetched: one of `OUTCOMES`, and a few words of detail."""

    def __init__(self, outcome: str, detail: str = "", status: int | None = None) -> None:
        super().__init__(f"{outcome}: {detail}")
        self.outcome, self.detail, self.status = outcome, detail, status


@dataclass(frozen=True, slots=True)
class Fetched:
    """The outcome of one address."""

    url: str  # as asked for
    outcome: str  # one of `OUTCOMES` or `FETCHED`
    detail: str = ""
    final_url: str = ""  # where the last redirect led
    status: int | None = None  # of the last answer
    content_type: str = ""
    retrieved_at: str = ""  # UTC, ISO 8601
    body: bytes = b""  # decompressed
    title: str = ""
    text: str = ""  # empty unless the outcome is `TEXT`

    @property
    def passing(self) -> bool:
        """Whether the outcome may be transient."""
        return self.outcome in PASSING or (
            self.outcome == "http_error" and self.status in _PASSING_STATUS
        )


def now() -> str:
    """Return the time, UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")
