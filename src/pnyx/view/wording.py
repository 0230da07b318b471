"""The words that the pages use for verdicts and figures, in one place so that all pages agree."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pnyx.records import Side

__all__ = [
    "MEASURES",
    "SIDES",
    "STATES",
    "VERDICT_WORDS",
    "Check",
    "MeasureWording",
    "SideWording",
    "State",
    "StateWording",
    "measure_wording",
    "probability",
]

State: TypeAlias = Literal["yes", "no", "mixed", "unscored", "uncited"]
"""What the judges' verdicts on one sentence, or one verdict, come to."""

Check: TypeAlias = Literal["support", "relevance", "stance"]
"""What a judge was asked about a sentence and its passage, or about a passage."""


@dataclass(frozen=True, slots=True)
class StateWording:
    """A state of a sentence: a sign for plain text, a word, and what it means."""

    sign: str
    word: str
    meaning: str


STATES: dict[State, StateWording] = {
    "yes": StateWording("✓", "supported", "every passage that the sentence cites supports it"),
    "no": StateWording("✗", "not supported", "no passage that the sentence cites supports it"),
    "mixed": StateWording(
        "◐",
        "mixed",
        "at least one cited passage supports the sentence, another does not or is unscored",
    ),
    "unscored": StateWording(
        "?",
        "unscored",
        "no cited passage is known to support it, and for at least one the judge gave no verdict; "
        "this counts neither for nor against",
    ),
    "uncited": StateWording(
        "–", "no citation", "the sentence cites nothing; it counts as not supported"
    ),
}

VERDICT_WORDS: dict[Check, tuple[str, str]] = {
    "support": ("supported", "not supported"),
    "relevance": ("relevant", "not relevant"),
    "stance": ("serves this side", "does not serve this side"),
}
"""What yes and no are called, for each check."""


@dataclass(frozen=True, slots=True)
class SideWording:
    """How one side is named: a letter for sentence labels, its name, its heading, its answer."""

    letter: str
    name: str
    heading: str
    answer: str


SIDES: dict[Side, SideWording] = {
    "pro": SideWording("P", "Pro", "The case for", "argues for yes"),
    "con": SideWording("C", "Con", "The case against", "argues for no"),
}


@dataclass(frozen=True, slots=True)
class MeasureWording:
    """A figure's label and what it says in plain words."""

    label: str
    meaning: str


MEASURES: dict[str, MeasureWording] = {
    "sentence_precision": MeasureWording(
        "Sentence precision",
        "Of the sentences that were scored, the share that at least one passage they cite "
        "supports (signs ✓ and ◐). 1 means that every scored sentence is backed by its sources; "
        "it does not mean that the sources are right.",
    ),
    "citation_precision": MeasureWording(
        "Citation precision",
        "Of the citations that were scored, the share whose passage supports the sentence that "
        "cites it. Lower than sentence precision where sentences cite too much.",
    ),
}


def measure_wording(name: str) -> MeasureWording:
    """Return the wording of a measure; one that is not listed is shown under its own name."""
    known = MEASURES.get(name)
    if known is not None:
        return known
    return MeasureWording(name.replace("_", " ").strip().capitalize() or "Measure", "")


def probability(value: float | None) -> str:
    """Return `p = 0.93`, without ever rounding a doubt away; empty where there is none."""
    if value is None or not math.isfinite(value):
        return ""
    if 0.99 < value < 1:
        return "p > 0.99"
    if 0 < value < 0.01:
        return "p < 0.01"
    return f"p = {value:.2f}"
