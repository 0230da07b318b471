"""Which of the retrieved passages are argued with, and for which side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pnyx.errors import shorten
from pnyx.judge.answers import Answer, Judged, Provenance, Unscored
from pnyx.judge.base import Judge, ask_async
from pnyx.judge.calibration.curves import log_odds, logistic
from pnyx.judge.stances import ask_relevance
from pnyx.records import SIDES, Evidence, Question, Side, judged_text
from pnyx.search.relevance import BY_RANK, YES
from pnyx.search.sides import CORPUS_LABEL, Sided, is_yes, match_labels, sides_matched
from pnyx.search.topics import TopicMatch, TopicMatcher
from pnyx.write.plan import Plan
from pnyx.write.weighing import SHIFT

_LABEL = Provenance(CORPUS_LABEL, method="label")

_OTHER = 0.2
"""A topic that is less likely about the question is another."""

_LEAST_ALONE = 0.45
"""A passage that alone is less likely on a side is plainly on the other."""

_TRUE = (0.66, -1.21), (1.03, 6.35)
"""Slope and constant of the .1 and .9 quantiles of how many documents are about the question, by
the sum of the probabilities that the ranking gives them: quantile regressions on the development
debates of benchmarks/argue, titles and own words, and without what is about them (weight .25)."""

_SUM = 1e-4
"""By how much the probabilities of both sides may miss one."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A retrieved document, whether it is relevant, and its sides (not asked if off topic)."""

    document: Evidence
    relevance: Answer
    sided: Sided
    filled: frozenset[Side] = frozenset()  # of its sides, those that it is less sure of

    @property
    def reasons(self) -> list[str]:
        """Why verdicts on it are missing, whether or not the others sufficed to place it."""
        missing = [self.relevance.reason] if isinstance(self.relevance, Unscored) else []
        return missing + self.sided.reasons

    @property
    def used(self) -> bool:
        """Whether it is about the question, by its verdict or by the corpus's label."""
        return is_yes(self.relevance) or self.sided.labelled

    @property
    def about(self) -> float | None:
        """How likely it is about the question; None where nobody said."""
        if self.used and not is_yes(self.relevance):
            return 1.0
        p = chance(self.relevance)
        return float(self.used) if p is None and isinstance(self.relevance, Judged) else p

    @property
    def passed_over(self) -> bool:
        """Whether it is known to be about something else; what is unscored is not."""
        return isinstance(self.relevance, Judged) and not self.used

    @property
    def undecided(self) -> bool:
        """Whether it is about the question and on no side."""
        return self.used and not self.sided.sides

    @property
    def leans(self) -> Side | None:
        """The side that it is likelier on although it is undecided: it is less sure of it."""
        if not self.undecided:
            return None
        return next((s for s in sorted(SIDES, key=self.worth)[::-1] if _likely(self, s)), None)

    def worth(self, side: Side) -> float:
        """Return how likely it is relevant and on a side: the product; 1 for what is unknown."""
        answers = [self.sided.verdicts.get(side)]
        answers += [] if self.sided.labelled else [self.relevance]
        return math.prod(1.0 if (p := chance(one)) is None else p for one in answers)


@dataclass(frozen=True, slots=True)
class Expected:
    """How many documents are about the question, by the sum of their probabilities."""

    value: float | None = None
    low: int | None = None  # with `high`, holds for four questions of five
    high: int | None = None
    scored: int = 0  # have a verdict, of those `read`
    read: int = 0


def expected_about(placed: Sequence[Placed]) -> Expected:
    """Return how many of these documents are about the question."""
    known = [(p, _by_rank(one.relevance)) for one in placed if (p := one.about) is not None]
    total = math.fsum(p for p, _ in known)
    value = round(total, 6) if known else None
    made = Expected(value, scored=len(known), read=len(placed))
    ranked = [p for p, by_rank in known if by_rank]
    if not ranked:
        return made
    guess, apart = math.fsum(ranked), total - math.fsum(ranked)
    low, high = (slope * guess + constant for slope, constant in _TRUE)
    return replace(
        made, low=round(apart + max(low, 0.0)), high=round(apart + min(high, len(ranked)))
    )


def chance(answer: Answer | None) -> float | None:
    """Return the probability of yes; None where there is none."""
    return answer.probability if isinstance(answer, Judged) else None


