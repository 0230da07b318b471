"""Names of judges, as `--judge` takes them: what kind of judge each names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from pnyx.core.errors import InputError, OptionError, shorten
from pnyx.core.plugins import plugins

JudgeKind: TypeAlias = Literal["packaged", "model", "labels", "results", "student", "plugin"]
"""What a name of a judge refers to."""

PACKAGED: Final = "packaged"
"""Names the packaged judge, even if $PNYX_LLM names a language model."""
_EXPECTED: Final = (
    "a language model (http://HOST:PORT/v1#MODEL, openai:MODEL, local, gguf:PATH), packaged, a "
    "file of people's labels, results of pnyx judge, a student's folder, or a judge of a plugin"
)


@dataclass(frozen=True, slots=True)
class JudgeNames:
    """The names of the judges of a spec, by kind; at most one kind is named.

    Attributes:
        models: language models; empty if another kind answers.
        labels: file of people's labels.
        results: results folder, or file of answers, of an earlier run.
        student: folder of a student.
        plugin: name of a plugin's judge.
    """

    models: tuple[str, ...] = ()
    labels: str | None = None
    results: str | None = None
    student: str | None = None
    plugin: str | None = None

    @property
    def kind(self) -> JudgeKind:
        """The kind of judge that is named."""
        if self.models:
            return "model"
        kinds: tuple[JudgeKind, ...] = ("labels", "results", "student", "plugin")
        return next((kind for kind in kinds if getattr(self, kind) is not None), PACKAGED)


def names_model(name: str) -> bool:
    """Return whether a name has a form of a language model's name."""
    return name == "local" or name.startswith(("openai:", "gguf:", "http://", "https://"))


def judge_kind(name: str) -> JudgeKind:
    """Return what a name of a judge refers to.

    Raises:
        OptionError: it is neither a form of a language model, nor a file, nor an installed judge.
        InputError: it is an empty file, or a folder without answers or a student.
    """
    if name == PACKAGED:
        return PACKAGED
    if names_model(name):
        return "model"
    if name.endswith(".toml"):
        alone = "a file of settings is named alone, by a command that asks a judge"
        raise OptionError(f"--judge {shorten(name, 60)}: {alone}")
    if not name:
        raise OptionError(f"--judge: it is empty, expected {_EXPECTED}")
    path = Path(name)
    if path.is_dir():
        return _kind_of_folder(path)
    if path.is_file():
        return "results" if _holds_answers(name) else "labels"
    if name == "-" or path.exists():
        raise OptionError(f"--judge: {shorten(name, 60)} is a stream, expected a file or folder")
    from pnyx.models.http.addresses import shown_address

    judges = plugins("judges")
    if name in judges:
        return "plugin"
    there = f" ({', '.join(judges)})" if judges else ""
    excerpt = shorten(shown_address(name), 60)  # it may be a mistyped address with a password
    raise OptionError(
        f"--judge: found {excerpt!r}, which is not a file or folder, expected {_EXPECTED}{there}"
    )


def read_names(names: Sequence[str]) -> JudgeNames:
    """Return names by their kind; without any, the language models of $PNYX_LLM.

    Raises:
        OptionError: a name is unknown (`judge_kind`), or several are not all language models.
    """
    if not names:
        return JudgeNames(models=tuple(os.environ.get("PNYX_LLM", "").split()))
    kinds = {name: judge_kind(name) for name in names}
    if len(kinds) > 1:
        others = [name for name, kind in kinds.items() if kind != "model"]
        if others:
            raise OptionError(
                f"--judge: {shorten(others[0], 60)} answers alone; only language models vote"
            )
    (name, kind), *_ = kinds.items()
    if kind == "model":
        return JudgeNames(models=tuple(kinds))
    named: dict[str, Any] = {} if kind == PACKAGED else {kind: name}
    return JudgeNames(**named)


def _kind_of_folder(path: Path) -> JudgeKind:
    from pnyx.judging.students.student import MANIFEST

    if (path / MANIFEST).exists():
        return "student"
    if any(path.glob("answers.*")):  # also of a run that has not ended
        return "results"
    expected = "results of pnyx judge or a student of pnyx annotate distil"
    raise InputError(f"holds no answers.jsonl and no {MANIFEST}: expected {expected}", path=path)


def _holds_answers(path: str) -> bool:
    """Return whether the rows of a file are answers of a judge, rather than people's labels."""
    if path.endswith(".parquet"):
        return True
    from pnyx.formats.base import scan_json_objects

    first = next(iter(scan_json_objects(path)), None)
    if first is None:
        raise InputError("it is empty, expected people's labels or a judge's answers", path=path)
    return not isinstance(first, InputError) and "judge" in first[1]
