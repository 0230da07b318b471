"""Runs passed in Python: one or several, with names or without."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, TypeAlias, cast

from pnyx.core.compression import ENDINGS
from pnyx.core.records import RunEntry

Run: TypeAlias = str | Path | Iterable[RunEntry] | Iterable[Mapping[str, Any]] | Mapping[str, Any]
"""A run file, what `pnyx.read_run` yields, a data frame, rows, or topic -> document -> score."""

Runs: TypeAlias = Mapping[str, Run] | Sequence[str | Path] | str | Path
"""Name -> run, or run files, which are named after the files."""

_SUFFIXES = {*ENDINGS, ".txt", ".run", ".trec", ".res", ".tsv", ".csv", ".json", ".parquet"}


def run_names(paths: Sequence[str]) -> list[str]:
    """Return the files' names without folder and extensions, if these are distinct."""
    names = []
    for path in paths:
        name = Path(path)
        while name.suffix in _SUFFIXES and name.stem:
            name = name.with_suffix("")
        names.append(name.name)
    return names if len(set(names)) == len(names) and all(names) else list(paths)


def named_runs(runs: Runs) -> dict[str, Run]:
    """Return name -> run.

    One run without a name, such as a data frame or topic -> document -> score, is named `run`.
    """
    if isinstance(runs, str | Path):
        runs = [runs]
    if isinstance(runs, Mapping):
        return {"run": runs} if _is_one_run(runs) else dict(runs)
    if isinstance(runs, list | tuple) and all(isinstance(run, str | Path) for run in runs):
        paths = list(map(str, runs))
        if len(set(paths)) < len(paths):
            twice = next(path for path in paths if paths.count(path) > 1)
            raise ValueError(f"found the run {twice} twice, expected each once")
        return dict(zip(run_names(paths), paths, strict=True))
    return {"run": cast("Run", runs)}


def _is_one_run(runs: Mapping[str, Any]) -> bool:
    """Return whether this is topic -> document -> score, not name -> run."""
    topics = list(runs.values())
    if not all(isinstance(documents, Mapping) for documents in topics):
        return False
    scores = [score for documents in topics for score in documents.values()]
    return bool(scores) and all(isinstance(score, Real) for score in scores)
