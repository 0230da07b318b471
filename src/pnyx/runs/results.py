"""The results folder of `pnyx judge`: answers in the order of the items, and a manifest."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pnyx._version import __version__
from pnyx.errors import InputError, PnyxError, shorten
from pnyx.files import atomic_text, json_line
from pnyx.judge.answers import answer_rows
from pnyx.judge.base import Judge
from pnyx.judge.questions import JudgeQuestion
from pnyx.judge.results import ANSWERS, MANIFEST, tally
from pnyx.runs.engine import answer_items
from pnyx.runs.journal import Journal, item_bytes, partial_of, read_json

__all__ = ["judge_into", "now", "write_manifest"]

_FORMAT = "pnyx-results"
_FORMAT_VERSION = 1


def judge_into(
    out: str | Path,
    task: str,
    judge: Judge,
    items: Iterable[JudgeQuestion],
    facts: Callable[[int], Mapping[str, Any]],
    *,
    settings: Mapping[str, Any] | None = None,
    from_rows: bool = True,
    on_start: Callable[[int, int], None] | None = None,
    also: Callable[[Iterator[list[dict[str, Any]]]], None] | None = None,
) -> dict[str, Any]:
    """Ask a judge about items, write answers and a manifest to a folder; return the manifest."""
    if str(out) in ("", "-"):
        raise InputError(f"found {str(out)!r}, expected the name of a folder for the results")
    folder, started = Path(out), now()
    digest, count = hashlib.sha256(), 0
    for item in items:
        digest.update(item_bytes(item))
        count += 1
    run = {"task": task, "judge": judge.name, "items_sha256": digest.hexdigest()}
    about = {"format": _FORMAT, **run, "settings": json.loads(json.dumps(settings or {}))}
    existed = os.path.lexists(folder)
    _check(folder, run)

    def same(found: Mapping[str, Any]) -> bool:
        return from_rows and found == about

    try:
        with Journal(folder / ANSWERS, about, same, lasting=from_rows) as journal:
            if on_start is not None:
                on_start(count, journal.kept)
            answer_items(judge, items, journal, answer_rows)
            manifest = _finish(folder, run, journal, facts(count), started)
            if also is not None:
                also(journal.rows())
            journal.remove()
    finally:
        if not existed:
            with contextlib.suppress(OSError):
                folder.rmdir()  # only if there is nothing to go on from
    return manifest


def _finish(
    folder: Path,
    run: Mapping[str, Any],
    journal: Journal,
    facts: Mapping[str, Any],
    started: str,
) -> dict[str, Any]:
    digest = hashlib.sha256()
    with atomic_text(folder / ANSWERS) as stream:

        def written() -> Iterator[Mapping[str, Any]]:
            for row in (row for rows in journal.rows() for row in rows):
                line = json_line(row) + "\n"
                digest.update(line.encode())
                stream.write(line)
                yield row

        counts = tally(written())
    manifest = {
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "pnyx": __version__,
        "python": platform.python_version(),
        **run,
        "counts": counts,
        **facts,
        "started": started,
        "finished": now(),
        "answers_sha256": digest.hexdigest(),
    }
    write_manifest(folder / MANIFEST, manifest)
    return manifest


def _check(folder: Path, run: Mapping[str, Any]) -> None:
    try:
        if not os.path.lexists(folder):
            return
        if not folder.is_dir():
            raise InputError("found a file, expected a folder for the results", path=folder)
        names = {entry.name for entry in folder.iterdir()}
    except OSError as error:
        place = shorten(str(folder), 200)
        raise PnyxError(f"{place}: cannot be written: {error.strerror}") from error
    if not names:
        return
    places = (folder / MANIFEST, partial_of(folder / ANSWERS) / MANIFEST)
    found = [read_json(path) for path in places if path.exists()]
    known = [one for one in found if one is not None and one.get("format") == _FORMAT]
    if not known or len(known) < len(found):
        raise InputError("holds files that are no results of pnyx judge", path=folder)
    for one in known:
        different = [name for name, value in run.items() if one.get(name) != value]
        if different:
            what = "other items" if different == ["items_sha256"] else f"another {different[0]}"
            raise InputError(f"holds the results for {what}: name another folder", path=folder)


def write_manifest(path: Path, manifest: Mapping[str, Any]) -> None:
    """Write a manifest for people and programs to read."""
    with atomic_text(path) as stream:
        stream.write(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


def now() -> str:
    """Return the time, to the second, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")
