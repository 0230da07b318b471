"""What was given to `pnyx view`: which sources it holds, told by content."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pnyx.corpora.reading import FORMATS, sniff
from pnyx.errors import InputError, escaped
from pnyx.files import MAX_LINE_BYTES, open_binary
from pnyx.judge.answers import ANSWERS, MANIFEST
from pnyx.judge.reports.reading import REPORTS

__all__ = ["Found", "Given", "state_of", "what_is_given"]

MEASURES: Final = "measures.json"
RESPONSES: Final = "responses.jsonl"
SUMMARY: Final = "summary.json"
_DEEPEST: Final = 6
_SKIPPED: Final = (
    ".html",
    ".md",
    ".css",
    ".js",
    ".svg",
    ".png",
    ".sqlite",
    ".onnx",
    ".npz",
    ".toml",
)
_PARTS: Final = {ANSWERS: "answers", REPORTS: "reports", RESPONSES: "responses",
                 MEASURES: "measures", SUMMARY: "summary", "run.trec": "run"}  # fmt: skip
"""File of a results folder -> its part."""

_DOCUMENTS: Final[Sequence[tuple[str, frozenset[str]]]] = tuple(
    (kind, frozenset(keys.split()))
    for kind, keys in (
        ("calibration", "format judge method parameters"),
        ("argued", "question sides judges"),
        ("agreement", "measures compared"),
        ("stress", "trial"),
        ("card", "judge asked trials"),
        ("measures", "thresholds cutoffs"),
        ("measures", "measures"),
        ("measures", "runs"),
        ("measures", "retrievers"),
        ("compared", "comparisons"),
    )
)
"""Kind of a JSON document and the fields that it has; the first that fits counts."""

_KINDS: Final = {"answers": "answers", "labels": "labels"}
_OF_KIND: Final = {"responses": "responses", "run": "ranking", "leaderboard": "leaderboard",
                   "nuggets": "nuggets", "questions": "topics", "perspectives": "perspectives"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """A source that was found.

    Attributes:
        name: what it is called, not yet unique.
        path: as it was given.
        kind: how it is read (`reading.READERS`).
        files: part -> path.
        problem: why it cannot be read; it then has no files.
    """

    name: str
    path: str
    kind: str
    files: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Given:
    """Sources in order, and the state of each file that was looked at."""

    sources: tuple[Found, ...]
    files: Mapping[str, tuple[int, int]]


def what_is_given(paths: Sequence[str]) -> Given:
    """Return the sources of files and folders, which are searched for them.

    Raises:
        InputError: a path does not exist.
    """
    sources = [one for path in paths for one in _sources(path, Path(path), 0)]
    return Given(tuple(sources), state_of(paths))


def state_of(paths: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return the size and the time of change (ns) of each file in or under the paths."""
    found: dict[str, tuple[int, int]] = {}
    for path in paths:
        for file in _under(Path(path), 0):
            try:
                status = file.stat()
            except OSError:
                continue
            found[str(file.absolute())] = status.st_size, status.st_mtime_ns
    return found


def _under(path: Path, depth: int) -> Iterator[Path]:
    if not path.is_dir():
        yield path
    elif depth <= _DEEPEST:
        for entry in _entries(path):
            yield from _under(entry, depth + 1)


def _entries(folder: Path) -> list[Path]:
    """Return what is in a folder; hidden files and links, which may lead elsewhere, are left out."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(e.name for e in entries if e.name[0] != "." and not e.is_symlink())
    except OSError:
        return []
    return [folder / name for name in names]


def _sources(given: str, path: Path, depth: int) -> Iterator[Found]:
    if path.is_dir():
        yield from _of_folder(given, path, depth)
        return
    if not path.is_file():
        raise InputError("expected a file or a folder of results", path=path)
    yield _of_file(path, explicit=depth == 0)


def _of_folder(given: str, path: Path, depth: int) -> Iterator[Found]:
    entries = _entries(path)
    manifest = read_document(path / MANIFEST) if (path / MANIFEST).is_file() else None
    if manifest is not None and manifest.get("format") == "pnyx-index":
        return
    names = {entry.name for entry in entries}
    own = {part: str(path / name) for name, part in _PARTS.items() if name in names}
    taken: set[str] = set()
    if manifest is not None or ANSWERS in names or REPORTS in names:
        taken = {*_PARTS, MANIFEST, *(f"{n}.{MANIFEST}" for n in _PARTS)}
        if manifest is not None:
            own["manifest"] = str(path / MANIFEST)
        if own.keys() - {"manifest"}:
            yield Found(_name(path), str(path), "results", own)
    for entry in entries:
        if entry.name in taken or entry.suffix in _SKIPPED or entry.name.endswith(MANIFEST):
            continue
        if entry.is_dir():
            if depth < _DEEPEST:
                yield from _sources(given, entry, depth + 1)
        elif entry.is_file():
            found = _of_file(entry, explicit=False)
            if found.kind != "unknown":
                yield found


def _name(path: Path) -> str:
    return path.resolve().name.removesuffix(".gz").rpartition(".")[0] or path.resolve().name


def _of_file(path: Path, *, explicit: bool) -> Found:
    name = _name(path)
    try:
        kind, part = _kind(path)
    except InputError as error:
        return Found(name, str(path), "unknown", {}, str(error))
    if not kind:
        problem = (
            f"{escaped(str(path))}: found {part}, expected results (docs/viewing.md lists them)"
        )
        return Found(name, str(path), "unknown", {}, problem)
    files = {part: str(path)}
    manifest = Path(f"{path}.{MANIFEST}")
    if manifest.is_file():
        files["manifest"] = str(manifest)
    return Found(name, str(path), kind, files)


def _kind(path: Path) -> tuple[str, str]:
    """Return how a file is read, and as which part; no kind, and what it is: it holds no results."""
    document = read_document(path) if path.suffix == ".json" else None
    if document is not None:
        for kind, keys in _DOCUMENTS:
            if keys <= document.keys():
                return kind, "document"
    if _is_reports(path):
        return "results", "reports"
    found = sniff(str(path))
    if found in _KINDS:
        return _KINDS[found], found
    known = FORMATS.get(found)
    kind = _OF_KIND.get(known.kind, "") if known is not None else ""
    return (kind, found) if kind else ("", f"the format {found}")


def _is_reports(path: Path) -> bool:
    with open_binary(path) as stream:
        head = stream.readline(MAX_LINE_BYTES)
    if not all(key in head for key in (b'"sentences"', b'"nuggets"', b'"run_id"', b'"relevant"')):
        return False
    try:
        row = json.loads(head)
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and {"sentences", "nuggets", "run_id", "topic_id"} <= row.keys()


def read_document(path: Path) -> dict[str, Any] | None:
    """Return the object that a file of JSON is, if it is one."""
    try:
        if path.stat().st_size > 8 * MAX_LINE_BYTES:
            return None
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
