"""A student on disk: a folder with student.json, card.md and weights that cannot execute."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pnyx._version import __version__
from pnyx.errors import InputError, shorten
from pnyx.files import parse_json_object, read_lines
from pnyx.judge.calibration.curves import Curve
from pnyx.judge.calibration.recalibration import checked, curve_from

MANIFEST = "student.json"
CARD = "card.md"

_FORMAT = "pnyx-student"
_FORMAT_VERSION = 1
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")


@dataclass(frozen=True, slots=True)
class Student:
    """What a student's folder says of it.

    Attributes:
        name: letters, digits, `.`, `_` and `-`; part of the judge's name.
        kind: which kind of student: a key of `pnyx.students.judge.SCORERS`.
        settings: what its scorer needs beside the files; ready for JSON.
        curve: from its raw probability of yes to a calibrated one.
        threshold: the lowest calibrated probability that counts as yes, in [0, 1].
        card: one line: what it is and how well it did on questions that it was not trained on.
        about: what it was trained on and the figures; ready for JSON.
        files: SHA-256 of each file of weights, by name.
        task: of the questions that it answers: `relevance` or `support`.
    """

    name: str
    kind: str
    settings: Mapping[str, Any]
    curve: Curve
    threshold: float
    card: str
    about: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    task: str = "relevance"

    @property
    def digest(self) -> str:
        """SHA-256 of all that decides an answer."""
        names = ("kind", "settings", "calibration", "files")
        row = self.row()
        decisive = json.dumps({name: row[name] for name in names}, sort_keys=True)
        return hashlib.sha256(decisive.encode("utf-8", "surrogatepass")).hexdigest()

    def row(self) -> dict[str, Any]:
        """Return the fields of the manifest, ready for JSON."""
        return {
            "format": _FORMAT,
            "format_version": _FORMAT_VERSION,
            "pnyx": __version__,
            "name": self.name,
            "kind": self.kind,
            "task": self.task,
            "settings": dict(self.settings),
            "calibration": {
                "method": type(self.curve).__name__.lower(),
                "parameters": dataclasses.asdict(self.curve),
                "threshold": self.threshold,
            },
            "card": self.card,
            "about": dict(self.about),
            "files": dict(self.files),
        }


def check_name(name: str) -> None:
    """Raise InputError unless a student can have this name."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"a student cannot be called {shorten(name, 40)!r}, expected letters, digits, '.', '_' "
            "and '-'"
        )


def write_manifest(folder: Path, student: Student) -> Student:
    """Write the manifest of a folder that holds the weights; return it with their hashes."""
    check_name(student.name)
    names = sorted(path.name for path in folder.iterdir() if path.name not in (MANIFEST, CARD))
    files = {name: _sha256(folder / name) for name in names}
    student = dataclasses.replace(student, files=files)
    text = json.dumps(student.row(), indent=1, ensure_ascii=False, allow_nan=False)
    folder.joinpath(MANIFEST).write_text(text + "\n", encoding="utf-8")
    return student


@functools.cache
def _manifest() -> Any:
    import pydantic

    strict = pydantic.ConfigDict(strict=True, allow_inf_nan=False)
    calibration: Any = pydantic.create_model(
        "Calibration",
        __config__=strict,
        method=(str, ...),
        parameters=(dict[str, Any], ...),
        threshold=(Annotated[float, pydantic.Field(ge=0, le=1)], ...),
    )
    fields: dict[str, Any] = {
        **dict.fromkeys(("name", "kind", "task", "card"), (str, ...)),
        **dict.fromkeys(("settings", "about"), (dict[str, Any], ...)),
        "calibration": (calibration, ...),
        "files": (dict[str, str], ...),
    }
    return pydantic.create_model("Manifest", __config__=strict, **fields)


def read_student(folder: str | Path, task: str = "relevance") -> Student:
    """Read the manifest of a student for a task, and check each of its files against it.

    Raises:
        InputError: the folder is not a student, is of a newer version or answers another task, or
            a file in it is missing, damaged or unknown.
    """
    path = Path(folder) / MANIFEST
    if not path.is_file():
        raise InputError(
            f"holds no {MANIFEST}: expected a folder of pnyx annotate distil", path=folder
        )
    text = " ".join(line for _, line in read_lines(path))
    row = parse_json_object(text or "null", path=path, number=1)
    if (row.get("format"), row.get("format_version")) != (_FORMAT, _FORMAT_VERSION):
        found = f"{shorten(row.get('format'), 40)} {shorten(row.get('format_version'), 40)}"
        raise InputError(f"found {found}, this Pnyx reads {_FORMAT} {_FORMAT_VERSION}", path=path)
    try:
        student = _student(row, task)
    except InputError as error:
        raise InputError(error.problem, path=path) from error
    for name, expected in student.files.items():
        weights = Path(folder) / name
        if not weights.is_file():
            raise InputError("is missing: train or copy the student again", path=weights)
        if _sha256(weights) != expected:
            raise InputError("is damaged: its SHA-256 differs from the manifest's", path=weights)
    for found_path in sorted(Path(folder).iterdir()):  # hidden files are never read
        name = found_path.name
        if name not in (MANIFEST, CARD, *student.files) and not name.startswith("."):
            raise InputError(f"is not in {MANIFEST}: nothing vouches for it", path=found_path)
    return student


def _student(row: Mapping[str, Any], task: str) -> Student:
    found = checked(_manifest(), row)
    if not _NAME.fullmatch(found.name) or not all(map(_FILE.fullmatch, found.files)):
        raise InputError("name or files: expected letters, digits, '.', '_' and '-'")
    if found.task != task:
        raise InputError(f"task: found {shorten(found.task, 40)}, expected {task!r}")
    given = found.calibration
    same = {name: getattr(found, name) for name in ("name", "kind", "settings", "card", "about")}
    curve = curve_from(given.method, given.parameters)
    return Student(**same, curve=curve, threshold=given.threshold, files=found.files, task=task)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
