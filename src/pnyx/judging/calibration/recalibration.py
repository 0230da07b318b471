"""A judge whose probabilities are recalibrated with a curve from a `pnyx judge calibrate` file."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pnyx._version import __version__
from pnyx.core.errors import InputError, shorten
from pnyx.core.files import parse_json_object, read_lines, write_text
from pnyx.judging.answers import Answer, Judged, Provenance, Unscored
from pnyx.judging.base import Emit, Judge, of_kind
from pnyx.judging.calibration.curves import STRICT, Curve, curve_from
from pnyx.judging.calibration.selective import ConfidenceRegions
from pnyx.judging.questions import JudgeQuestion, Support

T = TypeVar("T")

_FORMAT = "pnyx-calibration"
_FORMAT_VERSION = 1
_MAX_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Recalibration:
    """The result of `pnyx judge calibrate` for one judge and task.

    Attributes:
        judge: the name of the judge whose probabilities it recalibrates.
        task: task of the answers used for the fit.
        source: how the judge obtained these probabilities (`token`, `stated`, `calibrated` ...);
            empty if the answers do not say.
        curve: maps the judge's probability of yes to the recalibrated one.
        threshold: the lowest recalibrated probability that counts as yes, in [0, 1].
        sure: the confident regions, for a cascade; None if not requested.
        prompts: the prompts of the run used for the fit, from its manifest; empty if unknown.
        about: counts, figures and files of the fit, ready for JSON.
    """

    __pydantic_config__ = STRICT

    judge: str
    task: str
    source: str
    curve: Curve
    threshold: float
    sure: ConfidenceRegions | None = None
    prompts: tuple[Mapping[str, Any], ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.judge.strip() or not self.task.strip():
            raise ValueError("judge or task is empty")
        if not 0 <= self.threshold <= 1:
            raise ValueError(f"threshold: found {self.threshold:g}, expected 0 to 1")

    @property
    def method(self) -> str:
        """The curve's name: `isotonic`, `platt` or `temperature`."""
        return type(self.curve).__name__.lower()

    @property
    def digest(self) -> str:
        """SHA-256 of everything that determines an answer; not of the date and data of the fit."""
        fields = self.row()
        decisive = ("judge", "task", "source", "prompts", "method", "parameters", "threshold")
        text = json.dumps({name: fields[name] for name in decisive}, sort_keys=True)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def row(self) -> dict[str, Any]:
        """Return the fields of the file, ready for JSON."""
        return {
            "format": _FORMAT,
            "format_version": _FORMAT_VERSION,
            "pnyx": __version__,
            "judge": self.judge,
            "task": self.task,
            "source": self.source,
            "prompts": [dict(prompt) for prompt in self.prompts],
            "method": self.method,
            "parameters": dataclasses.asdict(self.curve),
            "threshold": self.threshold,
            "sure": None if self.sure is None else dataclasses.asdict(self.sure),
            "about": dict(self.about),
        }


def write_calibration(path: str | Path, calibration: Recalibration) -> None:
    """Write a calibration file atomically; PnyxError if that fails."""
    text = json.dumps(calibration.row(), indent=1, ensure_ascii=False, allow_nan=False)
    write_text(path, text + "\n")


def read_calibration(path: str | Path) -> Recalibration:
    """Read a calibration file and check each number in it.

    Raises:
        InputError: it is not a calibration, has a newer version, or contains an invalid number.
    """
    lines, size = [], 0
    for _, line in read_lines(path):
        size += len(line)
        if size > _MAX_BYTES:
            raise InputError("too large for a calibration", path=path)
        lines.append(line)
    row = parse_json_object(" ".join(lines) or "null", path=path, number=1)
    for name, expected in (("format", _FORMAT), ("format_version", _FORMAT_VERSION)):
        if row.get(name) != expected:
            problem = f"{name}: found {shorten(row.get(name), 40)}, this Pnyx reads {expected}"
            raise InputError(problem, path=path)
    try:
        curve = curve_from(row.get("method"), row.get("parameters"))
        calibration = checked(Recalibration, {**row, "curve": row["parameters"]})
    except InputError as error:
        raise InputError(error.problem, path=path) from error
    return dataclasses.replace(calibration, curve=curve)


def checked(kind: type[T], row: Any) -> T:
    """Return decoded JSON as a strict pydantic type; InputError names the first wrong field."""
    from pydantic import TypeAdapter, ValidationError

    try:
        read: T = TypeAdapter(kind).validate_json(json.dumps(row))
        return read
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(map(str, first["loc"]))
        wanted = first["msg"].removeprefix("Input should be ")
        if first["type"] == "value_error":
            problem = wanted.removeprefix("Value error, ")
        else:
            value = "nothing" if first["type"] == "missing" else shorten(first["input"], 40)
            problem = f"found {value}, expected {wanted}"
        raise InputError(f"{shorten(name, 80)}: {problem}" if name else problem) from error


