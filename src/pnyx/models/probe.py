"""What an endpoint can do, found out by asking it: few and small requests, each told.

Nothing is concluded from a model's name. The first request is one that a judge would send, so that
what it negotiates is what a judge will negotiate; the others change one thing each.
"""

from __future__ import annotations

import contextlib
import re
import statistics
from collections.abc import Callable, Iterator
from dataclasses import replace

from pnyx.errors import ModelError, shorten
from pnyx.models.base import ChatModel
from pnyx.models.chat_endpoint import ChatEndpoint
from pnyx.models.findings import Findings, Shape, Step
from pnyx.models.ledger import Ledger
from pnyx.models.negotiate import FORMATS, Dialect
from pnyx.models.pace import Pace
from pnyx.models.published import read_published
from pnyx.models.replies import CallFailed, ChatRequest, Message, Reply
from pnyx.models.wire import Wire

__all__ = ["Findings", "Shape", "Step", "probe"]

_GAIN = 1.15
"""A step that raises the throughput by less than this has not scaled."""

_STALE = 2
"""Steps in a row without gain that end the ramp: one alone may be chance."""

_RAMP_TOKENS = 16
_PASSING = re.compile(r"rate_limit|server_error: HTTP (?:503|529)")
_ANSWERED = re.compile(r"rejected|empty|malformed|not_json|too_long")
"""Failures of one request; with any other, further requests would fare no better."""


async def probe(
    model: ChatModel,
    request: ChatRequest,
    read: Callable[[Reply], object],
    *,
    concurrency: int = 16,
    timeout: float = 20.0,
    seconds: float = 60.0,
) -> Findings:
    """Ask an endpoint what it can do. Nothing goes through the judgement store.

    Args:
        model: an endpoint or a local model, which nothing else uses meanwhile.
        request: what a judge would ask, with a schema and `logprobs`.
        read: reads a reply to it; ValueError where it cannot be read.
        concurrency: the most requests ever at once.
        timeout: seconds for one request; loading a local model is given all there is.
        seconds: for everything.

    Returns:
        What was found out; an endpoint that cannot be used is not `usable` and has a `problem`.
    """
    import anyio

    probing = _Probe(model, request, read, concurrency, timeout)
    found = probing.found
    began = anyio.current_time()
    with anyio.move_on_after(seconds) as scope:
        try:
            async with model.connected() as wire:
                await probing.run(wire if isinstance(wire, Wire) else None)
        except ModelError as error:
            found.problem = str(error)
    found.late = scope.cancelled_caught
    if found.late and not found.usable:
        found.problem = f"no answer within {seconds:.0f} s"
    found.seconds = anyio.current_time() - began
    probing.sum_up()
    return found


