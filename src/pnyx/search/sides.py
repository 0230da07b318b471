"""Which side a text takes on a question: the corpus's own label, and a judge's verdicts."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pnyx.judge.answers import Answer, Judged, Provenance, Unscored
from pnyx.judge.base import Judge, ask
from pnyx.judge.tasks import ask_stance
from pnyx.records import SIDES, Argument, Evidence, Question, Side, Stance

if TYPE_CHECKING:
    import Stemmer

__all__ = [
    "CERTAINTY",
    "CORPUS_LABEL",
    "Sided",
    "ask_sides",
    "is_yes",
    "label_verdicts",
    "same_question",
    "sides_of",
    "stance_side",
]

CERTAINTY = 0.6
"""The least probability with which a judge's verdict decides a side (docs/decisions/sides.md)."""

CORPUS_LABEL = "corpus label"
"""The judge named where a verdict is the corpus's own stance label."""

# Words that carry the form of a motion, not its matter.
_FORM_WORDS = frozenset(
    "a an the this that these those of to in on for be is are was were been being do does did has"
    " have had should would could can may must will shall it there we you they i house believes"
    " believe supports support motion resolved".split()
)
_NEGATIONS = frozenset("not no never cannot nor neither without".split())


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


def label_verdicts(question: Question, document: Evidence) -> dict[Side, Answer] | None:
    """Return the corpus's own verdicts where its label is about this very question."""
    if not isinstance(document, Argument) or document.stance is None:
        return None
    relation = same_question(document.topic or document.conclusion, question.text)
    if relation == 0:
        return None
    flipped: dict[Stance, Stance] = {"pro": "con", "con": "pro", "neutral": "neutral"}
    stance = document.stance if relation == 1 else flipped[document.stance]
    provenance = Provenance(
        judge=CORPUS_LABEL,
        method="label",
        details={"topic": document.topic, "stance": document.stance, "relation": relation},
    )
    return {side: Judged(stance == side, provenance) for side in SIDES}


def is_yes(answer: Answer) -> bool:
    """Say whether a judge said yes; what is unscored is no yes, and no no either."""
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
        if is_yes(answer) and _sure(_probability(answer), certainty)
    )
    if len(yes) < len(SIDES):
        return yes
    pro, con = (_probability(stance[side]) for side in SIDES)
    if pro is None or con is None or pro == con:
        return yes
    return frozenset(("pro",)) if pro > con else frozenset(("con",))


def ask_sides(
    judge: Judge, asked: Sequence[tuple[Question, str, str]]
) -> Iterator[dict[Side, Answer]]:
    """Ask a judge, for each side, whether texts argue for it.

    Args:
        judge: answers `stance` questions.
        asked: question, id and text of each; the pair of question and id is unique.

    Returns:
        The verdicts on each text, in order.
    """
    made = [
        ask_stance(f"stance/{side}/{name}", question.text, text, side, group=question.id)
        for question, name, text in asked
        for side in SIDES
    ]
    answers = iter(ask(judge, made))
    return ({side: next(answers) for side in SIDES} for _ in asked)


@dataclass(frozen=True, slots=True)
class Sided:
    """The side that a document takes on a question.

    Attributes:
        side: `pro`, `con`, or None where it takes none, takes both, or nobody is sure.
        by: who decided: `CORPUS_LABEL`, or the judge's name; empty where nobody did.
        unscored: why a verdict is missing; empty where none is.
    """

    side: Side | None
    by: str = ""
    unscored: str = ""


def sides_of(
    asked: Sequence[tuple[Question, Evidence]], judge: Judge, certainty: float = CERTAINTY
) -> list[Sided]:
    """Find the side of documents: by the corpus's label on this very question, else by a judge.

    Args:
        asked: each document with its question.
        judge: answers `stance` questions.
        certainty: the least probability of a judge's yes that decides, 0.5 to 1.
    """
    told = [label_verdicts(question, document) for question, document in asked]
    open_ones = [
        (question, f"{question.id}/{document.id}", document.text)
        for (question, document), label in zip(asked, told, strict=True)
        if label is None
    ]
    judged = ask_sides(judge, open_ones)
    found = []
    for label in told:
        verdicts = next(judged) if label is None else label
        sides = stance_side(verdicts, certainty)
        side = next(iter(sides)) if len(sides) == 1 else None
        by = next((a.provenance.judge for a in verdicts.values() if isinstance(a, Judged)), "")
        missing = [a.reason for a in verdicts.values() if isinstance(a, Unscored)]
        found.append(Sided(side, by if side else "", missing[0] if missing else ""))
    return found
