"""A language model on this machine: the packaged one, or any GGUF file, run by llama.cpp."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pnyx.core.errors import InputError, MissingExtra, ModelError, escaped, shorten
from pnyx.core.threads import start_thread
from pnyx.models.chat.endpoint import ChatEndpoint
from pnyx.models.chat.types import CallFailed, ChatRequest, Reply
from pnyx.models.http.flow import PerLoop
from pnyx.models.http.responses import RetryPolicy
from pnyx.models.local.process import (
    WEIGHTS_COMMAND,
    Worker,
    fingerprint,
    model_files,
    packaged_weights,
)

if TYPE_CHECKING:
    from pnyx.models.chat.ledger import Ledger

T = TypeVar("T")

_SLOTS = 1
_LEAST_TIMEOUT = 600.0
_LOAD_SECONDS, _LOAD_BYTES_PER_SECOND = 60.0, 20e6
_SAY_AFTER = 3.0
_BRIEF = 300
"""Maximum number of characters of a reason or a point, enforced by the model's grammar."""

_CHANCE = (
    "the packaged model (SmolLM2, 135 million parameters) judges at chance: AUROC 0.55 on BERDS "
    "and 0.45 on ChatReport, on small balanced samples; use it to try commands, not for verdicts"
)
_UNKNOWN = "it is not known how reliable this model's verdicts are until you measure them on labels"


def open_local(spec: str, *, retry: RetryPolicy | None = None) -> LocalModel:
    """Open the model that `local` or `gguf:PATH` names; it is loaded later.

    Args:
        spec: `local` for the packaged SmolLM2-135M-Instruct, or `gguf:` and the path of a GGUF file
            (the first one of a model in several files).
        retry: time limits; a reply gets at least ten minutes.

    Raises:
        InputError: the GGUF file does not exist, the packaged weights are not installed, or
            PNYX_LOCAL_CONTEXT is not a number of tokens.
        MissingExtra: xllamacpp is not installed.
    """
    kind, _, rest = spec.partition(":")
    packaged = spec == "local"
    if not packaged and (kind != "gguf" or not rest):
        raise InputError(f"found {shorten(spec)!r}, expected local or gguf:PATH")
    if importlib.util.find_spec("xllamacpp") is None:
        weights = f" (besides its weights: {WEIGHTS_COMMAND})" if packaged else ""
        raise MissingExtra(f"{'local' if packaged else 'gguf:PATH'}{weights}", "local")
    path = packaged_weights() if packaged else Path(rest).expanduser()
    notice = _CHANCE if packaged else _UNKNOWN
    return LocalModel(path, notice=notice, context=_context(), retry=retry)