class _Probe:
    """A probe in progress."""

    def __init__(
        self,
        model: ChatModel,
        request: ChatRequest,
        read: Callable[[Reply], object],
        concurrency: int,
        timeout: float,
    ) -> None:
        self.model = model
        self.endpoint = model if isinstance(model, ChatEndpoint) else None
        self.request, self.read = request, read
        self.concurrency, self.timeout = concurrency, timeout
        self.found = Findings(model.address, model.model, getattr(model, "notice", ""))
        self.wire: Wire | None = None
        self.ledger = model.ledger = model.ledger or Ledger()
        self.asked = 0
        if self.endpoint is not None:
            self.found.first = self.endpoint.pace.limit
            self.found.ceiling = self.endpoint.pace.ceiling
        else:
            self.found.first = self.found.ceiling = getattr(model, "concurrency", None)

    async def run(self, wire: Wire | None) -> None:
        """Find out all there is; what was found until a ModelError or a cancellation stays."""
        self.wire = wire
        found = self.found
        if wire is not None:
            found.published = await read_published(wire, self.model.address, self.model.model)
            found.window, found.window_from = found.published.window, found.published.window_from
        await self._as_a_judge()
        if not found.usable:
            return
        if self.endpoint is None:
            found.window = getattr(self.model, "window", None)
            found.window_from = "the process that runs it" if found.window else ""
        else:
            await self._other_shapes(self.endpoint)
        if found.alternatives == 0:
            await self._alternatives_alone()
        await self._seed()
        await self._ramp()

    def sum_up(self) -> None:
        """Count what it took."""
        self.found.requests = self.asked if self.wire is None else self.wire.sent
        self.found.tokens = self.ledger.prompt_tokens + self.ledger.completion_tokens

    async def _as_a_judge(self) -> None:
        outcome = await self._ask(self.request, self.timeout if self.endpoint else None)
        found = self.found
        if isinstance(outcome, CallFailed):
            self._set(Shape(self.model.response_format, "failed", outcome.reason))
            if _ANSWERED.match(outcome.reason):
                outcome = await self._ask(_tiny(0), self.timeout)
            if isinstance(outcome, CallFailed):
                found.problem = outcome.reason
            self._note_dialect()
            return
        found.reply, found.used = outcome, outcome.response_format
        for form in FORMATS[: FORMATS.index(outcome.response_format)]:
            self._set(Shape(form, "refused"))
        self._set(self._tried(outcome))
        found.alternatives = _alternatives(outcome)
        self._note_dialect()

    async def _other_shapes(self, endpoint: ChatEndpoint) -> None:
        """Try the weaker forms too: they are what is left when a server's grammar breaks."""
        if self.found.used is None:
            return
        learnt = endpoint.dialect
        for form in range(FORMATS.index(self.found.used) + 1, len(FORMATS)):
            with self._worded(replace(learnt, form=form)):
                outcome = await self._ask(replace(self.request, logprobs=0), self.timeout)
            if isinstance(outcome, CallFailed):
                refused = outcome.reason.startswith("rejected")
                word = "refused" if refused else "failed"
                self._set(Shape(FORMATS[form], word, outcome.reason))
            elif outcome.response_format != FORMATS[form]:
                self._set(Shape(FORMATS[form], "refused"))
            else:
                self._set(self._tried(outcome))

    async def _alternatives_alone(self) -> None:
        learnt = self.endpoint.dialect if self.endpoint else Dialect()
        kept = learnt.dropped - {"logprobs", "top_logprobs"}
        with self._worded(replace(learnt, dropped=kept)):
            request = replace(_tiny(0), logprobs=self.request.logprobs)
            outcome = await self._ask(request, self.timeout)
        if isinstance(outcome, Reply):
            self.found.alternatives_alone = _alternatives(outcome)

    async def _seed(self) -> None:
        """Judges send no seed unless told to: find out what would happen if they did."""
        if self.endpoint is None or self.found.refused is None:
            return
        with self._worded(self.endpoint.dialect):
            outcome = await self._ask(replace(_tiny(0), seed=1), self.timeout)
            refused = "seed" in self.endpoint.dialect.dropped
        if refused or (isinstance(outcome, CallFailed) and outcome.reason.startswith("rejected")):
            self.found.refused = (*self.found.refused, "seed")

    async def _ramp(self) -> None:
        """Double the requests at once while that raises the throughput."""
        best, stale, at_once = 0.0, 0, 1
        while stale < _STALE:
            step = await self._step(at_once)
            self.found.steps.append(step)
            if step.served < at_once:
                return
            stale += 1
            if step.per_second > best * _GAIN:
                self.found.scales_to, stale = at_once, 0
            best = max(best, step.per_second)
            if at_once >= self.concurrency:
                return
            at_once = min(2 * at_once, self.concurrency)

    async def _step(self, at_once: int) -> Step:
        import anyio

        outcomes: list[tuple[Reply | CallFailed, float]] = []

        async def one(number: int) -> None:
            began = anyio.current_time()
            try:
                outcome = await self._ask(_tiny(number), self.timeout)
            except ModelError as error:
                self.found.problem = str(error)
                outcome = CallFailed("hopeless: the endpoint cannot be used any more")
            outcomes.append((outcome, anyio.current_time() - began))

        if self.wire is not None:
            self.wire.prepare(at_once)
        with self._unhindered(at_once):
            began = anyio.current_time()
            async with anyio.create_task_group() as tasks:
                for number in range(at_once):
                    tasks.start_soon(one, 100 * at_once + number)
            seconds = anyio.current_time() - began
        served = [took for outcome, took in outcomes if _bore(outcome)]
        away = sum(
            isinstance(outcome, CallFailed) and _PASSING.match(outcome.reason) is not None
            for outcome, _ in outcomes
        )
        return Step(
            at_once,
            len(served),
            away,
            at_once - len(served) - away,
            round(seconds, 4),
            round(statistics.median(served), 4) if served else None,
        )

    async def _ask(self, request: ChatRequest, timeout: float | None) -> Reply | CallFailed:
        import anyio

        self.asked += 1
        outcome: Reply | CallFailed = CallFailed(f"timeout: no reply within {timeout or 0:g} s")
        # A little longer, because the endpoint itself says better what it waited for.
        with anyio.move_on_after(None if timeout is None else timeout + 1):
            outcome = await self.model.complete(request)
        if isinstance(outcome, Reply):
            self.found.usable = True
            self.found.usage = tuple(dict.fromkeys((*self.found.usage, *outcome.usage)))
        return outcome

    def _tried(self, reply: Reply) -> Shape:
        if reply.finish_reason == "length":
            thought = reply.usage.get("reasoning_tokens")
            thinking = f", {thought} of them spent on thinking" if thought else ""
            tokens = f"after {self.request.max_tokens} tokens{thinking}"
            return Shape(reply.response_format, "cut off", tokens)
        try:
            self.read(reply)
        except ValueError as error:
            return Shape(reply.response_format, "not followed", shorten(str(error), 160))
        return Shape(reply.response_format, "followed")

    def _set(self, shape: Shape) -> None:
        self.found.shapes[FORMATS.index(shape.form)] = shape

    def _note_dialect(self) -> None:
        """Note what was refused, and how the output limit is called."""
        if self.endpoint is None or not self.found.usable:
            return
        dialect = self.endpoint.dialect
        limits = ("max_tokens", "max_completion_tokens")
        self.found.limit = limits[dialect.limit] if dialect.limits_output else ""
        self.found.refused = (*limits[: dialect.limit], *sorted(dialect.dropped))

    @contextlib.contextmanager
    def _worded(self, dialect: Dialect) -> Iterator[None]:
        """Have requests worded in another way for a while."""
        if self.endpoint is None:
            yield
            return
        learnt, self.endpoint.dialect = self.endpoint.dialect, dialect
        try:
            yield
        finally:
            self.endpoint.dialect = learnt

    @contextlib.contextmanager
    def _unhindered(self, at_once: int) -> Iterator[None]:
        """Let so many requests go at once, with one attempt each."""
        if self.endpoint is None:
            yield
            return
        pace, patience = self.endpoint.pace, self.endpoint.patience
        self.endpoint.pace = Pace(at_once, first=at_once)
        self.endpoint.patience = replace(patience, attempts=1, connect_attempts=1)
        try:
            yield
        finally:
            self.endpoint.pace, self.endpoint.patience = pace, patience


def _tiny(number: int) -> ChatRequest:
    """Return a small request; the number keeps servers from answering two of them as one."""
    text = f"Request {number}. Reply with the single word yes."
    return ChatRequest((Message("user", text),), max_tokens=_RAMP_TOKENS)


def _bore(outcome: Reply | CallFailed) -> bool:
    """Say whether the endpoint did its work, whatever it wrote."""
    return isinstance(outcome, Reply) or outcome.reason.startswith("empty")


def _alternatives(reply: Reply) -> int:
    return max((len(token.alternatives) for token in reply.tokens or ()), default=0)
