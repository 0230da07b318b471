"""A user's quality model on disk: a folder that contains nothing executable.

quality.json (with the figures), weights.safetensors, card.md and, for the Touché paper's model,
words.json; `lab/training/own_quality.py` of the repository trains and writes it.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pnyx.core.errors import InputError, shorten
from pnyx.core.files import parse_json_object, read_lines
from pnyx.formats.fields import number, string
from pnyx.judging.students.surface_quality import (
    HASH_BITS,
    SURFACE,
    VERSION,
    Head,
    QualityModel,
    predictions,
)

MANIFEST = "quality.json"
WEIGHTS, WORDS = "weights.safetensors", "words.json"
FORMAT = ("pnyx-quality", 1)
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}")
_MAX_BYTES = 1 << 30
FILES = {"packaged": {WEIGHTS}, "paper": {WEIGHTS, WORDS}}
"""Kind -> its files in addition to manifest and card."""

MAX_WORDS = 2**18
NEVER_SHORT = (0.0, 0.0, 0.0, 0.0)
"""A threshold that no text passes: a model for one kind of text has no head for short ones."""

_WORD = re.compile(r"(?u)\b\w\w+\b")
_MAX_CHARACTERS = 20_000

Arrays = dict[str, NDArray[Any]]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SupportVectors:
    """A support vector machine with the kernel exp(-gamma |x - v|²), its vectors in CSR rows."""

    starts: Ints
    words: Ints
    values: Floats
    weights: Floats
    intercept: float
    gamma: float

    def accepts(self, text: Floats) -> bool:
        """Return whether a text, as a dense row of tf-idf, is an argument."""
        rows = np.repeat(np.arange(len(self.weights)), np.diff(self.starts))
        dots = np.bincount(rows, self.values * text[self.words], minlength=len(self.weights))
        norms = np.bincount(rows, self.values**2, minlength=len(self.weights))
        distance = np.maximum(norms + float((text * text).sum()) - 2 * dots, 0.0)
        kernel = np.exp(-self.gamma * distance)
        return float((self.weights * kernel).sum()) + self.intercept > 0


@dataclass(frozen=True, slots=True)
class PaperModel:
    """0 for a text classified as no argument, else the regression, clipped to [0, 1]."""

    name: str
    neutral: float
    words: Mapping[str, int]
    idf: Floats
    weights: Floats
    intercept: float
    machine: SupportVectors | None

    def score(self, text: str) -> float | None:
        """Return the quality of a text, None if it has no known word."""
        places, values = self._seen(text)
        if not len(places):
            return None
        if not self._accepts(places, values):
            return 0.0
        value = float((values * self.weights[places]).sum()) + self.intercept
        return min(1.0, max(0.0, value))

    def accepts(self, text: str) -> bool:
        """Return whether the classifier accepts a text as an argument."""
        return self._accepts(*self._seen(text))

    def _accepts(self, places: Ints, values: Floats) -> bool:
        if self.machine is None:
            return True
        row = np.zeros(len(self.idf))
        row[places] = values
        return self.machine.accepts(row)

    def _seen(self, text: str) -> tuple[Ints, Floats]:
        """Return the columns of a text's known words, ascending, and their tf-idf."""
        counts = Counter(_WORD.findall(text[:_MAX_CHARACTERS].lower()))
        columns = sorted((self.words[word], n) for word, n in counts.items() if word in self.words)
        places = np.array([column for column, _ in columns], dtype=np.int64)
        values = np.array([n for _, n in columns], dtype=np.float64) * self.idf[places]
        length = math.sqrt(float((values * values).sum()))
        return places, values / length if len(places) else values

    def predict(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 (n,) in [0, 1]; `neutral` for a text without a known word."""
        return predictions(self, texts)[0]


def read_quality_model(folder: str | Path) -> QualityModel | PaperModel:
    """Read a model that `lab/training/own_quality.py` wrote, without executing anything.

    Raises InputError for another folder, a newer version, or a file that is missing or damaged.
    """
    path = Path(folder) / MANIFEST
    if not path.is_file():
        problem = f"has no {MANIFEST}: expected a model of argument quality"
        raise InputError(problem, path=folder)
    row = _object(path)
    version = row.get("format"), row.get("format_version")
    if version != FORMAT:
        actual, expected = (f"{shorten(a, 40)} {shorten(b, 40)}" for a, b in (version, FORMAT))
        raise InputError(f"found {actual}, this Pnyx reads {expected}", path=path)
    try:
        return _model(Path(folder), row)
    except InputError as error:
        raise InputError(error.problem, path=error.path or path) from error


def _object(path: Path, *, keep_surrogates: bool = False) -> dict[str, Any]:
    text = " ".join(line for _, line in read_lines(path)) or "null"
    return parse_json_object(text, path=path, number=1, keep_surrogates=keep_surrogates)


def _model(folder: Path, row: Mapping[str, Any]) -> QualityModel | PaperModel:
    kind, settings, files = row.get("kind"), row.get("settings"), row.get("files")
    if not isinstance(kind, str) or kind not in FILES:
        raise InputError(f"kind: found {shorten(kind, 40)}, expected one of {', '.join(FILES)}")
    if not NAME.fullmatch(string(row.get("name"), "name")):
        raise InputError(f"name: found {shorten(row['name'], 40)!r}")
    neutral = float(number(row.get("neutral"), "neutral"))
    if not 0 <= neutral <= 1:
        raise InputError(f"neutral: found {neutral:g}, expected 0 to 1")
    if not isinstance(settings, dict):
        raise InputError(f"settings: found {shorten(settings, 40)}, expected an object")
    if not isinstance(files, dict) or set(files) != FILES[kind]:
        raise InputError(f"files: found {shorten(files, 80)}, expected {sorted(FILES[kind])}")
    for name, expected in files.items():
        if not (folder / name).is_file():
            raise InputError(f"{name}: is missing", path=folder)
        if (folder / name).stat().st_size > _MAX_BYTES or sha256(folder / name) != expected:
            raise InputError(f"{name}: is damaged", path=folder)
    arrays, make = _arrays(folder), _paper_model if kind == "paper" else _surface_model
    return make(folder, full_name(row), neutral, settings, arrays)


def full_name(row: Mapping[str, Any]) -> str:
    """Return the name of a model with 8 digits of the hash of its weights and settings."""
    decisive = {name: row[name] for name in ("kind", "neutral", "settings", "files")}
    digest = hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()
    return f"{row['name']}@{digest[:8]}"


def _arrays(folder: Path) -> Arrays:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        arrays: Arrays = load_file(folder / WEIGHTS)
    except (OSError, SafetensorError, ValueError, KeyError) as error:
        raise InputError(f"{WEIGHTS}: cannot be read: {shorten(str(error), 80)}") from error
    if any(v.dtype.kind == "f" and not np.isfinite(v).all() for v in arrays.values()):
        raise InputError(f"{WEIGHTS}: expected finite numbers")
    return arrays


def _take(
    arrays: Arrays, name: str, size: int, kind: str = "f", *, positive: bool = False
) -> NDArray[Any]:
    array = arrays.get(name)
    if array is None or array.shape != (size,) or array.dtype.kind != kind:
        actual = "none" if array is None else f"{array.dtype} {array.shape}"
        raise InputError(f"{WEIGHTS}: {name}: found {actual}, expected shape {(size,)}")
    if positive and not (array > 0).all():
        raise InputError(f"{WEIGHTS}: {name}: expected numbers above 0")
    return array.astype(np.float64 if kind == "f" else np.int64)


def _surface_model(
    _: Path, name: str, neutral: float, settings: Mapping[str, Any], arrays: Arrays
) -> QualityModel:
    if (settings.get("features"), settings.get("surface")) != (VERSION, list(SURFACE)):
        version = shorten(settings.get("features"), 20)
        raise InputError(f"settings: features of version {version}, expected {VERSION}: train it")
    intercept = float(number(settings.get("intercept"), "settings.intercept"))
    few, many = len(SURFACE), 2**HASH_BITS
    deviation = _take(arrays, "deviation", few, positive=True)
    idf = _take(arrays, "idf", many, positive=True)
    head = Head(intercept, _take(arrays, "surface", few), _take(arrays, "words", many))
    mean = _take(arrays, "mean", few)
    return QualityModel(name, neutral, mean, deviation, idf, head, head, 0.0, 0.0, NEVER_SHORT)


def _paper_model(
    folder: Path, name: str, neutral: float, settings: Mapping[str, Any], arrays: Arrays
) -> PaperModel:
    words = _object(folder / WORDS, keep_surrogates=True).get("words")
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise InputError(f"{WORDS}: expected words, a list of strings")
    if len(words) > MAX_WORDS or any(a >= b for a, b in itertools.pairwise(words)):
        raise InputError(f"{WORDS}: expected up to {MAX_WORDS} words, in order and each once")
    intercept = float(number(settings.get("intercept"), "settings.intercept"))
    idf = _take(arrays, "idf", len(words), positive=True)
    weights = _take(arrays, "weights", len(words))
    machine = settings.get("machine")
    machine = None if machine is None else _machine(machine, arrays, len(words))
    places = {word: position for position, word in enumerate(words)}
    return PaperModel(name, neutral, places, idf, weights, intercept, machine)


def _machine(settings: Any, arrays: Arrays, words: int) -> SupportVectors:
    if not isinstance(settings, dict):
        raise InputError(f"settings.machine: found {shorten(settings, 40)}, expected an object")
    gamma, intercept = (
        float(number(settings.get(name), f"settings.machine.{name}"))
        for name in ("gamma", "intercept")
    )
    if gamma <= 0:
        raise InputError(f"settings.machine.gamma: found {gamma:g}, expected more than 0")
    dual_weights = arrays.get("machine_weights")
    vectors = 0 if dual_weights is None or dual_weights.ndim != 1 else len(dual_weights)
    starts = _take(arrays, "machine_starts", vectors + 1, "i")
    cells = int(starts[-1])
    columns = _take(arrays, "machine_words", cells, "i")
    rising = starts[0] == 0 and bool((np.diff(starts) >= 0).all())
    if not rising or not ((columns >= 0) & (columns < words)).all():
        raise InputError(f"{WEIGHTS}: machine: expected rows of columns below {words}")
    values = _take(arrays, "machine_values", cells)
    weights = _take(arrays, "machine_weights", vectors)
    return SupportVectors(starts, columns, values, weights, intercept, gamma)


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
