"""Classify an endpoint's answer: a reply, a temporary failure, or a refusal."""

from __future__ import annotations

import email.utils
import random
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pnyx.core.errors import ModelError, shorten
from pnyx.models.chat.completion import error_in, read_reply, words_of_error
from pnyx.models.chat.types import CallFailed, Reply
from pnyx.models.http.addresses import Secrets
from pnyx.models.http.transport import HttpResponse, NoResponse

_TOO_LONG = re.compile(
    r"context[ _](length|window|size)|maximum context|too (long|many tokens|large)"
    r"|exceeds? the (model|limit|context)|reduce the length",
    re.IGNORECASE,
)

_LOADING = re.compile(
    r"loading (?:the )?model|model.{0,80}\b(?:is|still) (?:currently |being )?load(?:ing|ed)\b"
    r"|currently loading|warming up|is starting|not (?:yet )?(?:fully )?loaded",
    re.IGNORECASE | re.DOTALL,
)
_FAILED_GENERATION = re.compile(r"json_validate_failed|failed_generation", re.IGNORECASE)

_HOPELESS = {401, 402}
_REFUSED = {400, 403, 404, 405, 406, 415, 422, 501}
_PASSING = {408, 409, 425, 429}
_TOO_MUCH = {429, 502, 503, 504, 529}