async def place(
    question: Question,
    documents: Sequence[Evidence],
    judge: Judge,
    plan: Plan | None = None,
    relevance: Sequence[Answer] | None = None,
    matcher: TopicMatcher | None = None,
    sides: Judge | None = None,
) -> list[Placed]:
    """Judge each document's relevance, then the side of those that are relevant, in order.

    The question's `definition` guides relevance. A corpus's label on this very question says that
    the passage is on topic, too. `relevance` holds verdicts that are known; else the judge is
    asked, as it is for sides unless `sides` answers these.
    """
    plan = plan or Plan()
    if relevance is None:
        relevance = await _ask_relevance(question, documents, judge)
    matches = match_labels(question, documents, matcher or TopicMatcher())
    relevance = _by_label(relevance, matches)
    rows = list(zip(documents, relevance, matches, strict=True))
    wanted = [
        (d, match) for d, answer, match in sorted(rows, key=lambda row: -(chance(row[1]) or 0.0))
        if is_yes(answer) or _is_read(answer, plan) or (match and match.used)
    ]  # fmt: skip
    asked = [(question, d.id, d) for d, _ in wanted]
    matched = [match for _, match in wanted]
    found = await sides_matched(asked, matched, sides or judge, plan.certainty)
    sided = {d.id: one for (d, _), one in zip(wanted, found, strict=True)}
    placed = [_heard(Placed(d, a, sided.get(d.id, Sided({}, frozenset(), m)))) for d, a, m in rows]
    return _chosen(_compared(placed, plan), plan)


def _by_label(relevance: Sequence[Answer], matches: Sequence[TopicMatch | None]) -> list[Answer]:
    """Let labels on the question, where some are found, say what is about it, and what is not."""
    if not any(match is not None and match.used for match in matches):
        return list(relevance)
    found: list[Answer] = []
    for answer, match in zip(relevance, matches, strict=True):
        if match is None:
            found.append(answer)
        elif match.used and _by_rank(answer):
            p = match.same + match.opposite if match.why == "meaning" else None
            said = f"labelled on a topic that {match.reason}"
            found.append(Judged(True, _LABEL, probability=p, explanation=said))
        elif match.same + match.opposite < _OTHER:
            said = f"labelled on another topic: {shorten(match.topic, 80)}"
            found.append(Judged(False, _LABEL, explanation=said))
        else:
            found.append(answer)
    return found


def _is_read(answer: Answer, plan: Plan) -> bool:
    """Tell whether an unused passage is compared with: only where the ranking told relevance."""
    return _by_rank(answer) and (chance(answer) or 0.0) >= plan.read


def _heard(placed: Placed) -> Placed:
    """Let what a language model says of the claims count for relevance that the ranking told."""
    known = [a for a in placed.sided.verdicts.values() if SHIFT in a.provenance.details]
    relevance, before = placed.relevance, chance(placed.relevance)
    if not known or not isinstance(relevance, Judged) or before is None or not _by_rank(relevance):
        return placed
    by = known[0].provenance
    moved = log_odds([before]) + by.details[SHIFT]
    p = float(logistic(moved).round(6)[0])
    details = {**relevance.provenance.details, "ranked": before}
    provenance = replace(
        relevance.provenance, judge=f"{relevance.provenance.judge}, {by.judge}", details=details
    )
    said = f"{relevance.explanation}; {p:.2f} with what {by.judge} says"
    verdict = Judged(p >= YES, provenance, probability=p, explanation=said)
    return replace(placed, relevance=verdict)


def _by_rank(answer: Answer) -> bool:
    return answer.provenance.method == BY_RANK


async def _ask_relevance(
    question: Question, documents: Sequence[Evidence], judge: Judge
) -> Sequence[Answer]:
    made = [
        ask_relevance(
            f"relevance/{document.id}",
            question.text,
            judged_text(document),
            definition=question.definition,
            group=question.id,
        )
        for document in documents
    ]
    return await ask_async(judge, made)


def _compared(placed: Sequence[Placed], plan: Plan) -> list[Placed]:
    """Take `plan.contrast` of the mean log-odds away: claims' wording leans to one side."""
    odds = {p.document.id: x for p in placed if (x := _odds(p.sided)) is not None}
    if len(odds) < 2 or not plan.contrast:
        return list(placed)
    lean = plan.contrast * float(np.mean(list(odds.values())))
    return [
        replace(p, sided=_moved(p.sided, odds[p.document.id] - lean))
        if p.document.id in odds else p
        for p in placed
    ]  # fmt: skip


