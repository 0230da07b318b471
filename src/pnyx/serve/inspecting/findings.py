"""What pages show of a report: sentences, citations, nuggets, measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pnyx.serve.inspecting.texts import Passage
from pnyx.serve.inspecting.wording import StepView, VerdictView
from pnyx.view.model import State, StateWording

if TYPE_CHECKING:
    from pnyx.serve.inspecting.records import Judgement


@dataclass(frozen=True, slots=True)
class CitationLine:
    """A citation in a report: its number among the report's documents, and its verdicts."""

    number: int
    doc_id: str
    attests: VerdictView
    relevant: VerdictView | None = None


@dataclass(frozen=True, slots=True)
class SentenceLine:
    """A sentence, `n` from 1; `nuggets` are those it answers: number, id, text."""

    n: int
    text: str
    state: State
    wording: StateWording
    citations: Sequence[CitationLine] = ()
    nuggets: Sequence[tuple[int, str, str]] = ()
    steps: Sequence[StepView] = ()
    open_nuggets: int = 0

    @property
    def unscored(self) -> Sequence[StepView]:
        """Its ways through the tree that end unscored."""
        return [one for one in self.steps if one.outcome == "unscored"]


@dataclass(frozen=True, slots=True)
class NuggetLine:
    """A nugget of the bank: whether the report answers it; of each answer, by which sentences."""

    number: int
    id: str
    text: str
    kind: str
    importance: str
    state: State
    word: str
    answers: Sequence[tuple[str, State, str, Sequence[int]]]


@dataclass(frozen=True, slots=True)
class MeasureLine:
    """A measure of one report: what it is called, and what it rests on."""

    name: str
    label: str
    value: float | None
    scored: int
    asked: int
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class FindingView:
    """What was found out: what was asked, the verdict, and the judgements that it rests on."""

    asks: str
    verdict: VerdictView
    rests_on: Sequence[Judgement] = ()


@dataclass(frozen=True, slots=True)
class CitedView:
    """A citation of a sentence: its document, and what was found out of it."""

    number: int
    passage: Passage
    findings: Sequence[FindingView]


@dataclass(frozen=True, slots=True)
class NuggetAsked:
    """A nugget's answer that a sentence was asked for; `answer` is empty of a claim."""

    nugget: str
    answer: str
    importance: str
    verdict: VerdictView
    judgement: Judgement
