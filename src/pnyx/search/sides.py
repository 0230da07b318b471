"""Which side a text takes on a question: the corpus's own label, and a judge's verdicts."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pnyx.judge.answers import Answer, Judged, Provenance, Unscored
from pnyx.judge.base import Judge, ask_async
from pnyx.judge.tasks import ask_stance
from pnyx.records import SIDES, Argument, Evidence, Question, Side, Stance, judged_text
from pnyx.search.plan import CERTAINTY

if TYPE_CHECKING:
    import Stemmer

__all__ = [
    "CERTAINTY",
    "Sided",
    "ask_sides",
    "is_yes",
    "label_verdicts",
    "same_question",
    "sided_by_label",
    "sides_of",
    "stance_side",
]

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
    """Compare a corpus topic with a question by the stems of their content words.

    Returns 1 if both ask the same thing, -1 if one is the other's negation, 0 if they differ or
            cannot
    be compared; paraphrases give 0.
    """
    topic_words, topic_negated = _content(topic)
    question_words, question_negated = _content(question)
    if not topic_words or topic_words != question_words:
        return 0
    return 1 if topic_negated == question_negated else -1


def _content(text: str) -> tuple[list[str], bool]:
    words = re.findall(r"\w+(?:['’]\w+)?", text.casefold())
    negative = [w in _NEGATIONS or w.endswith(("n't", "n’t")) for w in words]
    content = [w for w, no in zip(words, negative, strict=True) if not no and w not in _FORM_WORDS]
    return sorted(_stemmer().stemWords(content)), sum(negative) % 2 == 1


@functools.cache
def _stemmer() -> Stemmer.Stemmer:
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
    details = {"topic": document.topic, "stance": document.stance, "relation": relation}
    provenance = Provenance(judge=CORPUS_LABEL, method="label", details=details)
    return {side: Judged(stance == side, provenance) for side in SIDES}


def is_yes(answer: Answer) -> bool:
    """Say whether a judge said yes; what is unscored is no yes, and no no either."""
    return isinstance(answer, Judged) and answer.value is True


def stance_side(stance: Mapping[Side, Answer], certainty: float = 0.5) -> frozenset[Side]:
    """Choose the sides a document is used for; between two yeses the more probable wins.

    A yes without a probability is as sure as can be.
    """
    said = {s: a.probability for s, a in stance.items() if isinstance(a, Judged) and is_yes(a)}
    yes = {side: p for side, p in said.items() if p is None or p >= certainty}
    pro, con = (yes.get(side) for side in SIDES)
    if pro is not None and con is not None and pro != con:
        return frozenset(("pro",)) if pro > con else frozenset(("con",))
    return frozenset(yes)


@dataclass(frozen=True, slots=True)
class Sided:
    """The verdicts for each side (empty if nobody was asked), and the sides a text is used for."""

    verdicts: Mapping[Side, Answer]
    sides: frozenset[Side]

    @property
    def side(self) -> Side | None:
        """The one side that it takes; None where it takes none, takes both, or nobody is sure."""
        return next(iter(self.sides)) if len(self.sides) == 1 else None

    @property
    def by(self) -> str:
        """Who decided the side: `CORPUS_LABEL`, or the judge's name; empty where nobody did."""
        judges = (a.provenance.judge for a in self.verdicts.values() if isinstance(a, Judged))
        return "" if self.side is None else next(judges, "")

    @property
    def labelled(self) -> bool:
        """Whether the corpus's own label told."""
        return any(a.provenance.judge == CORPUS_LABEL for a in self.verdicts.values())

    @property
    def reasons(self) -> list[str]:
        """Why verdicts are missing."""
        return [a.reason for a in self.verdicts.values() if isinstance(a, Unscored)]


def sided_by_label(question: Question, document: Evidence) -> Sided | None:
    """Return the side by the corpus's label, where that is about this very question."""
    verdicts = label_verdicts(question, document)
    return None if verdicts is None else Sided(verdicts, stance_side(verdicts))


async def ask_sides(
    judge: Judge, asked: Sequence[tuple[Question, str, str]], certainty: float = CERTAINTY
) -> list[Sided]:
    """Ask a judge, for each side, whether texts argue for it.

    `asked` are question, id (unique with it) and text; `certainty`, in [0.5, 1], is the least
    probability with which a yes puts a text on a side; a yes without a probability always does.
    """
    made = [
        ask_stance(f"stance/{side}/{name}", question.text, text, side, group=question.id)
        for question, name, text in asked
        for side in SIDES
    ]
    answers = iter(await ask_async(judge, made))
    found = ({side: next(answers) for side in SIDES} for _ in asked)
    return [Sided(verdicts, stance_side(verdicts, certainty)) for verdicts in found]


async def sides_of(
    asked: Sequence[tuple[Question, str, Evidence]], judge: Judge, certainty: float = CERTAINTY
) -> list[Sided]:
    """Find the sides of documents: by the corpus's label on this very question, else by a judge.

    `asked` are question, name (unique with it) and record; see `ask_sides`.
    """
    told = [sided_by_label(question, document) for question, _, document in asked]
    unknown = (one for one, label in zip(asked, told, strict=True) if label is None)
    open_ones = [(question, name, judged_text(document)) for question, name, document in unknown]
    judged = iter(await ask_sides(judge, open_ones, certainty))
    return [next(judged) if label is None else label for label in told]