def _odds(sided: Sided) -> float | None:
    """Return the log-odds of pro of a judge whose two probabilities sum to one; else None."""
    chances = [chance(sided.verdicts.get(side)) for side in SIDES]
    if sided.labelled or None in chances or abs(sum(filter(None, chances)) - 1.0) > _SUM:
        return None
    return float(log_odds([chances[0] or 0.0])[0])


def _moved(sided: Sided, odds: float) -> Sided:
    pro = float(logistic(np.array([odds]))[0])
    moved = {"pro": pro, "con": 1.0 - pro}
    verdicts: dict[Side, Answer] = {}
    for side, answer in sided.verdicts.items():
        if isinstance(answer, Judged):
            p = round(moved[side], 6)
            details = {**answer.provenance.details, "alone": answer.probability}
            provenance = replace(answer.provenance, details=details)
            said = f"{answer.explanation}; {p:.2f} beside the other passages"
            verdicts[side] = replace(
                answer, value=p >= 0.5, probability=p, provenance=provenance, explanation=said
            )
    return replace(sided, verdicts=verdicts)


def _chosen(placed: Sequence[Placed], plan: Plan) -> list[Placed]:
    """Decide the side of each passage; a side with too few is filled up with the likeliest."""
    sides: dict[str, set[Side]] = {p.document.id: set(_sure(p, plan)) for p in placed}
    filled: dict[str, set[Side]] = {p.document.id: set() for p in placed}
    for side in SIDES:
        mine = [p for p in placed if side in sides[p.document.id]]
        if mine and 1.0 - math.prod(1.0 - _alone(p, side) for p in mine) < plan.held:
            for p in mine:
                sides[p.document.id].discard(side)
    for side in plan.sides:
        lacking = plan.fewest - sum(side in own for own in sides.values())
        open_ones = [p for p in placed if not sides[p.document.id] and _likely(p, side)]
        for p in sorted(open_ones, key=lambda p: -p.worth(side))[: max(0, lacking)]:
            filled[p.document.id].add(side)
    return [
        replace(p, sided=replace(p.sided, sides=frozenset(sides[name] | filled[name])),
                filled=frozenset(filled[name]))
        for p in placed for name in (p.document.id,)
    ]  # fmt: skip


def _alone(placed: Placed, side: Side) -> float:
    """Return how likely a passage is on a side, not compared; 1 for labels and single claims."""
    answer = placed.sided.verdicts[side]
    if _odds(placed.sided) is None:
        return 1.0
    return float(answer.provenance.details.get("alone", chance(answer)))


def _sure(placed: Placed, plan: Plan) -> frozenset[Side]:
    """Return the sides of a passage whose relevance and side are sure enough."""
    if placed.sided.labelled:  # a label on another topic of the same matter has a probability
        return frozenset(
            side for side in placed.sided.sides
            if (p := chance(placed.sided.verdicts[side])) is None or p >= plan.certainty
        )  # fmt: skip
    relevance = placed.relevance
    # A judge's own yes has its own threshold.
    doubtful = _by_rank(relevance) and (chance(relevance) or 0.0) < plan.relevant
    if not is_yes(relevance) or doubtful:
        return frozenset()
    if _odds(placed.sided) is None:
        return placed.sided.sides
    verdicts: Mapping[Side, Answer] = placed.sided.verdicts
    return frozenset(s for s, a in verdicts.items()
                     if (chance(a) or 0.0) >= plan.certainty and _leans(a))  # fmt: skip


def _likely(placed: Placed, side: Side) -> bool:
    """Tell whether a relevant passage is likelier on a side than on the other."""
    answer = placed.sided.verdicts.get(side)
    if answer is None or not is_yes(placed.relevance):
        return False
    return is_yes(answer) and (chance(answer) or 0.0) >= 0.5 and _leans(answer)


def _leans(answer: Answer) -> bool:
    """Tell whether a passage alone is not plainly on the other side."""
    alone = answer.provenance.details.get("alone")
    return not isinstance(alone, float) or alone >= _LEAST_ALONE
