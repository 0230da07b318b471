"""What a workflow.yml can choose of Pnyx's judge: the keys of its `settings`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from pnyx.core.errors import InputError, escaped
from pnyx.reports.tree.plan import MIN_SCORED

_RUNNERS = frozenset({"filebase", "outdir", "description"})
"""Keys that are the runner's own, or say something to people."""

_CHOICES: Mapping[str, tuple[Any, ...]] = {
    "on_missing": ("skip", "zero", "error"),
    "answers": ("judge", "lookup"),
    "credit": ("attested", "cited", "any"),
    "attest": ("all", "relevant"),
    "unknown_documents": ("no", "unscored"),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """Choices of a workflow.

    Attributes:
        uses_llm: ask the language model that the environment names; else the packaged judges.
        no_text: restricted mode: no text of a report or document is printed or in results.
        on_missing: a run without a report on a topic has no cell there, and its mean is over the
            topics that it has (`skip`); or counts as 0 by every measure (`zero`); or is refused
            (`error`). What could not be scored for another reason is never a number.
        answers, credit, attest, min_grade, unknown_documents: see
            `pnyx.reports.tree.plan.ReportPlan`; the last needs the runner's `--corpus`.
        min_scored: a value that rests on less than this share of its items has no cell.
        allow_text_in_banks: in restricted mode, created banks may hold sentences of documents.
        nuggets: file or folder of nugget banks in any dialect; those of the runner count first.
        most_nuggets: nuggets created for a topic, at most.
        thresholds: rising probabilities; a document's grade in the qrels is how many of them its
            probability of being relevant reaches. Without any it is 1 or 0, the verdict.
    """

    uses_llm: bool = False
    no_text: bool = True
    on_missing: Literal["skip", "zero", "error"] = "skip"
    answers: Literal["judge", "lookup"] = "judge"
    credit: Literal["attested", "cited", "any"] = "attested"
    attest: Literal["relevant", "all"] = "all"
    min_grade: int = 1
    unknown_documents: Literal["no", "unscored"] = "no"
    min_scored: float = MIN_SCORED
    allow_text_in_banks: bool = False
    nuggets: str | None = None
    most_nuggets: int = 30
    thresholds: tuple[float, ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Settings:
        """Read the settings that the runner passes on; InputError for one that is not there."""
        names = {field.name for field in fields(cls)}
        unknown = sorted(set(values) - names - _RUNNERS)
        if unknown:
            expected = ", ".join(sorted(names))
            raise InputError(f"settings: found {escaped(unknown[0], 40)!r}, expected {expected}")
        chosen = {name: value for name, value in values.items() if name in names}
        if chosen.get("unknown_documents") is False:
            chosen["unknown_documents"] = "no"  # what YAML makes of a bare no
        for name, value in chosen.items():
            _check(name, value)
        if "thresholds" in chosen:
            chosen["thresholds"] = tuple(map(float, chosen["thresholds"]))
        return cls(**chosen)


def _check(name: str, value: Any) -> None:
    expected, ok = _expected(name, value)
    if not ok:
        raise InputError(f"settings.{name}: found {escaped(repr(value), 40)}, expected {expected}")


def _expected(name: str, value: Any) -> tuple[str, bool]:
    """Return in words what a setting must be, and whether it is."""
    if name in _CHOICES:
        return f"one of {', '.join(_CHOICES[name])}", value in _CHOICES[name]
    if name in ("uses_llm", "no_text", "allow_text_in_banks"):
        return "true or false", isinstance(value, bool)
    if name == "nuggets":
        return "a file or folder of nugget banks", value is None or isinstance(value, str)
    if name == "thresholds":
        numbers = isinstance(value, list | tuple) and all(_is_number(number) for number in value)
        rising = numbers and all(a < b for a, b in pairwise(value))
        return "rising numbers in (0, 1]", rising and all(0 < number <= 1 for number in value)
    if name == "min_scored":
        return "a number in [0, 1]", _is_number(value) and 0 <= value <= 1
    least = 1 if name == "most_nuggets" else 0
    return f"a whole number from {least}", type(value) is int and value >= least


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def workflow_path() -> Path:
    """Return the packaged workflow.yml, for `auto-judge run --workflow`."""
    return Path(__file__).parent / "workflow.yml"
