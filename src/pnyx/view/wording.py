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
        "◐", "mixed", "the cited passages got different verdicts: open them and compare"
    ),
    "unscored": StateWording(
        "?", "unscored", "the judge gave no verdict; this counts neither for nor against"
    ),
    "uncited": StateWording("–", "no citation", "the sentence cites nothing, so nothing was asked"),
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
    """A figure's label, what it says in plain words, and whether it is a share or a count."""

    label: str
    meaning: str
    kind: Literal["share", "count", "other"]


MEASURES: dict[str, MeasureWording] = {
    "sentence_precision": MeasureWording(
        "Sentence precision",
        "Of the sentences that were scored, the share that the passages they cite support. "
        "1 means that every scored sentence is backed by its citation; it says nothing about "
        "whether the passages are true.",
        "share",
    ),
    "citation_precision": MeasureWording(
        "Citation precision",
        "Of the scored pairs of a sentence and a passage it cites, the share in which that "
        "passage supports that sentence.",
        "share",
    ),
    "relevance": MeasureWording(
        "Relevant passages",
        "Of the cited passages that were scored, the share that helps to answer the question.",
        "share",
    ),
    "stance": MeasureWording(
        "Passages on this side",
        "Of the cited passages that were scored, the share that serves the side citing them.",
        "share",
    ),
    "citations": MeasureWording(
        "Citations", "How many times a sentence of this side cites a passage.", "count"
    ),
    "citation_count": MeasureWording(
        "Citations", "How many times a sentence of this side cites a passage.", "count"
    ),
    "sentences": MeasureWording("Sentences", "How many sentences this side has.", "count"),
}


def measure_wording(name: str) -> MeasureWording:
    """Return the wording of a measure; one that is not listed is shown under its own name."""
    known = MEASURES.get(name)
    if known is not None:
        return known
    return MeasureWording(name.replace("_", " ").strip().capitalize() or "Measure", "", "other")


def probability(value: float | None) -> str:
    """Return `p = 0.93`, without ever rounding a doubt away; empty where there is none."""
    if value is None or not math.isfinite(value):
        return ""
    if 0.99 < value < 1:
        return "p > 0.99"
    if 0 < value < 0.01:
        return "p < 0.01"
    return f"p = {value:.2f}"
