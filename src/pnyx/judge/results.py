"""The results folder: answers as they arrive, complete and in order at the end, with a manifest.

`answers.jsonl.partial` grows while a run is under way, for people to look at; what a run resumes
from is the judgement store. `answers.jsonl` and `manifest.json` are each replaced whole.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from pnyx._version import __version__
from pnyx.errors import InputError, PnyxError, shorten
from pnyx.files import atomic_text, json_line, make_folder
from pnyx.judge.answers import Answer, answer_rows
from pnyx.judge.questions import JudgeQuestion

__all__ = ["ANSWERS", "MANIFEST", "Results", "items_hash", "tally"]

ANSWERS = "answers.jsonl"
MANIFEST = "manifest.json"
_FORMAT = "pnyx-results"
_FORMAT_VERSION = 1
_PARTIAL = ".partial"


def items_hash(questions: Sequence[JudgeQuestion]) -> str:
    """Return SHA-256 over all that is asked, in order."""
    digest = hashlib.sha256()
    for question in questions:
        digest.update(repr(question).encode("utf-8", "surrogatepass"))
        digest.update(json.dumps(question.extra, sort_keys=True).encode())
    return digest.hexdigest()


def tally(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return `asked`, `scored`, `unscored` and, most frequent first, `reasons`.

    Args:
        rows: lines of `answers.jsonl`; a rating counts once for each of its dimensions.

    A reason is counted by its machine-readable part, before the colon.
    """
    asked, reasons = 0, Counter[str]()
    for row in rows:
        asked += 1
        if row["unscored"] is not None:
            reasons[row["unscored"].partition(":")[0]] += 1
    return {
        "asked": asked,
        "scored": asked - reasons.total(),
        "unscored": reasons.total(),
        "reasons": dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
    }


class Results:
    """One run's results folder.

    Args:
        path: the folder; it may exist if it is empty or holds results of the same run.
        task: the task's name.
        judge: the judge's name.
        questions: what is asked, in the order of the items file.

    Raises:
        InputError: the folder holds something else.
    """

    def __init__(
        self, path: str | Path, *, task: str, judge: str, questions: Sequence[JudgeQuestion]
    ) -> None:
        if str(path) in ("", "-"):
            raise InputError(f"found {str(path)!r}, expected the name of a folder for the results")
        self.path = Path(path)
        self._questions = questions
        self._run = {"task": task, "judge": judge, "items_sha256": items_hash(questions)}
        self._started = _now()
        self._stream: IO[str] | None = None
        self._check()

    @contextlib.contextmanager
    def writing(self) -> Iterator[Results]:
        """Hold the folder open for `add`; what is partial is gone when this ends."""
        existed = self.path.exists()
        answers = self.path / (ANSWERS + _PARTIAL)
        manifest = self.path / (MANIFEST + _PARTIAL)
        try:
            with self._errors():
                make_folder(self.path)
                _write_json(manifest, {"format": _FORMAT, **self._run})
                self._stream = answers.open("w", encoding="utf-8", newline="\n")
            yield self
        finally:
            if self._stream is not None:
                with contextlib.suppress(OSError):  # a full disk was reported already
                    self._stream.close()
            self._stream = None
            for leftover in (answers, manifest):
                with contextlib.suppress(OSError):
                    leftover.unlink()
            if not existed:
                with contextlib.suppress(OSError):
                    self.path.rmdir()  # only if nothing was finished

    def add(self, position: int, answer: Answer) -> None:
        """Append one answer to the partial file as it arrives."""
        if self._stream is not None:
            with self._errors():
                for row in answer_rows(self._questions[position], answer):
                    self._stream.write(json_line(row) + "\n")
                self._stream.flush()

    def finish(self, answers: Sequence[Answer], facts: Mapping[str, Any]) -> dict[str, Any]:
        """Write all answers in item order, then the manifest.

        Args:
            answers: one for each question, in order.
            facts: what else the manifest is to say: prompts, model, store counts, tokens.

        Returns:
            The manifest.
        """
        digest = hashlib.sha256()
        pairs = zip(self._questions, answers, strict=True)
        rows = [row for question, answer in pairs for row in answer_rows(question, answer)]
        with atomic_text(self.path / ANSWERS) as stream:
            for row in rows:
                line = json_line(row) + "\n"
                digest.update(line.encode())
                stream.write(line)
        manifest = {
            "format": _FORMAT,
            "format_version": _FORMAT_VERSION,
            "pnyx": __version__,
            "python": platform.python_version(),
            **self._run,
            "counts": tally(rows),
            **facts,
            "started": self._started,
            "finished": _now(),
            "answers_sha256": digest.hexdigest(),
        }
        with atomic_text(self.path / MANIFEST) as stream:
            stream.write(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
        return manifest

    def _check(self) -> None:
        with self._errors():
            if not os.path.lexists(self.path):
                return
            if not self.path.is_dir():
                raise InputError("found a file, expected a folder for the results", path=self.path)
            names = {entry.name for entry in self.path.iterdir()}
        if not names:
            return
        known = [self.path / name for name in (MANIFEST, MANIFEST + _PARTIAL) if name in names]
        runs = [_read_run(path) for path in known]
        if not runs or None in runs:
            raise InputError("holds files that are no results of pnyx judge", path=self.path)
        for run in runs:
            different = [k for k, v in self._run.items() if run is not None and run.get(k) != v]
            if different:
                what = "other items" if different == ["items_sha256"] else f"another {different[0]}"
                raise InputError(
                    f"holds the results for {what}: name another folder", path=self.path
                )

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            place = shorten(str(self.path), 200)
            raise PnyxError(f"{place}: cannot be written: {error.strerror}") from error


def _read_run(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and value.get("format") == _FORMAT else None


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value) + "\n", encoding="utf-8")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
