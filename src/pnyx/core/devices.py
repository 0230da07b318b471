"""Named pipes, sockets and devices in folders, where a file is expected."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from pnyx.core.errors import InputError


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
