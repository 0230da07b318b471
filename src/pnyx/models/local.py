"""A language model on this machine: the packaged one, or any GGUF file, run by llama.cpp.

llama.cpp runs in a process of its own (`pnyx.models.local_worker`) and is spoken to as any other
endpoint, over HTTP. The process is started when the first question is asked, so that a run that
the judgement store answers never loads a model, and is kept until this object goes.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pnyx.errors import InputError, MissingExtra, ModelError, shorten
from pnyx.models.chat_endpoint import ChatEndpoint
from pnyx.models.local_files import (
    WEIGHTS_COMMAND,
    fingerprint,
    model_files,
    packaged_weights,
)
from pnyx.models.local_process import Worker
from pnyx.models.patience import Patience
from pnyx.models.replies import CallFailed, ChatRequest, Reply
from pnyx.models.wire import Answer, NoAnswer, Wire

if TYPE_CHECKING:
    import anyio.lowlevel

    from pnyx.models.ledger import Ledger

__all__ = ["LocalModel", "open_local"]

T = TypeVar("T")

_SLOTS = 1
_LEAST_TIMEOUT = 600.0
_LOAD_SECONDS, _LOAD_BYTES_PER_SECOND = 60.0, 20e6
_SAY_AFTER = 3.0

_CHANCE = (
    "the packaged model (SmolLM2, 135 million parameters) judges at chance: AUROC .55 on BERDS and "
    ".45 on ChatReport, on small balanced samples; it is there to try the path, not for verdicts"
)
_UNKNOWN = (
    "how far this model's verdicts can be trusted is not known until it is measured on labels"
)


def open_local(spec: str, *, patience: Patience | None = None) -> LocalModel:
    """Open the model that `--llm local` or `--llm gguf:PATH` names; nothing is loaded yet.

    Args:
        spec: `local` for the packaged SmolLM2-135M-Instruct, or `gguf:` and the path of a GGUF
            file; of a model in several files, the first.
        patience: time limits. A reply is given at least ten minutes: a local model may be slow,
            but it does not get lost.

    Raises:
        InputError: there is no such file, it is no GGUF file, the packaged weights are not
            installed, or PNYX_LOCAL_CONTEXT is no number of tokens.
        MissingExtra: xllamacpp is not installed.
    """
    kind, _, rest = spec.partition(":")
    packaged = spec == "local"
    if not packaged and (kind != "gguf" or not rest):
        raise InputError(f"found {shorten(spec)!r}, expected local or gguf:PATH")
    if importlib.util.find_spec("xllamacpp") is None:
        weights = f" (besides its weights: {WEIGHTS_COMMAND})" if packaged else ""
        raise MissingExtra(f"--llm {'local' if packaged else 'gguf:PATH'}{weights}", "local")
    path = packaged_weights() if packaged else Path(rest).expanduser()
    notice = _CHANCE if packaged else _UNKNOWN
    return LocalModel(path, notice=notice, context=_context(), patience=patience)


class LocalModel:
    """A GGUF file as a chat model. It may be used from several event loops and threads.

    Args:
        path: the file; of a model in several files, the first.
        notice: what is known of its verdicts.
        context: tokens of context to hold; None for what model and memory allow.
        patience: time limits.

    Attributes:
        model: the file's name and 12 hex digits of a hash over its size, its first and last MiB
            and 64 samples in between (of each file, where there are several), so that replies in
            the judgement store are never shared by files that differ there. Not the whole file is
            read: that takes longer than loading it.
        path: the file.
        notice: what is known of its verdicts; one line for people.
        on_retry: called with one line when loading takes long or the process is started again.
        on_wait: never called: a process on this machine cannot fall silent unnoticed.
        ledger: counts what is used, and keeps to its budget.

    Raises:
        InputError: the file is not there or is no GGUF file.
    """

    def __init__(
        self,
        path: Path,
        *,
        notice: str = _UNKNOWN,
        context: int | None = None,
        patience: Patience | None = None,
    ) -> None:
        from anyio.lowlevel import RunVar

        files = model_files(path)
        given = patience or Patience()
        self.path = path
        self.model = f"{path.name}@{fingerprint(files)}"
        self.notice = notice
        self.on_retry: Callable[[str], None] | None = None
        self.on_wait: Callable[[str], None] | None = None
        self.ledger: Ledger | None = None
        # The first attempt says it all: what fails here fails again, and crashes are seen to here.
        self._patience = replace(
            given, timeout=max(given.timeout, _LEAST_TIMEOUT), attempts=1, connect_attempts=1
        )
        self._context = context
        size = sum(file.stat().st_size for file in files)
        self._load_seconds = _LOAD_SECONDS + size / _LOAD_BYTES_PER_SECOND
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._running: _Running | None = None
        self._hopeless: str | None = None
        self._crashes = 0
        self._retries = 0
        self._held: anyio.lowlevel.RunVar[_Held | None] = RunVar("pnyx-local", None)

    def __repr__(self) -> str:
        return f"LocalModel({str(self.path)!r})"

    @property
    def address(self) -> str:
        """The file."""
        return str(self.path)

    @property
    def concurrency(self) -> int:
        """Most requests in flight at once: one being processed and one ready."""
        return _SLOTS + 1

    @property
    def window(self) -> int | None:
        """Tokens of context for each request; None while the model is not loaded."""
        running = self._running
        return running.worker.window if running else None

    @property
    def response_format(self) -> str:
        """How the shape of answers is asked for: one of `negotiate.FORMATS`."""
        running = self._running
        return running.endpoint.response_format if running else "json_schema"

    @property
    def retries(self) -> int:
        """How often the process was started again."""
        return self._retries

    @contextlib.asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """Hold this event loop's connections open; nested and parallel uses share them."""
        held = self._held.get()
        if held is None:
            held = _Held()
            self._held.set(held)
        held.uses += 1
        try:
            yield
        finally:
            held.uses -= 1
            if held.uses == 0:
                self._held.set(None)
                await held.stack.aclose()

    async def complete(
        self, request: ChatRequest, keep: Callable[[Reply], None] | None = None
    ) -> Reply | CallFailed:
        """Ask once; if the process ends meanwhile, once more in a fresh one.

        Returns:
            The reply, or why there is none, as `ChatEndpoint.complete` does; `too_long` where the
            prompt does not fit the window.

        Raises:
            ModelError: the model cannot be loaded, or its process ended twice with no reply in
                between.
        """
        async with self.connected():
            for _ in range(2):
                running = await self._get()
                await self._hold(running.endpoint)
                outcome = await self._ask(running, request)
                if outcome is not None:
                    if keep is not None and isinstance(outcome, Reply):
                        keep(outcome)
                    return outcome
            return CallFailed("server_error: the local model's process ended twice on this request")

    def close(self) -> None:
        """End the process; the next question starts another."""
        with self._lock:
            running, self._running = self._running, None
        if running is not None and self._owner == os.getpid():
            running.worker.end()

    async def _ask(self, running: _Running, request: ChatRequest) -> Reply | CallFailed | None:
        """Return the outcome, or None if the process ended on it."""
        endpoint, worker = running.endpoint, running.worker
        endpoint.ledger = self.ledger
        try:
            outcome = await endpoint.complete(request)
        except ModelError as error:
            if await _aside(lambda: worker.ended(2.0)):
                self._crashed(running)
                return None
            raise ModelError(f"{self.path.name}: {error}") from error
        broken = isinstance(outcome, CallFailed) and outcome.reason.startswith("connection")
        if await _aside(lambda: worker.ended(2.0)) if broken else worker.ended():
            # Even a reply is not taken: when the process is gone, its port may be a stranger's.
            self._crashed(running)
            return None
        if isinstance(outcome, Reply):
            self._crashes = 0
        return outcome

    async def _get(self) -> _Running:
        if self._owner != os.getpid():  # forked: the process is the parent's, and so is the lock
            self._lock, self._owner = threading.Lock(), os.getpid()
            self._running, self._crashes = None, 0
        running = self._running
        if running is not None and not running.worker.ended():
            return running
        if running is not None:
            self._crashed(running)
        say = f"loading {self.path.name} (given {self._load_seconds:.0f} s)"
        return await _aside(self._start, lambda: self.on_retry and self.on_retry(say))

    def _start(self) -> _Running:
        with self._lock:
            if self._running is None:
                if self._hopeless is not None:
                    raise ModelError(self._hopeless)
                try:
                    self._running = _Running(
                        Worker(
                            self.path,
                            self.model,
                            slots=_SLOTS,
                            context=self._context,
                            load_seconds=self._load_seconds,
                        ),
                        self._patience,
                    )
                except (ModelError, OSError) as error:
                    self._hopeless = f"{shorten(str(self.path), 200)}: {error}"
                    raise ModelError(self._hopeless) from error
            return self._running

    def _crashed(self, running: _Running) -> None:
        """Count the end of a process, once; give up at the second with no reply in between."""
        with self._lock:
            if self._running is running:
                self._running = None
                self._crashes += 1
                words = running.worker.last_words()
                running.worker.end()
                if self._crashes > 1:
                    self._hopeless = f"{self.path.name}: the local model's process ended: {words}"
                else:
                    self._retries += 1
                    if self.on_retry is not None:
                        self.on_retry(f"the local model's process ended: {words}; starting another")
            if self._hopeless is not None:
                raise ModelError(self._hopeless)

    async def _hold(self, endpoint: ChatEndpoint) -> None:
        """Keep the connections to the present process open as long as this loop is connected."""
        held = self._held.get()
        if held is not None and held.endpoint is not endpoint:
            held.endpoint = endpoint
            await held.stack.enter_async_context(endpoint.connected())


