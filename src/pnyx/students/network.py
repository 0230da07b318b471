"""Networks in ONNX with their tokenizers, for students that have one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy.typing as npt

from pnyx.errors import InputError, shorten

MODEL, TOKENIZER = "model.onnx", "tokenizer.json"

T = TypeVar("T")
R = TypeVar("R")


def read_tokenizer(data: bytes) -> Any:
    """Return a tokenizer that neither truncates nor pads; ValueError if the bytes are not one."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_str(data.decode("utf-8"))
    except Exception as error:  # the library raises its own, undocumented class
        raise ValueError(str(error)) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def encodable(text: str) -> str:
    """Replace lone surrogates, which tokenizers refuse, by as many other characters."""
    return text.encode("utf-8", "replace").decode("utf-8")


def open_network(
    folder: Path, tensors: Callable[[Path], Mapping[str, npt.NDArray[Any]]] = lambda _: {}
) -> tuple[Any, Any]:
    """Return the session (onnxruntime) and the tokenizer of a student's folder.

    `tensors` reads from the folder what the graph names and does not hold.
    """
    from pnyx.models.embed.encoder import open_session

    try:
        session = open_session((folder / MODEL).read_bytes(), tensors(folder))
        return session, read_tokenizer((folder / TOKENIZER).read_bytes())
    except Exception as error:  # each library raises classes of its own
        raise InputError(f"the model cannot be loaded: {shorten(str(error), 80)}") from error


def in_threads(work: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """Return what `work` makes of each item, in order, on all cores."""
    workers = min(os.cpu_count() or 1, len(items))
    if workers < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(workers, thread_name_prefix="pnyx-student") as pool:
        return list(pool.map(work, items))
