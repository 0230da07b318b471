"""The page model of a case, and the words for verdicts and figures.

All text is numbered, cut and sanitised, but not escaped. References are numbered across both sides
in the order of their first citation; sentences are labelled P1, P2 ... and C1, C2 ...
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pnyx.core.records import Side
from pnyx.display.states import State, StateWording
from pnyx.display.text import Segment

Check: TypeAlias = Literal["support", "relevance", "stance"]


VERDICT_WORDS: dict[Check, tuple[str, str]] = {
    "support": ("supported", "not supported"),
    "relevance": ("argues a side", "argues neither side"),
    "stance": ("serves this side", "does not serve this side"),
}
"""The words for yes and no, for each check."""


@dataclass(frozen=True, slots=True)
class SideWording:
    """How one side is named: a letter for sentence labels, its tag, its heading."""

    letter: str
    name: str
    heading: str


def side_wording(side: Side, name: str) -> SideWording:
    """Return the names of a side on a page, from its words after "the case for"."""
    return SideWording(side[0].upper(), side.capitalize(), f"The case for {name}")


@dataclass(frozen=True, slots=True)
class MeasureWording:
    """A figure's label and its meaning in plain words."""

    label: str
    meaning: str


MEASURES: dict[str, MeasureWording] = {
    "on_the_question": MeasureWording(
        "On the question",
        "Expected share of the cited passages that argue a side of the question, rather than of a "
        "similar one or none: the mean of their probabilities.",
    ),
    "on_this_side": MeasureWording(
        "On this side",
        "Expected share of the cited passages that argue for this side, of those that argue any: "
        "the mean of their probabilities.",
    ),
    "sentence_precision": MeasureWording(
        "Sentence precision",
        "Of the sentences that were scored, the share that each passage they cite supports (signs "
        "✓ and ~). Quoted ones (=) support themselves and are excluded. 1 means that every scored "
        "sentence is backed by all its sources; it does not mean that the sources are right.",
    ),
    "citation_precision": MeasureWording(
        "Citation precision",
        "Of the citations that were scored, quotations apart, the share whose passage supports the "
        "sentence that cites it. Higher than sentence precision if only some of a sentence's "
        "passages support it.",
    ),
}


def measure_wording(name: str) -> MeasureWording:
    """Return the wording of a measure; an unlisted one keeps its name."""
    wording = MEASURES.get(name)
    if wording is not None:
        return wording
    return MeasureWording(name.replace("_", " ").strip().capitalize() or "Measure", "")


@dataclass(frozen=True, slots=True)
class VerdictView:
    """One verdict; `phrase` also names the judge and the probability."""

    state: State
    word: str
    probability: str  # reads `p = 0.93`
    chance: str  # reads `0.93`
    judge: str
    reason: str  # explains the verdict or its absence
    phrase: str


@dataclass(frozen=True, slots=True)
class CitationView:
    """A citation of passage `number` by sentence `label`."""

    number: int
    key: str  # unique in the page, e.g. `pro-3-2`
    anchor: str  # links to the marked words, or else to the passage
    label: str
    sentence: str
    sentence_id: str
    verdict: VerdictView
    evidence: str


@dataclass(frozen=True, slots=True)
class SentenceView:
    """A sentence with its citations and the combined state of their verdicts."""

    id: str
    label: str
    text: str
    is_conclusion: bool
    state: State
    wording: StateWording
    citations: tuple[CitationView, ...]


@dataclass(frozen=True, slots=True)
class GroupView:
    """A conclusion with its premises.

    None if premises have no conclusion. `likelihood` is the probability that the passage cited
    first argues the side: words and percentage.
    """

    conclusion: SentenceView | None
    premises: tuple[SentenceView, ...]
    likelihood: str = ""


@dataclass(frozen=True, slots=True)
class MeasureView:
    """A figure in plain words; `plot` holds value, low and high in percent, if shares."""

    name: str
    label: str
    value: str
    interval: str
    base: str
    meaning: str
    plot: tuple[float, float, float] | None


@dataclass(frozen=True, slots=True)
class SideView:
    """One side of the question; `uncited` and `less_sure` passages are listed but not used.

    `warning` says that the documents may not argue this side.
    """

    side: str
    wording: SideWording
    groups: tuple[GroupView, ...]
    warning: str
    measures: tuple[MeasureView, ...]
    tally: tuple[tuple[State, StateWording, int], ...]
    sentences: int
    citations: int
    passages: int
    considered: int
    problems: tuple[str, ...]
    empty: str
    uncited: tuple[UndecidedView, ...]
    less_sure: tuple[UndecidedView, ...]


@dataclass(frozen=True, slots=True)
class CheckView:
    """A verdict on a whole passage; `question` is the question, `side` the side it is about."""

    question: str
    side: str
    verdict: VerdictView


@dataclass(frozen=True, slots=True)
class ReferenceView:
    """A cited passage: its source, its text cut around its evidence, and all its verdicts."""

    number: int
    doc_id: str  # as in the index
    id: str
    title: str
    passage_label: str  # position of the passage in its document
    source: str
    url: str  # a web address or empty
    stance: str  # the corpus's own label with its topic
    quality: str  # predicted quality, among all passages
    segments: tuple[Segment, ...]
    checks: tuple[CheckView, ...]
    cited_by: tuple[CitationView, ...]


@dataclass(frozen=True, slots=True)
class UndecidedView:
    """A passage about the question that is not used: its source, opening and verdicts."""

    id: str
    title: str
    passage_label: str  # position of the passage in its document
    url: str
    opening: str
    checks: tuple[CheckView, ...]


@dataclass(frozen=True, slots=True)
class CaseView:
    """A whole page."""

    question: str
    claims: tuple[str, str]
    claimed: bool  # whether the claims were given, instead of the question with yes and no
    sides: tuple[SideView, ...]
    references: tuple[ReferenceView, ...]
    judges: tuple[tuple[str, str, str], ...]  # short name, id and card
    introduced: tuple[str, ...]  # short names, each with a short card
    settings: tuple[tuple[str, str], ...]
    measures: tuple[MeasureView, ...]
    sentences: int
    citations: int
    scored: int
    quoted: int
    number: str
    near: tuple[tuple[str, str], ...]
    placed: str
    undecided: tuple[UndecidedView, ...]
    less_sure: int
    certainty: str
    labels: tuple[str, ...]
    doubts: tuple[str, ...]
