"""The sources given to `pnyx view`, recognised by content."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pnyx.core.compression import plain_name
from pnyx.core.errors import InputError, escaped
from pnyx.core.files import read_json
from pnyx.core.rooms import ReaderDoor, load, named
from pnyx.formats.format_table import FORMATS
from pnyx.formats.recognition import sniff
from pnyx.judging.answers import ANSWERS, MANIFEST
from pnyx.judging.runs.engine import partial_of
from pnyx.web.results.other_documents import LISTED, other_document, unknown_file

_DEEPEST: Final = 6
_BEGUN: Final = partial_of("").name
_SKIPPED: Final = ".html .md .css .js .svg .png .sqlite .onnx .npz .toml".split()

_READERS: Final[Mapping[str, ReaderDoor]] = named("READERS")

ROOM_FILES: Final = {door.file: part for part, door in _READERS.items() if door.file}
"""File of a results folder that a room reads -> its part."""

_ROOM_FOLDERS: Final = {door.manifest: part for part, door in _READERS.items() if door.manifest}
"""`kind` in the manifest of a folder that a room reads -> its part."""

_PARTS: Final = {ANSWERS: "answers", "responses.jsonl": "responses", "measures.json": "measures",
                 "summary.json": "summary", "run.trec": "run", "items.jsonl": "items",
                 **ROOM_FILES}  # fmt: skip
"""File of a results folder -> its part."""

_DOCUMENTS: Final[Sequence[tuple[str, str]]] = (
    ("argued", "question sides judges"),
    ("measures", "runs"),
    ("measures", "retrievers"),
    ("measures", "thresholds cutoffs"),
    ("measures", "measures"),
    ("compared", "comparisons"),
)
"""Kind of a JSON document without a `format`, and its characteristic fields; the first match."""

_BY_FORMAT: Final = {"pnyx-calibration": "calibration", "pnyx-card": "card",
                     "pnyx-stress": "trial"}  # fmt: skip
_ITEMS: Final = (
    "support-items relevance-items stance-items rated-items preference-items argument-pairs "
    "report-examples rag-items ranking-items sides-items rating-items"
).split()
_BY_SNIFFED: Final = {"answers": "answers", "labels": "labels", **dict.fromkeys(_ITEMS, "items")}
_BY_KIND: Final = {"responses": "responses", "run": "ranking", "leaderboard": "leaderboard",
                   "nuggets": "nuggets", "questions": "topics",
                   "perspectives": "perspectives"}  # fmt: skip

State = dict[str, tuple[int, int]]
"""Path of a file -> its size, and the time of its change in ns."""


@dataclass(frozen=True, slots=True)
class GivenSource:
    """A given source."""

    name: str  # its name, not yet unique
    path: str  # as it was given
    kind: str  # a name in `reader.KINDS`
    files: Mapping[str, str] = field(default_factory=dict)  # part -> path
    problem: str = ""  # why it cannot be read
    is_fault: bool = False  # whether it may be meant as results
    runs: Sequence[str] = ()  # files of runs that are measured on its qrels
    baseline: str = ""  # the baseline among them


@dataclass(frozen=True, slots=True)
class RunQrels:
    """Judgements to measure runs on, and the baseline run."""

    path: str
    baseline: str = ""  # its name or file; empty: the first run


def given_sources(paths: Sequence[str], qrels: RunQrels | None = None) -> list[GivenSource]:
    """Return the sources of files and folders; with `qrels`, all runs are one source.

    InputError: a path is not a file or folder, or no run can be measured.
    """
    sources = [source for path in paths for source in _sources(Path(path))]
    if qrels is None:
        return sources
    rankings = [source for source in sources if source.kind == "ranking"]
    runs = [path for s in rankings for part, path in s.files.items() if part != "manifest"]
    if not runs:
        results = escaped(", ".join(paths), 200)
        raise InputError(f"--qrels {escaped(qrels.path)}: expected runs to measure in {results}")
    files, name = {"qrels": qrels.path}, _name(Path(qrels.path))
    measured = GivenSource(name, qrels.path, "retrieval", files, runs=runs, baseline=qrels.baseline)
    return [measured, *(source for source in sources if source.kind != "ranking")]


def state_of(paths: Sequence[str]) -> State:
    """Return the size and the time of change of each file in or under the paths."""
    state: State = {}
    for path in paths:
        for file in _under(Path(path), 0):
            try:
                status = file.stat()
            except OSError:
                continue
            state[str(file.absolute())] = status.st_size, status.st_mtime_ns
    return state


def _under(path: Path, depth: int) -> Iterator[Path]:
    if not path.is_dir():
        yield path
    elif depth <= _DEEPEST:
        for entry in _entries(path):
            yield from _under(entry, depth + 1)


def _entries(folder: Path) -> list[Path]:
    """Return the files and folders in a folder.

    Hidden files are left out, links (they may lead elsewhere), and named pipes, sockets and devices
    (a pipe would be waited for).
    """
    try:
        with os.scandir(folder) as entries:
            names = sorted(e.name for e in entries if e.name[0] != "." and _is_plain(e))
    except OSError:
        return []
    return [folder / name for name in names]


def _is_plain(entry: os.DirEntry[str]) -> bool:
    return entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)


def _sources(path: Path) -> Iterator[GivenSource]:
    if path.is_dir():
        yield from _of_folder(path, 0)
    elif path.is_file():
        yield _of_file(path)
    else:
        raise InputError("expected a file or a folder of results", path=path)


def _of_folder(path: Path, depth: int) -> Iterator[GivenSource]:
    """Yield the results in a folder, then its other contents."""
    manifest = None if (path / MANIFEST).is_symlink() else read_json(path / MANIFEST)
    part = None if manifest is None else _ROOM_FOLDERS.get(str(manifest.get("kind")))
    if part is not None:
        folder_source = GivenSource(_name(path), str(path), _READERS[part].kind, {part: str(path)})
        yield from [folder_source] * (depth == 0)
        return
    entries = _entries(path)
    files = {part: str(path / name) for name, part in _PARTS.items() if path / name in entries}
    taken: set[str] = set()
    if files.keys() & {"answers", *ROOM_FILES.values()} or (manifest is not None and files):
        taken = {*_PARTS, MANIFEST}
        begun = "begun" if path.name.endswith(_BEGUN) else "results"
        kind = "stress" if "summary" in files else begun
        files |= {} if manifest is None else {"manifest": str(path / MANIFEST)}
        yield GivenSource(_name_of_folder(path), str(path), kind, files)
    for entry in entries:
        ignored = entry.suffix in _SKIPPED or entry.name.endswith(MANIFEST)
        if entry.name in taken or ignored:
            continue
        if entry.is_dir():
            if depth < _DEEPEST:
                yield from _of_folder(entry, depth + 1)
        elif entry.is_file():
            source = _of_file(entry)
            is_json = plain_name(entry.name).endswith((".json", ".jsonl"))
            if source.kind != "unknown" or (source.is_fault and is_json):
                yield source


def _name_of_folder(path: Path) -> str:
    """Return the name of results; files of an unfinished run have the name of its folder."""
    return _name(path.parent if path.name == f"{ANSWERS}{_BEGUN}" else path)


def _name(path: Path) -> str:
    return plain_name(path.resolve().name).rpartition(".")[0] or path.resolve().name


def _of_file(path: Path) -> GivenSource:
    name = _name(path)
    try:
        kind, part = _kind(path)
    except InputError as error:
        return GivenSource(name, str(path), "unknown", {}, str(error), is_fault=True)
    if not kind:
        problem = f"found {part}"
        return GivenSource(name, str(path), "unknown", {}, f"{escaped(str(path))}: {problem}")
    files = {part: str(path)}
    manifest = Path(f"{path}.{MANIFEST}")
    if manifest.is_file() and not manifest.is_symlink():
        files["manifest"] = str(manifest)
    return GivenSource(name, str(path), kind, files)


def _kind(path: Path) -> tuple[str, str]:
    """Return a file's kind and part; no kind, and a description, if it has no results."""
    document = read_json(path) if path.suffix == ".json" else None
    if document is not None:
        if other := other_document(document):
            return "", other
        named = _BY_FORMAT.get(str(document.get("format")))
        fits = (kind for kind, keys in _DOCUMENTS if {*keys.split()} <= document.keys())
        kind = named or next(fits, "")
        if kind:
            return kind, "document"
    for part, door in _READERS.items():
        if door.recognise and load(door.recognise)(path):
            return door.kind, part
    sniffed = _sniffed(path, document)
    file_format = FORMATS.get(sniffed)
    kind = _BY_SNIFFED.get(sniffed) or (_BY_KIND.get(file_format.kind, "") if file_format else "")
    return (kind, sniffed) if kind else ("", f"the format {sniffed}, expected results: {LISTED}")


def _sniffed(path: Path, document: Mapping[str, Any] | None) -> str:
    """Return the name of a file's format; InputError says what it may be instead."""
    try:
        return sniff(str(path))
    except InputError as error:
        problem = unknown_file(error.problem, document or read_json(path))
        raise InputError(problem, path=path, line=error.line) from error