def is_too_long(body: str) -> bool:
    """Whether an error means that the request exceeds the model's context window."""
    return _TOO_LONG.search(body) is not None


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Time limits and retries of an endpoint, in seconds."""

    timeout: float = 120.0  # of one attempt, up to the last byte
    attempts: int = 6
    connect_attempts: int = 3  # while nothing listens at the address
    first_wait: float = 0.5  # doubles, with jitter
    longest_wait: float = 60.0  # even if Retry-After is longer
    silence: float = 15.0  # without any data, until the user is told
    loading: float = 300.0  # while the server reports that it loads the model

    def wait(self, attempt: int, retry_after: float | None) -> float:
        """Return the seconds to wait after the failure of the 1-based `attempt`."""
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
        if seconds < 0:  # a date in the past, or a wrong clock
            return 0.0
    return None


@dataclass(frozen=True, slots=True)
class Retryable:
    """An attempt with a temporary failure."""

    failed: CallFailed
    kind: str  # `http`, `body`, `connection`, `timeout`, `unreachable` or `loading`
    retry_after: float | None = None  # seconds that the server asks to wait
    overloaded: bool = True  # a sign of too many requests
    status: int = 0  # of an HTTP error
    body: str = ""  # of an HTTP error

    @property
    def maybe_billed(self) -> bool:
        """Whether the model may have worked on it."""
        return self.kind in ("body", "connection", "timeout")


@dataclass(frozen=True, slots=True)
class RefusedRequest:
    """The server does not accept the request as it is worded."""

    status: int
    body: str


@dataclass(frozen=True, slots=True)
class ResponseClassifier:
    """Classifies the responses of one endpoint; `secrets` are removed from all displayed text."""

    base_url: str
    model: str
    secrets: Secrets

    def sort(
        self, answer: HttpResponse | NoResponse, form: str
    ) -> Reply | CallFailed | Retryable | RefusedRequest:
        """Return the outcome of a response; ModelError if the endpoint is unusable."""
        if isinstance(answer, NoResponse) or answer.status != 200:
            return self.trouble(answer)
        hide = self.secrets.hide_in_reply
        outcome = read_reply(answer.body, model=self.model, response_format=form, hide=hide)
        if isinstance(outcome, Reply):
            return self._unkeyed(outcome)
        # Read again: the reason quotes a shortened body, in which a partial key cannot be detected.
        body = self.secrets.hide_bytes(answer.body)
        if body is not answer.body:
            again = read_reply(body, model=self.model, response_format=form)
            outcome = again if isinstance(again, CallFailed) else CallFailed("malformed: the key")
        if (error := error_in(body)) is not None:
            status, words = error
            return self._status(HttpResponse(status, answer.headers, words.encode()))
        outcome = CallFailed(self.safe(outcome.reason))
        # An empty reply was paid for and would be repeated: it is not retried.
        if outcome.reason.startswith(("empty", "only_thinking")):
            return outcome
        return Retryable(outcome, "body", overloaded=False)

    def _unkeyed(self, reply: Reply) -> Reply:
        """Return a reply without its tokens if they spell the key."""
        if reply.tokens is None:
            return reply
        written = "".join(token.text for token in reply.tokens)
        rest = "\n".join(text for token in reply.tokens for text, _ in token.alternatives)
        spelt = any(self.secrets.hide_in_reply(text) != text for text in (written, rest))
        return replace(reply, tokens=None) if spelt else reply

    def trouble(self, answer: HttpResponse | NoResponse) -> CallFailed | Retryable | RefusedRequest:
        """Return the outcome of a request that was not answered with HTTP 200."""
        if isinstance(answer, NoResponse):
            failed = CallFailed(self.safe(answer.detail))
            if answer.kind == "too_big":
                return Retryable(failed, "body", overloaded=False)
            return Retryable(failed, answer.kind)
        return self._status(answer)

    def _status(self, answer: HttpResponse) -> CallFailed | Retryable | RefusedRequest:
        status, body = answer.status, answer.text
        if status in _HOPELESS or (status == 429 and "insufficient_quota" in body):
            raise ModelError(self.hopeless(status, body))
        if _LOADING.search(body) and status in (*_PASSING, 400, 404, *range(500, 600)):
            failed = CallFailed(f"server_error: HTTP {status}: {self.safe(body)}")
            wait = retry_after(answer.headers)
            return Retryable(failed, "loading", wait, False, status, body)
        if _FAILED_GENERATION.search(body):
            failed = CallFailed(f"server_error: HTTP {status}: {self.safe(body)}")
            return Retryable(failed, "http", None, False, status)
        if status in _REFUSED:
            return RefusedRequest(status, body)
        if 300 <= status < 400:
            to = self.safe(answer.headers.get("location", "")) or "elsewhere"
            raise ModelError(
                f"{self.base_url} answers HTTP {status} and points to {to}; give the address that "
                "answers itself: redirects are not followed"
            )
        word = "rate_limit" if status == 429 else "server_error"
        if status in _PASSING or status >= 500:
            failed = CallFailed(f"{word}: HTTP {status}: {self.safe(body)}")
            wait = retry_after(answer.headers)
            return Retryable(failed, "http", wait, status in _TOO_MUCH, status, body)
        if status < 400:
            return Retryable(CallFailed(f"malformed: HTTP {status}"), "body", overloaded=False)
        return CallFailed(f"rejected: HTTP {status}: {self.safe(body)}")

    def rejected(self, refused: RefusedRequest, *, too_long: bool) -> CallFailed:
        """Return the failure of a request that no dialect made acceptable."""
        word = "too_long" if too_long else "rejected"
        return CallFailed(f"{word}: HTTP {refused.status}: {self.safe(refused.body)}")

    def hopeless(self, status: int, body: str) -> str:
        """Return the message about an unusable endpoint."""
        meaning = {
            401: "the key is refused or missing (set PNYX_API_KEY)",
            402: "payment is required",
            403: "access is forbidden",
            404: f"there is no model {shorten(self.model)!r}, or the address is incomplete "
            "(it often ends in /v1)",
            405: "the address takes no such requests (it often ends in /v1)",
            429: "the account's quota is used up",
        }.get(status, "every request is refused, even the plainest")
        return f"{self.base_url} answers HTTP {status}: {meaning}: {self.safe(body)}"

    def safe(self, text: str) -> str:
        """Return a server's text as one short line, without the key if the server echoes it."""
        text = words_of_error(self.secrets.hide(text)[:100_000])[:4000]
        text = re.sub(r"<[^>]{0,200}>|\s+", " ", text) if text.lstrip()[:1] == "<" else text
        return shorten(" ".join(text.split()), 160)
