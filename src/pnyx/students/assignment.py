"""The packaged judge of nuggets: does a text give an answer to a question, or a claim?

The detector of perspectives, calibrated on key points that people matched with arguments, and what
the statement repeats or turns round of the text's own words (docs/benchmarks/nuggets.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pnyx.errors import shorten
from pnyx.judge.answers import Answer, Judged, Provenance, Unscored
from pnyx.judge.base import Emit, answer_chunks, of_kind
from pnyx.judge.calibration.curves import log_odds
from pnyx.judge.encoder import Calibration, load_calibrations
from pnyx.judge.passages import read_passage, wording
from pnyx.judge.questions import JudgeQuestion, Support, blank

if TYPE_CHECKING:
    from pnyx.students.judge import StudentJudge

_PACKAGED = "nugget"
_CHUNK = 64
"""Questions answered between two emits: those about one text share its reading."""


class AssignmentJudge:
    """Answers Support questions of the task `nugget`; never that a nugget is given in part.

    P(yes) is a logistic of the detector's log-odds that the text speaks for the statement (an
    answer is put after its question), and of how far the statement repeats, or repeats and turns
    round, the words of the text.

    Args:
        detector: the packaged detector of perspectives.
        calibration: the packaged one by default.
    """

    kinds: frozenset[type] = frozenset({Support})

    def __init__(self, detector: StudentJudge, calibration: Calibration | None = None) -> None:
        about, packaged = load_calibrations(_PACKAGED) if calibration is None else ({}, {})
        self._detector = detector
        self._calibration = calibration or packaged["nugget"]
        self.name = str(about.get("judge", f"{detector.name}+custom"))
        self.cards: Mapping[str, str] = about.get("card", {})

    @property
    def card(self) -> str:
        """What it was calibrated on, and its figures; empty for a calibration of one's own."""
        return "; ".join([*self.cards.values(), "weak: hints only"]) if self.cards else ""

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`, those about the same text together."""
        asked = sorted(
            enumerate(of_kind(Support, questions, self.name)), key=lambda pair: pair[1].text
        )
        await answer_chunks(asked, _CHUNK, self._judge, emit)

    def features(self, questions: Sequence[Support]) -> list[dict[str, float] | str]:
        """Return what the calibration sees of each question, or why it cannot be judged."""
        problems = [blank(one) or _other_task(one) for one in questions]
        asked = [one for one, problem in zip(questions, problems, strict=True) if not problem]
        told = iter(self._detector.judge([_as_support(one) for one in asked]))
        return [
            problem or self._seen(one, next(told))
            for one, problem in zip(questions, problems, strict=True)
        ]

    def _seen(self, question: Support, answer: Answer) -> dict[str, float] | str:
        if isinstance(answer, Unscored) or answer.probability is None:
            return getattr(answer, "reason", "") or "probability: none is stated"
        words = wording(question.statement, read_passage(question.text))
        return {
            "detector": round(float(log_odds([answer.probability])[0]), 6),
            "copy": round(words.copy, 6),
            "conflict": round(words.conflict, 6),
        }

    def _judge(self, questions: Sequence[Support]) -> list[Answer]:
        return [self._verdict(found) for found in self.features(questions)]

    def _verdict(self, features: dict[str, float] | str) -> Answer:
        if isinstance(features, str):
            return Unscored(features, Provenance(self.name, method="calibrated"))
        threshold = self._calibration.threshold
        probability = self._calibration.probability(features)
        shown = ", ".join(f"{name} {value:.2f}" for name, value in features.items())
        return Judged(
            value=probability >= threshold,
            probability=probability,
            provenance=Provenance(
                self.name, method="calibrated", details={**features, "threshold": threshold}
            ),
            explanation=f"{shown}; yes from a probability of {threshold:.2f}",
        )


def _other_task(question: Support) -> str:
    if question.task == "nugget":
        return ""
    return f"task: it answers nugget, not {shorten(question.task, 40)!r}"


def _as_support(question: Support) -> Support:
    """Return what the detector is asked: an answer says something only after its question."""
    statement = " ".join(f"{question.question} {question.statement}".split())
    return replace(question, task="support", statement=statement, question="", guideline="")
