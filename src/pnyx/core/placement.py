"""Put complete files and folders in place in one step, and clean up after killed processes.

A target is written as a hidden neighbour `.NAME.TOKEN.pnyx`, locked by its writer; the system
releases the lock when the process ends. Unlocked neighbours were left by a killed process; the next
writer of the same target removes them. A folder replaces another by an exchange of names (Linux),
or else via `.NAME.TOKEN.pnyx-old`, which `recover_folder` restores after a kill between the two
steps.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from contextvars import ContextVar
from hashlib import blake2b
from io import FileIO
from pathlib import Path
from typing import TypeAlias

_ENDING = ".pnyx"
_MOVED = "-old"
_HEX = "[0-9a-f]{8}"
_MAX_NAME_BYTES = 200

_NO_REPLACE, _EXCHANGE = 1, 2
_AT_CWD = -100
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM}

_LIVE_WAITS = 100
_WAIT_SECONDS = 0.02


@contextlib.contextmanager
def temporary(target: Path, *, folder: bool = False) -> Iterator[Path]:
    """Yield a new, locked, empty temporary neighbour of a target, and remove it afterwards."""
    if folder:
        recover_folder(target)
    for path in _leftovers(target):
        if path.name.endswith(_MOVED) and not os.path.lexists(target):
            continue  # the only remaining copy of the target
        with _opened(path) as lock:
            # While it is locked here, a writer that has just created it cannot continue with it.
            if lock is True:
                _remove(path)
    created, handle = _made(target, folder=folder)
    try:
        yield created
    finally:
        unlock(handle)
        os.close(handle)
        _remove(created)


_Placed: TypeAlias = tuple[contextlib.ExitStack, list[tuple[Path, Path]]]
_together: ContextVar[_Placed | None] = ContextVar("files placed together", default=None)
"""The stack that keeps the temporary files of `placed_together`, and (temporary, target) pairs."""


@contextlib.contextmanager
def placed(target: Path) -> Iterator[Path]:
    """Yield a temporary file that is renamed to the target once it is written."""
    with contextlib.ExitStack() as stack:
        keeps, waiting = _together.get() or (stack, None)
        path = keeps.enter_context(temporary(target))
        yield path
        if waiting is None:
            path.replace(target)
        else:
            waiting.append((path, target))


@contextlib.contextmanager
def placed_together() -> Iterator[None]:
    """Rename the files that are `placed` inside only when all of them are written.

    A full disk then leaves all previous files, and never a leaderboard with the record of another.
    """
    if _together.get() is not None:  # the outer context places them
        yield
        return
    with contextlib.ExitStack() as keeps:
        waiting: list[tuple[Path, Path]] = []
        token = _together.set((keeps, waiting))
        try:
            yield
        finally:
            _together.reset(token)
        for path, target in waiting:
            path.replace(target)


def newest(target: str | Path) -> Path:
    """Return the path of a file's newest content: its temporary within `placed_together`."""
    _, waiting = _together.get() or (None, ())
    paths = [path for path, name in waiting if name == Path(target)]
    return paths[-1] if paths else Path(target)


def place_folder(temporary: Path, target: Path, *, replace: bool) -> None:
    """Rename a complete folder to its target; a replaced one gets the temporary's name, or none."""
    if not (replace and os.path.lexists(target)):
        if not _renameat2(temporary, target, _NO_REPLACE):
            if os.path.lexists(target):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
            temporary.rename(target)
    elif not _renameat2(temporary, target, _EXCHANGE):
        moved = temporary.with_name(temporary.name + _MOVED)
        target.rename(moved)
        temporary.rename(target)
        _remove(moved)


def recover_folder(target: Path) -> bool:
    """Restore a folder that a killed process left under a hidden name; return whether it did."""
    for _ in range(_LIVE_WAITS):
        if os.path.lexists(target):
            return False
        moved = [path for path in _leftovers(target) if path.name.endswith(_MOVED)]
        if not moved:
            return False
        for old in moved:
            with _opened(old.with_name(old.name.removesuffix(_MOVED))) as lock:
                live = lock is False
            if not live:
                with contextlib.suppress(OSError):
                    old.rename(target)
                    return True
        time.sleep(_WAIT_SECONDS)
    return False


