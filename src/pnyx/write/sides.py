"""Which side of the question does each retrieved document serve?

The corpus's own stance label counts where its topic states the same question; otherwise a judge
is asked whether the document supports the pro claim and whether it supports the con claim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pnyx.judge.answers import Answer, Unscored
from pnyx.judge.base import Judge, ask
from pnyx.judge.questions import Support
from pnyx.judge.tasks import ask_relevance
from pnyx.records import Evidence, Question, Side
from pnyx.search.sides import (
    CORPUS_LABEL,
    ask_sides,
    is_yes,
    label_verdicts,
    same_question,
    stance_side,
)

__all__ = ["CORPUS_LABEL", "Placed", "place", "same_question", "stance_side"]


@dataclass(frozen=True, slots=True)
class Placed:
    """A retrieved document with the verdicts that place it.

    Attributes:
        document: the evidence.
        score: its retrieval score.
        relevance: does it help to answer the question?
        stance: for each side, does it serve that side? Empty where it is off topic: not asked.
        sides: the sides it is used for; empty where it is off topic or undecided.
    """

    document: Evidence
    score: float
    relevance: Answer
    stance: Mapping[Side, Answer]
    sides: frozenset[Side]

    @property
    def labelled(self) -> bool:
        """Placed by the corpus's own label."""
        return any(a.provenance.judge == CORPUS_LABEL for a in self.stance.values())

    @property
    def unscored(self) -> bool:
        """A verdict on it is missing, whether or not the others sufficed to place it."""
        return any(isinstance(a, Unscored) for a in (self.relevance, *self.stance.values()))


def place(
    question: Question,
    found: Sequence[tuple[Evidence, float]],
    judge: Judge,
    certainty: float,
) -> list[Placed]:
    """Judge each document's relevance, then the side of those that are relevant.

    Args:
        question: the question; its `definition`, if any, guides the relevance verdict.
        found: retrieved documents with their scores, best first.
        judge: answers `relevance` and `stance` Support questions.
        certainty: the least probability, in [0.5, 1], with which a judge's yes puts a document on
            a side; a yes without a probability always does.

    Returns:
        One `Placed` for each document, in the same order.
    """
    relevance = ask(judge, [_relevance_question(question, d) for d, _ in found])
    # A label on this very question says that the passage is on topic, too, whatever a judge thinks.
    stances: list[dict[Side, Answer]] = [label_verdicts(question, d) or {} for d, _ in found]
    open_ones = [i for i, r in enumerate(relevance) if is_yes(r) and not stances[i]]
    asked = [(question, found[i][0].id, found[i][0].text) for i in open_ones]
    for i, verdicts in zip(open_ones, ask_sides(judge, asked), strict=True):
        stances[i] = verdicts
    return [
        Placed(document, score, answer, stance, stance_side(stance, certainty))
        for (document, score), answer, stance in zip(found, relevance, stances, strict=True)
    ]


def _relevance_question(question: Question, document: Evidence) -> Support:
    return ask_relevance(
        f"relevance/{document.id}",
        question.text,
        document.text,
        definition=question.definition,
        group=question.id,
    )
