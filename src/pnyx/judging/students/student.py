"""A student: its folder, with weights that cannot execute, and its answers as a judge."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import json
import math
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from pnyx._version import __version__
from pnyx.core.errors import InputError, PluginError, shorten
from pnyx.core.files import parse_json_object, read_lines
from pnyx.core.native import free_memory
from pnyx.core.plugins import APART, Plugin, plugins
from pnyx.formats.fields import an_object, number, string, within
from pnyx.judging.answers import Answer, Judged, Provenance, Unscored
from pnyx.judging.base import Emit, answer_chunks, by_text
from pnyx.judging.calibration.curves import Curve, curve_from
from pnyx.judging.questions import JudgeQuestion, Support, blank

if TYPE_CHECKING:
    from pnyx.judging.students.trainer import Trainer

MANIFEST = "student.json"
CARD = "card.md"

_FORMAT = "pnyx-student"
_FORMAT_VERSION = 1
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")

_CHUNK = 256
"""Questions answered between two emits."""

SCORERS: Mapping[str, str] = {
    "combined": "pnyx.judging.students.combined",
    "late-interaction": "pnyx.judging.students.late",
    "lexical": "pnyx.judging.students.lexical",
    "reader": "pnyx.judging.students.reader",
}
"""Kind of student -> the module whose `load(folder, settings)` makes its scorer. All except
`reader`, the packaged detector of perspectives, are trained by `pnyx annotate distil`; plugins
add other kinds (`StudentKind`)."""

BASE_LOCATION = "PNYX_STUDENT_BASE"
"""Environment variable: the location on this machine of the model that a student adapts."""

Score: TypeAlias = float | str
"""A raw probability of yes in [0, 1], or why there is none."""


@dataclass(frozen=True, slots=True)
class Student:
    """The manifest of a student's folder.

    Attributes:
        name: letters, digits, `.`, `_` and `-`; part of the judge's name.
        kind: the kind of student: a key of `SCORERS`.
        settings: additional input of its scorer; ready for JSON.
        curve: maps its raw probability of yes to a calibrated one.
        threshold: the lowest calibrated probability that counts as yes, in [0, 1].
        card: one line: a description, and the accuracy on questions not used in training.
        about: training data and figures; ready for JSON.
        files: SHA-256 of each file of weights, by name.
        task: the task of its questions: `relevance` or `support`.
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
        """SHA-256 of everything that affects an answer."""
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
    """Raise InputError unless this is a valid name of a student."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"a student cannot be called {shorten(name, 40)!r}, expected letters, digits, '.', '_' "
            "and '-'"
        )


def write_manifest(folder: Path, student: Student) -> Student:
    """Write the manifest of a folder that contains the weights; return it with their hashes."""
    check_name(student.name)
    names = sorted(path.name for path in folder.iterdir() if path.name not in (MANIFEST, CARD))
    files = {name: _sha256(folder / name) for name in names}
    student = dataclasses.replace(student, files=files)
    text = json.dumps(student.row(), indent=1, ensure_ascii=False, allow_nan=False)
    folder.joinpath(MANIFEST).write_text(text + "\n", encoding="utf-8")
    return student


def read_student(folder: str | Path, task: str = "relevance") -> Student:
    """Read the manifest of a student for a task, and check each of its files against it.

    Raises:
        InputError: the folder is not a student, has a newer version or answers another task, or a
            file in it is missing, damaged or unknown.
    """
    path = Path(folder) / MANIFEST
    if not path.is_file():
        raise InputError(
            f"holds no {MANIFEST}: expected a folder of pnyx annotate distil", path=folder
        )
    text = " ".join(line for _, line in read_lines(path))
    row = parse_json_object(text or "null", path=path, number=1)
    if (row.get("format"), row.get("format_version")) != (_FORMAT, _FORMAT_VERSION):
        version = f"{shorten(row.get('format'), 40)} {shorten(row.get('format_version'), 40)}"
        raise InputError(f"found {version}, this Pnyx reads {_FORMAT} {_FORMAT_VERSION}", path=path)
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
            raise InputError(f"is not in {MANIFEST}, so it cannot be verified", path=found_path)
    return student


def _student(row: Mapping[str, Any], task: str) -> Student:
    same: dict[str, Any] = {n: string(row.get(n), n) for n in ("name", "kind", "card", "task")}
    same |= {name: an_object(row.get(name), name) for name in ("settings", "about", "files")}
    calibration = an_object(row.get("calibration"), "calibration")
    if not _NAME.fullmatch(same["name"]) or not all(map(_FILE.fullmatch, same["files"])):
        raise InputError("name or files: expected letters, digits, '.', '_' and '-'")
    for file, code in same["files"].items():
        string(code, f"files.{file}")
    if same["task"] != task:
        raise InputError(f"task: found {shorten(same['task'], 40)}, expected {task!r}")
    with within("calibration"):
        curve = curve_from(calibration.get("method"), calibration.get("parameters"))
        threshold = float(number(calibration.get("threshold"), "threshold"))
        if not 0 <= threshold <= 1:
            raise InputError(f"threshold: found {threshold:g}, expected 0 to 1")
    return Student(**same, curve=curve, threshold=threshold)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class Scorer(Protocol):
    """Scores questions of a student's task with its weights."""

    def score(self, questions: Sequence[Support]) -> list[Score]:
        """Return a score for each question, independent of the others; for a single thread."""


