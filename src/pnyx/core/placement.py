"""Putting what is complete in its place in one step, and what killed processes leave behind.

A target is written as a hidden neighbour `.NAME.TOKEN.pnyx`, locked by its writer; the system frees
the lock when the process ends. Unlocked neighbours were left by a kill; the next writer of the same
target removes them. A folder replaces another by an exchange of names (Linux) or else via
`.NAME.TOKEN.pnyx-old`, which `recover_folder` puts back after a kill between the two steps.
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
    """Yield a new, locked, empty neighbour of a file or folder to be, removed if still there."""
    if folder:
        recover_folder(target)
    for path in _leftovers(target):
        if path.name.endswith(_MOVED) and not os.path.lexists(target):
            continue  # all that is left of the target
        with _opened(path) as lock:
            # While it is locked here, no writer that has just made it goes on with it.
            if lock is True:
                _remove(path)
    made, handle = _made(target, folder=folder)
    try:
        yield made
    finally:
        unlock(handle)
        os.close(handle)
        _remove(made)


_Placed: TypeAlias = tuple[contextlib.ExitStack, list[tuple[Path, Path]]]
_together: ContextVar[_Placed | None] = ContextVar("files placed together", default=None)
"""What keeps the temporary files of `placed_together`, and (temporary, target) of each."""


@contextlib.contextmanager
def placed(target: Path) -> Iterator[Path]:
    """Yield a temporary file that gets the name of the target once it is written."""
    with contextlib.ExitStack() as own:
        keeps, waiting = _together.get() or (own, None)
        made = keeps.enter_context(temporary(target))
        yield made
        if waiting is None:
            made.replace(target)
        else:
            waiting.append((made, target))


@contextlib.contextmanager
def placed_together() -> Iterator[None]:
    """Give the files that are `placed` inside their names only when all of them are written.

    So a full disk leaves all files of before, and never a leaderboard with another one's record.
    """
    if _together.get() is not None:  # the outer one places them
        yield
        return
    with contextlib.ExitStack() as keeps:
        waiting: list[tuple[Path, Path]] = []
        token = _together.set((keeps, waiting))
        try:
            yield
        finally:
            _together.reset(token)
        for made, target in waiting:
            made.replace(target)


def newest(target: str | Path) -> Path:
    """Return where the newest content of a file is: within `placed_together`, its temporary."""
    _, waiting = _together.get() or (None, ())
    found = [made for made, name in waiting if name == Path(target)]
    return found[-1] if found else Path(target)


def place_folder(temporary: Path, target: Path, *, replace: bool) -> None:
    """Give a complete folder its name. What it replaces has the temporary's name then, or none."""
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
    """Put a folder back that a kill has left under a hidden name; return whether one was."""
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
    """Append to a journal, cutting off what failed behind `end`; return where it ends then."""
    stream.truncate(end)
    try:
        left = memoryview(content)
        while left:  # a disk that gets full takes a part
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
    """Return the name of the target that a file's name says it is a temporary of; "" of none."""
    found = re.fullmatch(rf"\.(.+)\.{_HEX}{re.escape(_ENDING)}", name, re.DOTALL)
    return found.group(1) if found else ""


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
        # Before it was locked, another process may have taken it for a leftover.
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
    """Lock an open file or folder without waiting; None where the file system has no locks."""
    from filelock import lock_descriptor

    try:
        return lock_descriptor(handle, blocking=False)
    except OSError:
        return None


def unlock(handle: int) -> None:
    """End the lock of an open file or folder.

    To close it is not enough: where another thread starts a process at this moment, that has a copy
    of the handle, and with it the lock, until it runs its program.
    """
    from filelock import unlock_descriptor

    with contextlib.suppress(OSError):  # without locks there is none to end
        unlock_descriptor(handle)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[bool | None]:
    """Lock a temporary for a moment; False where its writer holds it, None where it cannot be."""
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
    """Rename with flags (Linux); return False where that cannot be done here."""
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
    """Make a folder with its parents; unlike `Path.mkdir`, a thousand of them are no problem."""
    folder = Path(path)
    missing: list[Path] = []
    while not folder.is_dir() and folder.parent != folder:
        missing.append(folder)
        folder = folder.parent
    for parent in reversed(missing):
        try:
            parent.mkdir(mode if parent is missing[0] else 0o777)
        except FileExistsError as error:  # another process was faster, or it is no folder
            if parent is not missing[0] and not parent.is_dir():
                reason = os.strerror(errno.ENOTDIR)
                raise NotADirectoryError(errno.ENOTDIR, reason, str(path)) from error
            if not parent.is_dir():
                raise
