"""Asking a chat model behind any OpenAI-compatible endpoint, patiently and without surprises.

Retries are our own (the SDK's are off), so that every wait and every failure is visible. What an
endpoint refuses is learnt from its errors (`pnyx.models.negotiate`). A key is sent to the server
and goes nowhere else: no log, store, repr or error text holds it.
"""

from __future__ import annotations

import contextlib
import os
import re
import urllib.parse
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pnyx.errors import InputError, ModelError, shorten
from pnyx.models.negotiate import Dialect, is_too_long, refused_parameter
from pnyx.models.patience import Patience, retry_after
from pnyx.models.replies import CallFailed, ChatRequest, Message, Reply, printable, read_reply

if TYPE_CHECKING:
    import anyio.lowlevel
    import openai

__all__ = [
    "CallFailed",
    "ChatEndpoint",
    "ChatRequest",
    "Message",
    "Patience",
    "Reply",
    "endpoint_from",
]

_FORMS = "http://HOST:PORT/v1#MODEL or openai:MODEL"
_OPENAI_URL = "https://api.openai.com/v1"
_HOPELESS = {401, 402, 403, 404, 405}
_PASSING = {408, 409, 425, 429}


@dataclass(frozen=True, slots=True)
class _Again:
    """An attempt that failed in a way that may pass.

    `kind`: `http`, `body` (200 but no completion), `connection`, or `unreachable`.
    """

    failed: CallFailed
    kind: str
    retry_after: float | None = None


