"""What an endpoint's answer means, and what it accepts, learnt from its own errors."""

from __future__ import annotations

import email.utils
import json
import random
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pnyx.errors import ModelError, shorten
from pnyx.models.chat.types import CallFailed, ChatRequest, Reply, read_reply
from pnyx.models.http.addresses import Secrets
from pnyx.models.http.transport import HttpResponse, NoResponse

FORMATS = ("json_schema", "json_object", "text")
"""How an answer's shape is asked for, strongest first."""

LIMITS = ("max_tokens", "max_completion_tokens", None)

_REFUSAL = re.compile(
    r"unsupported|not supported|n't support|not support|unknown|unrecogni[sz]ed|unexpected"
    r"|not permitted|not allowed|forbidden|invalid|not implemented|unavailable|only the default"
    r"|must be|cannot be|deprecated",
    re.IGNORECASE,
)
_FORMAT_WORDS = re.compile(
    r"response_format|json_schema|json_object|structured[ _]output|guided|grammar", re.IGNORECASE
)
_TOO_LONG = re.compile(
    r"context[ _](length|window|size)|maximum context|too (long|many tokens|large)"
    r"|exceeds? the (model|limit|context)|reduce the length",
    re.IGNORECASE,
)

_HOPELESS = {401, 402, 403, 404, 405}
_PASSING = {408, 409, 425, 429}
_TOO_MUCH = {429, 502, 503, 504, 529}


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way to word a request."""

    form: int = 0  # indexes `FORMATS`
    limit: int = 0  # indexes the names of the output limit; the last is none
    dropped: frozenset[str] = frozenset()  # parameters that the server refused

    @property
    def response_format(self) -> str:
        """Name of the way in which the answer's shape is asked for."""
        return FORMATS[self.form]

    @property
    def limits_output(self) -> bool:
        """Whether the length of a reply is limited at all."""
        return LIMITS[self.limit] is not None

    def parameters(self, request: ChatRequest) -> dict[str, Any]:
        """Return what is sent beside model and messages, by the names that the server knows."""
        wanted: dict[str, Any] = {"temperature": request.temperature, "seed": request.seed}
        if request.logprobs and not self.dropped & {"logprobs", "top_logprobs"}:
            wanted |= {"logprobs": True, "top_logprobs": request.logprobs}
        if (limit := LIMITS[self.limit]) is not None:
            wanted[limit] = request.max_tokens
        if request.schema is not None and self.response_format != "text":
            wanted["response_format"] = {"type": self.response_format}
            if self.response_format == "json_schema":
                named = {"name": request.schema_name, "schema": dict(request.schema)}
                wanted["response_format"]["json_schema"] = {**named, "strict": True}
        return {k: v for k, v in wanted.items() if v is not None and k not in self.dropped}

    def without(self, parameter: str) -> Dialect | None:
        """Return the next dialect after a refusal of `parameter`, or None where there is none."""
        if parameter == "response_format":
            return None if self.response_format == "text" else replace(self, form=self.form + 1)
        if parameter in LIMITS:
            last = self.limit + 1 == len(LIMITS)
            return None if last else replace(self, limit=self.limit + 1)
        return replace(self, dropped=self.dropped | {parameter})

    def merged(self, other: Dialect) -> Dialect:
        """Return the dialect that heeds the refusals that both have met."""
        form, limit = max(self.form, other.form), max(self.limit, other.limit)
        return Dialect(form, limit, self.dropped | other.dropped)


def refused_parameter(body: str, sent: Mapping[str, Any]) -> str | None:
    """Return which of the `sent` parameters an error's body names as refused, or None."""
    named = _named_parameter(body)
    if named:
        parts = re.split(r"[./\[\]]", named)
        return next((name for name in sent if name in parts), None)
    if "response_format" in sent and _FORMAT_WORDS.search(body):
        return "response_format"
    if not _REFUSAL.search(body):
        return None
    return next((name for name in sent if re.search(rf"\b{name}\b", body)), None)


def _named_parameter(body: str) -> str | None:
    """Read the parameter out of OpenAI's `error.param` or FastAPI's `detail[0].loc`."""
    try:
        value = json.loads(body)
        error = value.get("error", value)
        if isinstance(error, dict) and isinstance(error.get("param"), str):
            return str(error["param"])
        return "/".join(str(part) for part in value["detail"][0]["loc"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def is_too_long(body: str) -> bool:
    """Whether an error means that the request does not fit the model's window."""
    return _TOO_LONG.search(body) is not None


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long an endpoint is waited for, in seconds."""

    timeout: float = 120.0  # of one attempt, to the last byte
    attempts: int = 6
    connect_attempts: int = 3  # while nothing even listens
    first_wait: float = 0.5  # doubles, with jitter
    longest_wait: float = 60.0  # whatever Retry-After says
    silence: float = 15.0  # without a sign of life until the user is told

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
class Retryable:
    """An attempt that failed in a way that may pass."""

    failed: CallFailed
    kind: str  # `http`, `body`, `connection`, `timeout` or `unreachable`
    retry_after: float | None = None  # seconds that the server asks to wait
    overloaded: bool = True  # a sign of too many requests

    @property
    def maybe_billed(self) -> bool:
        """Whether the model may have worked on it."""
        return self.kind in ("body", "connection", "timeout")


@dataclass(frozen=True, slots=True)
class RefusedRequest:
    """The server does not take the request as it is worded."""

    status: int
    body: str


@dataclass(frozen=True, slots=True)
class ResponseClassifier:
    """Sorts what one endpoint sends; `secrets` are taken out of whatever is shown or kept."""

    base_url: str
    model: str
    secrets: Secrets

    def sort(
        self, answer: HttpResponse | NoResponse, form: str
    ) -> Reply | CallFailed | Retryable | RefusedRequest:
        """Return what came back to a request; ModelError if the endpoint is of no use."""
        if isinstance(answer, NoResponse) or answer.status != 200:
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
        return Retryable(outcome, "body", overloaded=False)

    def _unkeyed(self, reply: Reply) -> Reply:
        """Return a reply without its tokens, should they spell the key."""
        if reply.tokens is None:
            return reply
        said = "".join(token.text for token in reply.tokens)
        rest = "\n".join(text for token in reply.tokens for text, _ in token.alternatives)
        spelt = any(self.secrets.hide_in_reply(text) != text for text in (said, rest))
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
        if status == 429 and "insufficient_quota" in body:
            raise ModelError(self.hopeless(status, body))
        if status in (400, 404, 415, 422, 501):
            return RefusedRequest(status, body)
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
            return Retryable(failed, "http", wait, overloaded=status in _TOO_MUCH)
        if status < 400:
            return Retryable(CallFailed(f"malformed: HTTP {status}"), "body", overloaded=False)
        return CallFailed(f"rejected: HTTP {status}: {self.safe(body)}")

    def rejected(self, refused: RefusedRequest, *, too_long: bool) -> CallFailed:
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
