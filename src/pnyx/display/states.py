"""Words on all pages for states of sentences and verdicts, and for probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

State: TypeAlias = Literal["quoted", "yes", "weak", "no", "mixed", "unscored", "uncited"]
"""The combined state of the judges' verdicts on one sentence, or of one verdict."""


@dataclass(frozen=True, slots=True)
class StateWording:
    """A state of a sentence: a sign for plain text, a word, and what it means."""

    sign: str
    word: str
    meaning: str


STATES: dict[State, StateWording] = {
    "quoted": StateWording(
        "=",
        "quoted verbatim",
        "the sentence occurs verbatim in every passage it cites; this does not say whether it is "
        "true",
    ),
    "yes": StateWording("✓", "supported", "every passage that the sentence cites supports it"),
    "weak": StateWording(
        "~",
        "perhaps supported",
        "every passage that the sentence cites passes the judge's threshold, at least one with a "
        "probability below one half; it counts as supported",
    ),
    "no": StateWording("✗", "not supported", "no passage that the sentence cites supports it"),
    "mixed": StateWording(
        "◐",
        "mixed",
        "at least one cited passage supports the sentence and another does not; it counts as not "
        "supported",
    ),
    "unscored": StateWording(
        "?",
        "unscored",
        "no cited passage is known not to support it, but for at least one the judge gave no "
        "verdict; this counts neither for nor against",
    ),
    "uncited": StateWording(
        "–", "no citation", "the sentence cites nothing; it counts as not supported"
    ),
}


def state_of(verdicts: Iterable[State]) -> State:
    """Combine the verdicts on a sentence so that counts agree with sentence precision."""
    states = set(verdicts)
    if not states:
        return "uncited"
    if states == {"quoted"}:
        return "quoted"
    states = {"yes" if state == "quoted" else state for state in states}
    if "no" in states:
        return "mixed" if states & {"yes", "weak"} else "no"
    if "unscored" in states:
        return "unscored"
    return "weak" if "weak" in states else "yes"


def said_of(value: bool, chance: float | None, words: tuple[str, str]) -> tuple[State, str]:
    """Return the state and the word of a verdict.

    A yes with a probability below 0.5 has no tick.
    """
    if not value:
        return "no", words[1]
    if chance is not None and chance < 0.5:
        return "weak", f"perhaps {words[0]}"
    return "yes", words[0]


def probability(value: float | None) -> str:
    """Return `p = 0.93`, never rounded to 0 or 1; empty if there is none."""
    if value is None or not math.isfinite(value):
        return ""
    if 0.99 < value < 1:
        return "p > 0.99"
    if 0 < value < 0.01:
        return "p < 0.01"
    return f"p = {value:.2f}"