@dataclass(frozen=True, slots=True)
class StudentKind:
    """A kind of student that a plugin adds.

    Attributes:
        trainer: returns the trainer for those options of `pnyx annotate distil` that are set:
            `base`, `epochs`, `batch`, `learning_rate`, `reason`, `four_bit`, and always `seed`.
        load: returns the scorer of a student's folder and settings; None for a kind in `SCORERS`.
    """

    trainer: Callable[..., Trainer]
    load: Callable[[Path, Mapping[str, Any]], Scorer] | None = None


def plugin_kinds() -> dict[str, Plugin]:
    """Return the kinds of student that plugins add, by name."""
    return plugins("students", ("lexical", "reader"))


def plugin_kind(kind: str) -> StudentKind | None:
    """Import a kind of student that a plugin adds; None if no plugin has it."""
    if (plugin := plugin_kinds().get(kind)) is None:
        return None
    student_kind: StudentKind = plugin.load(StudentKind)
    return student_kind


def load_scorer(kind: str, folder: Path, settings: Mapping[str, Any]) -> Scorer:
    """Load the weights of a student with the settings from training.

    Raises:
        InputError: the kind is unknown, or its files cannot be used.
        PluginError: the plugin that has this kind is not installed.
    """
    if kind in SCORERS:
        load = importlib.import_module(SCORERS[kind]).load
    elif (student_kind := plugin_kind(kind)) is not None and student_kind.load is not None:
        load = student_kind.load
    elif package := APART.get(f"--kind {kind}"):
        raise PluginError(f"a student of the kind {kind} needs a plugin: pip install {package}")
    else:
        expected = ", ".join(dict.fromkeys([*SCORERS, *plugin_kinds()]))
        raise InputError(f"kind: found {shorten(kind, 40)!r}, expected one of {expected}")
    scorer: Scorer = load(folder, settings)
    free_memory()  # of unpacking files
    return scorer


class StudentJudge:
    """Answers questions of one task, mostly relevance, with a trained student.

    Args:
        student: its manifest; its curve maps raw scores to probabilities.
        scorer: its weights.

    Attributes:
        name: `student:NAME@` and the first 8 digits of the student's hash.
        card: a description, and the accuracy on questions not used in training.
    """

    kinds: frozenset[type] = frozenset({Support})

    def __init__(self, student: Student, scorer: Scorer) -> None:
        self.student, self.card = student, student.card
        self.name = f"student:{student.name}@{student.digest[:8]}"
        self._scorer = scorer
        self._busy = threading.Lock()  # a cascade may ask again before an answer is complete

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question, those about the same text together; unscored if of another task."""
        await answer_chunks(by_text(questions, self.name), _CHUNK, self.judge, emit)

    def judge(self, questions: Sequence[Support]) -> list[Answer]:
        """Answer questions in this thread."""
        problems = [_problem(question, self.student.task) for question in questions]
        answerable = [q for q, problem in zip(questions, problems, strict=True) if not problem]
        with self._busy:
            scores = list(map(_number, self._scorer.score(answerable))) if answerable else []
        raw = [score for score in scores if not isinstance(score, str)]
        calibrated = iter(self.student.curve(raw).tolist())
        rest = iter(scores)
        return [self._verdict(problem or next(rest), calibrated) for problem in problems]

    def _verdict(self, score: Score, calibrated: Iterator[float]) -> Answer:
        student = self.student
        if isinstance(score, str):
            return Unscored(score, Provenance(self.name, method="student"))
        probability = next(calibrated)
        details = {"raw": round(score, 6), "threshold": student.threshold}
        return Judged(
            value=probability >= student.threshold,
            probability=probability,
            provenance=Provenance(self.name, method="student", details=details),
            explanation=f"{probability:.2f}; yes from {student.threshold:.2f}",
        )


def _number(score: Score) -> Score:
    """Return why a value is not a score: a curve would turn it into a probability."""
    if isinstance(score, str) or math.isfinite(score):
        return score
    return f"score: found {score}, expected a number"


def _problem(question: Support, task: str) -> str:
    if problem := blank(question):
        return problem
    if question.task != task:
        return f"task: the student answers {task}, not {shorten(question.task, 40)!r}"
    return ""


def open_student(folder: str | Path) -> StudentJudge:
    """Open a student that `pnyx annotate distil` wrote.

    Raises:
        InputError: it is not a student's folder, or a file in it is missing or damaged.
        PluginError: the plugin that runs it is not installed.
    """
    student = read_student(folder)
    try:
        return StudentJudge(student, load_scorer(student.kind, Path(folder), student.settings))
    except InputError as error:
        raise InputError(error.problem, path=folder) from error
