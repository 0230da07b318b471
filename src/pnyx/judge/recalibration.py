"""A judge whose probabilities are mended by a curve that was fitted on labels.

The curve, its threshold, what it was fitted on and how well it did lie in one JSON file, written
by `pnyx calibrate`. The packaged encoder's own curves from features to probabilities are another
thing and lie in `pnyx.judge.calibration`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pnyx._version import __version__
from pnyx.corpora.fields import number, string
from pnyx.errors import InputError, shorten
from pnyx.files import atomic_text, parse_json_object, read_lines
from pnyx.judge.answers import Answer, Judged, Provenance, Unscored
from pnyx.judge.base import Emit, Judge, of_kind
from pnyx.judge.curves import FITS, TEMPERATURES, Curve, Isotonic, Platt, Temperature
from pnyx.judge.questions import JudgeQuestion, Support
from pnyx.judge.sure import Side, Sure

__all__ = [
    "Recalibrated",
    "Recalibration",
    "curve_from",
    "read_calibration",
    "write_calibration",
]

_FORMAT = "pnyx-calibration"
_FORMAT_VERSION = 1
_MAX_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Recalibration:
    """What `pnyx calibrate` found for one judge and task.

    Attributes:
        judge: the name of the judge whose probabilities it mends.
        task: of the answers that it was fitted on.
        source: how the judge got these probabilities (`token`, `stated`, `calibrated` ...); empty
            where the answers do not say.
        curve: from the judge's probability of yes to the mended one.
        threshold: the lowest mended probability that counts as yes, in [0, 1].
        sure: where the judge's answer stands, for a cascade; None where that was not asked for.
        prompts: the prompts of the run whose answers these are, as in its manifest; empty where
            that is not known.
        about: counts, figures and files of the fit, ready for JSON.
    """

    judge: str
    task: str
    source: str
    curve: Curve
    threshold: float
    sure: Sure | None = None
    prompts: tuple[Mapping[str, Any], ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def method(self) -> str:
        """The curve's name: `isotonic`, `platt` or `temperature`."""
        return type(self.curve).__name__.lower()

    @property
    def digest(self) -> str:
        """SHA-256 of all that decides an answer; not of when and on what it was fitted."""
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
    """Write a calibration's file, all or nothing.

    Raises:
        PnyxError: the file cannot be written.
    """
    text = json.dumps(calibration.row(), indent=1, ensure_ascii=False, allow_nan=False)
    with atomic_text(path) as stream:
        stream.write(text + "\n")


def read_calibration(path: str | Path) -> Recalibration:
    """Read a calibration's file and check each number in it.

    Raises:
        InputError: the file is no calibration, is of a newer version, or a number in it cannot be
            (a curve that falls, a probability above 1).
    """
    lines, size = [], 0
    for _, line in read_lines(path):
        size += len(line)
        if size > _MAX_BYTES:
            raise InputError("too large for a calibration", path=path)
        lines.append(line)
    row = parse_json_object(" ".join(lines) or "null", path=path, number=1)
    if row.get("format") != _FORMAT:
        found = shorten(row.get("format"), 40)
        raise InputError(f"format: found {found}, expected {_FORMAT!r}", path=path)
    if row.get("format_version") != _FORMAT_VERSION:
        found = shorten(row.get("format_version"), 40)
        raise InputError(
            f"format_version: found {found}, this Pnyx reads {_FORMAT_VERSION}", path=path
        )
    try:
        return _recalibration(row)
    except InputError as error:
        raise InputError(error.problem, path=path) from error


