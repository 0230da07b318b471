"""A trained quality model on disk: a folder that contains nothing executable.

quality.json (with the figures), weights.safetensors, card.md and, for the paper's model,
words.json.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pnyx._version import __version__
from pnyx.corpora.fields import number, string
from pnyx.errors import InputError, shorten
from pnyx.files import parse_json_object, read_lines
from pnyx.search.quality.training import MAX_WORDS, NEVER_SHORT, PaperModel, SupportVectors
from pnyx.students.quality.surface import HASH_BITS, SURFACE, VERSION, Head, QualityModel

MANIFEST, CARD = "quality.json", "card.md"
_WEIGHTS, _WORDS = "weights.safetensors", "words.json"
_FORMAT = ("pnyx-quality", 1)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}")
_MAX_BYTES = 1 << 30
_FILES = {"packaged": {_WEIGHTS}, "paper": {_WEIGHTS, _WORDS}}
"""Kind -> its files beside manifest and card."""

Arrays = dict[str, NDArray[Any]]


def write_quality_model(
    folder: Path, model: QualityModel | PaperModel, name: str, about: Mapping[str, Any]
) -> str:
    """Write a model into an empty folder; return its name with the first 8 digits of its hash.

    The caller, who has the figures, writes its card. `about` is counts and figures, ready for JSON.
    """
    from safetensors.numpy import save_file

    if not _NAME.fullmatch(name):
        raise InputError(f"name: found {shorten(name, 40)!r}, expected letters, digits, '.', '_'")
    if isinstance(model, PaperModel):
        kind, (settings, arrays) = "paper", _paper_parts(model)
        words = json.dumps({"words": sorted(model.words)}) + "\n"
        folder.joinpath(_WORDS).write_text(words, encoding="utf-8")
    else:
        kind, (settings, arrays) = "packaged", _surface_parts(model)
    save_file({key: np.ascontiguousarray(a) for key, a in arrays.items()}, folder / _WEIGHTS)
    row = {
        "format": _FORMAT[0],
        "format_version": _FORMAT[1],
        "pnyx": __version__,
        "name": name,
        "kind": kind,
        "neutral": model.neutral,
        "settings": settings,
        "files": {file: _sha256(folder / file) for file in sorted(_FILES[kind])},
        **about,
    }
    text = json.dumps(row, indent=1, ensure_ascii=False, allow_nan=False)
    folder.joinpath(MANIFEST).write_text(text + "\n", encoding="utf-8")
    return _full_name(row)


def read_quality_model(folder: str | Path) -> QualityModel | PaperModel:
    """Read a model that `pnyx quality train` wrote; nothing in its folder is executed.

    Raises InputError for another folder, a newer version, or a file that is missing or damaged.
    """
    path = Path(folder) / MANIFEST
    if not path.is_file():
        problem = f"holds no {MANIFEST}: expected a folder of pnyx quality train"
        raise InputError(problem, path=folder)
    row = _object(path)
    found = row.get("format"), row.get("format_version")
    if found != _FORMAT:
        shown, expected = (f"{shorten(a, 40)} {shorten(b, 40)}" for a, b in (found, _FORMAT))
        raise InputError(f"found {shown}, this Pnyx reads {expected}", path=path)
    try:
        return _model(Path(folder), row)
    except InputError as error:
        raise InputError(error.problem, path=error.path or path) from error


def _object(path: Path, *, keep_surrogates: bool = False) -> dict[str, Any]:
    text = " ".join(line for _, line in read_lines(path)) or "null"
    return parse_json_object(text, path=path, number=1, keep_surrogates=keep_surrogates)


def _model(folder: Path, row: Mapping[str, Any]) -> QualityModel | PaperModel:
    kind, settings, files = row.get("kind"), row.get("settings"), row.get("files")
    if not isinstance(kind, str) or kind not in _FILES:
        raise InputError(f"kind: found {shorten(kind, 40)}, expected one of {', '.join(_FILES)}")
    if not _NAME.fullmatch(string(row.get("name"), "name")):
        raise InputError(f"name: found {shorten(row['name'], 40)!r}")
    neutral = float(number(row.get("neutral"), "neutral"))
    if not 0 <= neutral <= 1:
        raise InputError(f"neutral: found {neutral:g}, expected 0 to 1")
    if not isinstance(settings, dict):
        raise InputError(f"settings: found {shorten(settings, 40)}, expected an object")
    if not isinstance(files, dict) or set(files) != _FILES[kind]:
        raise InputError(f"files: found {shorten(files, 80)}, expected {sorted(_FILES[kind])}")
    for name, expected in files.items():
        if not (folder / name).is_file():
            raise InputError(f"{name}: is missing", path=folder)
        if (folder / name).stat().st_size > _MAX_BYTES or _sha256(folder / name) != expected:
            raise InputError(f"{name}: is damaged", path=folder)
    arrays, make = _arrays(folder), _paper_model if kind == "paper" else _surface_model
    return make(folder, _full_name(row), neutral, settings, arrays)


def _full_name(row: Mapping[str, Any]) -> str:
    decisive = {name: row[name] for name in ("kind", "neutral", "settings", "files")}
    digest = hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()
    return f"{row['name']}@{digest[:8]}"


def _arrays(folder: Path) -> Arrays:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        found: Arrays = load_file(folder / _WEIGHTS)
    except (OSError, SafetensorError, ValueError, KeyError) as error:
        raise InputError(f"{_WEIGHTS}: cannot be read: {shorten(str(error), 80)}") from error
    if any(v.dtype.kind == "f" and not np.isfinite(v).all() for v in found.values()):
        raise InputError(f"{_WEIGHTS}: expected finite numbers")
    return found


def _take(
    arrays: Arrays, name: str, size: int, kind: str = "f", *, positive: bool = False
) -> NDArray[Any]:
    found = arrays.get(name)
    if found is None or found.shape != (size,) or found.dtype.kind != kind:
        shown = "none" if found is None else f"{found.dtype} {found.shape}"
        raise InputError(f"{_WEIGHTS}: {name}: found {shown}, expected shape {(size,)}")
    if positive and not (found > 0).all():
        raise InputError(f"{_WEIGHTS}: {name}: expected numbers above 0")
    return found.astype(np.float64 if kind == "f" else np.int64)


def _surface_parts(model: QualityModel) -> tuple[dict[str, Any], Arrays]:
    head = model.long
    settings = {"features": VERSION, "surface": list(SURFACE), "intercept": head.intercept}
    return settings, {
        "mean": model.mean.astype(np.float32),
        "deviation": model.deviation.astype(np.float32),
        "idf": model.idf.astype(np.float16),
        "surface": head.surface.astype(np.float32),
        "words": head.words.astype(np.float16),
    }


def _surface_model(
    _: Path, name: str, neutral: float, settings: Mapping[str, Any], arrays: Arrays
) -> QualityModel:
    if (settings.get("features"), settings.get("surface")) != (VERSION, list(SURFACE)):
        found = shorten(settings.get("features"), 20)
        raise InputError(f"settings: features of version {found}, expected {VERSION}: train it")
    intercept = float(number(settings.get("intercept"), "settings.intercept"))
    few, many = len(SURFACE), 2**HASH_BITS
    deviation = _take(arrays, "deviation", few, positive=True)
    idf = _take(arrays, "idf", many, positive=True)
    head = Head(intercept, _take(arrays, "surface", few), _take(arrays, "words", many))
    mean = _take(arrays, "mean", few)
    return QualityModel(name, neutral, mean, deviation, idf, head, head, 0.0, 0.0, NEVER_SHORT)


_OF_MACHINE = ("starts", "words", "values", "weights")


def _paper_parts(model: PaperModel) -> tuple[dict[str, Any], Arrays]:
    settings: dict[str, Any] = {"intercept": model.intercept, "machine": None}
    arrays: Arrays = {"idf": model.idf, "weights": model.weights}
    if (machine := model.machine) is not None:
        settings["machine"] = {"intercept": machine.intercept, "gamma": machine.gamma}
        arrays |= {f"machine_{part}": getattr(machine, part) for part in _OF_MACHINE}
    return settings, arrays


def _paper_model(
    folder: Path, name: str, neutral: float, settings: Mapping[str, Any], arrays: Arrays
) -> PaperModel:
    words = _object(folder / _WORDS, keep_surrogates=True).get("words")
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise InputError(f"{_WORDS}: expected words, a list of strings")
    if len(words) > MAX_WORDS or any(a >= b for a, b in itertools.pairwise(words)):
        raise InputError(f"{_WORDS}: expected up to {MAX_WORDS} words, in order and each once")
    intercept = float(number(settings.get("intercept"), "settings.intercept"))
    idf = _take(arrays, "idf", len(words), positive=True)
    weights = _take(arrays, "weights", len(words))
    machine = settings.get("machine")
    machine = None if machine is None else _machine(machine, arrays, len(words))
    places = {word: place for place, word in enumerate(words)}
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
    found = arrays.get("machine_weights")
    vectors = 0 if found is None or found.ndim != 1 else len(found)
    starts = _take(arrays, "machine_starts", vectors + 1, "i")
    cells = int(starts[-1])
    columns = _take(arrays, "machine_words", cells, "i")
    rising = starts[0] == 0 and bool((np.diff(starts) >= 0).all())
    if not rising or not ((columns >= 0) & (columns < words)).all():
        raise InputError(f"{_WEIGHTS}: machine: expected rows of columns below {words}")
    values = _take(arrays, "machine_values", cells)
    weights = _take(arrays, "machine_weights", vectors)
    return SupportVectors(starts, columns, values, weights, intercept, gamma)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