def append(stream: FileIO, end: int, content: bytes, *, sync: bool = False) -> int:
    """Append to a journal, first cutting off a failed write after `end`; return the new end."""
    stream.truncate(end)
    try:
        left = memoryview(content)
        while left:  # a disk that is almost full accepts only a part
            left = left[stream.write(left) :]
        if sync:
            os.fsync(stream.fileno())
    except OSError:
        with contextlib.suppress(OSError):
            stream.truncate(end)
            if sync:
                os.fsync(stream.fileno())
        raise
    return end + len(content)


def temporary_of(name: str) -> str:
    """Return the target of which a file name is a temporary; "" if it is not one."""
    match = re.fullmatch(rf"\.(.+)\.{_HEX}{re.escape(_ENDING)}", name, re.DOTALL)
    return match.group(1) if match else ""


def _stem(target: Path) -> str:
    name = os.fsencode(target.name)
    long = len(name) > _MAX_NAME_BYTES
    return blake2b(name, digest_size=16).hexdigest() if long else target.name


def _made(target: Path, *, folder: bool) -> tuple[Path, int]:
    while True:
        path = target.with_name(f".{_stem(target)}.{secrets.token_hex(4)}{_ENDING}")
        try:
            if folder:
                path.mkdir(mode=0o700)
            else:
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            continue
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        # Before it was locked, another process may have removed it as a leftover.
        if try_lock(handle) is not False and _is_still(path, handle):
            return path, handle
        unlock(handle)
        os.close(handle)


def _is_still(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(handle))
    except OSError:
        return False


def try_lock(handle: int) -> bool | None:
    """Lock an open file or folder without waiting; None if the file system has no locks."""
    from filelock import lock_descriptor

    try:
        return lock_descriptor(handle, blocking=False)
    except OSError:
        return None


def unlock(handle: int) -> None:
    """Release the lock of an open file or folder.

    Closing it is not enough: if another thread starts a process at this moment, the new process has
    a copy of the handle, and therefore the lock, until it runs its program.
    """
    from filelock import unlock_descriptor

    with contextlib.suppress(OSError):  # the file system may have no locks
        unlock_descriptor(handle)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[bool | None]:
    """Lock a temporary briefly; False if its writer holds the lock, None if it cannot be locked."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        yield try_lock(handle)
    finally:
        unlock(handle)
        os.close(handle)


def _leftovers(target: Path) -> list[Path]:
    """Return the neighbours that are, or were, temporaries of this target."""
    name = re.compile(rf"\.{re.escape(_stem(target))}\.{_HEX}{re.escape(_ENDING)}({_MOVED})?")
    try:
        with os.scandir(target.parent) as entries:
            return sorted(target.with_name(e.name) for e in entries if name.fullmatch(e.name))
    except OSError:
        return []


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        if stat.S_ISDIR(path.lstat().st_mode):
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def _renameat2(source: Path, target: Path, flags: int) -> bool:
    """Rename with flags (Linux); return False if that is not possible here."""
    if sys.platform != "linux":
        return False
    import ctypes

    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:  # glibc before 2.28
        return False
    if call(_AT_CWD, os.fsencode(source), _AT_CWD, os.fsencode(target), flags) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(target))


def make_folder(path: str | Path, mode: int = 0o777) -> None:
    """Create a folder with its parents; unlike `Path.mkdir`, it can create a thousand levels."""
    folder = Path(path)
    missing: list[Path] = []
    while not folder.is_dir() and folder.parent != folder:
        missing.append(folder)
        folder = folder.parent
    for parent in reversed(missing):
        try:
            parent.mkdir(mode if parent is missing[0] else 0o777)
        except FileExistsError as error:  # another process created it first, or it is not a folder
            if parent is not missing[0] and not parent.is_dir():
                reason = os.strerror(errno.ENOTDIR)
                raise NotADirectoryError(errno.ENOTDIR, reason, str(path)) from error
            if not parent.is_dir():
                raise
