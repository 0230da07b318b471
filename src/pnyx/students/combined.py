"""Scores pairs by several students: the mean of their standardised values.

docs/decisions/student.md has figures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from pnyx.corpora.fields import number
from pnyx.errors import InputError, shorten
from pnyx.judge.calibration.curves import log_odds
from pnyx.judge.questions import Support
from pnyx.models.embed.encoder import load_encoder
from pnyx.students import late, lexical
from pnyx.students.linear import LinearScorer, check_version, logistic
from pnyx.students.logistic import FEATURES_VERSION, closeness

LATE, LEXICAL, CLOSENESS = PARTS = ("late-interaction", "lexical", "closeness")

LEAST_DEVIATION = 1e-6
_MOST = 100.0
"""Log-odds are cut at some 14.5, cosines at 1: a mean or deviation beyond is none of theirs."""

Part: TypeAlias = Callable[[Sequence[Support]], list[float | str]]
"""What a part says of each pair, log-odds or cosine, or why it says nothing."""


@dataclass(frozen=True, slots=True)
class Standard:
    """Location and scale of a part's values on unseen questions, and the part's weight."""

    mean: float
    deviation: float
    weight: float = 1.0

    def __call__(self, value: float) -> float:
        """Return a value in deviations from the mean, times the weight."""
        return self.weight * (value - self.mean) / self.deviation


class CombinedScorer:
    """Adds what its parts say: the log-odds of a score are the mean of the standardised values."""

    def __init__(self, parts: Sequence[tuple[Part, Standard]]) -> None:
        self._parts = tuple(parts)

    def score(self, questions: Sequence[Support]) -> list[float | str]:
        """See `pnyx.students.judge.Scorer`; without a part's value there is no score."""
        columns = [
            [value if isinstance(value, str) else standard(value) for value in part(questions)]
            for part, standard in self._parts
        ]
        return [_combine(row) for row in zip(*columns, strict=True)]


def _combine(values: Sequence[float | str]) -> float | str:
    numbers = []
    for value in values:
        if isinstance(value, str):
            return value
        numbers.append(value)
    return float(logistic(math.fsum(numbers) / len(numbers)))


def open_parts(folder: Path, settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Part]:
    """Open the parts of a combined student, each by its settings."""
    openers: Mapping[str, Callable[[Mapping[str, Any]], Part]] = {
        LATE: lambda own: _log_odds_of(late.load(folder, own)),
        LEXICAL: lambda own: _log_odds_of(lexical.load(folder, own)),
        CLOSENESS: _closeness,
    }
    found = {}
    for name in PARTS:
        try:
            found[name] = openers[name](settings[name])
        except InputError as error:
            raise InputError(f"{name}: {error.problem}", path=error.path) from error
    return found


def _log_odds_of(scorer: LinearScorer) -> Part:
    return lambda questions: [
        p if isinstance(p, str) else float(log_odds([p])[0]) for p in scorer.score(questions)
    ]


def _closeness(settings: Mapping[str, Any]) -> Part:
    check_version(settings, FEATURES_VERSION)
    encoder = load_encoder(str(settings.get("encoder")))
    return lambda questions: closeness(encoder, questions).tolist()


def load(folder: Path, settings: Mapping[str, Any]) -> CombinedScorer:
    """Load a combined student, or raise InputError: a part or its numbers cannot be used."""
    parts = read_parts(settings, PARTS)
    opened = open_parts(folder, {name: own for name, (own, _) in parts.items()})
    return CombinedScorer([(opened[name], standard) for name, (_, standard) in parts.items()])


def read_parts(
    settings: Mapping[str, Any], names: Sequence[str]
) -> dict[str, tuple[Mapping[str, Any], Standard]]:
    """Return the settings and the standard of each part, in the order of `names`."""
    parts = settings.get("parts")
    if not isinstance(parts, dict) or set(parts) != set(names):
        found = ", ".join(map(str, parts)) if isinstance(parts, dict) else parts
        raise InputError(f"parts: found {shorten(found, 80)}, expected {', '.join(names)}")
    return {name: _part(name, parts[name]) for name in names}


def _part(name: str, row: Any) -> tuple[Mapping[str, Any], Standard]:
    if not isinstance(row, dict) or not isinstance(row.get("settings"), dict):
        raise InputError(f"{name}: expected an object with settings, mean and deviation")
    mean = _within(row.get("mean"), f"{name}: mean", -_MOST)
    deviation = _within(row.get("deviation"), f"{name}: deviation", LEAST_DEVIATION)
    weight = _within(row.get("weight", 1.0), f"{name}: weight", LEAST_DEVIATION)
    return row["settings"], Standard(mean, deviation, weight)


def _within(value: Any, name: str, least: float) -> float:
    found = float(number(value, name))
    if not least <= found <= _MOST:
        raise InputError(f"{name}: found {found:g}, expected {least:g} to {_MOST:g}")
    return found
