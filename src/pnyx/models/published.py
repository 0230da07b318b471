"""What a server publishes of its models: their names and how long a window each has.

vLLM and SGLang (`max_model_len`), llama.cpp (`/props`, `meta.n_ctx_train`), LM Studio
(`loaded_context_length`, `max_context_length`), OpenRouter and Together (`context_length`), Groq
(`context_window`). A window that nobody publishes is never guessed.
"""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pnyx.errors import shorten
from pnyx.models.wire import Answer, Wire

__all__ = ["Published", "models_in", "read_published", "window_in"]

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


@dataclass(frozen=True, slots=True)
class Published:
    """What a server publishes; `models` None where it lists none, for a `problem`."""

    models: tuple[str, ...] | None
    problem: str = ""
    window: int | None = None
    window_from: str = ""


async def read_published(wire: Wire, base_url: str, model: str) -> Published:
    """Read `/models` and, if that leaves the window open, llama.cpp's `/props`."""
    path = urllib.parse.urlsplit(base_url).path.rstrip("/")
    answer = await wire.get(path + "/models")
    if not isinstance(answer, Answer):
        return Published(None, shorten(answer.detail, 160))
    if answer.status != 200:
        return Published(None, f"HTTP {answer.status}")
    entries = models_in(answer.body)
    if entries is None:
        return Published(None, "not a list of models")
    hide = wire.secrets.hide_in_reply
    names = tuple(shorten(hide(entry["id"]), _MAX_NAME) for entry in entries)
    found = _window(entries, model)
    if found is None or _TRAINED in found[1]:
        # What the server was started with; the model's own maximum may be far more.
        props = await wire.get(path.removesuffix("/v1") + "/props")
        if isinstance(props, Answer) and props.status == 200:
            found = _running_window(props.body) or found
    return Published(names, "", *(found or ()))


def models_in(body: bytes) -> list[Mapping[str, Any]] | None:
    """Return the entries of a list of models; None where `body` is no such list."""
    value = _decoded(body)
    listed = value.get("data") if isinstance(value, dict) else value
    if not isinstance(listed, list):
        return None
    entries = (entry for entry in listed[:_MAX_MODELS] if isinstance(entry, dict))
    return [entry for entry in entries if isinstance(entry.get("id"), str)]


def window_in(entry: Mapping[str, Any]) -> tuple[int, str] | None:
    """Return (tokens of context, the field that says so) of an entry of the list, if it says."""
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
    """Return the window of a model; a server of one model may take any name for it."""
    named = [entry for entry in entries if entry["id"] == model]
    if named:
        return window_in(named[0])
    found = window_in(entries[0]) if len(entries) == 1 else None
    return None if found is None else (found[0], f"{found[1]} of the only model listed")


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
