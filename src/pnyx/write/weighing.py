"""Sides told by a language model as far as its answers carry information, else without it.

Small models say yes to everything, or take what comes first. So a model is asked which of the two
claims a text argues for, in both orders, and its answers count by how well the orders agree
(docs/decisions/main-job.md, "With a language model").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pnyx.judge.answers import Answer, Judged, Provenance, Unscored
from pnyx.judge.base import Emit, Judge, ask_async, of_kind
from pnyx.judge.calibration.curves import log_odds, logistic
from pnyx.judge.claims import claims
from pnyx.judge.questions import JudgeQuestion, Preference, Support
from pnyx.judge.tasks import ask_claims

__all__ = ["WORDS", "Choice", "WeighedSides", "Weighing", "choice_of", "weigh"]

Floats = NDArray[np.float64]

WORDS: Final = 120
"""Words of a text that a language model is shown: a side shows early, and reading costs most."""

_MOST: Final = 4.0
"""Log-odds to which a single answer is held: .98. No answer is surer than its wording allows."""

_SAID: Final = 0.9
"""What a word counts where the server gives no probabilities."""

_LEAST_APART: Final = 1.0
_TRUSTED: Final = 0.5


@dataclass(frozen=True, slots=True)
class Choice:
    """What a model said of one text, asked with the claims in either order.

    Attributes:
        odds: log-odds of pro against con, for both orders.
        neither: probability of neither, for both orders.
    """

    odds: tuple[float, float]
    neither: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Weighing:
    """How much a language model's answers on one question count, and why.

    Attributes:
        weight: from 0 (the packaged judge alone decides) to 1 (the model alone).
        why: one line for people.
        scored: on how many texts the model's answer is known, of how many asked.
        reliability: agreement of the two orders over the texts, at most 1; None below two texts.
        apart: how far the model tells the two claims themselves apart, in log-odds; None where it
            did not answer.
    """

    weight: float
    why: str
    scored: int
    asked: int
    reliability: float | None = None
    apart: float | None = None

    def row(self) -> dict[str, Any]:
        """Return its fields, ready for JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


def choice_of(answer: Answer) -> Choice | None:
    """Return what an answer on `ask_claims` says; None where there is none."""
    if not isinstance(answer, Judged):
        return None
    chances = answer.notes.get("chances") or [_worded(v) for v in answer.notes.get("orders", ())]
    if len(chances) != 2:
        return None
    odds = [float(np.log((c["a"] + c["tie"] / 2) / (c["b"] + c["tie"] / 2))) for c in chances]
    first, second = (max(-_MOST, min(_MOST, one)) for one in odds)
    return Choice((first, second), (chances[0]["tie"], chances[1]["tie"]))


def _worded(value: str) -> Mapping[str, float]:
    """Return the probabilities that a bare word stands for."""
    rest = (1.0 - _SAID) / 2
    return {one: _SAID if one == value else rest for one in ("a", "b", "tie")}
