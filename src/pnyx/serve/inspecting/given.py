"""What was given to `pnyx view`: which sources it holds, told by content."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pnyx.corpora.reading import FORMATS, sniff
from pnyx.errors import InputError, escaped
from pnyx.files import MAX_LINE_BYTES, open_binary, read_json
from pnyx.judge.answers import ANSWERS, MANIFEST
from pnyx.judge.reports.reading import REPORTS

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
PARTS: Final = {ANSWERS: "answers", REPORTS: "reports", RESPONSES: "responses",
                 MEASURES: "measures", SUMMARY: "summary", "run.trec": "run",
                "items.jsonl": "items"}  # fmt: skip
"""File of a results folder -> its part."""

_DOCUMENTS: Final[Sequence[tuple[str, str]]] = (
    ("argued", "question sides judges"),
    ("measures", "runs"),
    ("measures", "retrievers"),
    ("measures", "thresholds cutoffs"),
    ("agreement", "measures compared"),
    ("measures", "measures"),
    ("compared", "comparisons"),
)
"""Kind of a JSON document without a `format`, and the fields that tell it; the first that fits."""

_BY_FORMAT: Final = {"pnyx-calibration": "calibration", "pnyx-card": "card",
                     "pnyx-stress": "trial"}  # fmt: skip

_KINDS: Final = {"answers": "answers", "labels": "labels"}
_ITEMS: Final = frozenset(
    "support-items relevance-items stance-items rated-items preference-items argument-pairs "
    "report-examples rag-items ranking-items sides-items rating-items".split()
)
_OF_KIND: Final = {"responses": "responses", "run": "ranking", "leaderboard": "leaderboard",
                   "nuggets": "nuggets", "questions": "topics",
                   "perspectives": "perspectives"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """A source that was found.

    Attributes:
        name: what it is called, not yet unique.
        path: as it was given.
        kind: how it is read (`reading.READERS`).
        files: part -> path.
        problem: why it cannot be read; it then has no files.
        is_fault: it may be meant as results; without, it is something else.
    """

    name: str
    path: str
    kind: str
    files: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    is_fault: bool = False


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
    sources = [one for path in paths for one in _sources(Path(path))]
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
    """Return what is in a folder but hidden files, and links, which may lead elsewhere."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(e.name for e in entries if e.name[0] != "." and not e.is_symlink())
    except OSError:
        return []
    return [folder / name for name in names]


def _sources(path: Path) -> Iterator[Found]:
    if path.is_dir():
        yield from _of_folder(path, 0)
    elif path.is_file():
        yield _of_file(path)
    else:
        raise InputError("expected a file or a folder of results", path=path)


def _of_folder(path: Path, depth: int) -> Iterator[Found]:
    """Yield the results that a folder is, then what else is in it."""
    manifest = None if (path / MANIFEST).is_symlink() else read_json(path / MANIFEST)
    if manifest is not None and manifest.get("format") == "pnyx-index":
        return
    entries = _entries(path)
    own = {part: str(path / name) for name, part in PARTS.items() if path / name in entries}
    taken: set[str] = set()
    if own.keys() & {"answers", "reports"} or (manifest is not None and own):
        taken = {*PARTS, MANIFEST}
        kind = "stress" if "summary" in own else "results"
        files = own if manifest is None else {**own, "manifest": str(path / MANIFEST)}
        yield Found(_name(path), str(path), kind, files)
    for entry in entries:
        ignored = entry.suffix in _SKIPPED or entry.name.endswith(MANIFEST)
        if entry.name in taken or ignored:
            continue
        if entry.is_dir():
            if depth < _DEEPEST:
                yield from _of_folder(entry, depth + 1)
        elif entry.is_file():
            found = _of_file(entry)
            if found.kind != "unknown" or (found.is_fault and _is_json(entry)):
                yield found


def _is_json(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith((".json", ".jsonl"))


def _name(path: Path) -> str:
    return path.resolve().name.removesuffix(".gz").rpartition(".")[0] or path.resolve().name


def _of_file(path: Path) -> Found:
    name = _name(path)
    try:
        kind, part = _kind(path)
    except InputError as error:
        return Found(name, str(path), "unknown", {}, str(error), is_fault=True)
    if not kind:
        problem = (
            f"{escaped(str(path))}: found {part}, expected results (docs/viewing.md lists them)"
        )
        return Found(name, str(path), "unknown", {}, problem)
    files = {part: str(path)}
    manifest = Path(f"{path}.{MANIFEST}")
    if manifest.is_file() and not manifest.is_symlink():
        files["manifest"] = str(manifest)
    return Found(name, str(path), kind, files)


def _kind(path: Path) -> tuple[str, str]:
    """Return how a file is read, and as which part; no kind, and what it is, if no results."""
    document = read_json(path) if path.suffix == ".json" else None
    if document is not None:
        if document.get("format") == "pnyx-formats":
            return "", "the summary of pnyx audit formats, whose trials lie in folders beside it"
        named = _BY_FORMAT.get(str(document.get("format")))
        fits = (kind for kind, keys in _DOCUMENTS if {*keys.split()} <= document.keys())
        kind = named or next(fits, "")
        if kind:
            return kind, "document"
    if _is_reports(path):
        return "results", "reports"
    found = sniff(str(path))
    if found in _KINDS:
        return _KINDS[found], found
    known = FORMATS.get(found)
    kind = _OF_KIND.get(known.kind, "") if known is not None else ""
    kind = "items" if found in _ITEMS else kind
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