def _recalibration(row: Mapping[str, Any]) -> Recalibration:
    prompts = row.get("prompts", [])
    if not isinstance(prompts, list) or not all(isinstance(p, dict) for p in prompts):
        raise InputError("prompts: expected a list of objects")
    sure = row.get("sure")
    judge, task = string(row.get("judge"), "judge"), string(row.get("task"), "task")
    if not judge.strip() or not task.strip():
        raise InputError("judge or task is empty")
    return Recalibration(
        judge=judge,
        task=task,
        source=string(row.get("source"), "source"),
        curve=curve_from(
            string(row.get("method"), "method"), _object(row.get("parameters"), "parameters")
        ),
        threshold=_share(row.get("threshold"), "threshold"),
        sure=None if sure is None else _sure(_object(sure, "sure")),
        prompts=tuple(prompts),
        about=_object(row.get("about", {}), "about"),
    )


def curve_from(method: str, parameters: Mapping[str, Any]) -> Curve:
    """Return the curve that was written down as its name and its numbers.

    Raises:
        InputError: there is no such curve, or it cannot have these numbers.
    """
    if method not in FITS:
        expected = ", ".join(FITS)
        raise InputError(f"method: found {shorten(method, 40)}, expected one of {expected}")
    return _CURVES[method](parameters)


def _isotonic(row: Mapping[str, Any]) -> Isotonic:
    x, y = (_shares(row.get(name), f"parameters.{name}") for name in ("x", "y"))
    if not 0 < len(x) == len(y):
        raise InputError(f"parameters: found {len(x)} x and {len(y)} y, expected as many")
    if any(a >= b for a, b in itertools.pairwise(x)):
        raise InputError("parameters.x does not rise strictly")
    if any(a > b for a, b in itertools.pairwise(y)):
        raise InputError("parameters.y falls: the curve must be monotone")
    return Isotonic(x, y)


def _platt(row: Mapping[str, Any]) -> Platt:
    slope, intercept = (
        number(row.get(name), f"parameters.{name}") for name in ("slope", "intercept")
    )
    if slope < 0 or max(slope, abs(intercept)) > 1e6:
        raise InputError(f"parameters: found a slope of {slope:g}, an intercept of {intercept:g}")
    return Platt(float(slope), float(intercept))


def _temperature(row: Mapping[str, Any]) -> Temperature:
    value, (low, high) = number(row.get("temperature"), "parameters.temperature"), TEMPERATURES
    if not low <= value <= high:
        raise InputError(f"parameters.temperature: found {value:g}, expected {low:g} to {high:g}")
    return Temperature(float(value))


_CURVES: Mapping[str, Callable[[Mapping[str, Any]], Curve]] = {
    "isotonic": _isotonic,
    "platt": _platt,
    "temperature": _temperature,
}


def _sure(row: Mapping[str, Any]) -> Sure:
    error = _share(row.get("error"), "sure.error")
    low, high = (
        None if row.get(name) is None else _share(row[name], f"sure.{name}")
        for name in ("low", "high")
    )
    if not 0 < error < 1:
        raise InputError(f"sure.error: found {error:g}, expected more than 0 and less than 1")
    if low is not None and high is not None and low >= high:
        raise InputError(f"sure: found low {low:g} and high {high:g}, expected low < high")
    no, yes = (_side(_object(row.get(name), f"sure.{name}"), f"sure.{name}") for name in _SIDES)
    labelled = _count(row.get("labelled"), "sure.labelled")
    if labelled < max(1, no.kept + yes.kept):
        raise InputError(f"sure.labelled: found {labelled}, expected at least what is kept")
    if (low is None) != (no.kept == 0) or (high is None) != (yes.kept == 0):
        raise InputError("sure: a limit without kept answers, or kept answers without a limit")
    return Sure(error, low, high, no, yes, labelled)


_SIDES = ("no", "yes")


def _side(row: Mapping[str, Any], name: str) -> Side:
    bound = row.get("bound")
    side = Side(
        kept=_count(row.get("kept"), f"{name}.kept"),
        errors=_count(row.get("errors"), f"{name}.errors"),
        bound=None if bound is None else _share(bound, f"{name}.bound"),
        design_effect=float(number(row.get("design_effect"), f"{name}.design_effect")),
    )
    if side.errors > side.kept or (bound is None) != (side.kept == 0) or side.design_effect < 1:
        raise InputError(f"{name}: its numbers contradict each other")
    return side