class ChatEndpoint:
    """A chat model behind an OpenAI-compatible address.

    What the endpoint refuses is remembered for the life of this object. It can be used from any
    event loop; each keeps one pool of connections while requests are under way.

    Attributes:
        on_retry: called with one line before each further attempt, so that a wait can be shown.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None = None,
        *,
        patience: Patience | None = None,
    ) -> None:
        from anyio.lowlevel import RunVar

        self.base_url = base_url.rstrip("/")
        self.model = model
        self.patience = patience or Patience()
        self._retries = 0
        self.on_retry: Callable[[str], None] | None = None
        self._key = api_key
        self._dialect = Dialect()
        self._answered = False
        self._pools: anyio.lowlevel.RunVar[list[Any]] = RunVar("pnyx-chat-pool")

    def __repr__(self) -> str:
        return f"ChatEndpoint({self.base_url!r}, {self.model!r})"

    @property
    def address(self) -> str:
        """The base URL."""
        return self.base_url

    @property
    def retries(self) -> int:
        """Attempts beyond the first of each request, so far."""
        return self._retries

    @property
    def response_format(self) -> str:
        """How the shape of answers is asked for by now: one of `negotiate.FORMATS`."""
        return self._dialect.response_format

    @contextlib.asynccontextmanager
    async def connected(self) -> AsyncIterator[openai.AsyncOpenAI]:
        """Hold the connections of this event loop open; nested and parallel uses share them."""
        pool = self._pools.get(None)
        if pool is None:
            pool = [_client(self.base_url, self._key, self.patience.timeout), 0]
            self._pools.set(pool)
        pool[1] += 1
        try:
            yield pool[0]
        finally:
            pool[1] -= 1
            if pool[1] == 0:
                if self._pools.get(None) is pool:
                    self._pools.set(None)  # type: ignore[arg-type]
                await _close(pool[0])

    async def complete(self, request: ChatRequest) -> Reply | CallFailed:
        """Ask once, however many attempts that takes.

        Returns:
            The reply, or why there is none: `timeout`, `rate_limit`, `server_error`,
            `connection`, `not_json`, `malformed`, `empty`, `too_long` or `rejected`.

        Raises:
            ModelError: the endpoint cannot be used at all: nothing listens there, it refuses the
                key, does not know the model, or has only ever sent something else than replies.
        """
        import anyio

        async with self.connected() as client:
            attempt = 1
            while True:
                outcome = await self._attempt(client, request)
                if not isinstance(outcome, _Again):
                    return outcome
                unreachable = outcome.kind == "unreachable"
                limit = self.patience.connect_attempts if unreachable else self.patience.attempts
                if attempt >= limit:
                    return self._given_up(outcome, attempt)
                self._retries += 1
                if self.on_retry is not None:
                    self.on_retry(f"{outcome.failed.reason} (attempt {attempt} of {limit})")
                await anyio.sleep(self.patience.wait(attempt, outcome.retry_after))
                attempt += 1

    def _given_up(self, last: _Again, attempts: int) -> CallFailed:
        reason = f"{last.failed.reason} ({attempts} attempts)"
        if last.kind == "unreachable":
            raise ModelError(f"{self.base_url} cannot be reached: {reason}; is the server running?")
        if last.kind == "body" and not self._answered:
            raise ModelError(
                f"{self.base_url} does not answer as an OpenAI-compatible endpoint: {reason}; "
                "is the address complete? It often ends in /v1"
            )
        return CallFailed(reason)

    async def _attempt(
        self, client: openai.AsyncOpenAI, request: ChatRequest
    ) -> Reply | CallFailed | _Again:
        """Send a request in the endpoint's dialect, learning from refusals until one is taken."""
        dialect = self._dialect
        while True:
            sent = dialect.parameters(
                max_tokens=request.max_tokens,
                temperature=request.temperature,
                seed=request.seed,
                logprobs=request.logprobs,
            )
            shape = dialect.shape(request.schema, request.schema_name)
            parameters = {**sent, **({"response_format": shape} if shape else {})}
            form = dialect.response_format if request.schema is not None else "text"
            outcome = await self._send(client, request, parameters, form)
            if isinstance(outcome, Reply):
                self._dialect = self._dialect.merged(dialect)
                self._answered = True
            if not isinstance(outcome, _Refused):
                return outcome
            simpler = self._simpler(dialect, outcome, parameters)
            if simpler is None:
                return self._rejected(outcome)
            dialect = simpler

    def _simpler(
        self, dialect: Dialect, refused: _Refused, parameters: Mapping[str, Any]
    ) -> Dialect | None:
        if is_too_long(refused.body):
            return None
        name = refused_parameter(refused.body, parameters)
        if name is not None:
            simpler = dialect.without(name)
            if simpler is not None:
                self._dialect = self._dialect.merged(simpler)
            return simpler
        # Old servers say no more than "Bad Request". Before anything has worked, the answer's
        # shape is the likeliest cause; the guess is remembered only if it turns out right.
        if "response_format" in parameters and not self._answered and refused.status != 404:
            return dialect.without("response_format")
        return None

    def _rejected(self, refused: _Refused) -> CallFailed:
        detail = self._safe(refused.body)
        if refused.status in _HOPELESS:
            raise ModelError(self._hopeless(refused.status, refused.body))
        word = "too_long" if is_too_long(refused.body) else "rejected"
        return CallFailed(f"{word}: HTTP {refused.status}: {detail}")

    async def _send(
        self,
        client: openai.AsyncOpenAI,
        request: ChatRequest,
        parameters: Mapping[str, Any],
        form: str,
    ) -> Reply | CallFailed | _Again | _Refused:
        """Send one HTTP request and sort what comes back."""
        import anyio
        import openai

        messages = [{"role": m.role, "content": printable(m.content)} for m in request.messages]
        create: Any = client.chat.completions.with_raw_response.create
        try:
            with anyio.fail_after(self.patience.timeout):
                response = await create(
                    model=self.model,
                    messages=messages,
                    extra_headers=self._withheld(),
                    **parameters,
                )
        except (TimeoutError, openai.APITimeoutError) as error:
            return self._timed_out(error)
        except openai.APIStatusError as error:
            return self._bad_status(error)
        except openai.APIConnectionError as error:
            return self._not_connected(error)
        outcome = read_reply(response.http_response.content, asked=self.model, response_format=form)
        if isinstance(outcome, CallFailed):
            outcome = CallFailed(self._safe(outcome.reason))
            # An empty reply was paid for and would come again: it is not retried.
            return outcome if outcome.reason.startswith("empty") else _Again(outcome, "body")
        return outcome

    def _withheld(self) -> dict[str, Any]:
        """Return the headers that the SDK would add by itself but that are not for this server."""
        import openai

        names = [] if self._key else ["Authorization"]
        if self.base_url != _OPENAI_URL:  # the SDK takes these from the environment
            names += ["OpenAI-Organization", "OpenAI-Project"]
        return dict.fromkeys(names, openai.Omit())

    def _timed_out(self, error: Exception) -> _Again:
        failed = CallFailed(f"timeout: no complete reply within {self.patience.timeout:g} s")
        cause = type(error.__cause__).__name__
        return _Again(failed, "unreachable" if cause == "ConnectTimeout" else "timeout")

    def _not_connected(self, error: openai.APIConnectionError) -> _Again:
        cause = error.__cause__
        detail = self._safe(str(cause or error)) or type(cause).__name__
        kind = "unreachable" if type(cause).__name__ == "ConnectError" else "connection"
        return _Again(CallFailed(f"connection: {detail}"), kind)

    def _bad_status(self, error: openai.APIStatusError) -> CallFailed | _Again | _Refused:
        status = error.status_code
        body = error.response.text
        if status == 429 and "insufficient_quota" in body:
            raise ModelError(self._hopeless(status, body))
        if status in (400, 404, 415, 422, 501):
            return _Refused(status, body)
        if status in _HOPELESS:
            raise ModelError(self._hopeless(status, body))
        failed = CallFailed(
            f"{'rate_limit' if status == 429 else 'server_error'}: HTTP {status}: "
            f"{self._safe(body)}"
        )
        if status in _PASSING or status >= 500:
            return _Again(failed, "http", retry_after(error.response.headers))
        return CallFailed(f"rejected: HTTP {status}: {self._safe(body)}")

    def _hopeless(self, status: int, body: str) -> str:
        meaning = {
            401: "the key is refused or missing (set PNYX_API_KEY)",
            402: "payment is required",
            403: "access is forbidden",
            404: f"there is no model {shorten(self.model)!r}, or the address is incomplete "
            "(it often ends in /v1)",
            405: "the address takes no chat requests (it often ends in /v1)",
            429: "the account's quota is used up",
        }[status]
        return f"{self.base_url} answers HTTP {status}: {meaning}: {self._safe(body)}"

    def _safe(self, text: str) -> str:
        """Return one short line of a server's text, without the key should the server echo it."""
        if self._key:
            text = text.replace(self._key, "***")
        text = re.sub(r"<[^>]{0,200}>|\s+", " ", text) if text.lstrip()[:1] == "<" else text
        return shorten(" ".join(text.split()), 160)


