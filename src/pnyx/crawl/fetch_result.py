"""The outcome of fetching a page: its text, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

TEXT = "text"
FETCHED = "fetched"
"""The body is there, and not read yet."""

OUTCOMES: dict[str, str] = {
    TEXT: "its text is there",
    "no_text": "it was fetched, and holds no text",
    "unreadable": "it was fetched, and its text could not be taken out of it (in time)",
    "robots": "the site's robots.txt forbids it",
    "robots_unknown": "the site's robots.txt could not be read, which forbids all (RFC 9309)",
    "private": "it is at an address that is not public",
    "port": "it is at another port than 80 and 443",
    "bad_url": "it is no http or https address, or has a user in it",
    "dns": "its host has no address",
    "unreachable": "no connection came about",
    "connection": "the connection broke",
    "timeout": "it took too long",
    "too_large": "it is too large",
    "redirects": "it leads on too often, in a circle, or nowhere",
    "http_error": "the server answered with an error",
    "pdf": "it is a PDF file, which is left out",
    "content_type": "it is no page of text",
    "encoding": "its compression is unknown or damaged",
}
"""Outcome -> what it means; in the manifest, pages are counted by these."""

PASSING = frozenset({"robots_unknown", "dns", "unreachable", "connection", "timeout"})
"""Outcomes that may be others tomorrow; so may an `http_error` of `Fetched.passing`."""

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
        """Whether it may be another tomorrow."""
        return self.outcome in PASSING or (
            self.outcome == "http_error" and self.status in _PASSING_STATUS
        )


def now() -> str:
    """Return the time, UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")
