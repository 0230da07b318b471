"""Asking a chat model behind any OpenAI-compatible endpoint, patiently and without surprises.

Every wait and every failure is visible. What an endpoint refuses is learnt from its errors
(`pnyx.models.negotiate`), how much it bears from how it bears it (`pnyx.models.pace`). A key is
sent to the server and goes nowhere else: no log, store, repr or error text holds it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

from pnyx.errors import ModelError
from pnyx.models.addresses import check_address
from pnyx.models.ledger import BudgetReached, Ledger, Ticket
from pnyx.models.negotiate import Dialect, is_too_long, refused_parameter
from pnyx.models.outcomes import Again, Refused, Sorter
from pnyx.models.pace import Pace, Slot
from pnyx.models.patience import Patience
from pnyx.models.replies import CallFailed, ChatRequest, Message, Reply, printable
from pnyx.models.secrets import Secrets
from pnyx.models.wire import Answer, Wire

if TYPE_CHECKING:
    import anyio.lowlevel

__all__ = ["ChatEndpoint"]

_LEAST_GIVEN_UP = 20
_SILENT_TIMEOUTS, _LEAST_SILENCE = 3, 60.0
_RESUMES = "what was answered is kept, and the same command resumes"


class ChatEndpoint:
    """A chat model behind an OpenAI-compatible address.

    What the endpoint refuses and what it bears is remembered for the life of this object. It can
    be used from any event loop; each keeps connections open while requests are under way.

    Args:
        base_url: up to and without `/chat/completions`.
        model: its name there.
        api_key: sent as bearer token; None sends none.
        patience: time limits and retries.
        concurrency: the most requests ever under way at once; how many are is learnt.
        ledger: counts what is used, and keeps to its budget.

    Attributes:
        on_retry: called with one line before each further attempt, so that a wait can be shown.
        on_wait: called with one line when nothing at all has come back for `patience.silence`.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None = None,
        *,
        patience: Patience | None = None,
        concurrency: int = 32,
        ledger: Ledger | None = None,
    ) -> None:
        from anyio.lowlevel import RunVar

        self.base_url = check_address(base_url)
        self.model = model
        self.patience = patience or Patience()
        self.pace = Pace(concurrency)
        self.ledger = ledger
        self.on_retry: Callable[[str], None] | None = None
        self.on_wait: Callable[[str], None] | None = None
        self._key = api_key
        self._sorter = Sorter(self.base_url, model, Secrets(api_key))
        self._retries = 0
        self._dialect = Dialect()
        self._replies = 0
        self._given_up_in_a_row = 0
        self._wires: anyio.lowlevel.RunVar[_Shared | None] = RunVar("pnyx-chat-wire", None)

    def __repr__(self) -> str:
        return f"ChatEndpoint({self.base_url!r}, {self.model!r})"

    @property
    def address(self) -> str:
        """The base URL."""
        return self.base_url

    @property
    def concurrency(self) -> int:
        """The most requests ever under way at once."""
        return self.pace.ceiling

    @property
    def retries(self) -> int:
        """Attempts beyond the first of each request, so far."""
        return self._retries

    @property
    def response_format(self) -> str:
        """How the shape of answers is asked for by now: one of `negotiate.FORMATS`."""
        return self._dialect.response_format

    @property
    def dialect(self) -> Dialect:
        """How requests are worded by now; it may be set, to ask in another way."""
        return self._dialect

    @dialect.setter
    def dialect(self, dialect: Dialect) -> None:
        self._dialect = dialect

    @contextlib.asynccontextmanager
    async def connected(self) -> AsyncIterator[Wire]:
        """Hold the connections of this event loop open; nested and parallel uses share them."""
        shared = self._wires.get()
        if shared is None:
            shared = _Shared(
                Wire(
                    self.base_url,
                    self._key,
                    self.patience.timeout,
                    on_silence=self._silence,
                    silence=self.patience.silence,
                )
            )
            self._wires.set(shared)
        shared.uses += 1
        try:
            yield shared.wire
        finally:
            shared.uses -= 1
            if shared.uses == 0:
                if self._wires.get() is shared:
                    self._wires.set(None)
                await shared.wire.close()

    async def complete(
        self, request: ChatRequest, keep: Callable[[Reply], None] | None = None
    ) -> Reply | CallFailed:
        """Ask once, however many attempts that takes.

        Args:
            request: what is asked.
            keep: called with the reply as soon as its last byte is read.

        Returns:
            The reply, or why there is none: `timeout`, `rate_limit`, `server_error`,
            `connection`, `not_json`, `malformed`, `empty`, `too_long`, `rejected` or `budget`.

        Raises:
            ModelError: the endpoint cannot be used at all: nothing listens there, it refuses the
                key, does not know the model, has only ever sent something else than replies, or
                has answered none of many requests in a row.
        """
        import anyio

        async with self.connected() as wire:
            attempt, before = 1, self._replies
            while True:
                try:
                    outcome = await self._attempt(wire, request, keep)
                except BudgetReached as error:
                    return CallFailed(f"budget: {error}")
                if not isinstance(outcome, Again):
                    return outcome
                unreachable = outcome.kind == "unreachable"
                limit = self.patience.connect_attempts if unreachable else self.patience.attempts
                if attempt >= limit:
                    return await self._given_up(wire, outcome, attempt, self._replies > before)
                self._check_silence(outcome, wire.silent)
                self.announce(outcome, attempt, limit)
                if not self.heed(outcome):
                    await anyio.sleep(self.patience.wait(attempt, None))
                attempt += 1

    # One attempt at a time, for who has several endpoints to choose from.

    @property
    def replies(self) -> int:
        """Replies so far."""
        return self._replies

    async def attempt(
        self,
        request: ChatRequest,
        keep: Callable[[Reply], None] | None,
        elsewhere: Callable[[], bool],
    ) -> Reply | CallFailed | Again:
        """Make one attempt, as soon as the endpoint has room.

        Args:
            request: what is asked.
            keep: as for `complete`.
            elsewhere: as for `Pace.slot`.

        Raises:
            Elsewhere: nothing was asked, because another endpoint can be at once.
            ModelError: the endpoint cannot be used at all.
        """
        async with self.connected() as wire:
            try:
                outcome = await self._attempt(wire, request, keep, elsewhere)
            except BudgetReached as error:
                return CallFailed(f"budget: {error}")
            if isinstance(outcome, Again):
                self._check_silence(outcome, wire.silent)
            return outcome

    async def give_up(self, last: Again, attempts: int) -> CallFailed:
        """Fail a request while no other is answered.

        Raises:
            ModelError: it is not the request: the endpoint cannot be used.
        """
        async with self.connected() as wire:
            return await self._given_up(wire, last, attempts, alone=False)

    def announce(self, outcome: Again, attempt: int, limit: int) -> None:
        """Count a further attempt, and have it shown."""
        self._retries += 1
        if self.on_retry is not None:
            self.on_retry(f"{outcome.failed.reason} (attempt {attempt} of {limit})")

    def heed(self, outcome: Again) -> bool:
        """Start nothing for as long as the endpoint asks for, if it does; a long rest is told."""
        if outcome.retry_after is None:
            return False
        seconds = self.patience.wait(1, outcome.retry_after)
        news = self.pace.cooling < seconds / 2
        self.pace.cool(seconds)
        if news and seconds >= self.patience.silence and self.on_wait is not None:
            wanted = f"{self.base_url} asks to be left alone for {outcome.retry_after:,.0f} s"
            self.on_wait(f"{wanted}; it is asked again after {seconds:.0f} s")
        return True

    async def _given_up(self, wire: Wire, last: Again, attempts: int, alone: bool) -> CallFailed:
        """Fail a request; `alone` if others were answered meanwhile, so that it is no outage."""
        reason = f"{last.failed.reason} ({attempts} attempts)"
        if last.kind == "unreachable":
            raise ModelError(f"{self.base_url} cannot be reached: {reason}; is the server running?")
        self._given_up_in_a_row += not alone
        strange = last.kind == "body" and not self._replies
        if not strange and self._given_up_in_a_row < max(_LEAST_GIVEN_UP, 2 * self.pace.limit):
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

    async def _answers(self, wire: Wire) -> bool:
        """Whether the endpoint answers the simplest of requests."""
        greeting = ChatRequest((Message("user", "Reply with the word: ok"),), max_tokens=16)
        try:
            return isinstance(await self._attempt(wire, greeting), Reply)
        except BudgetReached:
            return True  # nothing more will be asked in any case

    def _check_silence(self, outcome: Again, silent: float) -> None:
        """Give up an endpoint that takes requests and sends nothing at all."""
        longest = max(_SILENT_TIMEOUTS * self.patience.timeout, _LEAST_SILENCE)
        if outcome.kind == "timeout" and silent >= longest:
            raise ModelError(
                f"{self.base_url} takes requests but has sent nothing at all for {silent:.0f} s; "
                f"{_RESUMES}"
            )

    def _silence(self, seconds: float, under_way: int) -> None:
        if self.on_wait is not None:
            plural = "" if under_way == 1 else "s"
            self.on_wait(
                f"{self.base_url} has sent nothing for {seconds:.0f} s ({under_way} request{plural}"
                f" under way; each is given {self.patience.timeout:g} s)"
            )

    async def _attempt(
        self,
        wire: Wire,
        request: ChatRequest,
        keep: Callable[[Reply], None] | None = None,
        elsewhere: Callable[[], bool] | None = None,
    ) -> Reply | CallFailed | Again:
        """Make one attempt when the endpoint has room and the budget allows.

        Raises:
            BudgetReached: the budget does not allow it.
            Elsewhere: nothing was asked; see `Pace.slot`.
        """
        if self.ledger is None:
            async with self.pace.slot(elsewhere) as slot:
                outcome = await self._negotiated(wire, request, keep)
                _learn(slot, outcome)
                return outcome
        self.ledger.check(request)
        async with self.pace.slot(elsewhere) as slot, self.ledger.admit(request) as ticket:
            outcome = await self._negotiated(wire, request, keep)
            _learn(slot, outcome)
            _enter(ticket, outcome)
            return outcome

    async def _negotiated(
        self, wire: Wire, request: ChatRequest, keep: Callable[[Reply], None] | None
    ) -> Reply | CallFailed | Again:
        """Send a request in the endpoint's dialect, learning from refusals until one is taken."""
        dialect = self._dialect
        while True:
            if self.ledger is not None and self.ledger.limited and not dialect.limits_output:
                raise ModelError(
                    f"{self.base_url} takes no limit on a reply's length, so that no budget can be "
                    "kept there; ask without a budget"
                )
            parameters = _parameters(dialect, request)
            messages = [{"role": m.role, "content": printable(m.content)} for m in request.messages]
            body = {"model": self.model, "messages": messages, **parameters}
            form = dialect.response_format if request.schema is not None else "text"
            outcome = await self._exchanged(wire, body, form, keep)
            if isinstance(outcome, Reply):
                self._dialect = self._dialect.merged(dialect)
                self._replies += 1
                self._given_up_in_a_row = 0
            if not isinstance(outcome, Refused):
                return outcome
            simpler = self._simpler(dialect, outcome, parameters)
            if simpler is None:
                return self._sorter.rejected(outcome, too_long=is_too_long(outcome.body))
            dialect = simpler

    async def _exchanged(
        self, wire: Wire, body: Mapping[str, Any], form: str, keep: Callable[[Reply], None] | None
    ) -> Reply | CallFailed | Again | Refused:
        """Send a request and sort what comes back; a reply is kept before anything else can run."""
        sorted_: list[Reply | CallFailed | Again | Refused] = []

        def heed(answer: Answer) -> None:
            outcome = self._sorter.sort(answer, form)
            if isinstance(outcome, Reply) and keep is not None:
                keep(outcome)
            sorted_.append(outcome)

        content = json.dumps(body, separators=(",", ":")).encode()
        answer = await wire.post(content, on_whole=heed)
        return sorted_[0] if sorted_ else self._sorter.sort(answer, form)

    def _simpler(
        self, dialect: Dialect, refused: Refused, parameters: Mapping[str, Any]
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
        if "response_format" in parameters and not self._replies and refused.status != 404:
            return dialect.without("response_format")
        return None


class _Shared:
    """The connections of an event loop, and how many uses they have."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.uses = 0


def _parameters(dialect: Dialect, request: ChatRequest) -> dict[str, Any]:
    """Return what is sent beside model and messages."""
    parameters: dict[str, Any] = dialect.parameters(
        max_tokens=request.max_tokens,
        temperature=request.temperature,
        seed=request.seed,
        logprobs=request.logprobs,
    )
    shape = dialect.shape(request.schema, request.schema_name)
    return {**parameters, "response_format": shape} if shape else parameters


def _learn(slot: Slot, outcome: Reply | CallFailed | Again) -> None:
    """Tell the pace how the endpoint bore an attempt."""
    if not isinstance(outcome, Again):
        slot.served()
    elif outcome.overloaded:
        slot.overloaded()


def _enter(ticket: Ticket, outcome: Reply | CallFailed | Again) -> None:
    """Tell the ledger what an attempt used."""
    if isinstance(outcome, Reply):
        ticket.settle(outcome.usage)
    elif outcome.maybe_billed if isinstance(outcome, Again) else outcome.reason[:5] == "empty":
        ticket.lose()
