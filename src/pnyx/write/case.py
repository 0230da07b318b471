"""What `pnyx argue` produces: both sides of one question, cited and judged, ready to be shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pnyx.judge.answers import Answer
from pnyx.measure.base import Measured
from pnyx.records import Evidence, Question, Response, Side

__all__ = ["ArguedSide", "Case"]


@dataclass(frozen=True, slots=True)
class ArguedSide:
    """One side of the question: its argument, and what the judges say of each part.

    Attributes:
        side: `pro` answers the question with yes, `con` with no.
        response: the argument; each sentence's `extra["role"]` is `conclusion` or `premise`
            (a conclusion opens a group of premises).
        support: for each (sentence position, cited document id): does the document support it?
        relevance: for each cited document id: does it help to answer the question?
        stance: for each cited document id: does it serve this side?
        measures: name -> value, in the order to show (`sentence_precision`, ...).
        considered: how many retrieved documents were put on this side.
        problems: what was removed or went wrong while writing, one line each, for people.
    """

    side: Side
    response: Response
    support: Mapping[tuple[int, str], Answer]
    relevance: Mapping[str, Answer]
    stance: Mapping[str, Answer]
    measures: Mapping[str, Measured]
    considered: int
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """A question with its argued sides.

    Attributes:
        question: as asked.
        sides: pro before con; one of them where only one was asked for. A side for which no
            evidence was found has a response without sentences.
        documents: every cited document by id.
        judges: judge name -> its card, one line on how far it can be trusted.
        settings: label -> value, how this was made (index, model, writer, version, date).
        undecided: how many retrieved documents were put on neither side.
    """

    question: Question
    sides: tuple[ArguedSide, ...]
    documents: Mapping[str, Evidence]
    judges: Mapping[str, str]
    settings: Mapping[str, str] = field(default_factory=dict)
    undecided: int = 0
