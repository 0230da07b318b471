"""Chat models by what `--llm` says of them, and asking one behind an OpenAI-compatible endpoint."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from pnyx.errors import ModelError
from pnyx.models.chat.ledger import BudgetReached, Ledger, Reservation
from pnyx.models.chat.types import CallFailed, ChatRequest, Message, Reply, printable
from pnyx.models.http.endpoint import Endpoint
from pnyx.models.http.responses import (
    Dialect,
    RefusedRequest,
    Retryable,
    RetryPolicy,
    is_too_long,
    refused_parameter,
)
from pnyx.models.http.transport import HttpResponse, HttpTransport

_LEAST_GIVEN_UP = 20
_SILENT_TIMEOUTS, _LEAST_SILENCE = 3, 60.0
OPENAI_URL = "https://api.openai.com/v1"
_TOKENIZED = 50_000
"""Characters whose tokens are counted at once."""
_RESUMES = "what was answered is kept, and the same command resumes"


class ChatEndpoint(Endpoint):
    """A chat model behind an OpenAI-compatible address (up to and without `/chat/completions`).

    `api_key` is sent as bearer token; `concurrency` is the most requests ever under way at once;
    `ledger` counts what is used, and keeps to its budget. `dialect` says how requests are worded by
    now and may be set; `replies` counts.
    """

    path = "/chat/completions"

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None = None,
        *,
        retry: RetryPolicy | None = None,
        concurrency: int = 32,
        ledger: Ledger | None = None,
    ) -> None:
        super().__init__(base_url, model, api_key, retry=retry, concurrency=concurrency)
        self.ledger = ledger
        self.dialect = Dialect()
        self.replies = 0
        self._given_up_in_a_row = 0
        self._tokenizes = self.base_url != OPENAI_URL

    @property
    def response_format(self) -> str:
        """How the shape of answers is asked for by now: one of `outcomes.FORMATS`."""
        return self.dialect.response_format

    async def complete(
        self, request: ChatRequest, keep: Callable[[Reply], None] | None = None
    ) -> Reply | CallFailed:
        """Ask once, however many attempts that takes.

        Returns:
            The reply (handed to `keep` as soon as its last byte is read), or why there is none:
            `timeout`, `rate_limit`, `server_error`, `connection`, `not_json`, `malformed`, `empty`,
            `too_long`, `rejected` or `budget`.

        Raises:
            ModelError: the endpoint cannot be used at all: nothing listens there, it refuses the
                key, does not know the model, has only sent something else than replies, or has
                answered none of many requests in a row.
        """
        async with self.connected() as wire:
            before = self.replies
            outcome, attempts = await self._patiently(
                lambda: self._attempt(wire, request, keep),
                lambda failed: self._check_silence(failed, wire.silent),
            )
            if isinstance(outcome, Retryable):
                return await self._given_up(wire, outcome, attempts, self.replies > before)
            return outcome

    async def count_tokens(self, texts: Sequence[str]) -> list[int] | None:
        """Return how many tokens each text has by the model's own tokenizer.

        None where the server does not tell: vLLM and llama.cpp do, at `/tokenize` beside `/v1`.
        """
        if not self._tokenizes:
            return None
        async with self.connected() as wire:
            counts = []
            for text in texts:
                count = 0
                for start in range(0, len(text), _TOKENIZED):
                    some = await self._tokens(wire, text[start : start + _TOKENIZED])
                    if some is None:
                        self._tokenizes = False
                        return None
                    count += some
                counts.append(count)
        return counts

    async def _tokens(self, wire: HttpTransport, text: str) -> int | None:
        content = printable(text)
        # vLLM reads `prompt`, llama.cpp `content`; each ignores the other.
        body: dict[str, Any] = {"model": self.model, "prompt": content, "content": content}
        body |= {"add_special_tokens": False, "add_special": False}
        path = urlsplit(self.base_url).path.rstrip("/").removesuffix("/v1") + "/tokenize"
        answer = await wire.ask(path, json.dumps(body).encode())
        if not isinstance(answer, HttpResponse) or answer.status != 200:
            return None
        try:
            said = json.loads(answer.text)
        except (ValueError, RecursionError):
            return None
        tokens = said.get("tokens") if isinstance(said, dict) else None
        return len(tokens) if isinstance(tokens, list) else None

    # One attempt at a time, for who has several endpoints to choose from.

    async def attempt(
        self,
        request: ChatRequest,
        keep: Callable[[Reply], None] | None,
        elsewhere: Callable[[], bool],
    ) -> Reply | CallFailed | Retryable:
        """Make one attempt, as soon as there is room; `Elsewhere` if another has it first."""
        async with self.connected() as wire:
            outcome = await self._attempt(wire, request, keep, elsewhere)
            if isinstance(outcome, Retryable):
                self._check_silence(outcome, wire.silent)
            return outcome

    async def give_up(self, last: Retryable, attempts: int) -> CallFailed:
        """Fail a request while no other is answered; ModelError if it is the endpoint."""
        async with self.connected() as wire:
            return await self._given_up(wire, last, attempts, alone=False)

    async def _given_up(
        self, wire: HttpTransport, last: Retryable, attempts: int, alone: bool
    ) -> CallFailed:
        """Fail a request; `alone` if others were answered meanwhile, so that it is no outage."""
        reason = f"{last.failed.reason} ({attempts} attempts)"
        if last.kind == "unreachable":
            raise ModelError(f"{self.base_url} cannot be reached: {reason}; is the server running?")
        self._given_up_in_a_row += not alone
        strange = last.kind == "body" and not self.replies
        if not strange and self._given_up_in_a_row < max(_LEAST_GIVEN_UP, 2 * self.limiter.limit):
            return CallFailed(reason)
        # What is left of a run may be just the questions that always fail: is it they, or all?
        if await self._answers(wire):
            self._given_up_in_a_row = 0
            return CallFailed(reason)
        if strange:
            raise ModelError(
                f"{self.base_url} does not answer as an OpenAI-compatible endpoint: {reason}; "
                "is the address complete? It often ends in /v1"
            )
        raise ModelError(
            f"{self.base_url} has answered none of the last {self._given_up_in_a_row} "
            f"requests: {reason}; {_RESUMES}"
        )

    async def _answers(self, wire: HttpTransport) -> bool:
        greeting = ChatRequest((Message("user", "Reply with the word: ok"),), max_tokens=16)
        outcome = await self._attempt(wire, greeting)
        if isinstance(outcome, CallFailed) and outcome.reason.startswith("budget"):
            return True  # nothing more will be asked in any case
        return isinstance(outcome, Reply)

    def _check_silence(self, outcome: Retryable, silent: float) -> None:
        """Give up an endpoint that takes requests and sends nothing at all."""
        longest = max(_SILENT_TIMEOUTS * self.retry.timeout, _LEAST_SILENCE)
        if outcome.kind == "timeout" and silent >= longest:
            raise ModelError(
                f"{self.base_url} takes requests but has sent nothing at all for {silent:.0f} s; "
                f"{_RESUMES}"
            )

    async def _attempt(
        self,
        wire: HttpTransport,
        request: ChatRequest,
        keep: Callable[[Reply], None] | None = None,
        elsewhere: Callable[[], bool] | None = None,
    ) -> Reply | CallFailed | Retryable:
        """Make one attempt when the endpoint has room and the budget allows it."""
        admitted: Any = contextlib.nullcontext()
        try:
            if self.ledger is not None:
                self.ledger.check(request)
                admitted = self.ledger.admit(request)
            async with self.limiter.slot(elsewhere) as slot, admitted as ticket:
                outcome = await self._negotiated(wire, request, keep)
                self._learn(slot, outcome)
                if ticket is not None:
                    _enter(ticket, outcome)
                return outcome
        except BudgetReached as error:
            return CallFailed(f"budget: {error}")

    async def _negotiated(
        self, wire: HttpTransport, request: ChatRequest, keep: Callable[[Reply], None] | None
    ) -> Reply | CallFailed | Retryable:
        """Send a request in the endpoint's dialect, learning from refusals until one is taken."""
        dialect = self.dialect
        while True:
            if self.ledger is not None and self.ledger.limited and not dialect.limits_output:
                raise ModelError(
                    f"{self.base_url} takes no limit on a reply's length, so that no budget can be "
                    "kept there; ask without a budget"
                )
            parameters = dialect.parameters(request)
            messages = [{"role": m.role, "content": printable(m.content)} for m in request.messages]
            body = {"model": self.model, "messages": messages, **parameters}
            form = dialect.response_format if request.schema is not None else "text"
            outcome = await self._exchanged(wire, body, form, keep)
            if isinstance(outcome, Reply):
                self.dialect = self.dialect.merged(dialect)
                self.replies += 1
                self._given_up_in_a_row = 0
            if not isinstance(outcome, RefusedRequest):
                return outcome
            simpler = self._simpler(dialect, outcome, parameters)
            if simpler is None:
                return self._sorter.rejected(outcome, too_long=is_too_long(outcome.body))
            dialect = simpler

    async def _exchanged(
        self,
        wire: HttpTransport,
        body: dict[str, Any],
        form: str,
        keep: Callable[[Reply], None] | None,
    ) -> Reply | CallFailed | Retryable | RefusedRequest:
        """Send a request and sort what comes back; a reply is kept before anything else runs."""
        sorted_: list[Reply | CallFailed | Retryable | RefusedRequest] = []

        def heed(answer: HttpResponse) -> None:
            outcome = self._sorter.sort(answer, form)
            if isinstance(outcome, Reply) and keep is not None:
                keep(outcome)
            sorted_.append(outcome)

        content = json.dumps(await self._reworded(body), separators=(",", ":")).encode()
        answer = await wire.post(content, on_whole=heed)
        return sorted_[0] if sorted_ else self._sorter.sort(answer, form)

    async def _reworded(self, body: dict[str, Any]) -> dict[str, Any]:
        return body

    def _simpler(
        self, dialect: Dialect, refused: RefusedRequest, parameters: Mapping[str, Any]
    ) -> Dialect | None:
        if is_too_long(refused.body):
            return None
        name = refused_parameter(refused.body, parameters)
        if name is not None:
            simpler = dialect.without(name)
            if simpler is not None:
                self.dialect = self.dialect.merged(simpler)
            return simpler
        # Old servers say no more than "Bad Request". Before anything has worked, the answer's
        # shape is the likeliest cause; the guess is remembered only if it turns out right.
        if "response_format" in parameters and not self.replies and refused.status != 404:
            return dialect.without("response_format")
        return None


def _enter(ticket: Reservation, outcome: Reply | CallFailed | Retryable) -> None:
    if isinstance(outcome, Reply):
        ticket.settle(outcome.usage)
    elif outcome.maybe_billed if isinstance(outcome, Retryable) else outcome.reason[:5] == "empty":
        ticket.lose()
