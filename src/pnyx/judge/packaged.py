"""The judges in the package that were trained for one task, opened on first use.

Whether a passage supports a perspective is asked of a student of its own:
docs/decisions/perspective-detector.md. All else is for the encoder's judge; a student of relevance
was packaged once and brought nothing that could be measured: docs/decisions/packaged-relevance.md.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pnyx.errors import InputError, PnyxError
from pnyx.judge.questions import Support

if TYPE_CHECKING:
    from pnyx.judge.students.judge import Score, Scorer, StudentJudge

__all__ = ["load_perspective_student"]


@functools.cache
def load_perspective_student() -> StudentJudge:
    """Open the packaged detector of perspectives; the second call returns the same one.

    It answers Support questions of the task `support`: whether a passage, outright or by
    implication, speaks for a statement (BERDS, Appendix A), not whether a sentence follows from it.

    Raises:
        PnyxError: a file of it is missing or damaged.
    """
    return _open(_weights("perspectives"), "support")


def _weights(name: str) -> Path:
    import pnyx.models

    return Path(pnyx.models.__file__).parent / "weights" / name


def _open(folder: Path, task: str) -> StudentJudge:
    from pnyx.judge.students.files import read_student
    from pnyx.judge.students.judge import StudentJudge

    try:
        student = read_student(folder, task)
    except InputError as error:
        raise PnyxError(f"the packaged student cannot be used: {error}: reinstall pnyx") from error
    return StudentJudge(student, _Deferred(student.kind, folder, student.settings))


class _Deferred:
    """A scorer that is loaded when it is first asked: a card is read without it."""

    def __init__(self, kind: str, folder: Path, settings: Mapping[str, Any]) -> None:
        self._what = kind, folder, settings
        self._scorer: Scorer | None = None

    def score(self, questions: Sequence[Support]) -> list[Score]:
        """See `pnyx.judge.students.judge.Scorer`."""
        if self._scorer is None:
            from pnyx.judge.students.judge import load_scorer

            self._scorer = load_scorer(*self._what)
        return self._scorer.score(questions)
