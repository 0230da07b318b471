"""Which side a text takes on a question: the corpus's own label, and a judge's verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pnyx.core.records import SIDES, Argument, Evidence, Question, Side, Stance, judged_text
from pnyx.judging.answers import Answer, Judged, Provenance, Unscored
from pnyx.judging.base import Judge, ask_async
from pnyx.judging.stances import ask_stance
from pnyx.search.plan import CERTAINTY
from pnyx.search.topics import TopicMatch, TopicMatcher

CORPUS_LABEL = "corpus label"
"""Name of the judge if a verdict is the corpus's own stance label."""


def label_topic(document: Evidence) -> str:
    """Return the subject of a document's label: its topic, else its conclusion (args.me)."""
    if not isinstance(document, Argument) or document.stance is None:
        return ""
    return document.topic or document.conclusion


def label_on(document: Evidence, match: TopicMatch | None) -> Stance | None:
    """Return a document's label as one on the question; None if its topic differs."""
    if match is None or not match.used or not isinstance(document, Argument):
        return None
    flipped: dict[Stance | None, Stance | None] = {"pro": "con", "con": "pro"}
    if match.relation == 1:
        return document.stance
    return flipped.get(document.stance, document.stance)


def sided_by_label(document: Evidence, match: TopicMatch | None) -> SideVerdict | None:
    """Return the side by the corpus's label, with its probability, where its topic matches."""
    stance = label_on(document, match)
    if match is None or stance is None:
        return None
    label = getattr(document, "stance", None)
    details = {"stance": label, **match.row()}
    provenance = Provenance(judge=CORPUS_LABEL, method="label", details=details)
    p, other = match.probability, min(match.same, match.opposite)
    unsure = match.why == "meaning" and stance in SIDES
    verdicts: dict[Side, Answer] = {
        side: Judged(
            stance == side,
            provenance,
            (p if stance == side else other) if unsure else None,
            explanation=f"labelled {label} on a topic that {match.reason}",
        )
        for side in SIDES
    }
    sides = frozenset(side for side in SIDES if stance == side)
    return SideVerdict(verdicts, sides, match)


def match_labels(
    question: Question, documents: Sequence[Evidence], matcher: TopicMatcher, *, every: bool = True
) -> list[TopicMatch | None]:
    """Return how each label's topic relates to the question or pro's claim; None without one.

    Without `every`, None too for topics whose labels cannot count by their words alone.
    """
    topics = list(map(label_topic, documents))
    text = question.claims[0] if question.claims else question.text
    by_topic = matcher.match(text, topics, every=every)
    return [by_topic.get(topic) for topic in topics]


def is_yes(answer: Answer) -> bool:
    """Return whether a judge said yes; an unscored answer is neither yes nor no."""
    return isinstance(answer, Judged) and answer.value is True


def stance_side(stance: Mapping[Side, Answer], certainty: float = 0.5) -> frozenset[Side]:
    """Choose the sides; of two yeses the more probable wins; one without p is certain."""
    probabilities = {
        s: a.probability for s, a in stance.items() if isinstance(a, Judged) and is_yes(a)
    }
    yes = {side: p for side, p in probabilities.items() if p is None or p >= certainty}
    pro, con = (yes.get(side) for side in SIDES)
    if pro is not None and con is not None and pro != con:
        return frozenset(("pro",)) if pro > con else frozenset(("con",))
    return frozenset(yes)


@dataclass(frozen=True, slots=True)
class SideVerdict:
    """The verdicts for each side, and the sides that a text is assigned to."""

    verdicts: Mapping[Side, Answer]
    sides: frozenset[Side]
    match: TopicMatch | None = None  # of its label's topic, even if it did not decide

    @property
    def side(self) -> Side | None:
        """The one side that it takes; None if it takes none or both, or if that is uncertain."""
        return next(iter(self.sides)) if len(self.sides) == 1 else None

    @property
    def by(self) -> str:
        """Who decided the side: `CORPUS_LABEL`, or the judge's name; empty if nobody did."""
        judges = (a.provenance.judge for a in self.verdicts.values() if isinstance(a, Judged))
        return "" if self.side is None else next(judges, "")

    @property
    def labelled(self) -> bool:
        """Whether the corpus's own label decided the side."""
        return any(a.provenance.judge == CORPUS_LABEL for a in self.verdicts.values())

    @property
    def reasons(self) -> list[str]:
        """Why verdicts are missing."""
        return [a.reason for a in self.verdicts.values() if isinstance(a, Unscored)]


async def ask_sides(
    judge: Judge, items: Sequence[tuple[Question, str, str]], certainty: float = CERTAINTY
) -> list[SideVerdict]:
    """Ask a judge, for each side, whether texts (question, id, text) argue for it."""
    tasks = [
        ask_stance(
            f"stance/{side}/{name}",
            question.text,
            text,
            side,
            group=question.id,
            claims=question.claims,
        )
        for question, name, text in items
        for side in SIDES
    ]
    answers = iter(await ask_async(judge, tasks))
    answered = ({side: next(answers) for side in SIDES} for _ in items)
    return [SideVerdict(verdicts, stance_side(verdicts, certainty)) for verdicts in answered]


async def sides_of(
    items: Sequence[tuple[Question, str, Evidence]],
    judge: Judge,
    certainty: float = CERTAINTY,
    matcher: TopicMatcher | None = None,
) -> list[SideVerdict]:
    """Find the sides of (question, name, record): by a label on this question, else by a judge."""
    by_question: dict[Question, list[int]] = {}
    for number, (question, _, _) in enumerate(items):
        by_question.setdefault(question, []).append(number)
    matches: dict[int, TopicMatch | None] = {}
    for question, places in by_question.items():
        documents = [items[number][2] for number in places]
        matched = match_labels(question, documents, matcher or TopicMatcher())
        matches |= dict(zip(places, matched, strict=True))
    return await sides_matched(items, [matches[i] for i in range(len(items))], judge, certainty)


async def sides_matched(
    items: Sequence[tuple[Question, str, Evidence]],
    matches: Sequence[TopicMatch | None],
    judge: Judge,
    certainty: float,
) -> list[SideVerdict]:
    """Find the sides of documents as `sides_of` does, with matches that are already known."""
    by_label = [sided_by_label(d, match) for (_, _, d), match in zip(items, matches, strict=True)]
    unknown = (item for item, label in zip(items, by_label, strict=True) if label is None)
    open_ones = [(question, name, judged_text(document)) for question, name, document in unknown]
    judged = iter(await ask_sides(judge, open_ones, certainty))
    return [
        replace(next(judged), match=match) if label is None else label
        for label, match in zip(by_label, matches, strict=True)
    ]
