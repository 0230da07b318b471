"""The libraries that train: whether they are installed, and loading by them without notes."""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Iterator
from importlib.util import find_spec

from pnyx.core.errors import InputError, PnyxError, shorten


def require_libraries() -> None:
    """Raise PnyxError unless the libraries to train and export a network are installed."""
    for name in ("onnx", "peft", "torch", "transformers"):
        if find_spec(name) is None:
            raise PnyxError(f"{name} is missing: pip install pnyx-train")


@contextlib.contextmanager
def without_notes() -> Iterator[None]:
    """Keep progress bars and notes of transformers off the terminal."""
    from transformers.utils import logging as notes

    level, bars = notes.get_verbosity(), notes.is_progress_bar_enabled()
    notes.set_verbosity_error()
    notes.disable_progress_bar()
    hub = logging.getLogger("huggingface_hub")  # reports each retry
    hub_level = hub.level
    hub.setLevel(logging.ERROR)
    try:
        yield
    finally:
        hub.setLevel(hub_level)
        notes.set_verbosity(level)
        if bars:
            notes.enable_progress_bar()


@contextlib.contextmanager
def loading(name: str, *, gguf: bool = False) -> Iterator[None]:
    """Load without notes; convert the libraries' errors to one line."""
    # Reading GGUF shows another bar, which cannot be switched off.
    silence = contextlib.redirect_stderr(io.StringIO()) if gguf else contextlib.nullcontext()
    try:
        with without_notes(), silence:
            yield
    except PnyxError:
        raise
    except Exception as error:  # the libraries raise anything on a damaged or foreign file
        message = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"base {shorten(name, 80)} cannot be loaded: {message}") from error