def _object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{name}: found {shorten(value, 40)}, expected an object")
    return value


def _count(value: Any, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InputError(f"{name}: found {shorten(value, 40)}, expected a count")
    return value


def _share(value: Any, name: str) -> float:
    if not 0 <= number(value, name) <= 1:
        raise InputError(f"{name}: found {shorten(value, 40)}, expected 0 to 1")
    return float(value)


def _shares(value: Any, name: str) -> tuple[float, ...]:
    if not isinstance(value, list):
        raise InputError(f"{name}: found {shorten(value, 40)}, expected a list")
    return tuple(_share(item, f"{name}[{place}]") for place, item in enumerate(value))


class Recalibrated:
    """A judge with its probabilities of yes mended; its verdicts follow from these.

    An answer without a probability, or whose probability was obtained otherwise (or with another
    prompt) than those that the curve was fitted on, is `Unscored("uncalibrated: ...")`.

    Args:
        judge: the judge that is asked.
        calibration: fitted on answers of this judge.

    Attributes:
        kinds: {Support}.

    Raises:
        InputError: the calibration was made for another judge, or the judge answers no Support
            questions. `answer` raises it, before anything is asked, for another task.
    """

    kinds: frozenset[type] = frozenset({Support})

    def __init__(self, judge: Judge, calibration: Recalibration) -> None:
        if calibration.judge != judge.name:
            made, found = shorten(calibration.judge, 60), shorten(judge.name, 60)
            raise InputError(f"the calibration was made for the judge {made!r}, not for {found!r}")
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
        """The judge's card, and what it was recalibrated on."""
        found = self.calibration.about.get("counts")
        fitted = found.get("fitted") if isinstance(found, dict) else None
        count = f" on {fitted} labelled answers" if isinstance(fitted, int) else ""
        card = shorten(self.judge.card, 400)
        return f"{card}{'; ' if card else ''}recalibrated ({self.calibration.method}){count}"

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`; see `pnyx.judge.base.Judge`.

        Raises:
            InputError: a question is of another task than the calibration; nothing was asked.
        """
        for question in of_kind(Support, questions, self.name):
            if question.task != self.calibration.task:
                made, found = shorten(self.calibration.task, 40), shorten(question.task, 40)
                raise InputError(f"the calibration was made for the task {made!r}, not {found!r}")
        await self.judge.answer(questions, lambda place, answer: emit(place, self._mend(answer)))

    def _mend(self, answer: Answer) -> Answer:
        by, source = answer.provenance, self.calibration.source
        details = {**by.details, "recalibration": self.calibration.digest}
        method = f"{by.method}+{self.calibration.method}"
        provenance = Provenance(self.name, by.prompt_hash, method, details)
        if isinstance(answer, Unscored):
            return dataclasses.replace(answer, provenance=provenance)
        prompts = {prompt.get("hash") for prompt in self.calibration.prompts}
        problem = ""
        if answer.probability is None:
            problem = "no probability to calibrate"
        elif source and by.method != source:
            found = shorten(by.method, 40)
            problem = f"found a probability by {found!r}, the curve is for {shorten(source, 40)!r}"
        elif prompts and by.details.get("prompt_file", "") not in prompts:
            found = shorten(by.details.get("prompt", ""), 40)
            problem = f"asked with {found!r}, not with the prompt that the curve was fitted on"
        if problem or answer.probability is None:
            return Unscored(f"uncalibrated: {problem}", provenance, answer.raw, answer.notes)
        return self._mended(answer, answer.probability, provenance)

    def _mended(self, answer: Judged, before: float, provenance: Provenance) -> Judged:
        probability = float(self.calibration.curve([before])[0])
        value = probability >= self.calibration.threshold
        explanation = answer.explanation
        if value != answer.value:  # the reason given is one for the opposite
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
