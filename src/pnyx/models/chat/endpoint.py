"""A chat model behind an OpenAI-compatible endpoint, as `--llm` names it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from pnyx.core.errors import ModelError, printable, shorten
from pnyx.models.chat.dialect_search import GREETING, DialectSearch
from pnyx.models.chat.ledger import BudgetReached, Ledger, Reservation
from pnyx.models.chat.types import CallFailed, ChatRequest, Reply, cuts_prompt
from pnyx.models.http.dialect import Dialect, refused_parameter
from pnyx.models.http.endpoint import Endpoint
from pnyx.models.http.responses import RefusedRequest, Retryable, RetryPolicy, is_too_long
from pnyx.models.http.transport import HttpResponse, HttpTransport

_LEAST_GIVEN_UP = 20
_SILENT_TIMEOUTS, _LEAST_SILENCE = 3, 60.0
OPENAI_URL = "https://api.openai.com/v1"
_TOKENIZED = 50_000
"""Characters whose tokens are counted in one request."""


class ChatEndpoint(Endpoint):
    """A chat model behind an OpenAI-compatible address (the part before `/chat/completions`).

    `api_key` is sent as bearer token; `concurrency` is the maximum number of concurrent requests;
    `ledger` counts the usage and enforces its budget. `fields` are added to each request unchanged.
    `dialect` is the current wording of requests and may be set; `replies` counts.
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
        fields: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(base_url, model, api_key, retry=retry, concurrency=concurrency)
        self.ledger = ledger
        self.fields = dict(fields or {})
        self._said_cut = False
        self.dialect = Dialect()
        self.replies = 0
        self.accepted: set[frozenset[str]] = set()  # request features that were accepted
        self.searched: set[frozenset[str]] = set()  # features for which a wording was searched
        self.refused_in_a_row = 0
        self._given_up_in_a_row = 0
        self._tokenizes = self.base_url != OPENAI_URL

    @property
    def response_format(self) -> str:
        """How the shape of answers is currently requested: one of `outcomes.FORMATS`."""
        return self.dialect.response_format

    async def complete(
        self, request: ChatRequest, keep: Callable[[Reply], None] | None = None
    ) -> Reply | CallFailed:
        """Complete one request, with as many attempts as needed.

        Returns:
            The reply (passed to `keep` as soon as its last byte is read), or why there is none:
            `timeout`, `rate_limit`, `server_error`, `connection`, `not_json`, `malformed`, `empty`,
            `only_thinking`, `too_long`, `rejected` or `budget`.

        Raises:
            ModelError: the endpoint cannot be used at all: nothing listens there, it refuses the
                key, does not know the model, has never sent a valid reply, or has failed many
                requests in a row.
        """
        async with self.connected() as wire:
            before = self.replies
            request = self._with_fields(request)
            outcome, attempts = await self._patiently(
                lambda: self._attempt(wire, request, keep),
                lambda failed: self._check_silence(failed, wire.silent),
            )
            if isinstance(outcome, Retryable):
                if outcome.status >= 500 and not self.replies:
                    refused = RefusedRequest(outcome.status, outcome.body)
                    search = DialectSearch(self, wire, request, keep)
                    reply = await search.variants(self.dialect, refused)
                    if isinstance(reply, Reply):
                        return reply
                return await self._given_up(wire, outcome, attempts, self.replies > before)
            return outcome

    def _with_fields(self, request: ChatRequest) -> ChatRequest:
        return replace(request, fields=self.fields) if self.fields else request

    async def count_tokens(self, texts: Sequence[str]) -> list[int] | None:
        """Return the number of tokens of each text by the model's own tokenizer.

        None if the server cannot: vLLM and llama.cpp can, at `/tokenize` next to `/v1`.
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
        # vLLM reads `prompt`, llama.cpp `content`; each ignores the other field.
        body: dict[str, Any] = {"model": self.model, "prompt": content, "content": content}
        body |= {"add_special_tokens": False, "add_special": False}
        path = urlsplit(self.base_url).path.rstrip("/").removesuffix("/v1") + "/tokenize"
        answer = await wire.ask(path, json.dumps(body).encode())
        if not isinstance(answer, HttpResponse) or answer.status != 200:
            return None
        try:
            reply = json.loads(answer.text)
        except (ValueError, RecursionError):
            return None
        tokens = reply.get("tokens") if isinstance(reply, dict) else None
        return len(tokens) if isinstance(tokens, list) else None

    # One attempt at a time, for callers with several endpoints.

    async def attempt(
        self,
        request: ChatRequest,
        keep: Callable[[Reply], None] | None,
        elsewhere: Callable[[], bool],
    ) -> Reply | CallFailed | Retryable:
        """Make one attempt as soon as there is room; `Elsewhere` if another is ready first."""
        async with self.connected() as wire:
            outcome = await self._attempt(wire, self._with_fields(request), keep, elsewhere)
            if isinstance(outcome, Retryable):
                self._check_silence(outcome, wire.silent)
            return outcome

    async def give_up(self, last: Retryable, attempts: int) -> CallFailed:
        """Fail a request that was not answered; ModelError if the endpoint is at fault."""
        async with self.connected() as wire:
            return await self._given_up(wire, last, attempts, alone=False)

    async def _given_up(
        self, wire: HttpTransport, last: Retryable, attempts: int, alone: bool
    ) -> CallFailed:
        """Fail a request; `alone` if others were answered meanwhile, so it is not an outage."""
        reason = f"{last.failed.reason} ({attempts} attempts)"
        if last.kind == "unreachable":
            raise ModelError(f"{self.base_url} cannot be reached: {reason}; is the server running?")
        self._given_up_in_a_row += not alone
        strange = last.kind == "body" and not self.replies
        if not strange and self._given_up_in_a_row < max(_LEAST_GIVEN_UP, 2 * self.limiter.limit):
            return CallFailed(reason)
        # The rest of a run may consist of the questions that always fail. Is it only these?
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
            f"requests: {reason}{self._resumes()}"
        )

    def _resumes(self) -> str:
        """Return the end of the message when a run stops, if some replies were stored."""
        ending = "; replies are stored, and the same command resumes"
        return ending if self.replies else ""

    async def _answers(self, wire: HttpTransport) -> bool:
        outcome = await self._attempt(wire, self._with_fields(GREETING))
        if isinstance(outcome, CallFailed) and outcome.reason.startswith("budget"):
            return True  # nothing more will be sent in any case
        return isinstance(outcome, Reply)

    def _check_silence(self, outcome: Retryable, silent: float) -> None:
        """Give up an endpoint that accepts requests but sends nothing at all."""
        longest = max(_SILENT_TIMEOUTS * self.retry.timeout, _LEAST_SILENCE)
        if outcome.kind == "timeout" and silent >= longest:
            raise ModelError(
                f"{self.base_url} accepts requests but has sent nothing at all for {silent:.0f} s"
                f"{self._resumes()}"
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
        """Send a request in the endpoint's dialect, adapted to refusals until it is accepted."""
        dialect = self.dialect
        while True:
            outcome = await self.sent(wire, request, dialect, keep)
            if isinstance(outcome, Retryable) and outcome.status >= 500:
                named = refused_parameter(outcome.body, dialect.parameters(request))
                outcome = outcome if named is None else RefusedRequest(outcome.status, outcome.body)
            if not isinstance(outcome, RefusedRequest):
                return outcome
            if is_too_long(outcome.body):
                return self._sorter.rejected(outcome, too_long=True)
            self._check_fields(outcome, request)
            simpler = dialect.after_refusal(outcome.body, request)
            if simpler is None:
                search = DialectSearch(self, wire, request, keep)
                return await search.run(dialect, outcome)
            self.dialect = self.dialect.merged(simpler)
            dialect = simpler

    async def sent(
        self,
        wire: HttpTransport,
        request: ChatRequest,
        dialect: Dialect,
        keep: Callable[[Reply], None] | None,
    ) -> Reply | CallFailed | Retryable | RefusedRequest:
        """Send a request in a dialect; remember a dialect that is answered."""
        if self.ledger is not None and self.ledger.limited and not dialect.limits_output:
            raise ModelError(
                f"{self.base_url} accepts no limit on the length of a reply, so a budget cannot be "
                "enforced there; run without a budget"
            )
        parameters, messages = dialect.parameters(request), dialect.messages(request)
        body = {"model": self.model, "messages": messages, **parameters}
        form = dialect.response_format if request.schema is not None else "text"
        outcome = await self._exchanged(wire, body, form, keep)
        if isinstance(outcome, Reply):
            self.dialect = self.dialect.merged(dialect)
            self.accepted.add(dialect.features(request))
            self.replies += 1
            self._given_up_in_a_row = self.refused_in_a_row = 0
            self._warn_of_cut(request, outcome)
        return outcome

    def _warn_of_cut(self, request: ChatRequest, reply: Reply) -> None:
        """Warn once that the server seems to truncate prompts."""
        if self._said_cut or self.on_wait is None or not cuts_prompt(request, reply.usage):
            return
        self._said_cut = True
        characters = sum(len(message.content) for message in request.messages)
        self.on_wait(
            f"warning: {self.base_url} counted {reply.usage['prompt_tokens']:,} tokens in a prompt "
            f"of {characters:,} characters, which cannot be all of it: the server probably cuts "
            "prompts off. Increase its context (Ollama: OLLAMA_CONTEXT_LENGTH)"
        )

    async def greeted(
        self, wire: HttpTransport, request: ChatRequest, dialect: Dialect
    ) -> Reply | CallFailed | Retryable | RefusedRequest:
        """Send a plain request without learning from it or storing it."""
        body = {"model": self.model, "messages": dialect.messages(request)}
        return await self._exchanged(wire, body | dialect.parameters(request), "text", None)

    def safe_words(self, refused: RefusedRequest) -> str:
        """Return the server's refusal message without secrets."""
        return self._sorter.safe(refused.body)

    def rejected(self, refused: RefusedRequest) -> CallFailed:
        """Return the failure of a request that no dialect made acceptable."""
        return self._sorter.rejected(refused, too_long=is_too_long(refused.body))

    def hopeless(self, refused: RefusedRequest) -> str:
        """Return the message about a server that refuses even the plainest request."""
        return self._sorter.hopeless(refused.status, refused.body)

    def _check_fields(self, refused: RefusedRequest, request: ChatRequest) -> None:
        """Raise ModelError if the server refuses a field that the user set."""
        name = refused_parameter(refused.body, request.fields) if request.fields else None
        if name is not None:
            raise ModelError(
                f"{self.base_url} refuses the field {shorten(name, 40)!r} of --set request "
                f"(HTTP {refused.status}): {self._sorter.safe(refused.body)}"
            )

    async def _exchanged(
        self,
        wire: HttpTransport,
        body: dict[str, Any],
        form: str,
        keep: Callable[[Reply], None] | None,
    ) -> Reply | CallFailed | Retryable | RefusedRequest:
        """Send a request and classify the answer; a reply is stored before anything else runs."""
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


def _enter(ticket: Reservation, outcome: Reply | CallFailed | Retryable) -> None:
    if isinstance(outcome, Reply):
        ticket.settle(outcome.usage)
    elif (
        outcome.maybe_billed
        if isinstance(outcome, Retryable)
        else outcome.reason.startswith(("empty", "only_thinking"))
    ):
        ticket.lose()
