"""The process in which a local language model runs: llama.cpp's server, through xllamacpp."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import queue
import signal
import struct
import sys
import threading
from pathlib import Path
from typing import Any, BinaryIO

_SCALARS = dict(zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd", strict=True))
_STRING, _ARRAY = 8, 9
_MAX_STRING = 1 << 20
_MAX_KEYS = 512
_UNKNOWN_BYTES_PER_TOKEN = 1 << 17
_LEAST_WINDOW, _LARGEST_WINDOW = 2048, 32_768
_GRACE = 5.0  # so that the parent, which reports the reason, comes first
_STEP = 256  # llama.cpp rounds the context up to a multiple of it


def main() -> None:
    """Load the model, report its address, and live as long as the parent does."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # llama.cpp's own output must not look like an answer
    settings = json.loads(sys.stdin.readline())
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(lines,), daemon=True).start()
    threading.Thread(target=_watch_parent, args=(settings["parent"],), daemon=True).start()
    # Loading holds the interpreter lock, so that the threads above stop meanwhile.
    faulthandler.dump_traceback_later(settings["load_seconds"] + _GRACE, exit=True)
    _die_with_parent(True)
    try:
        window = _window(settings)
        server = _serve(settings, window)
    except Exception as error:
        _answer(answers, {"error": f"{type(error).__name__}: {error}"})
        os._exit(1)  # llama.cpp's threads may block an orderly exit
    faulthandler.cancel_dump_traceback_later()
    _die_with_parent(False)
    _answer(answers, {"address": server.listening_address, "window": window})
    while True:
        _answer(answers, _grammar(json.loads(lines.get())["schema"]))


def _listen(lines: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)


def _watch_parent(parent: int) -> None:
    """End with the parent even if a forked child of it keeps our standard input open."""
    while os.getppid() == parent:
        threading.Event().wait(1.0)
    os._exit(0)


def _die_with_parent(wanted: bool) -> None:
    """Let Linux end this process together with the thread that started it, while it loads."""
    if sys.platform == "linux":
        import ctypes

        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL if wanted else 0)


def _answer(answers: Any, value: dict[str, Any]) -> None:
    answers.write(json.dumps(value) + "\n")
    answers.flush()


def _grammar(schema: dict[str, Any]) -> dict[str, Any]:
    import xllamacpp

    # One space where people put one, and no other: each layout token costs as much as a token of
    # the answer. Only LLGuidance reads this; it is not part of JSON schema.
    layout = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
    try:
        return {"grammar": xllamacpp.json_schema_to_grammar({**schema, "x-guidance": layout})}
    except Exception as error:
        return {"error": str(error)}


def _serve(settings: dict[str, Any], window: int) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.model_alias = {settings["name"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [settings["key"]]
    params.n_parallel = settings["slots"]
    params.n_ctx = window * settings["slots"]
    params.cache_ram_mib = settings["cache_mib"]
    for threads in (params.cpuparams, params.cpuparams_batch):
        threads.n_threads = settings["threads"]
        threads.poll = 0  # spinning threads would take the core from the work they wait for
    params.n_predict = window
    params.enable_reasoning = 0  # hidden reasoning would come before the requested answer
    params.offline = True
    params.ui = False
    params.endpoint_slots = False
    params.verbosity = 1  # errors only: the parent stores this output
    return xllamacpp.Server(params)


def _window(settings: dict[str, Any]) -> int:
    """Return the context in tokens: the model's own, within a quarter of the free memory."""
    trained, per_token = _shape(Path(settings["path"]))
    room = _available_memory() // 4 // per_token // max(1, settings["slots"])
    wanted = settings["context"] or max(_LEAST_WINDOW, min(room, _LARGEST_WINDOW))
    window = min(trained, wanted) if trained else wanted
    return int(max(_STEP, window - window % _STEP))


def _shape(path: Path) -> tuple[int, int]:
    """Return (the model's own window or 0, bytes of keys and values for one token)."""
    try:
        with path.open("rb") as file:
            metadata = _metadata(file)
    except (OSError, struct.error, ValueError, KeyError, OverflowError, RecursionError):
        return 0, _UNKNOWN_BYTES_PER_TOKEN  # llama.cpp will report the problem with the file
    arch = metadata.get("general.architecture", "")

    def number(key: str) -> int:
        value = metadata.get(f"{arch}.{key}", 0)
        return value if type(value) is int and 0 < value < 1 << 31 else 0

    heads = number("attention.head_count") or 1
    width = number("embedding_length") // heads
    keys = number("attention.key_length") or width
    values = number("attention.value_length") or width
    per_layer = (number("attention.head_count_kv") or heads) * (keys + values) * 2
    per_token = per_layer * number("block_count") or _UNKNOWN_BYTES_PER_TOKEN
    return number("context_length"), per_token


def _metadata(file: BinaryIO) -> dict[str, Any]:
    """Read the scalars and strings at the start of a GGUF file, up to its tokenizer."""
    _magic, _version, _tensors, count = struct.unpack("<4sIQQ", file.read(24))
    metadata: dict[str, Any] = {}
    for _ in range(min(count, _MAX_KEYS)):
        key = _string(file)
        if key.startswith("tokenizer."):
            break
        metadata[key] = _value(file, *struct.unpack("<I", file.read(4)))
    return metadata


def _string(file: BinaryIO) -> str:
    (length,) = struct.unpack("<Q", file.read(8))
    if length > _MAX_STRING:
        raise ValueError("a string of absurd length")
    return file.read(length).decode("utf-8", "replace")


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _string(file)
    if kind == _ARRAY:
        item, length = struct.unpack("<IQ", file.read(12))
        if length > _MAX_STRING:
            raise ValueError("an array of absurd length")
        values = [_value(file, item) for _ in range(length)]
        # Some models have different numbers of heads per layer: the largest is safe.
        return max((v for v in values if isinstance(v, int)), default=None)
    code = "<" + _SCALARS[kind]
    return struct.unpack(code, file.read(struct.calcsize(code)))[0]


def _available_memory() -> int:
    """Return the available bytes: of the machine, or of the container if that is less."""
    rooms: list[int] = []
    with contextlib.suppress(OSError, ValueError):  # not Linux, or not stated
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        rooms += [int(line.split()[1]) * 1024 for line in lines if line[:13] == "MemAvailable:"]
    with contextlib.suppress(OSError, ValueError):  # no container, or no limit
        group = Path("/sys/fs/cgroup")
        limit = int((group / "memory.max").read_text(encoding="ascii"))
        used = int((group / "memory.current").read_text(encoding="ascii"))
        rooms.append(max(0, limit - used))
    if not rooms and hasattr(os, "sysconf"):
        rooms.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
    return min(rooms, default=1 << 32)


if __name__ == "__main__":
    main()
