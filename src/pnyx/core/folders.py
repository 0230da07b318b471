"""Folders: the write lock, the hash of their files, and pipes and devices where files belong."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from pnyx.core.errors import InputError, PnyxError, escaped
from pnyx.core.placement import try_lock, unlock


def device_status(path: Path) -> os.stat_result | None:
    """Return the status of a path that exists and is neither a file nor a folder, else None."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None  # the path does not exist, or opening it will report the problem
    plain = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    return None if plain else status


def file_in(folder: str | Path, name: str) -> Path | None:
    """Return the file of this name in a folder; None if there is none.

    Pnyx waits for a pipe that the user names, as every command does. If it finds a pipe, a socket
    or a device in a folder, it raises InputError instead of waiting.
    """
    path = Path(folder, name)
    refuse_device(path)
    return path if path.is_file() else None


def refuse_devices(folder: Path) -> None:
    """Raise InputError if a folder for files contains a named pipe, a socket or a device."""
    for entry in sorted(folder.iterdir()):
        refuse_device(entry)


def refuse_device(path: Path) -> None:
    """Raise InputError for a named pipe, a socket or a device."""
    status = device_status(path)
    if status is not None:
        kinds = ((stat.S_ISFIFO, "named pipe"), (stat.S_ISSOCK, "socket"))
        kind_found = next((kind for test, kind in kinds if test(status.st_mode)), "device")
        raise InputError(f"found a {kind_found}, expected a file", path=path)


def file_hash(path: str | Path) -> str | None:
    """Return SHA-256 of a file, or of all files of a folder by name; None if it is neither."""
    file = Path(path)
    if str(path) != "-" and file.is_dir():
        names = sorted(p for p in file.rglob("*") if p.is_file())
        parts = [(str(p.relative_to(file)), file_hash(p)) for p in names]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    if str(path) == "-" or not file.is_file():
        return None
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error


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
