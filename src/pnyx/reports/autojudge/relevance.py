"""Qrels of the cited documents, by the judge of relevance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pnyx.core.records import Qrel, Question, judged_text
from pnyx.judging.answers import Judged
from pnyx.judging.base import ask
from pnyx.judging.stances import ask_relevance
from pnyx.judging.tasks import TASKS
from pnyx.reports.autojudge.answerer import say

if TYPE_CHECKING:
    from pnyx.reports.autojudge.answerer import Answerer
    from pnyx.reports.autojudge.material import Material


def graded(material: Material, answerer: Answerer, thresholds: Sequence[float]) -> list[Qrel]:
    """Return a line per judged document; its grade is how many `thresholds` its p reaches."""
    from pnyx.judging.open_judge import open_judge
    from pnyx.judging.options import JudgeSpec

    pairs = [
        (topic, doc_id, document)
        for topic in sorted(material.questions)
        for doc_id, document in material.cited(topic).items()
    ]
    with_text = [(topic, document) for topic, _, document in pairs if document is not None]
    questions = [
        ask_relevance(
            f"{topic}/{document.id}",
            _asked(material.questions[topic]),
            judged_text(document),
            group=topic,
        )
        for topic, document in with_text
    ]
    with open_judge(TASKS["relevance"], answerer.spec(JudgeSpec), say) as opened:
        answers = ask(opened.judge, questions) if questions else []
    grades = [
        Qrel(topic, document.id, _grade(answer, thresholds))
        for (topic, document), answer in zip(with_text, answers, strict=True)
        if isinstance(answer, Judged)
    ]
    if len(grades) < len(pairs):
        textless, unscored = len(pairs) - len(with_text), len(with_text) - len(grades)
        say(
            f"qrels: {len(grades)} of {len(pairs)} cited documents were judged; {textless} have no "
            f"text, {unscored} are unscored"
        )
    return grades


def _asked(topic: Question) -> str:
    """Return the need that a document should help with: a topic's title and problem statement."""
    return "\n".join(filter(None, (topic.text.strip(), topic.description.strip())))


def _grade(answer: Judged, thresholds: Sequence[float]) -> int:
    if not thresholds or answer.probability is None:
        return int(bool(answer.value))
    return sum(answer.probability >= threshold for threshold in thresholds)