class _Running:
    """A process, and the endpoint that it is."""

    def __init__(self, worker: Worker, patience: Patience) -> None:
        self.worker = worker
        self.endpoint = _LlamaEndpoint(worker, patience)


class _Held:
    """What one event loop keeps open, and how many uses that has."""

    def __init__(self) -> None:
        self.stack = contextlib.AsyncExitStack()
        self.endpoint: ChatEndpoint | None = None
        self.uses = 0


class _LlamaEndpoint(ChatEndpoint):
    """An endpoint that says schemas in llama.cpp's own grammar."""

    def __init__(self, worker: Worker, patience: Patience) -> None:
        super().__init__(
            worker.base_url, "local", worker.key, patience=patience, concurrency=_SLOTS + 1
        )
        self._worker = worker

    @contextlib.asynccontextmanager
    async def connected(self) -> AsyncIterator[Wire]:
        """Hold the connections open; what goes over them is reworded."""
        async with super().connected() as wire:
            yield cast("Wire", _Reworded(wire, self._worker))


class _Reworded:
    """A wire on which `response_format` becomes `grammar`."""

    def __init__(self, wire: Wire, worker: Worker) -> None:
        self._wire = wire
        self._worker = worker

    async def post(
        self, body: bytes, *, on_whole: Callable[[Answer], None] | None = None
    ) -> Answer | NoAnswer:
        """Send a request and read its answer; see `Wire.post`."""
        request = json.loads(body)
        shape = request.get("response_format", {}).get("json_schema")
        if shape is not None:
            grammar = await _aside(lambda: self._worker.grammar(shape["schema"]))
            if grammar is not None:
                del request["response_format"]
                request["grammar"] = grammar
        return await self._wire.post(json.dumps(request).encode(), on_whole=on_whole)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wire, name)


async def _aside(work: Callable[[], T], say: Callable[[], Any] | None = None) -> T:
    """Do blocking work in a thread that neither a cancelled task nor the interpreter waits for.

    `say` is called when the work takes longer than people wait without wondering.
    """
    import concurrent.futures

    import anyio

    future: concurrent.futures.Future[T] = concurrent.futures.Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True, name="pnyx-local").start()
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