class Recalibrated:
    """A judge with recalibrated probabilities of yes; its verdicts follow from them.

    An answer is `Unscored("uncalibrated: ...")` if it has no probability, or one obtained by
    another method or prompt than in the fit.

    Raises:
        InputError: the calibration was made for another judge, or the judge answers no Support
            questions. `answer` raises it, before asking anything, for another task.
    """

    kinds: frozenset[type] = frozenset({Support})

    def __init__(self, judge: Judge, calibration: Recalibration) -> None:
        if calibration.judge != judge.name:
            expected, name = shorten(calibration.judge, 60), shorten(judge.name, 60)
            raise InputError(
                f"the calibration was made for the judge {expected!r}, not for {name!r}"
            )
        if Support not in judge.kinds:
            raise InputError(f"{shorten(judge.name, 60)} gives no verdicts that can be calibrated")
        self.judge = judge
        self.calibration = calibration

    @property
    def name(self) -> str:
        """`JUDGE+CURVE@` and the first 8 digits of the calibration's hash."""
        return f"{self.judge.name}+{self.calibration.method}@{self.calibration.digest[:8]}"

    @property
    def card(self) -> str:
        """The judge's card, and the data of the recalibration."""
        counts = self.calibration.about.get("counts")
        fitted = counts.get("fitted") if isinstance(counts, dict) else None
        count = f" on {fitted} labelled answers" if isinstance(fitted, int) else ""
        card = shorten(self.judge.card, 400)
        return f"{card}{'; ' if card else ''}recalibrated ({self.calibration.method}){count}"

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`; see `pnyx.judging.base.Judge`."""
        for question in of_kind(Support, questions, self.name):
            if question.task != self.calibration.task:
                expected, task = shorten(self.calibration.task, 40), shorten(question.task, 40)
                raise InputError(
                    f"the calibration was made for the task {expected!r}, not {task!r}"
                )
        await self.judge.answer(questions, lambda at, answer: emit(at, self._recalibrated(answer)))

    def _recalibrated(self, answer: Answer) -> Answer:
        by, source = answer.provenance, self.calibration.source
        details = {**by.details, "recalibration": self.calibration.digest}
        details["threshold"] = self.calibration.threshold
        method = f"{by.method}+{self.calibration.method}"
        provenance = Provenance(self.name, by.prompt_hash, method, details, by.asked)
        if isinstance(answer, Unscored):
            return dataclasses.replace(answer, provenance=provenance)
        prompts = {prompt.get("hash") for prompt in self.calibration.prompts}
        problem = ""
        if answer.probability is None:
            problem = "no probability to calibrate"
        elif source and by.method != source:
            excerpt = shorten(by.method, 40)
            problem = (
                f"found a probability by {excerpt!r}, the curve is for {shorten(source, 40)!r}"
            )
        elif prompts and by.details.get("prompt_file", "") not in prompts:
            excerpt = shorten(by.details.get("prompt", ""), 40)
            problem = f"asked with {excerpt!r}, not with the prompt that the curve was fitted on"
        if problem or answer.probability is None:
            return Unscored(f"uncalibrated: {problem}", provenance, answer.raw, answer.notes)
        return self._moved(answer, answer.probability, provenance)

    def _moved(self, answer: Judged, before: float, provenance: Provenance) -> Judged:
        probability = float(self.calibration.curve([before])[0])
        value = probability >= self.calibration.threshold
        explanation = answer.explanation
        if value != answer.value:  # the stated reason is for the opposite verdict
            turned = f"recalibrated to {probability:.2f}, yes from {self.calibration.threshold:.2f}"
            explanation = f"{explanation} [{turned}]".strip()
        return dataclasses.replace(
            answer,
            value=value,
            probability=probability,
            explanation=explanation,
            provenance=provenance,
            notes={**answer.notes, "uncalibrated": before},
        )


class WithThreshold:
    """A judge whose verdict is yes from a given probability.

    An answer without a probability is `Unscored("threshold: ...")`.
    """

    kinds: frozenset[type] = frozenset({Support})

    def __init__(self, judge: Judge, threshold: float) -> None:
        if Support not in judge.kinds:
            raise InputError(f"threshold: {shorten(judge.name, 60)} gives no yes or no")
        self.judge, self.threshold = judge, threshold

    @property
    def name(self) -> str:
        """The judge's name with the threshold: `NAME, yes from 0.3`."""
        return f"{self.judge.name}, yes from {self.threshold:g}"

    @property
    def card(self) -> str:
        """The judge's card, whose figures are for the judge's own threshold."""
        return f"{self.judge.card} (measured at its own threshold)" if self.judge.card else ""

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`; see `pnyx.judging.base.Judge`."""
        supports = of_kind(Support, questions, self.name)
        await self.judge.answer(supports, lambda at, answer: emit(at, self._decided(answer)))

    def _decided(self, answer: Answer) -> Answer:
        by = answer.provenance
        details = {**by.details, "threshold": self.threshold}
        provenance = dataclasses.replace(by, judge=self.name, details=details)
        if isinstance(answer, Unscored):
            return dataclasses.replace(answer, provenance=provenance)
        if answer.probability is None:
            return Unscored("threshold: no probability", provenance, answer.raw, answer.notes)
        value = answer.probability >= self.threshold
        return dataclasses.replace(answer, value=value, provenance=provenance)
