"""What an endpoint's answer means: a reply, a failure, a refusal; how long it is waited for."""

from __future__ import annotations

import email.utils
import random
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pnyx.errors import ModelError, shorten
from pnyx.models.replies import CallFailed, Reply, read_reply
from pnyx.models.secrets import Secrets
from pnyx.models.wire import Answer, NoAnswer

__all__ = ["Again", "Patience", "Refused", "Sorter", "retry_after"]

_HOPELESS = {401, 402, 403, 404, 405}
_PASSING = {408, 409, 425, 429}
_TOO_MUCH = {429, 502, 503, 504, 529}


@dataclass(frozen=True, slots=True)
class Patience:
    """How long an endpoint is waited for.

    `timeout`: seconds for one attempt, from connecting to the last byte. `connect_attempts` while
    nothing even listens. `first_wait`: seconds before the second attempt; doubles from there, with
    jitter, up to `longest_wait`, whatever Retry-After says. `silence`: seconds without any sign of
    life after which the user is told.
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


@dataclass(frozen=True, slots=True)
class Again:
    """An attempt that failed in a way that may pass.

    `kind`: `http`, `body` (200 but no completion), `connection`, `timeout` or `unreachable`.
    `retry_after`: seconds that the server asks to wait. `overloaded`: whether it is a sign of too
    many requests.
    """

    failed: CallFailed
    kind: str
    retry_after: float | None = None
    overloaded: bool = True

    @property
    def maybe_billed(self) -> bool:
        """Whether the model may have worked on it."""
        return self.kind in ("body", "connection", "timeout")


@dataclass(frozen=True, slots=True)
class Refused:
    """The server does not take the request as it is worded."""

    status: int
    body: str


@dataclass(frozen=True, slots=True)
class Sorter:
    """Sorts what one endpoint sends; `secrets` are taken out of whatever is shown or kept."""

    base_url: str
    model: str
    secrets: Secrets

    def sort(self, answer: Answer | NoAnswer, form: str) -> Reply | CallFailed | Again | Refused:
        """Return what came back to a request; ModelError if the endpoint is of no use."""
        if isinstance(answer, NoAnswer) or answer.status != 200:
            return self.trouble(answer)
        hide = self.secrets.hide_in_reply
        outcome = read_reply(answer.body, asked=self.model, response_format=form, hide=hide)
        if isinstance(outcome, Reply):
            return self._unkeyed(outcome)
        # Read again: the reason quotes the body, cut, and what is left of a key is not found.
        body = self.secrets.hide_bytes(answer.body)
        if body is not answer.body:
            again = read_reply(body, asked=self.model, response_format=form)
            outcome = again if isinstance(again, CallFailed) else CallFailed("malformed: the key")
        outcome = CallFailed(self.safe(outcome.reason))
        # An empty reply was paid for and would come again: it is not retried.
        if outcome.reason.startswith("empty"):
            return outcome
        return Again(outcome, "body", overloaded=False)

    def _unkeyed(self, reply: Reply) -> Reply:
        """Return a reply without its tokens, should they spell the key."""
        if reply.tokens is None:
            return reply
        said = "".join(token.text for token in reply.tokens)
        rest = "\n".join(text for token in reply.tokens for text, _ in token.alternatives)
        spelt = any(self.secrets.hide_in_reply(text) != text for text in (said, rest))
        return replace(reply, tokens=None) if spelt else reply

    def trouble(self, answer: Answer | NoAnswer) -> CallFailed | Again | Refused:
        """Return the outcome of a request that was not answered with HTTP 200."""
        if isinstance(answer, NoAnswer):
            failed = CallFailed(self.safe(answer.detail))
            if answer.kind == "too_big":
                return Again(failed, "body", overloaded=False)
            return Again(failed, answer.kind)
        return self._status(answer)

    def _status(self, answer: Answer) -> CallFailed | Again | Refused:
        status, body = answer.status, answer.text
        if status == 429 and "insufficient_quota" in body:
            raise ModelError(self.hopeless(status, body))
        if status in (400, 404, 415, 422, 501):
            return Refused(status, body)
        if status in _HOPELESS:
            raise ModelError(self.hopeless(status, body))
        if 300 <= status < 400:
            to = self.safe(answer.headers.get("location", "")) or "elsewhere"
            raise ModelError(
                f"{self.base_url} answers HTTP {status} and points to {to}; give the address that "
                "answers itself: requests and keys are not sent on"
            )
        word = "rate_limit" if status == 429 else "server_error"
        if status in _PASSING or status >= 500:
            failed = CallFailed(f"{word}: HTTP {status}: {self.safe(body)}")
            wait = retry_after(answer.headers)
            return Again(failed, "http", wait, overloaded=status in _TOO_MUCH)
        if status < 400:
            return Again(CallFailed(f"malformed: HTTP {status}"), "body", overloaded=False)
        return CallFailed(f"rejected: HTTP {status}: {self.safe(body)}")

    def rejected(self, refused: Refused, *, too_long: bool) -> CallFailed:
        """Return the failure of a request that no dialect made acceptable."""
        if refused.status in _HOPELESS:
            raise ModelError(self.hopeless(refused.status, refused.body))
        word = "too_long" if too_long else "rejected"
        return CallFailed(f"{word}: HTTP {refused.status}: {self.safe(refused.body)}")

    def hopeless(self, status: int, body: str) -> str:
        """Return the line for an endpoint that is of no use."""
        meaning = {
            401: "the key is refused or missing (set PNYX_API_KEY)",
            402: "payment is required",
            403: "access is forbidden",
            404: f"there is no model {shorten(self.model)!r}, or the address is incomplete "
            "(it often ends in /v1)",
            405: "the address takes no such requests (it often ends in /v1)",
            429: "the account's quota is used up",
        }[status]
        return f"{self.base_url} answers HTTP {status}: {meaning}: {self.safe(body)}"

    def safe(self, text: str) -> str:
        """Return one short line of a server's text, without the key should the server echo it."""
        text = self.secrets.hide(text)[:4000]
        text = re.sub(r"<[^>]{0,200}>|\s+", " ", text) if text.lstrip()[:1] == "<" else text
        return shorten(" ".join(text.split()), 160)
