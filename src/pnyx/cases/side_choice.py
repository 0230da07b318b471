"""Decide which retrieved passages argue, and for which side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pnyx.cases.passage_sides import BY_MODEL, BY_PASSAGE
from pnyx.cases.plan import Plan
from pnyx.core.errors import shorten
from pnyx.core.records import SIDES, Evidence, Question, Side, judged_text
from pnyx.judging.answers import Answer, Judged, Provenance, Unscored
from pnyx.judging.base import Judge, ask_async
from pnyx.judging.stances import ask_relevance
from pnyx.search.sides import CORPUS_LABEL, SideVerdict, is_yes, match_labels, sides_matched
from pnyx.search.topics import TopicMatch, TopicMatcher

_LABEL = Provenance(CORPUS_LABEL, method="label")

_OTHER = 0.2
"""Below this probability, a topic is not about the question."""


@dataclass(frozen=True, slots=True)
class PlacedPassage:
    """A retrieved document: does it argue a side of the question, and which?

    `sided.sides` are the sides it is used for, `leans` the side for which it is only listed.
    """

    document: Evidence
    relevance: Answer
    sided: SideVerdict
    leans: Side | None = None

    @property
    def reasons(self) -> list[str]:
        """Why verdicts on it are missing, even if the others sufficed to decide its side."""
        missing = [self.relevance.reason] if isinstance(self.relevance, Unscored) else []
        return missing + self.sided.reasons

    @property
    def used(self) -> bool:
        """Whether it argues a side, by its verdict or by the corpus's label."""
        return is_yes(self.relevance) or self.sided.labelled

    @property
    def about(self) -> float | None:
        """The probability that it argues a side; None if unknown."""
        if self.used and not is_yes(self.relevance):
            return 1.0
        p = chance(self.relevance)
        return float(self.used) if p is None and isinstance(self.relevance, Judged) else p

    @property
    def passed_over(self) -> bool:
        """Whether it is known to argue neither side; not if unscored."""
        placed = self.used or self.sided.sides or self.leans
        return isinstance(self.relevance, Judged) and not placed

    @property
    def undecided(self) -> bool:
        """Whether it argues a side, but it is not clear which."""
        return self.used and not self.sided.sides and self.leans is None

    def worth(self, side: Side) -> float:
        """Return `chance` with 1 for each missing probability, only for sorting."""
        return math.prod(1.0 if p is None else p for p in self._chances(side))

    def chance(self, side: Side) -> float | None:
        """Return the probability that it argues a side: P(any side) P(this one).

        None if one is missing.

        A label of the corpus says that the document argues a side, and states a probability only
        where its topic is matched by meaning.
        """
        stated = [p for p in self._chances(side) if p is not None]
        return math.prod(stated) if len(stated) == len(self._chances(side)) else None

    def _chances(self, side: Side) -> list[float | None]:
        answers = [self.sided.verdicts.get(side)]
        answers += [] if self.sided.labelled else [self.relevance]
        return [chance(answer) for answer in answers]


@dataclass(frozen=True, slots=True)
class Expected:
    """How many documents argue a side of the question, by the sum of their probabilities."""

    value: float | None = None
    scored: int = 0  # how many of those `read` have a verdict
    read: int = 0


def expected_about(placed: Sequence[PlacedPassage]) -> Expected:
    """Return the expected number of documents that argue a side of the question."""
    chances = [p for passage in placed if (p := passage.about) is not None]
    value = round(math.fsum(chances), 6) if chances else None
    return Expected(value, scored=len(chances), read=len(placed))


def chance(answer: Answer | None) -> float | None:
    """Return the probability of yes; None if there is none."""
    return answer.probability if isinstance(answer, Judged) else None


