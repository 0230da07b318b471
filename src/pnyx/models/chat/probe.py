"""The abilities of an endpoint, found out with a few small requests."""

from __future__ import annotations

import contextlib
import json
import re
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pnyx.core.errors import ModelError, shorten
from pnyx.models.chat.endpoint import ChatEndpoint
from pnyx.models.chat.ledger import Ledger
from pnyx.models.chat.model import ChatModel
from pnyx.models.chat.types import CallFailed, ChatRequest, Message, Reply, cuts_prompt
from pnyx.models.http.dialect import FORMATS, LIMITS, Dialect
from pnyx.models.http.transport import HttpResponse, HttpTransport

_WINDOWS = (
    "max_model_len",
    "loaded_context_length",
    "context_length",
    "context_window",
    "max_context_length",
)
_TRAINED = "n_ctx_train"
_MAX_MODELS = 10_000
_MAX_NAME = 200
_LARGEST = 1 << 40

_PLAIN = ChatRequest((Message("user", "Reply with the single word yes."),), max_tokens=16)
_LONG_WORDS = 5_000
"""More than the 4,096 tokens that Ollama keeps by default."""
_LONG = ChatRequest(
    (Message("user", "The bus is red. " * (_LONG_WORDS // 4) + "Reply with the single word yes."),),
    max_tokens=16,
)
_ANSWERED = re.compile(r"rejected|empty|malformed|not_json|too_long")
"""Failures of a single request; after any other failure, further requests would also fail."""


@dataclass(frozen=True, slots=True)
class ModelListing:
    """The models that a server lists; `models` is None if it lists none, because of `problem`."""

    models: tuple[str, ...] | None
    problem: str = ""
    window: int | None = None
    window_from: str = ""


async def read_published(wire: HttpTransport, base_url: str, model: str) -> ModelListing:
    """Read `/models` and, if that does not state the context window, llama.cpp's `/props`."""
    path = urllib.parse.urlsplit(base_url).path.rstrip("/")
    answer = await wire.ask(path + "/models")
    if not isinstance(answer, HttpResponse):
        return ModelListing(None, shorten(answer.detail, 160))
    if answer.status != 200:
        return ModelListing(None, f"HTTP {answer.status}")
    entries = models_in(answer.body)
    if entries is None:
        return ModelListing(None, "not a list of models")
    hide = wire.secrets.hide_in_reply
    names = tuple(shorten(hide(entry["id"]), _MAX_NAME) for entry in entries)
    window = _window(entries, model)
    if window is None or _TRAINED in window[1]:
        # The context that the server was started with; the model's own maximum may be much larger.
        props = await wire.ask(path.removesuffix("/v1") + "/props")
        if isinstance(props, HttpResponse) and props.status == 200:
            window = _running_window(props.body) or window
    return ModelListing(names, "", *(window or ()))


def models_in(body: bytes) -> list[Mapping[str, Any]] | None:
    """Return the entries of a list of models; None if `body` is not such a list."""
    value = _decoded(body)
    listed = value.get("data") if isinstance(value, dict) else value
    if not isinstance(listed, list):
        return None
    entries = (entry for entry in listed[:_MAX_MODELS] if isinstance(entry, dict))
    return [entry for entry in entries if isinstance(entry.get("id"), str)]


def window_in(entry: Mapping[str, Any]) -> tuple[int, str] | None:
    """Return (tokens of context, the field that states it) of an entry of the list, or None."""
    for name in _WINDOWS:
        if (tokens := _tokens(entry.get(name))) is not None:
            return tokens, name
    meta = entry.get("meta")
    if isinstance(meta, dict):
        for name in ("n_ctx", _TRAINED):
            if (tokens := _tokens(meta.get(name))) is not None:
                trained = ", what it was trained for" if name == _TRAINED else ""
                return tokens, f"meta.{name}{trained}"
    return None


def _window(entries: Sequence[Mapping[str, Any]], model: str) -> tuple[int, str] | None:
    """Return the window of a model; a server with one model may accept any name for it."""
    if named := [entry for entry in entries if entry["id"] == model]:
        return window_in(named[0])
    window = window_in(entries[0]) if len(entries) == 1 else None
    return None if window is None else (window[0], f"{window[1]} of the only model listed")


def _running_window(body: bytes) -> tuple[int, str] | None:
    value = _decoded(body)
    settings = value.get("default_generation_settings") if isinstance(value, dict) else None
    tokens = _tokens(settings.get("n_ctx")) if isinstance(settings, dict) else None
    return None if tokens is None else (tokens, "n_ctx of /props")


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _tokens(value: object) -> int | None:
    return value if type(value) is int and 0 < value < _LARGEST else None


@dataclass(frozen=True, slots=True)
class Shape:
    """One way to request an answer's shape, and its result."""

    form: str
    outcome: str = "not tried"  # of `followed`, `not followed`, `cut off`, `refused`, `failed`
    detail: str = ""  # the problem


@dataclass(slots=True)
class ProbeReport:
    """The abilities of an endpoint; None means unknown.

    `notice` is about a local model's verdicts. `problem` says why the endpoint is not `usable` or
    why the probe ended early. `shapes` are ordered from the strictest form to the weakest; a judge
    will use `used`. `alternatives` is the most of any token in a shaped answer (`..._alone`: in a
    plain one). `limit` names the output limit. `cuts_prompts`: a long prompt was counted with fewer
    tokens than it has words; None if none was sent. `requests` includes refused ones.
    """

    address: str
    model: str
    notice: str = ""
    usable: bool = False
    problem: str = ""
    published: ModelListing | None = None
    window: int | None = None
    window_from: str = ""
    shapes: list[Shape] = field(default_factory=lambda: [Shape(form) for form in FORMATS])
    used: str | None = None
    reply: Reply | None = None
    alternatives: int | None = None
    alternatives_alone: int | None = None
    refused: tuple[str, ...] | None = None
    limit: str | None = None
    cuts_prompts: bool | None = None
    usage: tuple[str, ...] = ()
    requests: int = 0
    tokens: int = 0
    seconds: float = 0.0
    late: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return it as a JSON object, without the reply."""
        row = asdict(replace(self, reply=None))
        del row["reply"]
        return row


async def probe(
    model: ChatModel,
    request: ChatRequest,
    read: Callable[[Reply], object],
    *,
    timeout: float = 20.0,
    seconds: float = 60.0,
) -> ProbeReport:
    """Find out what an endpoint can do; an unusable one is not `usable` and has a `problem`.

    Nothing goes through the judgement store. `request` is a judge's request, with a schema and
    `logprobs`; `read` reads a reply to it. `timeout` is for one request (loading a local model may
    take all the time), `seconds` for the whole probe.
    """
    import anyio

    probing = _Probe(model, request, read, timeout)
    result = probing.found
    began = anyio.current_time()
    with anyio.move_on_after(seconds) as scope:
        try:
            async with model.connected() as wire:
                await probing.run(wire if isinstance(wire, HttpTransport) else None)
        except ModelError as error:
            result.problem = str(error)
    result.late = scope.cancelled_caught
    if result.late and not result.usable:
        result.problem = f"no answer within {seconds:.0f} s"
    result.seconds = anyio.current_time() - began
    result.requests = probing.asked if probing.wire is None else probing.wire.sent
    result.tokens = probing.ledger.prompt_tokens + probing.ledger.completion_tokens
    return result


class _Probe:
    def __init__(
        self,
        model: ChatModel,
        request: ChatRequest,
        read: Callable[[Reply], object],
        timeout: float,
    ) -> None:
        self.model = model
        self.endpoint = model if isinstance(model, ChatEndpoint) else None
        self.request, self.read, self.timeout = request, read, timeout
        self.found = ProbeReport(model.address, model.model, getattr(model, "notice", ""))
        self.wire: HttpTransport | None = None
        self.ledger = model.ledger = model.ledger or Ledger()
        self.asked = 0

    async def run(self, wire: HttpTransport | None) -> None:
        """Run all checks; results up to a ModelError or a cancellation are kept."""
        self.wire = wire
        result = self.found
        if wire is not None:
            result.published = await read_published(wire, self.model.address, self.model.model)
            result.window, result.window_from = (
                result.published.window,
                result.published.window_from,
            )
        await self._as_a_judge()
        if not result.usable:
            return
        if self.endpoint is None:
            result.window = getattr(self.model, "window", None)
            result.window_from = "the process that runs it" if result.window else ""
        else:
            await self._other_shapes(self.endpoint)
        if result.alternatives == 0:
            await self._alternatives_alone()
        await self._seed()
        await self._long_prompt()

    async def _long_prompt(self) -> None:
        """Find out whether prompts are truncated, if the server does not state its context."""
        if self.endpoint is None or self.found.window or "prompt_tokens" not in self.found.usage:
            return
        outcome = await self._ask(_LONG, self.timeout)
        if isinstance(outcome, Reply):
            self.found.cuts_prompts = cuts_prompt(_LONG, outcome.usage)

    async def _as_a_judge(self) -> None:
        outcome = await self._ask(self.request, self.timeout if self.endpoint else None)
        result = self.found
        if isinstance(outcome, CallFailed):
            self._set(Shape(self.model.response_format, "failed", outcome.reason))
            if _ANSWERED.match(outcome.reason):
                outcome = await self._ask(_PLAIN, self.timeout)
            if isinstance(outcome, CallFailed):
                result.problem = outcome.reason
        else:
            result.reply, result.used = outcome, outcome.response_format
            for form in FORMATS[: FORMATS.index(outcome.response_format)]:
                self._set(Shape(form, "refused"))
            self._set(self._tried(outcome))
            result.alternatives = _alternatives(outcome)
        if self.endpoint is not None and result.usable:
            dialect = self.endpoint.dialect
            result.limit = LIMITS[dialect.limit] or ""
            named = [name for name in LIMITS[: dialect.limit] if name]
            result.refused = (*named, *sorted(dialect.dropped))

    async def _other_shapes(self, endpoint: ChatEndpoint) -> None:
        """Try the weaker forms too: they are the fallback if a server's grammar breaks."""
        if self.found.used is None:
            return
        learnt = endpoint.dialect
        for form in range(FORMATS.index(self.found.used) + 1, len(FORMATS)):
            with self._worded(replace(learnt, form=form)):
                outcome = await self._ask(replace(self.request, logprobs=0), self.timeout)
            if isinstance(outcome, CallFailed):
                word = "refused" if outcome.reason.startswith("rejected") else "failed"
                self._set(Shape(FORMATS[form], word, outcome.reason))
            elif outcome.response_format != FORMATS[form]:
                self._set(Shape(FORMATS[form], "refused"))
            else:
                self._set(self._tried(outcome))

    async def _alternatives_alone(self) -> None:
        learnt = self.endpoint.dialect if self.endpoint else Dialect()
        dropped = learnt.dropped - {"logprobs", "top_logprobs"}
        with self._worded(replace(learnt, dropped=dropped)):
            request = replace(_PLAIN, logprobs=self.request.logprobs)
            outcome = await self._ask(request, self.timeout)
        if isinstance(outcome, Reply):
            self.found.alternatives_alone = _alternatives(outcome)

    async def _seed(self) -> None:
        """Send a seed, which judges do only on request, to see how the server reacts."""
        if self.endpoint is None or self.found.refused is None:
            return
        with self._worded(self.endpoint.dialect):
            outcome = await self._ask(replace(_PLAIN, seed=1), self.timeout)
            refused = "seed" in self.endpoint.dialect.dropped
        if refused or (isinstance(outcome, CallFailed) and outcome.reason.startswith("rejected")):
            self.found.refused = (*self.found.refused, "seed")

    async def _ask(self, request: ChatRequest, timeout: float | None) -> Reply | CallFailed:
        import anyio

        self.asked += 1
        outcome: Reply | CallFailed = CallFailed(f"timeout: no reply within {timeout or 0:g} s")
        # A little longer, because the endpoint's own message on the timeout is better.
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

    @contextlib.contextmanager
    def _worded(self, dialect: Dialect) -> Iterator[None]:
        if self.endpoint is None:
            yield
            return
        learnt, self.endpoint.dialect = self.endpoint.dialect, dialect
        try:
            yield
        finally:
            self.endpoint.dialect = learnt


def _alternatives(reply: Reply) -> int:
    return max((len(token.alternatives) for token in reply.tokens or ()), default=0)
