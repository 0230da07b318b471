"""Folders that are filled once in a test run, for all its workers."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

RUN_FOLDER: list[Path] = []
"""The folder of this test run; empty outside of pytest."""


def fill_once(name: str, fill: Callable[[Path], object]) -> Path:
    """Return the folder NAME that FILL filled, in whichever worker; callers only read it."""
    if not RUN_FOLDER:
        RUN_FOLDER.append(Path(tempfile.mkdtemp(prefix="pnyx-tests-")))
    folder = RUN_FOLDER[0] / name
    with FileLock(f"{folder}.lock"):
        done = Path(f"{folder}.done")
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of a worker that failed at it
            folder.mkdir()
            fill(folder)
            done.touch()
    return folder