async def place(
    question: Question,
    documents: Sequence[Evidence],
    judge: Judge,
    plan: Plan | None = None,
    relevance: Sequence[Answer] | None = None,
    matches: Sequence[TopicMatch | None] | None = None,
    sides: Judge | None = None,
) -> list[PlacedPassage]:
    """Judge whether each document argues a side, then which side, in order.

    The question's `definition` guides a judge of relevance. A corpus's label on this very question
    says that the passage is on topic, too. `relevance` holds verdicts that are known; else the
    judge is asked, as it is for sides unless `sides` answers these. `matches` are the topics of the
    corpus's labels, compared with the question, where that is known.
    """
    plan = plan or Plan()
    if relevance is None:
        relevance = await _ask_relevance(question, documents, judge)
    if matches is None:
        matches = match_labels(question, documents, TopicMatcher())
    relevance = _by_label(relevance, matches)
    rows = list(zip(documents, relevance, matches, strict=True))
    wanted = [
        (d, match) for d, answer, match in sorted(rows, key=lambda row: -(chance(row[1]) or 0.0))
        if is_yes(answer) or _by_passage(answer) or (match and match.used)
    ]  # fmt: skip
    items = [(question, d.id, d) for d, _ in wanted]
    matched = [match for _, match in wanted]
    # `_chosen` decides on which side each is: the least probability here has no effect.
    verdicts = await sides_matched(items, matched, sides or judge, 0.5)
    sided = {d.id: verdict for (d, _), verdict in zip(wanted, verdicts, strict=True)}
    placed = [
        PlacedPassage(d, a, sided.get(d.id, SideVerdict({}, frozenset(), m))) for d, a, m in rows
    ]
    return [_chosen(passage, plan) for passage in placed]


def settled_by_label(matches: Sequence[TopicMatch | None]) -> list[bool]:
    """Return for each document whether the corpus's label decides its side, instead of a judge."""
    if not any(match is not None and match.used for match in matches):
        return [False] * len(matches)
    return [m is not None and (m.used or m.same + m.opposite < _OTHER) for m in matches]


def _by_label(relevance: Sequence[Answer], matches: Sequence[TopicMatch | None]) -> list[Answer]:
    """Decide relevance by labels on the question, if there are any."""
    if not any(match is not None and match.used for match in matches):
        return list(relevance)
    answers: list[Answer] = []
    for answer, match in zip(relevance, matches, strict=True):
        if match is None:
            answers.append(answer)
        elif match.used and _by_passage(answer):
            p = match.same + match.opposite if match.why == "meaning" else None
            explanation = f"labelled on a topic that {match.reason}"
            answers.append(Judged(True, _LABEL, probability=p, explanation=explanation))
        elif match.same + match.opposite < _OTHER:
            explanation = f"labelled on another topic: {shorten(match.topic, 80)}"
            answers.append(Judged(False, _LABEL, explanation=explanation))
        else:
            answers.append(answer)
    return answers


def _by_passage(answer: Answer) -> bool:
    return answer.provenance.method in (BY_PASSAGE, BY_MODEL)


async def _ask_relevance(
    question: Question, documents: Sequence[Evidence], judge: Judge
) -> Sequence[Answer]:
    questions = [
        ask_relevance(
            f"relevance/{document.id}",
            question.text,
            judged_text(document),
            definition=question.definition,
            group=question.id,
        )
        for document in documents
    ]
    return await ask_async(judge, questions)


def _chosen(placed: PlacedPassage, plan: Plan) -> PlacedPassage:
    """Decide for which sides a document is used, or for which it is listed."""
    verdicts = placed.sided.verdicts
    # A judge's own yes to the question of relevance has its own threshold.
    read = isinstance(placed.relevance, Judged) and _by_passage(placed.relevance)
    if not (placed.used or read):
        return replace(placed, sided=replace(placed.sided, sides=frozenset()))
    served = [side for side in SIDES if side in verdicts and is_yes(verdicts[side])]
    sides = frozenset(side for side in served if placed.worth(side) >= plan.certainty)
    if len(sides) == 2 and (pro := placed.worth("pro")) != (con := placed.worth("con")):
        sides = frozenset(("pro",)) if pro > con else frozenset(("con",))
    leans = None
    if not sides:
        likely = [side for side in served if placed.worth(side) >= plan.listed]
        leans = max(likely, key=placed.worth, default=None)
    return replace(placed, sided=replace(placed.sided, sides=sides), leans=leans)
