"""What a page shows of a case: numbered, worded and cut once, for HTML and Markdown alike.

`pnyx.view.build.view_case` makes these from a `Case`. Everything here is text that is ready to be
escaped and printed. References are numbered across both sides in the order of their first
citation; sentences are labelled P1, P2 ... and C1, C2 ...
"""

from __future__ import annotations

from dataclasses import dataclass

from pnyx.view.text import Segment
from pnyx.view.wording import SideWording, State, StateWording

__all__ = [
    "CaseView",
    "CheckView",
    "CitationView",
    "GroupView",
    "MeasureView",
    "ReferenceView",
    "SentenceView",
    "SideView",
    "VerdictView",
]


@dataclass(frozen=True, slots=True)
class VerdictView:
    """One verdict: its state, its word, and in `phrase` also who gave it with what probability.

    `probability` reads `p = 0.93`, `chance` only `0.93`; `reason` is the judge's explanation, or
    why there is no verdict.
    """

    state: State
    word: str
    probability: str
    chance: str
    judge: str
    reason: str
    phrase: str


@dataclass(frozen=True, slots=True)
class CitationView:
    """A citation of passage `number` by sentence `label`.

    Attributes:
        key: unique in the page, e.g. `pro-3-2`: side, sentence and passage.
        anchor: where the link leads: the evidence, or the passage where none was located.
        evidence: the marked words, on one line; empty where none was located.
    """

    number: int
    key: str
    anchor: str
    label: str
    sentence: str
    sentence_id: str
    verdict: VerdictView
    evidence: str


@dataclass(frozen=True, slots=True)
class SentenceView:
    """A sentence with its citations and what their verdicts come to."""

    id: str
    label: str
    text: str
    is_conclusion: bool
    state: State
    wording: StateWording
    citations: tuple[CitationView, ...]


@dataclass(frozen=True, slots=True)
class GroupView:
    """A conclusion with the premises given for it; None where premises stand alone."""

    conclusion: SentenceView | None
    premises: tuple[SentenceView, ...]


@dataclass(frozen=True, slots=True)
class MeasureView:
    """A figure with its interval and its base, and what it says in plain words.

    Attributes:
        plot: value, low and high in percent where all are shares in [0, 1]; else None.
    """

    name: str
    label: str
    value: str
    interval: str
    base: str
    meaning: str
    plot: tuple[float, float, float] | None


@dataclass(frozen=True, slots=True)
class SideView:
    """One side of the question."""

    side: str
    wording: SideWording
    groups: tuple[GroupView, ...]
    measures: tuple[MeasureView, ...]
    tally: tuple[tuple[State, StateWording, int], ...]
    sentences: int
    citations: int
    passages: int
    considered: int
    problems: tuple[str, ...]
    empty: str


@dataclass(frozen=True, slots=True)
class CheckView:
    """A verdict on a whole passage; `question` says what was asked, `side` for which side."""

    question: str
    side: str
    verdict: VerdictView


@dataclass(frozen=True, slots=True)
class ReferenceView:
    """A cited passage: where it is from, its text cut at its evidence, and all verdicts on it.

    `stance` is the corpus's own label with its topic, `url` a web address or empty.
    """

    number: int
    id: str
    title: str
    source: str
    url: str
    stance: str
    segments: tuple[Segment, ...]
    checks: tuple[CheckView, ...]
    cited_by: tuple[CitationView, ...]


@dataclass(frozen=True, slots=True)
class CaseView:
    """A whole page."""

    question: str
    sides: tuple[SideView, ...]
    references: tuple[ReferenceView, ...]
    judges: tuple[tuple[str, str], ...]
    settings: tuple[tuple[str, str], ...]
    measures: tuple[MeasureView, ...]
    sentences: int
    citations: int
    scored: int
    placed: str
