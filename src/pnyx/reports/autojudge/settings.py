"""Settings of Pnyx's judge in a workflow.yml: the keys of its `settings`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from pnyx.core.errors import InputError, escaped
from pnyx.reports.tree.plan import MIN_SCORED

_RUNNERS = frozenset({"filebase", "outdir", "description"})
"""Keys that the runner uses, or that are only for people."""

_CHOICES: Mapping[str, tuple[Any, ...]] = {
    "on_missing": ("skip", "zero", "error"),
    "answers": ("judge", "lookup"),
    "credit": ("attested", "cited", "any"),
    "attest": ("all", "relevant"),
    "unknown_documents": ("no", "unscored"),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a workflow.

    Attributes:
        uses_llm: ask the language model named by the environment; else the packaged judges.
        no_text: restricted mode: no text of a report or document is printed or in results.
        on_missing: a topic without a report of a run has no cell, and the run's mean is over its
            other topics (`skip`); or it counts as 0 for every measure (`zero`); or is an error
            (`error`). Values that are unscored for another reason never become a number.
        answers, credit, attest, min_grade, unknown_documents: see
            `pnyx.reports.tree.plan.ReportPlan`; the last one requires the runner's `--corpus`.
        min_scored: a value based on less than this share of its items has no cell.
        allow_text_in_banks: in restricted mode, created banks may hold sentences of documents.
        nuggets: file or folder of nugget banks in any dialect; the runner's banks take precedence.
        most_nuggets: maximum nuggets to create per topic.
        thresholds: increasing probabilities; a document's grade in the qrels is how many of them
            its probability of relevance reaches. Without any it is the verdict, 1 or 0.
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
        """Read the settings that the runner passes on; InputError for an unknown one."""
        names = {field.name for field in fields(cls)}
        unknown = sorted(set(values) - names - _RUNNERS)
        if unknown:
            expected = ", ".join(sorted(names))
            raise InputError(f"settings: found {escaped(unknown[0], 40)!r}, expected {expected}")
        chosen = {name: value for name, value in values.items() if name in names}
        if chosen.get("unknown_documents") is False:
            chosen["unknown_documents"] = "no"  # YAML reads an unquoted no as false
        for name, value in chosen.items():
            expected, ok = _expected(name, value)
            if not ok:
                value_text = escaped(repr(value), 40)
                raise InputError(f"settings.{name}: found {value_text}, expected {expected}")
        if "thresholds" in chosen:
            chosen["thresholds"] = tuple(map(float, chosen["thresholds"]))
        return cls(**chosen)


def _expected(name: str, value: Any) -> tuple[str, bool]:
    """Return a description of a setting's valid values, and whether the value is valid."""
    if name in _CHOICES:
        return f"one of {', '.join(_CHOICES[name])}", value in _CHOICES[name]
    if name in ("uses_llm", "no_text", "allow_text_in_banks"):
        return "true or false", isinstance(value, bool)
    if name == "nuggets":
        return "a file or folder of nugget banks", value is None or isinstance(value, str)
    if name == "thresholds":
        numbers = isinstance(value, list | tuple) and all(_is_number(number) for number in value)
        rising = numbers and all(a < b for a, b in pairwise(value))
        return "increasing numbers in (0, 1]", rising and all(0 < number <= 1 for number in value)
    if name == "min_scored":
        return "a number in [0, 1]", _is_number(value) and 0 <= value <= 1
    least = 1 if name == "most_nuggets" else 0
    return f"a whole number from {least}", type(value) is int and value >= least


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def workflow_path() -> Path:
    """Return the packaged workflow.yml, for `auto-judge run --workflow`."""
    return Path(__file__).parent / "workflow.yml"
