"""The write lock of a folder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from pnyx.core.errors import InputError, PnyxError, escaped
from pnyx.core.placement import try_lock, unlock


@contextlib.contextmanager
def locked(folder: Path, what: str = "this index") -> Iterator[None]:
    """Hold the folder's write lock until the process ends; PnyxError if another has it."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise InputError(f"cannot be opened: {error.strerror}", path=folder) from error
    try:
        if try_lock(handle) is False:
            problem = f"{escaped(str(folder))}: another process is writing to {what}"
            raise PnyxError(f"{problem}, try again when it has finished")
        yield
    finally:
        unlock(handle)
        os.close(handle)
