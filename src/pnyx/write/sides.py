"""Which side of the question does each retrieved document serve?

The corpus's own stance label counts where its topic states the same question; otherwise a judge
is asked whether the document supports the pro claim and whether it supports the con claim.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pnyx.judge.answers import Answer, Judged, Provenance, Unscored
from pnyx.judge.base import Judge, ask
from pnyx.judge.questions import Support
from pnyx.judge.tasks.relevance import ask_relevance
from pnyx.judge.tasks.stance import ask_stance
from pnyx.records import SIDES, Argument, Evidence, Question, Side

if TYPE_CHECKING:
    import Stemmer

__all__ = ["CORPUS_LABEL", "Placed", "place", "same_question", "stance_side"]

CORPUS_LABEL = "corpus label"
"""The judge named where a verdict is the corpus's own stance label."""

# Words that carry the form of a motion, not its matter.
_FORM_WORDS = frozenset(
    "a an the this that these those of to in on for be is are was were been being do does did has"
    " have had should would could can may must will shall it there we you they i house believes"
    " believe supports support motion resolved".split()
)
_NEGATIONS = frozenset("not no never cannot nor neither without".split())


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


def same_question(topic: str, question: str) -> int:
    """Compare a corpus topic with a question by their content words.

    Returns:
        1 if both ask the same thing, -1 if one is the other's negation, 0 if they differ or
        cannot be compared. Only the same stems count, so paraphrases give 0.
    """
    topic_words, topic_negated = _content(topic)
    question_words, question_negated = _content(question)
    if not topic_words or topic_words != question_words:
        return 0
    return 1 if topic_negated == question_negated else -1


def _content(text: str) -> tuple[list[str], bool]:
    words = re.findall(r"\w+(?:['’]\w+)?", text.casefold())
    negations = sum(w in _NEGATIONS or w.endswith(("n't", "n’t")) for w in words)
    content = [
        w
        for w in words
        if w not in _FORM_WORDS and w not in _NEGATIONS and not w.endswith(("n't", "n’t"))
    ]
    return sorted(_stemmer().stemWords(content)), negations % 2 == 1


@functools.cache
def _stemmer() -> Stemmer.Stemmer:
    """Load the English stemmer: "ban boxing" and "Should boxing be banned?" share their stems."""
    import Stemmer

    return Stemmer.Stemmer("english")


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
    stances: list[dict[Side, Answer]] = [_label_verdicts(question, d) or {} for d, _ in found]
    open_ones = [i for i, r in enumerate(relevance) if _is_yes(r) and not stances[i]]
    answers = iter(
        ask(judge, [q for i in open_ones for q in _stance_questions(question, found[i][0])])
    )
    for i in open_ones:
        stances[i] = {side: next(answers) for side in SIDES}
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


def _stance_questions(question: Question, document: Evidence) -> list[Support]:
    return [
        ask_stance(
            f"stance/{side}/{document.id}", question.text, document.text, side, group=question.id
        )
        for side in SIDES
    ]


def _label_verdicts(question: Question, document: Evidence) -> dict[Side, Answer] | None:
    """Return the corpus's own verdicts where its label is about this very question."""
    if not isinstance(document, Argument) or document.stance is None:
        return None
    relation = same_question(document.topic or document.conclusion, question.text)
    if relation == 0:
        return None
    flipped = {"pro": "con", "con": "pro", "neutral": "neutral"}
    stance = document.stance if relation == 1 else flipped[document.stance]
    provenance = Provenance(
        judge=CORPUS_LABEL,
        method="label",
        details={"topic": document.topic, "stance": document.stance, "relation": relation},
    )
    return {side: Judged(stance == side, provenance) for side in SIDES}


def _is_yes(answer: Answer) -> bool:
    return isinstance(answer, Judged) and answer.value is True


def _sure(probability: float | None, certainty: float) -> bool:
    return probability is None or probability >= certainty


def _probability(answer: Answer) -> float | None:
    return answer.probability if isinstance(answer, Judged) else None


def stance_side(stance: Mapping[Side, Answer], certainty: float = 0.5) -> frozenset[Side]:
    """Choose the sides a document is used for; between two yeses the more probable wins."""
    yes = frozenset(
        side
        for side, answer in stance.items()
        if _is_yes(answer) and _sure(_probability(answer), certainty)
    )
    if len(yes) < len(SIDES):
        return yes
    pro, con = (_probability(stance[side]) for side in SIDES)
    if pro is None or con is None or pro == con:
        return yes
    return frozenset(("pro",)) if pro > con else frozenset(("con",))