class LocalModel:
    """A GGUF file as a chat model. It may be used from several event loops and threads.

    Args:
        path: the file; the first one of a model in several files.
        notice: what is known about its verdicts; one line for people.
        context: size of the context in tokens; None for what model and memory allow.
        retry: time limits.

    Attributes:
        model: the file's name and fingerprint, so that different files do not share stored replies.
        in_turn: whether a beginning shared with the previous request is not read again, so that
            requests with the same beginning should follow each other.

    Raises:
        InputError: the file does not exist or is not a GGUF file.
    """

    in_turn = True

    def __init__(
        self,
        path: Path,
        *,
        notice: str = _UNKNOWN,
        context: int | None = None,
        retry: RetryPolicy | None = None,
    ) -> None:
        files = model_files(path)
        policy = retry or RetryPolicy()
        self.path = path
        self.model = f"{path.name}@{fingerprint(files)}"
        self.notice = notice
        self.on_retry: Callable[[str], None] | None = None
        self.on_wait: Callable[[str], None] | None = None
        self.ledger: Ledger | None = None
        # One attempt is enough: a failure here would repeat, and crashes are handled here.
        self._retry = replace(
            policy, timeout=max(policy.timeout, _LEAST_TIMEOUT), attempts=1, connect_attempts=1
        )
        self._context = context
        size = sum(file.stat().st_size for file in files)
        self._load_seconds = _LOAD_SECONDS + size / _LOAD_BYTES_PER_SECOND
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._running: _LlamaEndpoint | None = None
        self._hopeless: str | None = None
        self._crashes = self.retries = 0
        self._held: PerLoop[_Connection] = PerLoop(lambda connection: connection.stack.aclose())

    def __repr__(self) -> str:
        return f"LocalModel({str(self.path)!r})"

    @property
    def address(self) -> str:
        """The file."""
        return str(self.path)

    @property
    def concurrency(self) -> int:
        """The maximum number of concurrent requests: one being processed and one ready."""
        return _SLOTS + 1

    @property
    def window(self) -> int | None:
        """Tokens of context for each request; None while the model is not loaded."""
        running = self._running
        return running.worker.window if running else None

    @property
    def response_format(self) -> str:
        """How the shape of answers is requested: one of `outcomes.FORMATS`."""
        running = self._running
        return running.response_format if running else "json_schema"

    def connected(self) -> contextlib.AbstractAsyncContextManager[Any]:
        """Keep this event loop's connections open; nested and parallel uses share them."""
        return self._held.use(_Connection)

    async def complete(
        self, request: ChatRequest, keep: Callable[[Reply], None] | None = None
    ) -> Reply | CallFailed:
        """Ask once, and once more in a new process if it ends; see `ChatEndpoint.complete`.

        Raises:
            ModelError: the model cannot be loaded, or its process ended twice without a reply in
                between.
        """
        async with self._held.use(_Connection) as connection:
            for _ in range(2):
                running = await self._get()
                if connection.endpoint is not running:
                    connection.endpoint = running
                    await connection.stack.enter_async_context(running.connected())
                outcome = await self._ask(running, request)
                if outcome is not None:
                    if keep is not None and isinstance(outcome, Reply):
                        keep(outcome)
                    return outcome
            return CallFailed("server_error: the local model's process ended twice on this request")

    async def count_tokens(self, texts: Sequence[str]) -> list[int] | None:
        """Return the number of tokens of each text; see `ChatEndpoint.count_tokens`."""
        return await (await self._get()).count_tokens(texts)

    def close(self) -> None:
        """End the process; the next question starts another."""
        with self._lock:
            running, self._running = self._running, None
        if running is not None and self._owner == os.getpid():
            running.worker.end()

    async def _ask(
        self, running: _LlamaEndpoint, request: ChatRequest
    ) -> Reply | CallFailed | None:
        """Return the outcome, or None if the process ended meanwhile."""
        worker, running.ledger = running.worker, self.ledger
        try:
            outcome = await running.complete(request)
        except ModelError as error:
            if await _aside(lambda: worker.ended(2.0)):
                self._crashed(running)
                return None
            raise ModelError(f"{self.path.name}: {error}") from error
        broken = isinstance(outcome, CallFailed) and outcome.reason.startswith("connection")
        if await _aside(lambda: worker.ended(2.0)) if broken else worker.ended():
            # Not even a reply is accepted: once the process has ended, another may use its port.
            self._crashed(running)
            return None
        if isinstance(outcome, Reply):
            self._crashes = 0
        return outcome

    async def _get(self) -> _LlamaEndpoint:
        if self._owner != os.getpid():  # forked: process and lock belong to the parent
            self._lock, self._owner = threading.Lock(), os.getpid()
            self._running, self._crashes = None, 0
        running = self._running
        if running is not None and not running.worker.ended():
            return running
        if running is not None:
            self._crashed(running)
        say = f"loading {self.path.name} (for up to {self._load_seconds:.0f} s)"
        return await _aside(self._start, lambda: self.on_retry and self.on_retry(say))

    def _start(self) -> _LlamaEndpoint:
        with self._lock:
            if self._running is None:
                if self._hopeless is not None:
                    raise ModelError(self._hopeless)
                try:
                    worker = Worker(
                        self.path,
                        self.model,
                        slots=_SLOTS,
                        context=self._context,
                        load_seconds=self._load_seconds,
                    )
                    self._running = _LlamaEndpoint(worker, self._retry)
                except (ModelError, OSError) as error:
                    self._hopeless = f"{escaped(str(self.path))}: {error}"
                    raise ModelError(self._hopeless) from error
            return self._running

    def _crashed(self, running: _LlamaEndpoint) -> None:
        """Count the end of a process once; give up at the second one without a reply in between."""
        with self._lock:
            if self._running is running:
                self._running = None
                self._crashes += 1
                words = running.worker.last_words()
                running.worker.end()
                if self._crashes > 1:
                    self._hopeless = f"{self.path.name}: the local model's process ended: {words}"
                else:
                    self.retries += 1
                    if self.on_retry is not None:
                        self.on_retry(f"the local model's process ended: {words}; starting another")
            if self._hopeless is not None:
                raise ModelError(self._hopeless)


@dataclass(slots=True)
class _Connection:
    stack: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)
    endpoint: ChatEndpoint | None = None


class _LlamaEndpoint(ChatEndpoint):
    """A process as an endpoint, which states schemas in llama.cpp's own grammar."""

    own_process = True

    def __init__(self, worker: Worker, retry: RetryPolicy) -> None:
        super().__init__(worker.base_url, "local", worker.key, retry=retry, concurrency=_SLOTS + 1)
        self.worker = worker

    async def _reworded(self, body: dict[str, Any]) -> dict[str, Any]:
        shape = body.get("response_format", {}).get("json_schema")
        if shape is None:
            return body
        schema = _shortened(shape["schema"])
        grammar = await _aside(lambda: self.worker.grammar(schema))
        if grammar is None:
            return body
        return {**{k: v for k, v in body.items() if k != "response_format"}, "grammar": grammar}


def _shortened(schema: Any) -> Any:
    """Limit the texts that explain a verdict: a small model does not end them by itself."""
    if isinstance(schema, list):
        return [_shortened(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    shortened = {name: _shortened(part) for name, part in schema.items()}
    for name, part in (shortened.get("properties") or {}).items():
        brief = name in ("reason", "nugget") or name.isdecimal()
        if part.get("type") == "string" and "enum" not in part and brief:
            shortened["properties"][name] = {**part, "maxLength": _BRIEF}
    return shortened


async def _aside(work: Callable[[], T], say: Callable[[], Any] | None = None) -> T:
    """Do blocking work in a detached thread; call `say` if it takes long."""
    import concurrent.futures

    import anyio

    future: concurrent.futures.Future[T] = concurrent.futures.Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    start_thread(run, "pnyx-local")
    began, pause = anyio.current_time(), 0.001
    while not future.done():
        await anyio.sleep(pause)
        pause = min(2 * pause, 0.05)
        if say is not None and anyio.current_time() - began > _SAY_AFTER:
            say()
            say = None
    return future.result()


def _context() -> int | None:
    text = os.environ.get("PNYX_LOCAL_CONTEXT", "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 9 and int(text) >= 256):
        raise InputError(
            f"PNYX_LOCAL_CONTEXT: found {shorten(text)!r}, expected tokens of context, at least 256"
        )
    return int(text)