@dataclass(frozen=True, slots=True)
class _Refused:
    """The server does not take the request as it is worded."""

    status: int
    body: str


def _client(base_url: str, key: str | None, timeout: float) -> openai.AsyncOpenAI:
    import ssl

    import openai

    # Loading the certificates takes 70 ms, wasted on a plain address. A context without any
    # trusts nobody, so a redirect to https fails rather than going through unchecked.
    plain = base_url.startswith("http:")
    verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else True
    return openai.AsyncOpenAI(
        base_url=base_url,
        api_key=key or "none",
        max_retries=0,
        timeout=timeout,
        http_client=openai.DefaultAsyncHttpxClient(
            verify=verify, trust_env=not _is_loopback(base_url)
        ),
    )


def _is_loopback(base_url: str) -> bool:
    host = urllib.parse.urlsplit(base_url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


async def _close(client: openai.AsyncOpenAI) -> None:
    import anyio

    with anyio.CancelScope(shield=True), anyio.move_on_after(2):
        await client.close()


def endpoint_from(spec: str, *, patience: Patience | None = None) -> ChatEndpoint:
    """Make an endpoint from what `--llm` says.

    Args:
        spec: `http://HOST:PORT/v1#MODEL` (or https) for any OpenAI-compatible server, or
            `openai:MODEL`. The key is read from PNYX_API_KEY, for `openai:` also from
            OPENAI_API_KEY.
        patience: time limits and retries.

    Raises:
        InputError: neither form, or `openai:` without a key.
    """
    key = _key("PNYX_API_KEY")
    kind, _, rest = spec.partition(":")
    if spec == "local" or kind == "gguf":
        raise InputError(f"--llm {shorten(spec)}: local models are not in this version; {_FORMS}")
    if kind == "openai" and rest:
        key = key or _key("OPENAI_API_KEY")
        if key is None:
            raise InputError(f"--llm {shorten(spec)} needs a key in PNYX_API_KEY or OPENAI_API_KEY")
        return ChatEndpoint(_OPENAI_URL, rest, key, patience=patience)
    base_url, _, model = spec.partition("#")
    if kind in ("http", "https") and model and _is_address(base_url):
        return ChatEndpoint(base_url, urllib.parse.unquote(model), key, patience=patience)
    shown = re.sub(r"//[^/@]*@", "//***@", spec)
    raise InputError(f"--llm: found {shorten(shown)!r}, expected {_FORMS}")


def _key(variable: str) -> str | None:
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise InputError(f"{variable} holds characters that cannot be part of a key")
    return key or None


def _is_address(url: str) -> bool:
    """Say whether an address has a host and no user, password, query or bad port."""
    try:
        parts = urllib.parse.urlsplit(url)
        return (
            bool(parts.hostname)
            and parts.username is None
            and not parts.query
            and (parts.port is None or parts.port > 0)
        )
    except ValueError:
        return False
